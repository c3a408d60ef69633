"""The book is built, or every fault is told."""

import re

import pytest

from checker.files import ROOT
from tools.book_maker import preprocess
from tools.course_copy import python


@pytest.mark.slow
def test_faults_stop_the_build(tmp_path):
    (tmp_path / "SUMMARY.md").write_text("# Summary\n\n- [One](one.md)\n")
    (tmp_path / "one.md").write_text("# One\n\n{{skeleton 99}}\n\n{{= nothing}}\n")
    command = (ROOT, "-m", "cli.start.tasks", "book-build", "--dest-dir", tmp_path / "html")
    run = python(*command, MDBOOK_BOOK__SRC=str(tmp_path))
    assert run.returncode != 0
    assert not (tmp_path / "html").exists()
    assert re.findall(r"book/src/one\.md:(\d): ", run.stderr) == ["3", "5"]


def test_a_block_that_is_never_closed_is_a_fault_among_others(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(preprocess, "SRC", tmp_path)
    (tmp_path / "open.md").write_text("# One\n\n```python\nx = 1\n")
    (tmp_path / "other.md").write_text("# Two\n\n{{skeleton 99}}\n")
    assert preprocess.check(["open.md", "other.md"]) == 1
    assert re.findall(r"book/src/(\w+)\.md:(\d): ", capsys.readouterr().out) == [("open", "3"), ("other", "3")]
