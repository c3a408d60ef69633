"""The served course that the tests of a file share: what one of them has passed changes what the page says."""

import shutil

import pytest

from tests.dev.cli.page.serving import serve
from tools.course_copy import Course


@pytest.fixture(scope="module")
def site(book, tmp_path_factory):
    """A served course with the book; a test that changes a step begins with ``site.course.write``."""
    course = Course(tmp_path_factory.mktemp("page") / "course")
    html = course.root / "book" / "html"
    shutil.copytree(book, html)
    (html / "index.html").touch()
    with serve(course, COURSE_QUIET_SECONDS="3") as served:
        yield served
