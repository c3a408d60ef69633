"""Nothing that people write is refused by MAX's compiler alone, after the check has said yes to what it traced."""

import pytest

from checker.course.steps import Step, steps_in_python, uses_max
from checker.max_adapter import runtime
from tools.surveys import compiling

pytestmark = pytest.mark.slow


@pytest.mark.nightly
@pytest.mark.parametrize("step", [step for step in steps_in_python() if uses_max(step)], ids=lambda step: step.name)
def test_what_is_traced_can_be_compiled(step: Step):
    runtime.prepare()
    counted = compiling.tally(step)
    assert counted.traced > 0 or step.name == "step_13"  # it compiles nothing
    assert counted.refused == {}


def test_a_refusal_is_found(monkeypatch):
    """As it would be, if the compiler refused every graph."""

    def refuse(graphs, index):
        raise RuntimeError("no kernel")

    monkeypatch.setattr(compiling.graphs, "compile_together", refuse)
    runtime.prepare()
    counted = compiling.tally(Step("step_02"))
    assert counted.attempts >= counted.traced >= counted.graphs > 0
    assert set(counted.refused.values()) == {"RuntimeError: no kernel"}
    assert len(counted.refused) == counted.traced
