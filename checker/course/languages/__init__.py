"""The two languages of steps, Python and Mojo, as far as a file can be read without running it.

Each takes the text of a file, and returns its functions and their lines, its meaning, or why it cannot be read.
"""

from checker.course.languages.language import Function, Language
from checker.course.languages.mojo import MOJO
from checker.course.languages.python import PYTHON

__all__ = ["MOJO", "PYTHON", "Function", "Language"]
