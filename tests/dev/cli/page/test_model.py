"""What interactive figures ask the model, in a process that may do anything, since it runs a learner's steps."""

import json
import os
import sys
import threading
import time

import psutil
import pytest

from checker.course.steps import find_step
from cli.page import model
from cli.page.model import Model, NoAnswer

BEGIN = (
    "import json, os, sys, time; pipe = int(sys.argv[1])\ndef tell(words): os.write(pipe, words.encode() + b'\\n')\n"
)
ECHO = "for line in sys.stdin: tell(json.dumps({'asked': json.loads(line), 'told': sys.argv[2:], 'by': os.getpid()}))"
FIGURES = {"plan": {"steps": 40}, "facts": {"vocab": 512}, "losses": [6.0, 5.0], "evaluations": [], "samples": []}


@pytest.fixture
def asked():
    """Makes models that ask a process which does something, and closes them."""
    made = []

    def make(body, seconds=(10.0, 0.5), **idle):
        made.append(Model((sys.executable, "-c", BEGIN + body), seconds, **idle))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def done(monkeypatch):
    """The names of the steps that have passed."""
    names = []
    monkeypatch.setattr(model, "done", lambda: [find_step(name) for name in names])
    return names


def test_the_process_stays_until_other_steps_have_passed(asked, done):
    one = asked(ECHO)
    first = one.ask("attention", {"text": "x" * 30_000, "what": "another"})
    assert first["asked"]["what"] == "attention", "a question cannot rename itself"
    assert first["steps"] == first["told"] == []
    with pytest.raises(NoAnswer, match="too long"):
        one.ask("attention", {"text": "x" * 900_000})
    assert one.ask("sampling", {})["by"] == first["by"]
    done.append("s07")
    second = one.ask("sampling", {})
    assert second["steps"] == second["told"] == ["step_07"]
    assert second["by"] != first["by"]
    assert not psutil.pid_exists(first["by"])


def test_a_process_that_nobody_asks_ends_and_the_next_question_starts_another(asked, done):
    one = asked(ECHO, idle_seconds=0.5)
    pids = []
    for _ in range(2):
        for _ in range(3):  # 0.9 seconds, in which somebody asks
            time.sleep(0.3)
            pids.append(one.ask("attention", {})["by"])
        deadline = time.monotonic() + 10
        while psutil.pid_exists(pids[-1]) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert len({*pids}) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


BAD = {
    "it ends": "sys.exit(3)",
    "it says something else": "tell('hello')",
    "it says a list": "tell('[1]')",
    "it says a number that is none": "tell('{\"logits\": NaN}')",
    "it says too much": "[os.write(pipe, b'x' * 1000000) for _ in range(100)]",
    "it hangs": "time.sleep(60)",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_whatever_the_process_does_is_an_answer_and_the_next_question_finds_a_new_one(asked, done, body):
    one, pids = asked(body, seconds=(0.7, 0.7)), []
    for _ in range(2):
        begun = time.monotonic()
        with pytest.raises(NoAnswer, match="no answer in time"):
            one.ask("attention", {})
        assert time.monotonic() - begun < 5
        pids.append(one.process.process.pid)
    assert pids[0] != pids[1]
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_an_error_of_a_step_is_told(asked, done):
    one = asked("for line in sys.stdin: tell(json.dumps({'error': '<b>no</b>'}))")
    with pytest.raises(NoAnswer, match=r"^<b>no</b>$"):
        one.ask("attention", {})
    assert one.process.is_alive


def test_a_second_question_is_put_off_and_closing_ends_the_first(asked, done, monkeypatch):
    monkeypatch.setattr(model, "WAIT_SECONDS", 0.1)
    one, told = asked("time.sleep(60)", seconds=(60.0, 60.0)), []

    def ask():
        with pytest.raises(NoAnswer) as error:
            one.ask("attention", {})
        told.append(str(error.value))

    thread = threading.Thread(target=ask)
    thread.start()
    while not one.process:
        time.sleep(0.01)
    with pytest.raises(NoAnswer, match="ask again"):
        one.ask("attention", {})
    pid = one.process.process.pid
    one.close()
    thread.join(5)
    assert "no answer" in told[0]
    assert not psutil.pid_exists(pid)
    with pytest.raises(NoAnswer, match="ended"):
        one.ask("attention", {})


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "there is no my-gpt2/training.json yet"), ("{", "cannot be read"), ("[]", "cannot be read")],
)
def test_a_training_that_cannot_be_shown(asked, tmp_path, monkeypatch, text, why):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    if text is not None:
        (tmp_path / "my-gpt2").mkdir()
        (tmp_path / "my-gpt2" / "training.json").write_text(text)
    with pytest.raises(NoAnswer, match=why):
        asked("").ask("training", {})


def test_the_newest_training_is_shown(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    for seconds, name in enumerate(("letters", "my-gpt2", "a diary")):
        file = tmp_path / name / "training.json"
        file.parent.mkdir()
        file.write_text(json.dumps(FIGURES))
        os.utime(file, (seconds, seconds))
    shown = asked("").ask("training", {})
    assert (shown["folder"], shown["planned"], shown["losses"]) == ("a diary", 40, [[1, 6.0], [2, 5.0]])
