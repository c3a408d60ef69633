"""An error in a learner's step names that step."""

import re
from types import ModuleType

import pytest

from checker.course.standings import Standing, StepState
from checker.course.steps import find_step
from checker.errors import UserError
from cli.model_commands import blaming
from play.mine import stand_ins

#: What a step of the learner's does when it is called → which step is blamed, or None where the error says it all.
CALLS = {
    "np.ones(2) + np.ones(3)": "07",  # a ValueError of NumPy's
    "raise TypeError('no')": "07",
    "open('/nowhere/weights')": "07",
    "raise SystemExit": "07",
    "raise ValueError('give another')": None,
    "raise ValueError(\n        'give another'\n    )": None,
    "if later: raise ValueError('give another')": None,
    "int('none')": "07",
    "a, b = []": "07",
    "later.call()": "08",
    "later.refuse()": None,
}


@pytest.fixture
def standing_in(tmp_path, monkeypatch):
    """Import a module that stands in for a solution from a file that is in use as a step."""
    monkeypatch.setattr(stand_ins, "steps_by_file", {})

    def load(number, source):
        file = tmp_path / f"step_{number}.py"
        file.write_text(source)
        stand_ins.steps_by_file[str(file)] = find_step(number)
        module = ModuleType(f"solutions.solution_{number}")
        exec(compile(source, str(file), "exec"), module.__dict__)
        return module

    return load


def test_an_error_in_the_import_of_a_step_is_never_a_refusal(standing_in):
    with pytest.raises(ValueError, match="no") as caught:
        standing_in("07", "raise ValueError('no')")
    assert not stand_ins.is_refusal(caught.value)


def test_a_refusal_of_the_course_is_a_user_error_and_any_other_value_error_a_fault():
    for kind in (UserError, ValueError):
        with pytest.raises(kind, match="no such device") as caught:
            raise kind("no such device")
        assert stand_ins.is_refusal(caught.value) is (kind is UserError)


@pytest.mark.parametrize("call", CALLS)
def test_an_error_is_blamed_on_the_innermost_step_and_a_refusal_on_none(standing_in, call):
    later = standing_in("08", "def call(): len(None)\ndef refuse(): raise ValueError('no token')")
    first = standing_in("07", f"import numpy as np\ndef call(later):\n    {call}")
    with pytest.raises((TypeError, ValueError, OSError, SystemExit)) as caught:
        first.call(later)
    assert stand_ins.is_refusal(caught.value) == (CALLS[call] is None)
    if number := CALLS[call]:
        words = blaming(stand_ins.failing_file(caught.value), caught.value)
        kind = "Your code ends the program" if "SystemExit" in call else f"{type(caught.value).__name__}: "
        assert f"step_{number}.py: {kind}" in words
        line, said = f"line 3: {call}", stand_ins.line_that_failed(caught.value)
        assert re.search(rf"step_{number}\.py, line [13]: \w+.*\n`\./run s{number}` checks this step$", said)
        assert f"\n    {line}\n" in words if number == "07" else "line 1: def call(): len(None)\n" in words
        assert (f"step_07.py, {line}" in words) == (number == "08"), "who called it"
        assert words.endswith(f"\n`./run s{number}` checks this step")


def test_what_the_compiler_refuses_blames_all_steps_together(standing_in, monkeypatch):
    monkeypatch.setattr(stand_ins, "COMPILING", {"solutions.solution_08"})
    compiler = standing_in("08", "def compile(): raise TypeError('MAX compiles no such softmax.')")
    caller = standing_in("14", "def call(compiler): compiler.compile()")
    with pytest.raises(TypeError) as caught:
        caller.call(compiler)
    assert stand_ins.failing_file(caught.value) is None
    states = {"s08": StepState.IN_PROGRESS}
    monkeypatch.setattr(
        stand_ins, "standing_of", lambda step: Standing(step, states.get(step.task, StepState.DONE), "")
    )
    words = blaming(None, caught.value)
    assert words.startswith("your steps do not run together. TypeError: MAX compiles no such")
    assert words.endswith("\nlook first at what no check has passed as it is: s08; `./run s08` checks it")
    states.clear()
    assert "\neach of them has passed; with MODULAR_DEBUG=" in blaming(None, caught.value)
    traced = RuntimeError(
        f'gather index 9 is out of bounds\n  File "{compiler.compile.__code__.co_filename}", line 1, in f'
    )
    assert "step_08.py: RuntimeError: gather index 9" in (words := blaming(None, traced))
    assert words.endswith(
        "line 1: def compile(): raise TypeError('MAX compiles no such softmax.')\n`./run s08` checks this step"
    )
