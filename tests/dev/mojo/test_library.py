"""A kernel as a module: what is compiled is kept, a blank is not called, and what does not compile is reported."""

import numpy as np
import pytest

from checker.course.languages import Unreadable
from checker.course.steps import Step
from checker.mojo import library
from checker.mojo.library import compiled, load_kernel

pytestmark = pytest.mark.slow

STEP = Step("step_21")
SOLUTION = STEP.solution_file.read_text()


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "KEPT", tmp_path / "kept")
    return tmp_path / "kept"


def loaded(source, tell=lambda what, seconds: None):
    return load_kernel(STEP, "graded.kernel", source, "steps/step_21.mojo", tell)


def test_a_kernel_is_compiled_once(kept):
    events = []
    for _ in range(2):
        kernel = loaded(SOLUTION, lambda what, seconds: events.append(seconds is None))
        assert kernel.online_softmax(np.zeros(3), 0, 1)[2] == 4
    assert events == [True, False]
    assert len([*kept.iterdir()]) == 1


def test_what_does_not_compile_is_told_and_not_kept(kept):
    with pytest.raises(Unreadable) as refused:
        compiled(STEP, SOLUTION.replace("exp(maximum - new)", "expf(maximum - new)"))
    assert str(refused.value).startswith("Mojo: use of unknown declaration 'expf'")
    assert refused.value.location.instead == "var factor = exp(maximum - new)"
    assert not kept.exists()
