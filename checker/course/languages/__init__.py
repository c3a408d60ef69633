"""The languages that the file of a step can be written in, as far as a file is read without running it.

In comes the text of a file; out go its functions and their lines, what it means, what is still to write.
``course`` imports it, and whatever else reads a learner's file; it imports nothing of ours.
"""

from checker.course.languages.language import Function, Language, Line, Location, Unreadable
from checker.course.languages.mojo import MOJO
from checker.course.languages.python import PYTHON

LANGUAGES = {language.suffix: language for language in (PYTHON, MOJO)}

__all__ = ["LANGUAGES", "MOJO", "PYTHON", "Function", "Language", "Line", "Location", "Unreadable"]
