"""A kernel as a module: what is compiled is kept, a blank is not called, and what does not compile is reported."""

import ctypes
import os

import numpy as np
import pytest

from checker.compiling import Compiler, Listener
from checker.course.reading import Unreadable
from checker.course.source import Source
from checker.course.steps import Step
from checker.errors import UserError
from checker.mojo import library
from checker.mojo.library import build_library, load_kernel

pytestmark = pytest.mark.slow

STEP = Step("step_21")
SOLUTION = STEP.read_solution().text


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "KEPT", tmp_path / "kept")
    return tmp_path / "kept"


def loaded(source):
    return load_kernel(STEP, "graded.kernel", source, "steps/step_21.mojo")


def test_a_kernel_is_compiled_once(kept, monkeypatch):
    events = []
    listener = Listener(lambda *began: events.append(began), lambda *_: events.append("ended"))
    monkeypatch.setattr("checker.compiling.listeners", [listener])
    kept.mkdir()
    (kept / "unused.so").touch()
    os.utime(kept / "unused.so", (0, 0))
    for _ in range(2):
        kernel = loaded(SOLUTION)
        assert kernel.online_softmax(np.zeros(3), 0, 1)[2] == 4
    assert events == [("your kernel", Compiler.MOJO), "ended"]
    (library,) = kept.iterdir()
    assert library.name != "unused.so"


def test_other_flags_of_the_compiler_make_another_library(kept, monkeypatch):
    monkeypatch.setattr(library, "build", lambda main, target, name: target.touch())
    before = build_library(STEP, SOLUTION)
    monkeypatch.setattr(library, "FLAGS", (*library.FLAGS, "-g"))
    assert build_library(STEP, SOLUTION) != before


def test_a_whole_number_of_numpys_is_one_for_a_c_function_too():
    for value in (3, np.int64(3), np.int32(3)):
        assert isinstance(library._argument(value), ctypes.c_int64)
    for value in (3.0, np.float32(3)):
        assert isinstance(library._argument(value), ctypes.c_float)


def test_a_function_that_only_a_comment_names_is_not_called():
    half = SOLUTION.replace("  # S\n", "  # attend_tile calls this\n")
    assert half != SOLUTION
    labels = ["online_softmax", "attend_block", "attend_tile"]
    calls = library._calls_of_written(STEP, Source(half), labels)
    assert calls == {"online_softmax": [], "attend_block": ["online_softmax"], "attend_tile": ["attend_block"]}


def test_what_does_not_compile_is_told_and_not_kept(kept):
    with pytest.raises(Unreadable) as refused:
        build_library(STEP, SOLUTION.replace("exp(row_max - new_max)", "expf(row_max - new_max)"))
    assert str(refused.value).startswith("Mojo: use of unknown declaration 'expf'")
    assert refused.value.location.instead == "var factor = exp(row_max - new_max)"
    assert not kept.exists()


def program(folder, text):
    """A ``cc`` that is this script; nothing else is found."""
    (folder / "cc").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "cc").chmod(0o755)
    return {"PATH": str(folder)}


LINKS_NOTHING = 'case "$*" in *archive*) echo "ld: cannot find -lm" >&2; exit 1 ;; esac'
MACHINES = {
    "no cc": (lambda folder: {"PATH": str(folder)}, "Mojo links by `cc`, the C compiler, and there is none. On Debian"),
    "no files for developers": (
        lambda folder: program(folder, "echo 'ld: cannot find crti.o' >&2; exit 1"),
        r"which fails: ld: cannot find crti.o. On Debian and Ubuntu: apt install gcc libc6-dev",
    ),
    "a linker that fails": (
        lambda folder: program(folder, LINKS_NOTHING),
        "Mojo cannot compile here: ld: cannot find -lm. On Debian and Ubuntu: apt install gcc libc6-dev",
    ),
    "no folder for what is temporary": (
        lambda folder: {"TMPDIR": str(folder / "none")},
        "Mojo cannot compile here: unable to write temporary files .* Set TMPDIR to a folder that you may write to.",
    ),
    "no place to keep it": (
        lambda folder: (folder / "kept").touch() or {},
        "Mojo cannot compile here: .*File exists: .* That place must be yours to write to.",
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize(("spoil", "words"), MACHINES.values(), ids=MACHINES)
def test_a_machine_that_cannot_compile_is_no_fault_of_the_file(kept, tmp_path, monkeypatch, spoil, words):
    for name, value in spoil(tmp_path).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=words):
        build_library(STEP, SOLUTION)


def test_what_is_kept_and_damaged_is_named(kept):
    build_library(STEP, SOLUTION).write_text("no library")
    with pytest.raises(UserError, match=r"the compiled kernel cannot be loaded: .* Delete the folder .course/mojo"):
        loaded(SOLUTION)


def test_a_check_on_such_a_machine_has_no_verdict(course, monkeypatch, tmp_path):
    course.write("s21")
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = course.check("s21", "--no-compile", status=1).stdout
    assert "No verdict: Mojo links by `cc`, the C compiler, and there is none. On Debian" in shown
    assert "fail" not in shown
