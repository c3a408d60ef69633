"""What ``try-max`` makes of an answer; that it builds an environment is tried by running it."""

import json
import re

import pytest

from checker.course.installed import needed_version
from checker.course.steps import find_step
from cli.processes import Ended
from tools import try_max


def test_the_copy_asks_for_the_other_version(tmp_path):
    course = try_max.copy_of_the_course(tmp_path / "course", "1.2.3")
    project = (course / "pyproject.toml").read_text()
    assert '"max==1.2.3"' in project
    assert '"max[serve]==1.2.3"' in project
    assert needed_version() not in project
    assert (course / "solutions" / "solution_07.py").is_file()
    assert not (course / ".venv").exists()


def test_a_step_passes_fails_or_is_not_reached(tmp_path, monkeypatch):
    why = {"about": "causal_mask", "sentence": "A | B", "line": 3}
    failed = {"verdict": "fail", "file": "solutions/solution_02.py", "rows": [], "explanations": [why], "said": []}
    errors = "Traceback\nImportError: no MAX"
    ends = iter(
        [
            Ended(0, '{"verdict": "pass"}', ""),
            Ended(1, json.dumps(failed), ""),
            Ended(2, "", errors),
            Ended(None, "", ""),
        ]
    )
    monkeypatch.setattr(try_max, "run", lambda *arguments, **options: next(ends))
    answers = [try_max.check(tmp_path, tmp_path, find_step("s02"), 3) for _ in range(4)]
    assert answers[0] == ("pass", "")
    assert answers[1] == ("fail", r"causal_mask: A \| B")
    assert answers[2:] == [("fail", "ImportError: no MAX"), ("not reached", "no answer within 3 s")]


@pytest.mark.nightly
def test_the_version_before_this_one_passes_some_steps(capsys):
    """26.6.0 has no graph inputs in a list, so step 14 fails; an environment of its own is built for it."""
    assert try_max.try_max("26.6.0", steps=[find_step(name) for name in ("w01", "s02", "s14")]) == 1
    answers = dict(re.findall(r"^\| (\w\d\d) \| ([\w ]+) \|", capsys.readouterr().out, re.MULTILINE))
    assert answers == {"w01": "pass", "s02": "pass", "s14": "fail"}
