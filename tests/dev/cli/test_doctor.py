"""``doctor``: what a machine lacks, and which package is missing, another or broken."""

import sys
from subprocess import CompletedProcess

import psutil
import pytest

from checker import packages
from checker.machine import why_max_cannot_run_here
from cli import doctor
from cli.doctor import Fact

PROGRAMS = {"nvidia-smi": "535.104.05", "clang": "Apple clang version 15.0.0 (clang-1500.3.9.4)"}


def test_doctor_names_too_little_memory_an_old_driver_and_an_old_compiler(monkeypatch, tmp_path):
    assert why_max_cannot_run_here() == "", "these tests run where MAX does"
    no_device = CompletedProcess([], doctor.NO_DEVICE, "", "s02: none")
    monkeypatch.setattr(doctor, "run_module", lambda *arguments, **options: no_device)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.gpu() == Fact("none that MAX can use; checks run on the CPU")
    assert doctor.compiler().is_problem
    for name, words in PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{words}'\n")
        (tmp_path / name).chmod(0o755)
    assert doctor.gpu() == Fact("none that MAX can use (NVIDIA's driver is 535; MAX needs 580); checks run on the CPU")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert doctor.compiler().words.startswith("clang 15; Mojo needs Xcode 16")
    assert doctor.compiler().is_problem
    small = psutil.virtual_memory()._replace(total=4.1e9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: small)
    assert doctor.memory() == doctor.problem("4.1 GB installed; MAX needs 8")
    full = small._replace(total=16.8e9, available=3.1e9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: full)
    assert doctor.memory() == doctor.problem("3.1 GB free of 16.8; compiling needs about 4")


def test_doctor_prints_what_is_a_problem_twice_and_what_cannot_be_found_out_is_one(monkeypatch, capsys):
    def missing():
        raise OSError("there is no such thing")

    monkeypatch.setattr(doctor, "FACTS", {"python": lambda: Fact("3.11"), "disk": missing, "metal": missing})
    monkeypatch.setattr(sys, "platform", "linux")
    assert doctor.describe_machine() == 1
    lines = ["```text", "python       3.11", "disk         no: there is no such thing", "```"]
    assert capsys.readouterr().out.splitlines() == [*lines, "To do: disk: there is no such thing"]


def test_doctor_says_whether_kernels_are_compiled(monkeypatch):
    for answer, words in ((None, "not compiled yet"), (CompletedProcess([], 0, "", ""), "compiled: ")):
        monkeypatch.setattr(doctor, "run_module", lambda *arguments, answer=answer, **options: answer)
        assert doctor.kernels().words.startswith(words)


def test_an_operation_that_ends_with_an_error_is_a_problem_and_a_slower_hook_is_none(monkeypatch):
    for status, is_problem in ((0, False), (1, False), (doctor.CANNOT_RUN, True)):
        answer = CompletedProcess([], status, "first\nsecond\n", "")
        monkeypatch.setattr(doctor, "ask_contract", lambda answer=answer: answer)
        assert doctor.contract() == Fact(f"first\n{'':<12} second", is_problem)


NEEDED = packages.needed_version()

MISSING = "libMSupport.so: cannot open shared object file"

BROKEN = {  # a package -> what doctor says, and what a check does
    "max": (f"no: MAX {NEEDED} is installed, but it cannot be imported (ImportError: {MISSING}", "cannot be imported"),
    "click": (f"no: click (ImportError: {MISSING}) cannot be imported. Delete", "run: click cannot be imported (lib"),
    "numpy": (f"numpy (ImportError: {MISSING})", ""),
    "psutil": (f"no: psutil (ImportError: {MISSING}) cannot be imported. Delete", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize(("package", "words", "said"), [(name, *words) for name, words in BROKEN.items()], ids=BROKEN)
def test_doctor_names_a_package_that_is_broken(course, tmp_path, monkeypatch, package, words, said):
    """A library of its own is missing, say."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"raise ImportError({MISSING!r})")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = course.check("doctor", status=1)
    assert words in done.stdout
    assert "To do: " in done.stdout
    assert "please report" not in done.stdout
    assert "Traceback" not in done.stdout
    if said:
        check = course.check("s02", "--solution")
        assert check.returncode
        assert said in check.stdout + check.stderr
        assert "Traceback" not in check.stdout + check.stderr
