"""What ``try-max`` makes of an answer; that it builds an environment is tried by running it."""

import re
import subprocess
import sys

import pytest

from checker.course.installed import needed_version
from checker.course.paths import ROOT
from checker.course.steps import find_step
from tools import try_max


def test_the_copy_asks_for_the_other_version(tmp_path):
    course = try_max.copy_of_the_course(tmp_path / "course", "1.2.3")
    project = (course / "pyproject.toml").read_text()
    assert '"max==1.2.3"' in project
    assert '"max[serve]==1.2.3"' in project
    assert needed_version() not in project
    assert (course / "solutions" / "solution_07.py").is_file()
    assert not (course / ".venv").exists()


def test_the_reason_is_the_first_claim_denied_or_the_last_words():
    assert (
        try_max.first_failure("a\n\n  pass  it is\n  fail   __init__  A | B\n  fail  C\n\nNo.")
        == "fail __init__ A \\| B"
    )
    assert try_max.first_failure("a\n\nNo verdict: nothing\nwas heard.") == "No verdict: nothing was heard."
    assert try_max.first_failure("") == "it said nothing"


def test_steps_are_answered_with_pass_fail_or_not_reached(tmp_path, monkeypatch):
    told = iter([try_max.Told(0, "Yes"), try_max.Told(1, "No."), try_max.Told(None, "")])
    monkeypatch.setattr(try_max, "run", lambda *arguments, **options: next(told))
    tried = list(try_max.try_steps(tmp_path, tmp_path, [find_step(name) for name in ("w01", "s02", "s03")]))
    assert [one.answer for one in tried] == ["pass", "fail", "not reached"]
    assert tried[2].why == f"no answer within {try_max.EACH_SECONDS:.0f} s"


def test_what_runs_too_long_is_ended_with_all_that_it_started(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    assert try_max.run(tmp_path, ROOT, "http.server", "0", limit=1).status is None


def test_without_a_next_version_nothing_is_tried(monkeypatch, capsys):
    monkeypatch.setattr(try_max, "newest", needed_version)
    assert try_max.try_max(try_max.NEXT) == 0
    assert f"MAX {needed_version()} is the newest" in capsys.readouterr().out


def test_the_next_version_is_the_one_that_pip_would_install(monkeypatch):
    monkeypatch.setattr(
        try_max.subprocess,
        "run",
        lambda command, **options: subprocess.CompletedProcess(
            command, 0, b'{"install": [{"metadata": {"name": "max", "version": "99.1.0.dev1"}}]}'
        ),
    )
    assert try_max.newest() == "99.1.0.dev1"


@pytest.mark.nightly
def test_the_version_before_this_one_passes_the_steps_that_contributing_says(capsys):
    """26.6.0 has no graph inputs in a list, so step 14 says no; an environment of its own is built for it."""
    assert try_max.try_max("26.6.0", steps=[find_step(name) for name in ("w01", "s02", "s14")]) == 1
    answers = dict(re.findall(r"^\| (\w\d\d) \| ([\w ]+) \|", capsys.readouterr().out, re.MULTILINE))
    assert answers == {"w01": "pass", "s02": "pass", "s14": "fail"}
