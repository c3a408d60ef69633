"""One prompt after another."""

import io
import sys
from types import SimpleNamespace

from play.generation import generate


def test_every_prompt_has_a_seed_of_its_own_so_that_the_same_one_goes_on_otherwise(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Call\nCall\n\nno more\n"))
    writer = SimpleNamespace(write=lambda prompt, settings: iter([" me", f" {settings.seed}"]))
    generate.converse(writer, SimpleNamespace(seed=5), print)
    assert capsys.readouterr().out == "Call me 5\nCall me 6\n"
