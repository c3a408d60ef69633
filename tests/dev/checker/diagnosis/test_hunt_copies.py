"""What is hunted for: no copy gives its mistake away, and none of the sentences beside a mistake's name fits, too."""

import subprocess
import sys

import pytest

from checker.course.skeletons import skeleton_of
from checker.course.source import Source
from checker.course.steps import Step, all_steps
from checker.diagnosis import mistakes
from checker.diagnosis.hunt_copies import SENTENCES, copies_of, copy_with, is_longer, sentences_with, without_comment
from checker.diagnosis.mistakes import KnownMistakes
from checker.files import ROOT
from checker.outcomes import Outcome
from checker.stages import Mark
from tests.dev.helpers.steps import every_task


@pytest.mark.spread
@every_task
def test_a_copy_is_a_whole_file_without_what_a_blank_says(step: Step):
    copies, solution = copies_of(step), step.read_solution().text
    assert len(copies) > SENTENCES
    given = {*skeleton_of(step).splitlines()}
    for source in [*copies.values(), copy_with(step, {})]:
        assert step.language.stop_statement not in source
        assert [line for line in source.splitlines() if "# " in line and line not in given] == []
    assert copy_with(step, {}) not in copies.values()
    assert step.language.meaning(Source(copy_with(step, {}))) == step.language.meaning(Source(solution))


@pytest.mark.spread
@every_task
def test_the_other_sentences_are_of_mistakes_that_answer_otherwise(step: Step, sample):
    answers = KnownMistakes.recorded(step).answers
    for mistake in sample(list(copies_of(step))):
        sentences = sentences_with(step, mistake)
        assert sentences == sentences_with(step, mistake)
        assert len({*sentences}) == SENTENCES
        assert [other for other in sentences if answers[other] == answers[mistake]] == [mistake]


def test_among_few_mistakes_there_are_few_sentences(monkeypatch):
    answers = {"one": {"claim": Outcome(Mark.FAIL)}, "other": {"claim": Outcome(Mark.PASS)}}
    monkeypatch.setattr(mistakes, "read_answers", lambda step: answers)
    monkeypatch.setattr(KnownMistakes, "lies_in", {"one": {"f"}, "other": {"f"}})
    assert {*sentences_with(Step("step_07"), "one")} == {"one", "other"}


def test_the_claims_that_pass_rule_out_no_sentence_if_there_are_enough(monkeypatch):
    answers = {
        f"{at}": {"a": Outcome(Mark.FAIL, f"{at}"), "b": Outcome(Mark.PASS if at < 4 else Mark.FAIL)} for at in range(9)
    }
    monkeypatch.setattr(mistakes, "read_answers", lambda step: answers)
    monkeypatch.setattr(KnownMistakes, "lies_in", {name: {name} for name in answers})
    assert {*sentences_with(Step("step_07"), "0")} == {"0", "1", "2", "3"}


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("    x = y  # [batch]", "    x = y"),
        ("    # Only a comment's apostrophe", ""),
        ('    name = "#1"  # it\'s text', '    name = "#1"'),
        ("    return x", "    return x"),
    ],
)
def test_a_comment_is_taken_away_and_a_text_stays(line, bare):
    assert without_comment(line) == bare


@pytest.mark.slow  # ruff is in the environment dev
def test_a_copy_is_formatted_as_the_solution_is(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    for step in all_steps():
        for number, source in enumerate(copies_of(step).values()):
            (tmp_path / f"{step.name}_{number}{step.language.suffix}").write_text(source)
    done = subprocess.run([sys.executable, "-m", "ruff", "format", "--check", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    unused = [sys.executable, "-m", "ruff", "check", "--select", "F401", "--ignore-noqa", tmp_path]
    done = subprocess.run(unused, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("copy", "longer"),
    [
        ("x = f(y)\nreturn x\n", False),
        ("return x\n", False),
        ("x = y + 1\nx = f(x)\nreturn x\n", False),
        ("x = f(y)\nself.x = x\nreturn x\n", True),
        ("if y:\n    x = f(y)\nreturn x\n", True),
    ],
)
def test_a_copy_that_only_adds_lines_is_known(copy, longer):
    assert is_longer(copy, "x = f(y)\nreturn x\n") is longer
