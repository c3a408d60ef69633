"""Every program on the page on Mojo runs, and prints what stands below it."""

from itertools import pairwise

import pytest
from mojo.run import subprocess_run_mojo

from play.reading.chapters import SRC, fences

pytestmark = pytest.mark.slow

CHAPTER = "mojo.md"
FENCES = fences(CHAPTER, (SRC / CHAPTER).read_text())
PROGRAMS = [(program, printed) for program, printed in pairwise(FENCES) if program.info == "mojo"]


def test_every_program_is_followed_by_what_it_prints():
    assert len(PROGRAMS) >= 6
    assert {printed.info for _, printed in PROGRAMS} == {"text"}


@pytest.mark.third
@pytest.mark.parametrize(("program", "printed"), PROGRAMS, ids=lambda fence: f"line {fence.first}")
def test_a_program_prints_what_the_page_says(tmp_path, program, printed):
    file = tmp_path / "hello.mojo"
    file.write_text(program.text)
    ran = subprocess_run_mojo(["run", "--Werror", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert [line.rstrip() for line in ran.stdout.splitlines()] == [*printed.lines]
