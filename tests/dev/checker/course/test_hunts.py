"""Hunts: which mistake is drawn, what is kept of it, and that nothing is lost that a learner wrote."""

import json

import pytest

from checker.course import progress, steps
from checker.course.hunts import Hunt
from checker.course.progress import SavedHunts, forget
from checker.files import replacing

COPIES = {f"The {name} is wrong.": f"{name} = 1\n" for name in ("scale", "mask", "norm")}
ANOTHER = {"A new one.": "new = 1\n"}
KEYS = {sentence: f"key of {copy}" for sentence, copy in {**COPIES, **ANOTHER}.items()}


@pytest.fixture
def hunt(tmp_path, monkeypatch):
    """Warm-up 01, with files of its own."""
    monkeypatch.setattr(steps, "STEPS", tmp_path)
    monkeypatch.setattr(progress, "FILE", tmp_path / ".course" / "progress.json")
    return Hunt("warmup_01", KEYS)


def in_file(hunt):
    """What the file has of the step's hunts."""
    return json.loads(progress.FILE.read_text())["hunts"][hunt.step.name]


def write_in_file(hunt, **changed):
    """Change what the file has of the step's hunts."""
    progress.FILE.write_text(json.dumps({"hunts": {hunt.step.name: {**in_file(hunt), **changed}}}))


def test_where_the_copy_is_and_what_checks_it():
    copies = [Hunt(name, KEYS).copy for name in ("step_07", "step_21", "warmup_01")]
    assert [copy.learner_file.name for copy in copies] == ["hunt_07.py", "hunt_21.mojo", "hunt_w01.py"]
    assert [copy.task for copy in copies] == ["hunt 07", "hunt 21", "hunt w01"]
    assert copies[0] != Hunt("step_07", KEYS).step


def test_no_mistake_comes_twice_until_all_have(hunt):
    for _ in range(2):
        drawn = []
        for _ in COPIES:
            assert hunt.begin(COPIES) is None, "nobody has edited a copy"
            drawn.append(hunt.saved().mistake)
            assert hunt.copy.learner_file.read_text() == COPIES[drawn[-1]]
        assert {*drawn} == COPIES.keys()
    hunt.begin({**COPIES, **ANOTHER})
    assert hunt.saved().mistake == "A new one."


def test_a_seed_draws_the_same_for_everybody(hunt):
    drawn = set()
    for before in (SavedHunts(), SavedHunts(), None):
        if before:
            hunt.save(before)
        hunt.begin(COPIES, seed=5)
        drawn.add(hunt.saved().mistake)
    assert len(drawn) == 1, "also where it has come before"
    assert [*hunt.saved().seen] == [*drawn]


def test_what_a_learner_wrote_is_kept(hunt):
    hunt.begin(COPIES)
    another = next(copy for name, copy in COPIES.items() if name != hunt.saved().mistake)
    for written in (another.encode(), b"mine = 1\n", b"\xff"):
        hunt.copy.learner_file.write_bytes(written)
        assert hunt.begin(COPIES).read_bytes() == written
    hunt.copy.learner_file.write_text("repaired = 1\n")
    hunt.end("repaired = 1\n")
    assert hunt.begin(COPIES) is None, "it has passed as it is"
    hunt.copy.learner_file.write_bytes(b"\xef\xbb\xbfrepaired = 2\r\n")  # as editors on Windows write it
    hunt.end("repaired = 2\n")
    assert hunt.begin(COPIES) is None, "it has passed as it is"
    hunt.copy.learner_file.unlink()
    assert hunt.saved().mistake == "", "a copy that is gone ends the hunt"
    assert hunt.begin(COPIES) is None


def test_a_hunt_that_cannot_be_saved_leaves_the_last_one_as_it_was(hunt, monkeypatch):
    hunt.begin(COPIES)
    saved, text = hunt.saved(), hunt.copy.learner_file.read_text()
    monkeypatch.setattr(progress, "replacing", lambda path: replacing(path / "no folder"))
    with pytest.raises(OSError, match="no folder"):
        hunt.begin(COPIES)
    assert (hunt.saved(), hunt.copy.learner_file.read_text()) == (saved, text)
    assert [*steps.STEPS.glob("hunt_*")] == [hunt.copy.learner_file]


def test_the_end_tells_the_time_and_the_mistake_and_is_counted(hunt, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(progress.time, "time", lambda: now)
    for passed, words in (("scale = 2\n", "Found"), (None, "Given up"), ("scale = 2\n", "Found")):
        hunt.begin(COPIES)
        mistake, now = hunt.saved().mistake, now + 192.4
        assert hunt.end(passed) == f"{words} after 3 min 12 s: {mistake}"
    assert (hunt.saved().mistake, hunt.saved().found, hunt.saved().given_up) == ("", 2, 1)
    forget(hunt.step)
    assert hunt.saved().found == 2, "a step that begins anew need not draw what came before"


def test_a_name_is_guessed_and_the_hunt_goes_on(hunt):
    hunt.begin(COPIES, seed=1)
    mistake = hunt.saved().mistake
    wrong = [name for name in COPIES if name != mistake]
    assert [hunt.guess(name) for name in wrong] == [f"It is another one; that was guess {at}." for at in (1, 2)]
    named = f"Named at guess 3, after 0 s: {mistake}"
    assert (hunt.guess(mistake), hunt.how_named()) == (named, named)
    assert hunt.end("repaired = 1\n") == f"Repaired after 0 s: {mistake}"
    assert (hunt.saved().found, hunt.saved().named, hunt.saved().given_up) == (0, 1, 0), "it counts once"
    hunt.begin(COPIES)
    assert (hunt.saved().guesses, hunt.saved().is_named) == (0, False)


def test_a_mistake_is_saved_by_its_key_so_that_its_sentence_can_be_mended(hunt):
    hunt.begin(COPIES)
    mistake = hunt.saved().mistake
    assert (in_file(hunt)["mistake"], in_file(hunt)["seen"]) == (KEYS[mistake], [KEYS[mistake]])
    mended = {sentence: sentence.replace("The", "Its") for sentence in KEYS}
    hunt_later = Hunt(hunt.step.name, {mended[sentence]: key for sentence, key in KEYS.items()})
    assert (hunt_later.saved().mistake, hunt_later.saved().seen) == (mended[mistake], (mended[mistake],))


def test_a_mistake_that_the_course_does_not_know_any_more_is_not_hunted_for(hunt):
    hunt.begin(COPIES)
    hunt.copy.learner_file.write_text("mine = 1\n")
    write_in_file(hunt, mistake="its key")
    assert (hunt.saved().mistake, hunt.is_gone()) == ("", False)
    assert hunt.begin(COPIES).read_text() == "mine = 1\n", "what was written is kept"
