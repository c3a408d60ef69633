"""The book: what its chapters must have, and that everything it shows is still so."""

import re
from functools import cache

import pytest

from checker.course.blanks import blanks_of
from checker.course.steps import all_steps
from checker.files import ROOT
from play.book.chapters import SRC, chapters, fences, prose
from tests import test_warmup_06
from tests.dev.helpers.steps import every_step
from tools.book_maker.around import PLACES, foot_of, map_of
from tools.book_maker.directives import expand
from tools.book_maker.figures import warmup_06
from tools.book_maker.page_faults import page_faults
from tools.book_maker.transcripts import changes, renewed
from tools.course_copy import Course

PARTS = ["The idea", "By hand", "In MAX", "Write it", "Check it", "Hints", "When it fails", "The model so far"]
OPTIONAL_PARTS = ["Why this way?", "Exercises", "The solution"]
FIGURE = re.compile(r"^\{\{figure (\w+\.\w+):", re.MULTILINE)
HINTS = ["Hint 1 of 3: the idea", "Hint 2 of 3: the operation", "Hint 3 of 3: the line"]

every_chapter = pytest.mark.parametrize("chapter", [path.name for path in chapters()])


@cache
def source(chapter):
    return (SRC / chapter).read_text()


def headings(chapter, level):
    marks = "#" * level + " "
    return [line.removeprefix(marks) for _, line in prose(chapter, source(chapter)) if line.startswith(marks)]


def test_the_summary_lists_every_chapter_by_its_title_and_in_order():
    listed = re.findall(r"^(?:- )?\[(.*)\]\((.*)\.md\)$", (SRC / "SUMMARY.md").read_text(), re.MULTILINE)
    names = [name for _, name in listed]
    assert [name for name in names if name.startswith(("step", "warmup"))] == [step.name for step in all_steps()]
    assert sorted(names) == sorted(path.stem for path in chapters())
    for title, name in listed:
        assert headings(f"{name}.md", 1) == [title]


@every_step
def test_the_chapter_of_a_step_has_all_its_parts(step):
    text, blanks = source(step.chapter.name), blanks_of(step)
    (title,) = headings(step.chapter.name, 1)
    assert re.fullmatch(rf"{'Warm-up' if step.is_warmup else 'Step'} {step.number}: \S.*[^.]", title)
    parts = headings(step.chapter.name, 2)
    assert [re.sub("In (NumPy|Mojo|Python)$", "In MAX", part) for part in parts[: len(PARTS)]] == PARTS
    assert parts[len(PARTS) :] == [part for part in OPTIONAL_PARTS if part in parts]
    hints = re.findall(r'^<details class="hint"><summary>(.*?)</summary>\n\n(.*?)\n\n</details>$', text, re.M | re.S)
    assert [summary for summary, _ in hints] == HINTS
    for summary, hint in hints:
        assert re.findall(r"^- \*\*`([^`]+)`\*\*:", hint, re.MULTILINE) == [blank.label for blank in blanks], summary
        assert "{{" not in hint
    short = step.task if step.is_warmup else step.number
    assert text.count(f"{{{{skeleton {short}}}}}") == 1
    (solution,) = re.findall(r'<details class="solution"><summary>The solution</summary>(.*?)</details>', text, re.S)
    path = re.escape(str(step.solution_file.relative_to(ROOT)))
    shown = re.findall(rf"^\{{\{{code {path}(?: (\S+))?\}}\}}$", solution, re.MULTILINE)
    for blank in blanks:
        around = blank.function.split(".")
        assert {"", *(".".join(around[:end]) for end in range(1, len(around) + 1))} & {*shown}, blank.function


@every_chapter
def test_a_chapter_can_be_built(chapter):
    expand(chapter, source(chapter), faults := [])
    assert [*map(str, [*faults, *page_faults(chapter, source(chapter))])] == []
    known = {"python", "mojo", "text", "console", "sh", "json", "toml"}
    assert {fence.info for fence in fences(chapter, source(chapter))} <= known


def test_every_step_is_on_the_map_and_a_foot_leads_on():
    assert all(f"You are here: {where}." in map_of(page) for page, (_, where) in PLACES.items())
    assert PLACES.keys() == {step.name for step in all_steps()}
    assert foot_of("a", [("a", "A"), ("b", "B"), ("step_03", "C")]).count("](b.md) · Next on the fast path: [C](") == 1
    ways = {
        page: foot_of(page, [(page, "A"), ("step_04", "B")]).split("\n")[2].partition(":")[0]
        for page in ("a", "step_03")
    }
    assert ways == {"a": "Next page", "step_03": "Next page, on the fast path too"}
    assert "on the fast path too: [B](setup.md)" in foot_of("introduction", [("introduction", "A"), ("setup", "B")])


def test_every_figure_is_shown():
    drawn = {
        f"{module.stem}.{name}"
        for module in (ROOT / "tools" / "book_maker" / "figures").glob("[a-z]*.py")
        for name in re.findall(r"^def ([a-z]\w*)\(draw: Drawing\) -> None:", module.read_text(), re.MULTILINE)
    }
    assert drawn == {name for path in chapters() for name in FIGURE.findall(source(path.name))}


def test_the_worked_example_that_is_drawn_is_the_one_that_is_checked():
    assert warmup_06.LOWEST == test_warmup_06.SMALL


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("book") / "course")


@pytest.mark.slow
@pytest.mark.sampled
@every_chapter
def test_what_a_chapter_shows_is_what_is_printed_now(chapter, copy, pytestconfig):
    if chapter == "ablations.md" and not pytestconfig.option.nightly:
        pytest.skip("measures for minutes; ./run nightly runs it")
    now = renewed(chapter, source(chapter), copy)
    assert now == source(chapter), changes(chapter, source(chapter), now)
