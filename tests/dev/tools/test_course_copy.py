"""Copies of the course, and what a page has done to the learner's files in one."""

import pytest

from tools.course_copy import set_up_files


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("07", "is not an instruction"),
        ("99 solved", "there is no step '99'"),
        ("07 mistake: Nobody says this", "0 mistakes of step_07 start with"),
        ("07 habit: nothing", "0 habits of step_07 start with 'nothing'"),
        ("07 fill: _atn", "step 07 has no blank '_atn'; it has"),
    ],
)
def test_an_order_for_the_learners_files_that_cannot_be_followed_is_refused(course, order, reason):
    with pytest.raises(ValueError, match=reason):
        set_up_files(course, order)
