"""A missing, another or a broken MAX is called that, by those who must run without it."""

import importlib.metadata
import os
import subprocess
import sys

import pytest

from checker.course import installed
from checker.course.paths import ROOT

NEEDED = installed.needed_version()


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def broken_max(tmp_path):
    """A folder for PYTHONPATH with a MAX whose library is missing."""
    (tmp_path / "max").mkdir()
    (tmp_path / "max" / "__init__.py").write_text("raise ImportError('libMSupport.so: cannot open shared object file')")
    return str(tmp_path)


def test_the_locked_max_is_the_one_that_is_needed():
    assert f"max=={NEEDED}" in (ROOT / "requirements" / "learn.txt").read_text().splitlines()
    assert installed.why_not_usable() == ""


def test_another_version_is_named_and_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "26.6.0")
    why = installed.why_not_usable()
    assert why.startswith(f"MAX 26.6.0 is installed, and {NEEDED} is needed. Delete the folder .venv")
    assert installed.in_words(ImportError("no such module")) == why


@pytest.mark.parametrize(
    "module",
    [
        "cli.doctor",
        "checker.course.installed",
        "checker.max_adapter.messages",
        "checker.max_adapter.contract",
    ],
)
def test_these_start_without_max(module):
    said = python("-c", f"import sys, {module}; print({{'max', 'numpy', 'pytest'}} & set(sys.modules))")
    assert said.stdout.strip() == "set()", said.stderr


def test_doctor_calls_a_broken_max_broken(broken_max):
    said = python("-m", "cli", "doctor", PYTHONPATH=broken_max)
    assert said.returncode == 1
    broken = f"no: MAX {NEEDED} is installed, but it cannot be imported (ImportError: libMSupport.so: cannot open"
    assert broken in said.stdout
    assert "please report" not in said.stdout
    assert "Traceback" not in said.stdout + said.stderr
