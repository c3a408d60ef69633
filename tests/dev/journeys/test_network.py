"""Nothing that a learner runs looks up a name, or connects to another machine."""

import importlib
import os
import subprocess
import sys

import pytest

import checker
from checker.files import ROOT
from tests.dev.cli.page.serving import serve
from tests.dev.helpers.connections import is_silent, traced

pytestmark = pytest.mark.slow

SMALL = f"--text={ROOT}/README.md --layers=1 --heads=2 --width=16 --positions=16 --vocab=289 --batch=4 --steps=2"


@pytest.mark.parametrize(
    ("line", "silent"),
    [
        (["-m", "cli", "s02", "--solution"], True),
        (["-m", "cli", "generate", "Call me", "--max-new-tokens=2"], True),
        pytest.param(["-m", "cli", "train", *SMALL.split(), "--out=small"], True, marks=pytest.mark.nightly),
        (["-c", "import socket; socket.getaddrinfo('course.invalid', 80)"], False),
    ],
)
def test_a_command_sends_nothing_elsewhere(calls, tmp_path, monkeypatch, line, silent):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = subprocess.run([*traced(calls), sys.executable, *line], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0, is_silent(calls)) == (silent, silent), done.stderr


def test_the_page_sends_nothing_elsewhere(calls, tmp_path, course):
    html = course.root / "book" / "html" / "index.html"
    html.parent.mkdir(parents=True)
    html.write_text("the book")
    course.write("s02")
    with serve(course, by=tuple(traced(calls))) as site:
        assert site.check("step_02")[-1]["verdict"] == "pass"
        assert site.get("/api/model/sampling", {"text": "Call me"})
    assert is_silent(calls)


def test_a_user_may_have_max_report(monkeypatch):
    monkeypatch.setenv("MODULAR_TELEMETRY_ENABLED", "true")
    importlib.reload(checker)
    assert os.environ["MODULAR_TELEMETRY_ENABLED"] == "true"
