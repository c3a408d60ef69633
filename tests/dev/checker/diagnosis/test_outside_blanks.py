"""What of a file is not as the step gives it."""

import pytest

from checker.course.source import Source
from checker.diagnosis.outside_blanks import changes_outside_blanks

SOLUTION = '''\
LIMIT = 3
TABLE = {
    "a": 1,
    "b": 2,
}


class Thing:
    size: int = 2

    def area(self, factor: float = 1.5) -> float:
        """Return it."""
        base = 2 * self.size
        # Multiply. (1 line)
        return base * factor


def helper(x):
    x = x + 1
    if x > 1:
        x = 1
    return x


def apart(
    one, other
):
    # Subtract. (1 line)
    return one - other
'''


@pytest.mark.parametrize(
    ("before", "after", "name", "line", "instead"),
    [
        ("LIMIT = 3", "LIMIT = 4", "LIMIT", 1, "LIMIT = 3"),
        ('"b": 2', '"b": 3', "TABLE", 4, '"b": 2,'),
        ("size: int = 2", "size: int = 5", "Thing.size", 9, "size: int = 2"),
        ("base = 2 *", "base = 3 *", "Thing.area", 13, "base = 2 * self.size"),
        ("x = x + 1", "x = x - 1  # less", "helper", 19, "x = x + 1"),
        ("if x > 1", "if x >= 1", "helper", 20, "if x > 1:"),
        ("if x > 1:\n        x = 1", "x = min(x, 1)", "helper", 20, "if x > 1: x = 1"),
        ("    x = x + 1\n", "", "helper", 18, ""),
        ("one, other\n", "other, one\n", "apart", 26, "one, other"),
        ("return base * factor", "return base + factor", "", 0, ""),
        ('"""Return it."""', '"""Return the area."""', "", 0, ""),
        ('        """Return it."""\n', "", "", 0, ""),
        ('"""Return it."""\n        base = 2 *', "base = 3 *", "Thing.area", 12, "base = 2 * self.size"),
        ("    # Subtract", '    """Return it."""\n    # Subtract', "", 0, ""),
        ("    x = x + 1\n", '    """Return it."""\n    x = x + 1\n', "", 0, ""),
        ("    x = x + 1\n", '    """Return it."""\n    x = x - 1\n', "helper", 20, "x = x + 1"),
        ("LIMIT = 3", "LIMIT = 3\nMINE = 5", "", 0, ""),
    ],
)
def test_what_differs_from_what_is_given_is_found(before, after, name, line, instead):
    found = changes_outside_blanks(Source(SOLUTION.replace(before, after)), Source(SOLUTION))
    assert [(each.name, each.line, each.instead) for each in found] == ([(name, line, instead)] if name else [])
    before_a_blank = {"Thing.area": 1, "apart": 0}  # so many statements are given
    assert [each.statements for each in found] == [before_a_blank.get(each.name) for each in found]
