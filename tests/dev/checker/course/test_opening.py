"""Which files are refused before they run."""

import pytest

from checker.course.opening import refuse_imported_solution
from checker.course.reading import Unreadable
from checker.course.source import Source
from checker.course.steps import find_step


@pytest.mark.parametrize(
    ("step", "module", "why"),
    [
        ("s07", "solutions.solution_07", "solutions.solution_07, the answer to this step."),
        ("s07", "solutions.solution_09", "solutions.solution_09, which is made of the answer to this step."),
        ("s11", "solutions.checkpoint", "solutions.checkpoint, which is made of the answer to this step."),
        ("s23", "solutions.llama", "solutions.llama, which is made of the answer to this step."),
    ],
)
def test_the_answer_to_a_step_cannot_be_imported_by_whatever_has_it(step, module, why):
    with pytest.raises(Unreadable, match=f"Your file imports {why}"):
        refuse_imported_solution(find_step(step), Source(f"import numpy\nfrom {module} import *\n"))


def test_a_solution_that_is_not_made_of_the_answer_can_be_imported_whatever_its_number():
    refuse_imported_solution(find_step("s02"), Source("from solutions.solution_03 import LayerNorm\n"))
