"""What compiles the finished model leaves nothing to compile, and refuses what it cannot, so that CI notices it."""

import contextlib
import re
import shutil
from pathlib import Path

import pytest

from checker.files import ROOT
from cli.warm import KERNELS, WRITING
from play import warm_model
from tests.dev.helpers.commands import run_model
from tools.course_copy import python


def test_what_cannot_be_compiled_is_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["warm_model", "serving"])
    with pytest.raises(SystemExit, match="not what can be compiled: serving"):
        warm_model.main()


def test_ci_compiles_the_small_model_to_be_served():
    (model,) = re.findall(r"play\.warm_model serving (\S+)", (ROOT / ".ci" / "run").read_text())
    assert (ROOT / model / "config.json").is_file()


@pytest.mark.slow
def test_nothing_is_left_to_compile_after_warm(tmp_path, monkeypatch):
    """In a copy of all that MAX and the checks keep, where no other test writes."""
    from max import _core

    for work in (WRITING, KERNELS):  # a second each, if this machine has them
        python(ROOT, "-m", *work.command, status=0)
    folder = tmp_path / "kept"
    with contextlib.suppress(shutil.Error):  # files that another test has just renamed
        shutil.copytree(Path(_core.engine.max_cache_dir()).parent, folder)
    monkeypatch.setenv("MODULAR_CACHE_DIR", str(folder))
    before = {*folder.rglob("*")}
    writing = "generate", "Call me", "--max-new-tokens", "3"
    for arguments in (writing, (*writing, "--no-cache"), ("attention", "Call me", "--text")):
        run_model(*arguments)
        assert {*folder.rglob("*")} == before, f"{arguments} compiled something"
