"""Nothing that a learner runs looks up a name, or connects to another machine."""

import importlib
import os
import re
import shutil
import subprocess
import sys

import pytest

import checker
from checker.course.steps import ROOT, SMALL_MODEL
from tests.dev.cli.page.serving import serve
from tools.course_copy import python

pytestmark = pytest.mark.slow

SENT_ELSEWHERE = re.compile(r'htons\(53\)|/resolve/|AF_INET6?[^"]*"(?!127\.|::1")')  # or to what looks names up
SMALL = f"--text={ROOT}/README.md --layers=1 --heads=2 --width=16 --positions=16 --vocab=289 --batch=4 --steps=2"


@pytest.fixture
def tracer(tmp_path, monkeypatch):
    """What goes before a command line so that its connections are written down."""
    if not shutil.which("strace"):
        pytest.skip("strace, which sees connections, is not installed")
    monkeypatch.delenv("MODULAR_TELEMETRY_ENABLED")  # which the tests have set as the course does
    return ["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(tmp_path / "calls")]


def is_silent(tmp_path):
    return not any(map(SENT_ELSEWHERE.search, (tmp_path / "calls").read_text().splitlines()))


@pytest.mark.parametrize(
    ("line", "silent"),
    [
        (["-m", "cli", "s02", "--solution"], True),
        (["-m", "cli", "generate", "Call me", "--max-new-tokens=2"], True),
        pytest.param(["-m", "cli", "train", *SMALL.split(), "--out=small"], True, marks=pytest.mark.nightly),
        (["-c", "import socket; socket.getaddrinfo('course.invalid', 80)"], False),
    ],
)
def test_a_command_sends_nothing_elsewhere(tracer, tmp_path, monkeypatch, line, silent):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run([*tracer, sys.executable, *line], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0, is_silent(tmp_path)) == (silent, silent), done.stderr


def test_an_exported_program_sends_nothing_elsewhere(tracer, tmp_path):
    python(ROOT, "-m", "cli", "export", tmp_path / "gpt2.py", "--solution", status=0)
    call = [sys.executable, "-I", "gpt2.py", "Call me", "--max-new-tokens=2", f"--model={SMALL_MODEL}"]
    done = subprocess.run([*tracer, *call], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert is_silent(tmp_path)


def test_the_page_sends_nothing_elsewhere(tracer, tmp_path, course):
    html = course.root / "book" / "html" / "index.html"
    html.parent.mkdir(parents=True)
    html.write_text("the book")
    course.write("s02")
    with serve(course, by=tuple(tracer)) as site:
        assert site.check("step_02")[-1]["verdict"] == "pass"
        assert site.get("/api/model/sampling", {"text": "Call me"})
    assert is_silent(tmp_path)


def test_a_user_may_have_max_report(monkeypatch):
    monkeypatch.setenv("MODULAR_TELEMETRY_ENABLED", "true")
    importlib.reload(checker)
    assert os.environ["MODULAR_TELEMETRY_ENABLED"] == "true"
