"""The learner's notebook."""

import pytest

from play.book.chapters import fences
from tools.book_maker.transcripts import agrees, output_after
from tools.course_copy import python


@pytest.mark.sampled
@pytest.mark.slow
def test_the_notebook_prints_what_the_book_shows(course, monkeypatch):
    from nbclient import NotebookClient

    from tools.notebook import nbformat, pages

    monkeypatch.delenv("MODULAR_TELEMETRY_ENABLED")  # which the tests have set as the course does
    course.write("s03")
    course.check("s03", "--no-compile", status=0)
    (path := course.root / "play.ipynb").write_text("mine")
    python(course.root, "-m", "tools", "notebook", status=0)
    assert [kept.read_text() for kept in course.root.glob("play.kept-*.ipynb")] == ["mine"]
    cells = (notebook := nbformat.read(path, 4)).cells
    cells.append(nbformat.v4.new_code_cell("print(os.environ['MODULAR_TELEMETRY_ENABLED'])"))
    NotebookClient(notebook, timeout=600).execute(cwd=course.root.parent)  # raises what a cell raises
    ran = [[out.text for out in cell.outputs if out.get("name") == "stdout"] for cell in cells if "outputs" in cell]
    first, *printed, last = map("".join, ran)
    assert (first, last) == ("Your own steps that run here: s03\n", "false\n")
    shown = [output_after(block, text, fences(name, text)) for name, text, those in pages() for block in those]
    assert all(agrees(fence.lines, lines.splitlines()) for fence, lines in zip(shown, printed, strict=True))
