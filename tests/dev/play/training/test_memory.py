"""Arrays that NumPy and compiled graphs share."""

import numpy as np
import pytest

from play.training.memory import Shared, tensors


@pytest.mark.slow
def test_an_update_of_the_wholes_is_that_of_every_weight():
    """The decay of matrices alone, all averages, and the norm: one sum of so many squares would lose a thousandth."""
    from checker.max_adapter.hooks import install_hooks
    from checker.max_adapter.runtime import lazily
    from solutions.solution_20 import AdamW, Update
    from solutions.training import TrainingState, scalar

    install_hooks()
    shapes, rng = {"a": (2304, 768), "b": (5,), "c": (5, 3), "d": (100_000,)}, np.random.default_rng(0)
    values = [{name: np.abs(rng.standard_normal(shape)) for name, shape in shapes.items()} for _ in range(4)]
    norm, arrays = np.sqrt(sum((array**2).sum() for array in values[1].values())), {}
    for part in ("arrays", "wholes"):
        groups = [Shared(shapes) for _ in range(4)]
        for group, numbers_of in zip(groups, values, strict=True):
            group.fill(numbers_of)
        with lazily():
            state = TrainingState(*(tensors(getattr(group, part)) for group in groups))
            length = Update(AdamW(), 1.0)(scalar(3), scalar(0.1), scalar(1), state)
        assert length.item() == pytest.approx(norm, rel=2e-5)
        arrays[part] = [array for group in groups for array in group.arrays.values()]
    for by_name, at_once in zip(arrays["arrays"], arrays["wholes"], strict=True):
        assert at_once.ctypes.data % 64 == 0
        np.testing.assert_allclose(by_name, at_once, rtol=1e-5, atol=1e-6)
