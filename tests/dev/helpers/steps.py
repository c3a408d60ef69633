"""For which steps a test is tried: named ``step_07``, or ``s07`` where a command is given it."""

import pytest

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.steps import all_steps

every_step = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)
every_task = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.task)
#: Of a kernel, the first wrong function alone is judged.
SEVERAL_BLANKS = [step for step in all_steps() if step.language is PYTHON and len(blanks_of(step)) > 1]
with_several_blanks = pytest.mark.parametrize("step", SEVERAL_BLANKS, ids=lambda step: step.name)
