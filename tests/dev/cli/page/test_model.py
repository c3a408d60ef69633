"""What the pictures ask the model: its process runs a learner's steps, so it may do anything, and the server goes on."""

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

pytestmark = pytest.mark.slow

ECHO = "for line in sys.stdin: tell(json.dumps({'asked': json.loads(line), 'steps told': sys.argv[2:], 'by': os.getpid()}))"
BAD = {
    "it ends": "sys.exit(3)",
    "it says something else": "tell('hello')",
    "it says a list": "tell('[1]')",
    "it says a number that is none": "tell('{\"logits\": NaN}')",
    "it says too much": "[os.write(pipe, b'x' * 1000000) for _ in range(100)]",
    "it hangs": "time.sleep(60)",
}


def process(body):
    """Return what starts a process that does this, once it is asked or at once."""
    begin = "import json, os, sys, time; pipe = int(sys.argv[1])\ndef tell(words): os.write(pipe, words.encode() + b'\\n')\n"
    return (sys.executable, "-c", begin + body)


@pytest.fixture
def asked():
    """Makes models, and closes them."""
    made = []

    def make(body, seconds=(10.0, 0.5), **idle):
        made.append(Model(process(body), seconds, **idle))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def done(monkeypatch):
    """The names of the steps that have a yes."""
    names = []
    monkeypatch.setattr(model, "done", lambda: [find_step(name) for name in names])
    return names


def test_the_process_stays_until_other_steps_have_a_yes(asked, done):
    one = asked(ECHO)
    first = one.ask("attention", {"text": "whale", "what": "another"})
    assert first["asked"] == {"text": "whale", "what": "attention"}, "a question cannot rename itself"
    assert first["steps"] == first["steps told"] == []
    assert one.ask("sampling", {})["by"] == first["by"]
    done.append("s07")
    second = one.ask("sampling", {})
    assert second["steps"] == second["steps told"] == ["step_07"]
    assert second["by"] != first["by"]
    assert not psutil.pid_exists(first["by"])


def test_a_process_that_nobody_asks_ends_and_the_next_question_starts_another(asked, done):
    one = asked(ECHO, idle_seconds=0.5)
    pids = []
    for _ in range(2):
        for _ in range(3):  # 0.9 seconds, in which somebody asks
            time.sleep(0.3)
            pids.append(one.ask("attention", {})["by"])
        ends = time.monotonic() + 10
        while psutil.pid_exists(pids[-1]) and time.monotonic() < ends:
            time.sleep(0.05)
    assert len({*pids}) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_whatever_the_process_does_is_an_answer_and_the_next_question_finds_a_new_one(asked, done, body):
    one = asked(body, seconds=(0.7, 0.7))
    pids = []
    for _ in range(2):
        start = time.monotonic()
        with pytest.raises(NoAnswer):
            one.ask("attention", {})
        assert time.monotonic() - start < 5
        pids.append(one.process.process.pid)
    assert pids[0] != pids[1]
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_question_that_nobody_reads_and_that_no_pipe_holds_is_refused(asked, done):
    one = asked(ECHO)
    assert one.ask("attention", {"text": "x" * 30_000})
    with pytest.raises(NoAnswer, match="too long"):
        one.ask("attention", {"text": "x" * 900_000})
    assert one.process.is_alive


def test_an_error_of_a_step_is_told(asked, done):
    one = asked("for line in sys.stdin: tell(json.dumps({'error': '<b>no</b>'}))")
    with pytest.raises(NoAnswer, match=r"^<b>no</b>$"):
        one.ask("attention", {})
    assert one.process.is_alive


def test_one_question_is_answered_one_waits_and_more_are_refused(asked, done, tmp_path):
    go = tmp_path / "go"
    wait = f"    while not os.path.exists({str(go)!r}): time.sleep(0.01)"
    one = asked(f"for line in sys.stdin:\n{wait}\n    tell('{{}}')", seconds=(10.0, 10.0))
    said = []

    def ask():
        try:
            said.append(one.ask("attention", {}) and "answered")
        except NoAnswer as error:
            said.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    while len(said) < len(threads) - model.MOST_WAITING:
        time.sleep(0.01)
    go.touch()
    for thread in threads:
        thread.join()
    assert said.count("answered") == model.MOST_WAITING
    assert all("ask again" in words for words in said if words != "answered")


def test_closing_ends_the_process_in_the_middle_of_an_answer(asked, done):
    one = asked("time.sleep(60)", seconds=(60.0, 60.0))
    refused = []

    def ask():
        try:
            one.ask("attention", {})
        except NoAnswer as error:
            refused.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    while not one.process:
        time.sleep(0.01)
    pid = one.process.process.pid
    one.close()
    thread.join(5)
    assert refused
    assert not psutil.pid_exists(pid)
    with pytest.raises(NoAnswer, match="ended"):
        one.ask("attention", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no my-gpt2/training.json yet"),
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"losses": [NaN]}', "cannot be read"),
        (
            '{"losses": [], "evaluations": [], "plan": {"steps": 3}, "facts": {"vocab": 8}, "samples": []}',
            "cannot be read",
        ),
    ],
)
def test_a_training_that_cannot_be_shown_is_refused_in_words(tmp_path, monkeypatch, text, said):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    if text is not None:
        (tmp_path / "my-gpt2").mkdir()
        (tmp_path / "my-gpt2" / "training.json").write_text(text)
    with pytest.raises(NoAnswer, match=said):
        model.training()


def test_a_training_is_shown_as_far_as_it_has_come(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    (tmp_path / "my-gpt2").mkdir()
    figures = {
        "plan": {"steps": 40},
        "facts": {"vocab": 512},
        "losses": [6.0, 5.0, 4.0, 3.0],
        "evaluations": [
            {"step": 0, "loss": 6.5, "bits_per_byte": 3.0},
            {"step": 2, "loss": 5.5, "bits_per_byte": 2.0},
            {"step": 4, "loss": 4.5, "bits_per_byte": 1.0},
        ],
        "samples": [{"step": 4, "text": "<b>", "seed": 1}],
    }
    (tmp_path / "my-gpt2" / "training.json").write_text(json.dumps(figures))
    shown = model.training()
    assert [one["training"] for one in shown["evaluations"]] == [None, 5.5, 3.5]
    assert shown["losses"] == [[1, 6.0], [2, 5.0], [3, 4.0], [4, 3.0]]
    assert shown["planned"] == 40
    assert shown["folder"] == "my-gpt2"


def test_of_several_trainings_the_newest_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "ROOT", tmp_path)
    figures = {"plan": {"steps": 4}, "facts": {"vocab": 8}, "losses": [1.0], "evaluations": [], "samples": []}
    for seconds, name in enumerate(("letters", "my-gpt2", "a diary")):
        file = tmp_path / name / "training.json"
        file.parent.mkdir()
        file.write_text(json.dumps(figures))
        os.utime(file, (seconds, seconds))
    assert model.training()["folder"] == "a diary"
    os.utime(tmp_path / "letters" / "training.json", (9, 9))
    assert model.training()["folder"] == "letters"
