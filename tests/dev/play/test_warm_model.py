"""What compiles the finished model refuses what it cannot compile, so that a wrong line of ``.ci/run`` is noticed."""

import re

import pytest

from checker.files import ROOT
from play import warm_model


def test_what_cannot_be_compiled_is_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["warm_model", "serving"])
    with pytest.raises(SystemExit, match="not what can be compiled: serving"):
        warm_model.main()


def test_ci_compiles_the_small_model_to_be_served():
    (model,) = re.findall(r"play\.warm_model serving (\S+)", (ROOT / ".ci" / "run").read_text())
    assert (ROOT / model / "config.json").is_file()
