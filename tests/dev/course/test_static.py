"""A path that is no file, and text that is no Python: one sentence, exit status 1, before anything is imported."""

import os
import time

import pytest

from checker.course.languages import Unreadable
from checker.course.languages.python import PYTHON
from checker.course.static import MOST_BYTES, read_text


def make_folder(path):
    path.mkdir()


def make_circle(path):
    path.symlink_to(path.name)


def make_fifo(path):
    os.mkfifo(path)


def make_large(path):
    path.write_text("# ten megabytes\n" * (10 * MOST_BYTES // 16))


def make_deep(path):
    path.write_text("x = " + "-" * 200_000 + "1\n")


def make_nested(path):
    path.write_text("x = " + "[" * 5000 + "]" * 5000 + "\n")


ODD = {
    make_folder: "This is a folder, not a file.",
    make_circle: "The file cannot be read:",
    make_fifo: "This is not a regular file.",
    make_large: "bytes, and a step has a few thousand",
    make_deep: "nests too deeply",
    make_nested: "too many nested",
}


def read(path):
    PYTHON.refuse(read_text(path), str(path))


@pytest.mark.parametrize(("make", "said"), ODD.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_it_is_unreadable(tmp_path, make, said):
    make(tmp_path / "step_07.py")
    with pytest.raises(Unreadable, match=said):
        read(tmp_path / "step_07.py")


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
def test_the_check_says_so_in_a_sentence_and_at_once(course, make):
    path = course.root / "steps" / "step_07.py"
    path.unlink()
    make(path)
    start = time.monotonic()
    run = course.check("s07", timeout=30)
    assert run.returncode == 1, run.stderr
    assert ODD[make] in " ".join(run.stdout.split())
    assert "Traceback" not in run.stderr
    assert time.monotonic() - start < 20  # a fifo would be waited for without end
    status = course.python("-m", "cli", "status")
    assert status.returncode == 0, status.stderr
    assert "s07  in progress" in status.stdout
