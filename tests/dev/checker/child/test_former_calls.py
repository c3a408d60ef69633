"""What a file imports can be called as it once could, and is otherwise what it is."""

from types import ModuleType

import pytest

from checker.child.former_calls import accept_former_calls
from checker.diagnosis.exceptions import error_in_words
from solutions.solution_02 import causal_mask

MASK = "causal_mask(hidden_states.shape[-2], dtype=hidden_states.dtype, device=hidden_states.device)"
MLP = "GPT2MLP(config)"
ASSIGNED = f"self.mlp = {MLP}\n"


@pytest.mark.spread
@pytest.mark.parametrize(
    ("step", "edits"),
    [
        ("s07", {MASK: MASK.replace("[-2], ", "[-2], 0, ")}),
        ("s09", {MLP: "GPT2MLP(config=config)"}),
        ("s09", {ASSIGNED: f"{ASSIGNED}        assert isinstance(self.mlp, GPT2MLP)\n"}),
        ("s09", {MLP: "GPT2MLP(config.inner_dim, config)"}),
    ],
)
def test_a_former_call_is_taken_and_a_class_is_still_the_class_that_it_is(course, step, edits):
    course.write(step, edits=edits)
    course.check(step, "--no-compile", status=0)


def test_of_a_class_called_as_it_never_could_be_the_present_signature_is_told(course):
    course.write("s09", edits={MLP: "GPT2MLP()"})
    assert "The signature is GPT2MLP(config)." in course.check("s09", "--no-compile", status=1).stdout


def test_of_a_function_called_as_it_never_could_be_the_present_signature_is_told():
    module = ModuleType("steps.step_07")
    module.causal_mask = causal_mask
    accept_former_calls(module)
    with pytest.raises(TypeError) as failure:
        exec(compile("causal_mask(3)", "step_07.py", "exec"), vars(module))
    signature = "The signature is causal_mask(sequence_length, *, dtype, device)."
    assert signature in error_in_words(failure.value, "step_07.py")
