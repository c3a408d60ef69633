"""The recorded numbers are what Hugging Face computes now."""

import numpy as np
import pytest

from checker.course.steps import Step, all_steps
from checker.numeric.references import Reference, seeded_weights
from checker.numeric.tolerance import TOLERANCE

record = pytest.importorskip("tools.references", reason="torch and transformers are not installed")

#: Between two builds of torch, or two processors, sums in another order differ by about this much.
SAME = 1e-5


def test_every_recorded_file_has_its_recorder():
    recorded = {step.name for step in all_steps() if step.reference_file.is_file()}
    assert recorded == set(record.RECORDERS)


@pytest.mark.parametrize("name", record.RECORDERS)
def test_recording_again_gives_the_same_numbers(name):
    recorded, again = Reference(Step(name).reference_file), record.RECORDERS[name]()
    assert set(recorded) == set(again)
    for key, array in again.items():
        assert recorded[key].dtype == array.dtype
        assert recorded[key].shape == array.shape
        if key.startswith(("weights/", "config/")) or key.endswith("input"):
            np.testing.assert_array_equal(recorded[key], array)
        else:
            np.testing.assert_allclose(recorded[key], array, rtol=0, atol=SAME)
    assert SAME <= TOLERANCE


def test_nothing_recorded_is_one_or_zero():
    for name in record.RECORDERS:
        for key, array in Reference(Step(name).reference_file).items():
            if array.size > 1 and array.dtype == np.float32:
                assert not np.isin(array, [0, 1, -1]).any(), f"{name}: {key}"


def test_no_two_axes_of_the_awkward_configuration_are_equal():
    config = record.AWKWARD
    sizes = [2, 7, config["n_embd"], config["n_head"], config["n_embd"] // config["n_head"], config["n_layer"]]
    assert len(set(sizes)) == len(sizes)
    assert config["n_inner"] != 4 * config["n_embd"]


def test_seeded_weights_do_not_depend_on_order_or_company():
    shapes = {"a.weight": (3, 4), "a.bias": (3,), "b.weight": (3, 4)}
    weights = seeded_weights(shapes)
    alone = seeded_weights({"b.weight": (3, 4)})
    np.testing.assert_array_equal(weights["b.weight"], alone["b.weight"])
    assert not np.array_equal(weights["a.weight"], weights["b.weight"])
