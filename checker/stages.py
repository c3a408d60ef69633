"""The stages of a check, the kinds of claims that they try, and the marks that claims get."""

from enum import StrEnum


class ClaimKind(StrEnum):
    """The kind of a claim: it tries recorded numbers, numbers that are drawn anew, or a compiled module."""

    NUMBERS = "numbers"
    DRAWN = "drawn"
    COMPILED = "compiled"


class Stage(StrEnum):
    """The stages of a check, in order: each tries the claims of one kind."""

    NUMBERS = "numbers"
    DRAWN = "drawn"
    TRACING = "tracing"
    COMPILED = "compiled"
    ON_GPU = "on a GPU"  # of the compiled claims, those that ask for a device

    @property
    def kind(self) -> ClaimKind:
        """The kind of the claims that the stage tries: the last three stages try the compiled claims."""
        match self:
            case Stage.NUMBERS:
                return ClaimKind.NUMBERS
            case Stage.DRAWN:
                return ClaimKind.DRAWN
            case Stage.TRACING | Stage.COMPILED | Stage.ON_GPU:
                return ClaimKind.COMPILED


class Mark(StrEnum):
    """What a check says of a claim, or of a blank."""

    PASS = "pass"
    FAIL = "fail"
    WAITS = "waits"  # until another function is written, or works
    TRACED = "traced"  # it held as far as it was tried: up to where MAX would compile
    TODO = "todo"  # a blank that is not written
