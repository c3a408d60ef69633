"""What is said of what MAX compiles, where no check does."""

import time

import pytest

from checker.compiling import Compiler, listeners
from checker.parent.advance import COMPILING_IS_LONG
from play.compiling_line import telling_of_compiling


def said(capsys, end):
    """Wait until something is said that ends so, and return all: on a busy machine, a timer of 1.9 s may take 3."""
    words, limit = "", time.monotonic() + 10
    while not words.endswith(end) and time.monotonic() < limit:
        time.sleep(0.1)
        words += capsys.readouterr().err
    return words


@pytest.mark.slow
def test_it_is_said_within_two_seconds_and_how_long_it_took_but_not_what_comes_from_the_cache(capsys):
    assert COMPILING_IS_LONG < 2
    with telling_of_compiling():
        (listener,) = listeners
        listener.began("a thing", Compiler.MAX)
        listener.ended("a thing", 0.0, None)
        assert capsys.readouterr().err == ""
        listener.began("a thing", Compiler.MAX)
        assert "MAX compiles what it has not run on this machine before" in said(capsys, "  compiling a thing\n")
        listener.ended("a thing", 2.0, None)
        assert capsys.readouterr().err == "  compiling a thing took 2 s\n"
        listener.began("another, 2 of 2", Compiler.MAX)
        assert said(capsys, "\n") == "  compiling another, 2 of 2\n"
        listener.ended("another, 2 of 2", 2.0, KeyboardInterrupt())
        assert capsys.readouterr().err == "", "it is not compiled"
    assert listeners == []
