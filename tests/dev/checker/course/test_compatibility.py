"""What of a file later steps cannot use as they use the solution's."""

import pytest

from checker.course.compatibility import incompatible_parts
from checker.course.source import Source
from checker.course.steps import all_steps, find_step
from checker.diagnosis.mistakes import apply_edits, load_attempts

MASK = {"causal_mask": "(sequence_length, *, dtype, device)"}


@pytest.mark.parametrize(
    ("parameters", "fits"),
    [
        ("length, *, dtype, device", True),
        ("length, dtype, device=None, more=1", True),
        ("*sizes, **options", True),
        ("length, num_tokens, *, dtype, device", False),
        ("length, *, dtype", False),
        ("length, *, dtype, device, kept", False),
        ("*, dtype, device", False),
        ("*, device, dtype, sequence_length", False),
    ],
)
def test_a_function_fits_if_every_call_of_the_solutions_does(parameters, fits):
    assert incompatible_parts(find_step("02"), Source(f"def causal_mask({parameters}): ...")) == ({} if fits else MASK)


def test_a_file_may_lack_a_function_or_what_init_sets_or_a_type():
    assert incompatible_parts(find_step("02"), Source("x = 1")) == MASK
    assert incompatible_parts(find_step("02"), Source("causal_masks = 1  # a causal_mask")) == MASK
    assert incompatible_parts(find_step("02"), Source("causal_mask = make_mask")) == {}
    source = find_step("07").read_solution().text
    renamed = Source(source.replace("self.head_dim", "self.attn_head_size"))
    (signature,) = incompatible_parts(find_step("07"), renamed).values()
    assert signature.startswith("(config) with self.embed_dim and self.num_heads and self.head_dim")
    source = find_step("w06").read_solution().text.replace("Pair", "Couple")
    assert incompatible_parts(find_step("w06"), Source(source)) == {"Pair": " = tuple[int, int]"}


@pytest.mark.slow
def test_only_the_source_tutorials_functions_and_earlier_ones_are_incompatible():
    named = {
        (step.task, name)
        for step in all_steps()
        for name, edits in load_attempts(step).alternatives.items()
        if incompatible_parts(step, Source(apply_edits(step.read_solution().text, edits)))
    }
    tutorial = {each for each in named if each[1].startswith("the source tutorial's")}
    earlier = {
        ("s25", "the arguments in the order of earlier skeletons"),
        ("s27", "the arguments of earlier skeletons"),
    }
    assert named - tutorial == {("s07", "all in forward and _attn")} | earlier
    assert {"s02", "s07"} <= {task for task, _ in tutorial}
