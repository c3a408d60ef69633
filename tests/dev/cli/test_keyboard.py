"""The keys of a terminal: what comes in one read, as of a busy machine, is taken apart."""

import os
import pty
import sys

import pytest

from cli.keyboard import keys_of_terminal

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


@pytest.mark.parametrize(("sent", "keys"), READS.items())
def test_what_comes_in_one_read(monkeypatch, sent, keys):
    master, slave = pty.openpty()
    with os.fdopen(slave, "r+b", buffering=0) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys, "stdout", terminal)
        with keys_of_terminal() as read_keys:
            os.write(master, sent.encode())
            assert read_keys() == keys
            assert read_keys() == ""
    os.close(master)
