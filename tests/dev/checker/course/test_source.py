"""What Python makes of the text of a file."""

import ast

from checker.course.source import Source


def test_lines_are_those_that_python_counts():
    source = Source("a = 1  # \u2028 and \x0c\nb = 2\n")
    assert source.lines[source.tree.body[1].lineno - 1] == "b = 2"


def test_a_new_tree_may_be_changed():
    source = Source("a = 1\n")
    ast.increment_lineno(source.new_tree(), 5)
    assert source.tree.body[0].lineno == 1
