"""Draw a terminal: the verdict that README.md shows, as a check of step 07 prints it now.

The picture loads nothing: it names fonts that a reader has, and follows the reader's choice of a light or a dark page.
"""

import tempfile
from html import escape
from pathlib import Path

from rich.console import Console
from rich.text import Text

from checker.files import ROOT
from tools.book_maker.transcripts import printed_by
from tools.course_copy import Course

PICTURE = ROOT / ".github" / "verdict.svg"
STEP = "s07"
MISTAKE = "There is no causal mask"  # the beginning of its sentence
COLUMNS = 92  # GitHub shows them at the size of its own code
IN_COLOR = f"env -u NO_COLOR FORCE_COLOR=1 TERM=xterm-256color COLUMNS={COLUMNS}"
LETTER, LINE, MARGIN = 12.2, 24, 20  # the width of a letter, the distance of two lines, and the room around them
CLASS = str.maketrans("(", "-", ")")  # rich says "bold color(1)"; the colors of a terminal are 1 red, 2 green, 3 yellow
STYLES = """\
text { font: 20px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace }
rect { stroke: #8b949e }
.bold { font-weight: bold }
.dim { opacity: 0.65 }
rect { fill: #f6f8fa }
text { fill: #1f2328 }
.color-1 { fill: #cf222e }
.color-2 { fill: #116329 }
.color-3 { fill: #7d4e00 }
@media (prefers-color-scheme: dark) {
rect { fill: #161b22 }
text { fill: #e6edf3 }
.color-1 { fill: #ff7b72 }
.color-2 { fill: #7ee787 }
.color-3 { fill: #f2cc60 }
}"""


def terminal(command: str, lines: list[str]) -> str:
    """Return a terminal as SVG: the command, and below it what it printed, with the codes of its colors."""
    screen = [Text.assemble(("$ ", "dim"), (command, "bold")), *map(Text.from_ansi, lines)]
    width, height = COLUMNS * LETTER + 2 * MARGIN, len(screen) * LINE + 2 * MARGIN
    drawn = [
        f'<svg role="img" viewBox="0 0 {width:g} {height}" xmlns="http://www.w3.org/2000/svg">',
        "<title>A check of step 07 names the mistake</title>",
        f"<style>\n{STYLES}\n</style>",
        f'<rect x="1" y="1" width="{width - 2:g}" height="{height - 2}" rx="8"/>',
    ]
    for row, line in enumerate(screen, start=1):
        parts = [
            f'<tspan class="{str(part.style).translate(CLASS)}">{escape(part.text, quote=False)}</tspan>'
            for part in line.render(Console())
        ]
        baseline = MARGIN + row * LINE - 6
        drawn.append(f'<text xml:space="preserve" x="{MARGIN}" y="{baseline}">{"".join(parts)}</text>')
    return "\n".join([*drawn, "</svg>"]) + "\n"


def draw() -> None:
    """Check a step 07 without its mask, in a copy of the course, and write the picture that README.md shows."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder) / "course")
        course.spoil(STEP, MISTAKE)
        course.check(STEP)  # compiles what is not compiled yet, so that no progress gets into the picture
        lines = printed_by(course, [f"$ {IN_COLOR} ./run {STEP}"])
    PICTURE.write_text(terminal(f"./run {STEP}", lines))
    print(PICTURE.relative_to(ROOT))
