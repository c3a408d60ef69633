"""What the tests of the finished model share."""

import shutil

import pytest

from checker.course.paths import ROOT


@pytest.fixture
def course(course):
    """A copy of the course that also has the chapters and the scripts of the book, which pages are made of."""
    for folder in ("src", "theme"):
        shutil.copytree(ROOT / "book" / folder, course.root / "book" / folder, dirs_exist_ok=True)
    return course
