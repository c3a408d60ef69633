"""What interactive figures ask the model, in a process that may do anything, since it runs a learner's steps."""

import asyncio
import json
import os
import sys
import time

import psutil
import pytest

from checker.course.steps import find_step
from checker.errors import UserError
from cli.page import model
from cli.page.model import Model

pytestmark = pytest.mark.slow  # needs Starlette

ECHO = (
    "for line in sys.stdin: tell(json.dumps({'asked': json.loads(line), 'steps run': sys.argv[1:], 'by': os.getpid()}))"
)
FIGURES = {"plan": {"steps": 40}, "facts": {"vocab": 512}, "losses": [6.0, 5.0], "evaluations": [], "samples": []}


def making(body, **options):
    """Return a model that asks a process which does something."""
    begin = "import json, os, sys, time\ndef tell(words): print(words, flush=True)\n"
    return Model((sys.executable, "-c", begin + body), **options)


@pytest.fixture
def done(monkeypatch):
    """The names of the steps that have passed."""
    names = []
    monkeypatch.setattr(model, "done", lambda: [find_step(name) for name in names])
    return names


def test_the_process_stays_until_other_steps_have_passed(done):
    async def journey():
        asked = making(ECHO)
        answers = [await asked.ask("attention", {"text": "x" * 900_000, "what": "another"})]
        assert answers[0]["asked"]["what"] == "attention", "a question cannot rename itself"
        answers += await asyncio.gather(*(asked.ask("sampling", {"number": at}) for at in range(3)))
        done.append("s07")
        answers.append(await asked.ask("sampling", {}))
        await asked.close()
        return answers

    answers = asyncio.run(journey())
    assert [answer["asked"]["number"] for answer in answers[1:4]] == [0, 1, 2]
    assert [answer["steps"] for answer in answers] == [answer["steps run"] for answer in answers]
    assert answers[4]["steps"] == ["step_07"]
    pids = [answer["by"] for answer in answers]
    assert len({*pids[:4]}) == 1
    assert len({*pids}) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


BAD = {
    "it ends": "sys.exit(3)",
    "it says something else": "tell('hello')",
    "it says a list": "tell('[1]')",
    "it says too much": "[os.write(1, b'x' * 1000000) for _ in range(100)]",
    "it hangs": "time.sleep(60)",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_whatever_the_process_does_is_an_answer_and_the_next_question_finds_a_new_one(done, body):
    async def journey():
        asked, pids = making(body, seconds=(0.7, 0.7)), []
        for _ in range(2):
            begun = time.monotonic()
            with pytest.raises(UserError, match="no answer in time"):
                await asked.ask("attention", {})
            assert time.monotonic() - begun < 5
            pids.append(asked.process.pid)
        return pids

    pids = asyncio.run(journey())
    assert pids[0] != pids[1]
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_an_error_of_a_step_is_told(done):
    with pytest.raises(UserError, match=r"^<b>no</b>$"):
        asyncio.run(making("for line in sys.stdin: tell(json.dumps({'error': '<b>no</b>'}))").ask("attention", {}))


def test_the_newest_training_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    with pytest.raises(UserError, match=r"there is no my-gpt2/training.json yet"):
        model.training()
    for seconds, name in enumerate(("letters", "my-gpt2", "a diary")):
        file = tmp_path / name / "training.json"
        file.parent.mkdir()
        file.write_text(json.dumps(FIGURES))
        os.utime(file, (seconds, seconds))
    shown = model.training()
    assert (shown["folder"], shown["planned"], shown["losses"]) == ("a diary", 40, [[1, 6.0], [2, 5.0]])
    for text in ("{", "[]", "{}"):
        file.write_text(text)
        with pytest.raises(UserError, match="cannot be read"):
            model.training()
