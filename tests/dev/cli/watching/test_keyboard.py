"""The keys of a terminal: one read may have several, as of a busy machine, and two reads may have one."""

import os
import pty
import sys
import threading

import pytest

from cli.watching import keyboard
from cli.watching.keyboard import keys_of_terminal

#: What a terminal sends -> the keys that were meant.
READS = {
    "h": "h",
    "\x1bq": "\x1bq",  # Esc, and then a letter
    "\x1b\x1b": "\x1b\x1b",
    "\x1b[A": "",  # an arrow
    "\x1bOAn": "n",  # an arrow of another kind
    "\x1b[1;5Cn\x1b[3~": "n",
    "n\x1b": "n\x1b",
}


@pytest.fixture
def terminal(monkeypatch):
    """The other end of a terminal, and a function that returns which keys were pressed there."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "r+b", buffering=0) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr(sys, "stdout", stream)
        with keys_of_terminal() as read_keys:
            yield master, read_keys
    os.close(master)


@pytest.mark.parametrize(("sent", "keys"), READS.items())
def test_what_comes_in_one_read(terminal, sent, keys):
    master, read_keys = terminal
    os.write(master, sent.encode())
    assert read_keys() == keys
    assert read_keys() == ""


@pytest.mark.parametrize("sent", [("\x1b", "[A"), ("\x1b[1;", "5C"), ("n\x1bO", "A")])
def test_an_arrow_that_comes_in_two_reads_is_no_esc(terminal, monkeypatch, sent):
    monkeypatch.setattr(keyboard, "REST_SECONDS", 10)  # on a busy machine
    master, read_keys = terminal
    os.write(master, sent[0].encode())
    threading.Timer(0.01, lambda: os.write(master, sent[1].encode())).start()
    assert read_keys() == sent[0].partition("\x1b")[0]
    assert read_keys() == ""
