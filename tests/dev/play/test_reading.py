"""``./run try`` and ``./run python``: the book's blocks, run as a reader runs them."""

import re
import shutil
import subprocess
import sys

import pytest

from checker.course.paths import ROOT
from checker.course.steps import find_step
from play.reading.blocks import Block, blocks_of, run
from play.reading.trying import CHAPTERS, NothingToTry, find_chapter
from tools.book_maker.chapters import fences, in_hint


def test_blocks_run_in_one_module_up_to_the_first_that_fails():
    blocks = [Block(3, "x = 2\n"), Block(7, "print(x + 1)\n"), Block(9, "x / 0\n"), Block(12, "print('never')\n")]
    ran = list(run(blocks, "a_chapter.md"))
    assert [one.printed for one in ran] == ["", "3\n", ""]
    assert 'a_chapter.md", line 9' in ran[-1].error
    assert ran[-1].error.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize("chapter", sorted(CHAPTERS.glob("*.md")), ids=lambda path: path.stem)
def test_the_blocks_are_those_whose_output_the_book_shows(chapter):
    text = chapter.read_text()
    wanted = [
        fence for fence in fences(chapter.name, text) if fence.info == "python" and not in_hint(text, fence.first)
    ]
    assert [(block.line, block.source) for block in blocks_of(chapter)] == [(one.first + 1, one.text) for one in wanted]


@pytest.mark.parametrize("name", ["08", "s08", "step_08"])
def test_a_chapter_is_found_by_any_of_its_names(name):
    assert find_chapter(name) == find_step("08").chapter


def test_a_chapter_that_is_not_there_is_refused():
    with pytest.raises(NothingToTry, match=r"there is no chapter 'poems'; choose from .*heads"):
        find_chapter("poems")


@pytest.mark.slow
def test_a_chapter_runs_on_the_readers_step_or_on_the_solution(course):
    shutil.copytree(CHAPTERS, course.root / "book" / "src", dirs_exist_ok=True)

    def tried(*arguments):
        return course.python("-m", "cli", "try", "w01", *arguments)

    untouched = tried()
    assert untouched.returncode == 0, untouched.stderr
    assert "steps/warmup_01.py is not written yet, so the solution stands in" in untouched.stderr
    course.write("w01", find_step("w01").solution_file.read_text() + "\nprint('this is mine')\n")
    assert "this is mine" in tried().stdout
    assert "this is mine" not in tried("--solution").stdout
    course.write("w01", find_step("w01").solution_file.read_text() + "\nraise OSError('mine')\n")
    failed = tried()
    assert failed.returncode == 1
    assert "OSError: mine" in failed.stderr


@pytest.mark.slow
def test_what_is_printed_is_what_the_book_shows():
    said = subprocess.run(
        [sys.executable, "-m", "cli", "try", "08", "--solution"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    shown = re.findall(r"```text\n(.*?)```", find_step("08").chapter.read_text(), re.DOTALL)
    assert shown
    assert all(block in said.stdout for block in shown)


def test_the_prompt_answers_an_operation_of_max():
    said = subprocess.run(
        [sys.executable, "-m", "cli", "python"],
        cwd=ROOT,
        input="print(F.softmax(Tensor.from_dlpack(np.ones((1, 4), np.float32))))\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert "0.25" in said.stdout
    assert "Traceback" not in said.stderr
