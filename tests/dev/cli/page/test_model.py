"""What interactive figures ask the model, in a process that may do anything, since it runs a learner's steps."""

import asyncio
import os
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from checker.course.steps import find_step
from checker.errors import UserError
from cli.page import model
from cli.page.model import PageModel
from play.mine.choice import Chosen

pytestmark = pytest.mark.slow  # needs Starlette

ECHO = """
import json, os, sys
for line in sys.stdin:
    print(json.dumps({"asked": json.loads(line), "ran": sys.argv[1:], "by": os.getpid()}), flush=True)
"""

FIGURES = '{"plan": {"steps": 40}, "facts": {"vocab": 512}, "losses": [6, 5], "evaluations": [], "samples": []}'


def model_of(monkeypatch, program, names=(), **options):
    """Return a model that asks a program, where the steps of these names have passed."""
    monkeypatch.setattr(model, "done_steps", lambda: Chosen(tuple(find_step(name) for name in names)))
    return PageModel((sys.executable, "-c", program), **options)


def test_the_process_stays_until_other_steps_have_passed(monkeypatch):
    passed = []

    async def journey():
        asked = model_of(monkeypatch, ECHO, passed)
        answers = [await asked.ask("attention", {"text": "x" * 900_000, "what": "another"})]
        answers += await asyncio.gather(*(asked.ask("sampling", {"number": at}) for at in range(3)))
        passed.append("s07")
        answers.append(await asked.ask("sampling", {}))
        asked.close()
        return answers

    answers = asyncio.run(journey())
    assert answers[0]["asked"]["what"] == "attention", "a question cannot rename itself"
    assert [answer["asked"]["number"] for answer in answers[1:4]] == [0, 1, 2]
    assert [answer["steps"] for answer in answers] == [answer["ran"] for answer in answers]
    assert answers[4]["steps"] == ["step_07"]
    pids = [answer["by"] for answer in answers]
    assert len({*pids[:4]}) == 1
    assert len({*pids}) == 2
    assert not any(map(psutil.pid_exists, pids))


def test_a_process_that_says_nothing_is_ended_and_the_next_question_finds_a_new_one(monkeypatch):
    async def journey():
        asked, pids = model_of(monkeypatch, "import time; time.sleep(60)", seconds=(0.7, 0.7)), []
        for _ in range(2):
            begun = time.monotonic()
            with pytest.raises(UserError, match="no answer in time"):
                await asked.ask("attention", {})
            assert time.monotonic() - begun < 5
            pids.append(asked.process.popen.pid)
        return pids

    pids = asyncio.run(journey())
    assert pids[0] != pids[1]
    assert not any(map(psutil.pid_exists, pids))


def test_the_newest_training_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    with pytest.raises(UserError, match=r"there is no my-gpt2/training.json yet"):
        model.training()
    for seconds, (name, text) in enumerate({"letters": FIGURES, "my-gpt2": "{", "a diary": FIGURES}.items()):
        file = tmp_path / name / "training.json"
        file.parent.mkdir()
        file.write_text(text)
        os.utime(file, (seconds, seconds))
    shown = model.training()
    assert (shown["folder"], shown["planned"], shown["losses"]) == ("a diary", 40, [[1, 6.0], [2, 5.0]])
    file.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        model.training()


def test_a_training_that_is_removed_at_this_moment_is_not_the_newest(tmp_path, monkeypatch):
    file = tmp_path / "training.json"
    file.write_text(FIGURES)
    monkeypatch.setattr(model, "ROOT", SimpleNamespace(glob=lambda names: [tmp_path / "removed", file]))
    assert model.training()["planned"] == 40
