"""The languages that the file of a step can be written in, as far as a file is read without running it.

In comes the text of a file; out go its functions and their lines, what it means, and why it cannot be read.
"""

from checker.course.languages.language import Function, Language, NotWritten
from checker.course.languages.mojo import MOJO
from checker.course.languages.python import PYTHON

__all__ = ["MOJO", "PYTHON", "Function", "Language", "NotWritten"]
