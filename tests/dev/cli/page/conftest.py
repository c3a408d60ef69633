"""The served course that the tests of the page share."""

import pytest

from tests.dev.cli.page.serving import make_course, serve


@pytest.fixture(scope="session")
def site(book, tmp_path_factory):
    """A served course; a test that changes a step begins with ``site.course.write``."""
    course = make_course(tmp_path_factory.mktemp("page") / "course", book)
    with serve(course, environment={"COURSE_QUIET_SECONDS": "3"}) as served:
        yield served
