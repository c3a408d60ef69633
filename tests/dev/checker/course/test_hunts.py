"""Hunts: which mistake is drawn, what is kept of it, and that nothing is lost that a learner wrote."""

import json

import pytest

from checker.course import hunts, progress
from checker.course.hunts import Hunted, Hunts

COPIES = {f"The {name} is wrong.": f"{name} = 1\n" for name in ("scale", "mask", "norm")}


@pytest.fixture
def hunted(tmp_path, monkeypatch):
    """Warm-up 01, with files of its own."""
    monkeypatch.setattr(hunts, "STEPS", tmp_path)
    monkeypatch.setattr(progress, "FILE", tmp_path / ".course" / "progress.json")
    return Hunted("warmup_01")


def test_where_the_copy_is_and_what_checks_it():
    steps = [Hunted(name) for name in ("step_07", "step_21", "warmup_01")]
    assert [step.learner_file.name for step in steps] == ["hunt_07.py", "hunt_21.mojo", "hunt_w01.py"]
    assert [step.task for step in steps] == ["hunt 07", "hunt 21", "hunt w01"]


def test_no_mistake_comes_twice_until_all_have(hunted):
    for _ in range(2):
        drawn = []
        for _ in COPIES:
            assert hunted.begin(COPIES) is None, "nobody has edited a copy"
            drawn.append(hunted.hunts.mistake)
            assert hunted.learner_file.read_text() == COPIES[drawn[-1]]
        assert {*drawn} == COPIES.keys()
    hunted.begin({**COPIES, "A new one.": "new = 1\n"})
    assert hunted.hunts.mistake == "A new one."


def test_a_seed_draws_the_same_for_everybody(hunted):
    drawn = set()
    for before in (Hunts(), Hunts(), None):
        if before:
            hunted.note(before)
        hunted.begin(COPIES, seed=5)
        drawn.add(hunted.hunts.mistake)
    assert len(drawn) == 1, "also where it has come before"
    assert [*hunted.hunts.seen] == [*drawn]


def test_what_a_learner_wrote_is_kept(hunted):
    hunted.begin(COPIES)
    another = next(copy for name, copy in COPIES.items() if name != hunted.hunts.mistake)
    for written in (another.encode(), b"mine = 1\n", b"\xff"):
        hunted.learner_file.write_bytes(written)
        assert hunted.begin(COPIES).read_bytes() == written
    hunted.learner_file.write_text("repaired = 1\n")
    hunted.end("repaired = 1\n")
    assert hunted.begin(COPIES) is None, "it has passed as it is"
    hunted.learner_file.unlink()
    assert hunted.hunts.mistake == "", "a copy that is gone ends the hunt"
    assert hunted.begin(COPIES) is None


def test_the_end_tells_the_time_and_the_mistake_and_is_counted(hunted, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(hunts.time, "time", lambda: now)
    for passed, words in (("scale = 2\n", "Found"), (None, "Given up"), ("scale = 2\n", "Found")):
        hunted.begin(COPIES)
        mistake, now = hunted.hunts.mistake, now + 192.4
        assert hunted.end(passed) == f"{words} after 3 min 12 s: {mistake}"
    assert (hunted.hunts.mistake, hunted.hunts.found, hunted.hunts.given_up) == ("", 2, 1)
    progress.forget(hunted)
    assert hunted.hunts.found == 2, "a step that begins anew need not draw what came before"


def test_a_name_is_guessed_and_the_hunt_goes_on(hunted):
    hunted.begin(COPIES, seed=1)
    mistake = hunted.hunts.mistake
    wrong = [name for name in COPIES if name != mistake]
    assert [hunted.guess(name) for name in wrong] == [f"It is another one; that was guess {at}." for at in (1, 2)]
    for guess in (mistake, wrong[0]):
        assert hunted.guess(guess) == f"Named at guess 3, after 0 s: {mistake}", "it is known from then on"
    assert hunted.end("repaired = 1\n") == f"Repaired after 0 s: {mistake}"
    assert (hunted.hunts.found, hunted.hunts.named, hunted.hunts.given_up) == (0, 1, 0), "it counts once"
    hunted.begin(COPIES)
    assert (hunted.hunts.guesses, hunted.hunts.is_named) == (0, False)


def test_what_another_version_kept_counts_as_nothing(hunted):
    hunted.begin(COPIES)
    progress.FILE.write_text(json.dumps({"hints": {}, "hunts": {"warmup_01": {"other": 1}}}))
    assert hunted.hunts == Hunts()
