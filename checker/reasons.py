"""Why a claim does not pass, or a file cannot be loaded: one value, from the child's outcome to the verdict."""

from __future__ import annotations

from dataclasses import dataclass

from checker.course.reading import Location


@dataclass(frozen=True)
class Reason:
    """Why a claim does not pass, or a file cannot be loaded.

    Attributes:
        sentence: the reason, in a sentence or two.
        location: the place in the file that it is about.
        has_numbers: whether there are wrong numbers, which ``--show`` shows.
        error_key: the same for two errors that differ in sizes alone; nothing if there is no error.
        comes_from_max: whether MAX has raised the error, or lacks something that the file asks for.
    """

    sentence: str
    location: Location | None = None
    has_numbers: bool = False
    error_key: str = ""
    comes_from_max: bool = False
