"""What the child says before it has a file to run."""

import importlib

import pytest

from checker.child.main import why_not_prepared

#: What is imported -> whether its error is one of the course's own files; any other is of an installed package.
IMPORTS = {
    "solutions.solution_99": True,
    "checker.claims.nothing": True,
    "numpy.nothing": False,
    "max.nothing": False,
}


@pytest.mark.parametrize(("name", "is_of_course"), IMPORTS.items(), ids=IMPORTS)
def test_no_package_is_blamed_for_a_file_of_the_course_that_cannot_be_imported(name, is_of_course):
    with pytest.raises(ImportError) as raised:
        importlib.import_module(name)
    words = why_not_prepared(raised.value)
    assert ("please report it" in words) is is_of_course
    assert ("Delete the folder .venv" in words) is not is_of_course


def test_a_name_that_a_file_of_the_course_lacks_is_no_packages_fault():
    with pytest.raises(ImportError) as raised:
        exec("from solutions.warmup_01 import nothing")
    assert "please report it" in why_not_prepared(raised.value)
