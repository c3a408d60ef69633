"""What is read of claims in the text of their file."""

import pytest

from checker.course import steps
from checker.course.check_file import claims_of
from checker.course.steps import Step
from checker.stages import ClaimKind


def test_a_claim_has_the_kind_that_its_marker_says_and_another_decorator_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(steps, "TESTS", tmp_path)
    claim = "@about('f')\n{}def test_f(): pass\n"
    (tmp_path / "test_step_90.py").write_text(claim.format("@pytest.mark.compiled\n"))
    assert claims_of(Step("step_90")) == {"test_f": ClaimKind.COMPILED}
    (tmp_path / "test_step_91.py").write_text(claim.format("@pytest.mark.compiled()\n"))
    with pytest.raises(ValueError, match=r"test_step_91.py: test_f has @pytest.mark.compiled\(\)"):
        claims_of(Step("step_91"))
