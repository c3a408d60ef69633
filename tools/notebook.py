"""Write the Python blocks of the fast path as a notebook, for Jupyter and for editors; the book explains them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from checker.course.skeletons import back_up
from checker.course.steps import relative_path
from checker.files import ROOT, replacing
from play.book.chapters import SRC, Fence, python_fences
from tools.book_maker.around import FAST_PAGES

NOTEBOOK = ROOT / "play.ipynb"
ABOUT = """\
# GPT-2 in MAX: the fast path

The book's Python blocks, page by page; `./run book` shows the pages. Run the cells from the top. Your steps run once
they have passed their check, and the solutions in place of the others; restart the kernel after a new pass.

The kernel has to be the course's own Python, `{python}`. Where you can't choose it, as in Colab, install the
course's packages into the kernel: `%pip install -r requirements/learn.txt`."""
FIRST = """\
import os
import sys

COURSE = {root!r}  # change it if you move the course
os.chdir(COURSE)  # the paths in the cells begin there
sys.path.insert(0, COURSE)

from play.book.prompt import prepare_notebook  # before MAX is imported

prepare_notebook()"""
KERNEL = {"name": "python3", "display_name": "Python 3 (the course)", "language": "python"}


def pages() -> Iterator[tuple[str, str, list[Fence]]]:
    """Return the pages of the fast path: the name of each, its text, and its blocks of Python."""
    for name in FAST_PAGES:
        text = (SRC / f"{name}.md").read_text(encoding="utf-8")
        yield name, text, python_fences(f"{name}.md", text)


def write_notebook() -> None:
    """Write ``play.ipynb``; keep a copy of one that is there, if it differs."""
    python = relative_path(Path(sys.executable))  # in .venv, or in pixi's folder
    about, first = ABOUT.format(python=python), FIRST.format(root=str(ROOT))
    cells = [new_markdown_cell(about, id="about"), new_code_cell(first, id="first")]
    for name, text, blocks in pages():
        title = text.partition("\n")[0].removeprefix("# ")
        cells.append(new_markdown_cell(f"## [{title}](book/src/{name}.md)", id=name))
        cells += [new_code_cell(block.text.rstrip(), id=f"{name}-{block.first + 1}") for block in blocks]
    written = nbformat.writes(new_notebook(cells=cells, metadata={"kernelspec": KERNEL}))
    if NOTEBOOK.exists() and NOTEBOOK.read_text(encoding="utf-8") != written:
        print(f"Your {NOTEBOOK.name} is kept as {relative_path(back_up(NOTEBOOK))}.")
    with replacing(NOTEBOOK) as new:
        new.write_text(written, encoding="utf-8")
    print(f"{NOTEBOOK.name} has the blocks of {len(FAST_PAGES)} pages. Open it with {python} as its kernel.")
