"""The linear layer in Mojo against NumPy in double precision: few rows, more rows, and sizes that no register divides.

MAX compiles for two minutes for it, so it runs by night. By day, ``test_option.py`` compares what models write.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def layer():
    """The operation with symbolic sizes, compiled once, as a function of arrays."""
    from max.dtype import DType
    from max.experimental.nn import Module
    from max.experimental.tensor import Tensor
    from max.graph import DeviceRef, TensorType

    from checker.max_adapter.runtime import prepare
    from play.kernels.operations import linear, loaded

    class Layer(Module):
        def forward(self, x, weight, bias):
            return linear(x, weight, bias)

    prepare()
    shapes = ["batch", "seq", "in"], ["out", "in"], ["out"]
    with loaded():
        run = Layer().compile(*(TensorType(DType.float32, shape, DeviceRef.CPU()) for shape in shapes))
    return lambda *arrays: np.from_dlpack(run(*map(Tensor.from_dlpack, arrays)))


@pytest.mark.parametrize("rows", [(1, 1), (1, 2), (3, 1), (2, 2), (1, 5), (6, 1), (7, 1), (2, 4), (3, 3), (2, 40)])
@pytest.mark.parametrize(("size", "outputs"), [(768, 2304), (5, 3), (17, 50), (33, 1), (64, 7)])
def test_every_number_of_rows(layer, rows, size, outputs):
    generator = np.random.default_rng(size)
    shapes = (*rows, size), (outputs, size), (outputs,)
    x, weight, bias = (generator.standard_normal(shape).astype(np.float32) for shape in shapes)
    wanted = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    np.testing.assert_allclose(layer(x, weight, bias), wanted, rtol=0, atol=1e-6 * size)
