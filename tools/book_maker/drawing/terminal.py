"""Draw a terminal: the verdict that README.md shows, as a check of step 07 prints it now.

rich renders what was printed, colors included. Its own template loads a font from elsewhere; the one here names fonts
that a reader has, and follows the reader's choice of a light or a dark page.
"""

import io
import tempfile
from html import escape
from pathlib import Path

from rich.color import parse_rgb_hex
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from checker.course.paths import ROOT
from tools.book_maker.transcripts import printed_by
from tools.course_copy import Course

PICTURE = ROOT / ".github" / "verdict.svg"
STEP = "s07"
MISTAKE = "There is no causal mask"  # the beginning of its sentence
TITLE = "A check of step 07 names the mistake"
COLUMNS = 92  # GitHub shows them at the size of its own code
IN_COLOR = f"env -u NO_COLOR FORCE_COLOR=1 TERM=xterm-256color COLUMNS={COLUMNS}"


def _theme(page: str, ink: str, red: str, green: str, yellow: str) -> TerminalTheme:
    """Return the colors of a terminal in hexadecimal; a verdict has no others, so the rest are the ink's."""
    colors: list[tuple[int, int, int]] = [parse_rgb_hex(color) for color in (ink, red, green, yellow, *[ink] * 4)]
    return TerminalTheme(parse_rgb_hex(page), parse_rgb_hex(ink), colors)


LIGHT = _theme("f6f8fa", "1f2328", red="cf222e", green="116329", yellow="7d4e00")
DARK = _theme("161b22", "e6edf3", red="ff7b72", green="7ee787", yellow="f2cc60")
DARK_STYLES = "/* dark */"

#: rich fills in what is in single braces; ``{chrome}`` is the window's frame with the light theme's color.
TEMPLATE = f"""\
<svg role="img" viewBox="0 0 {{width}} {{height}}" xmlns="http://www.w3.org/2000/svg">
<title>{escape(TITLE)}</title>
<style>
.{{unique_id}}-matrix {{{{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
    font-size: {{char_height}}px;
}}}}
.{{unique_id}}-chrome > rect {{{{ stroke: #8b949e }}}}
{{styles}}
@media (prefers-color-scheme: dark) {{{{
.{{unique_id}}-chrome > rect {{{{ fill: {DARK.background_color.hex} }}}}
{DARK_STYLES}
}}}}
</style>
<defs>
{{lines}}
</defs>
<g class="{{unique_id}}-chrome">
{{chrome}}
</g>
<g class="{{unique_id}}-matrix" transform="translate({{terminal_x}}, {{terminal_y}})">
{{backgrounds}}
{{matrix}}
</g>
</svg>
"""


def verdict() -> str:
    """Check a step 07 without its mask, in a copy of the course, and return the terminal as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder) / "course")
        course.spoil(STEP, MISTAKE)
        course.check(STEP)  # compiles what is not compiled yet, so that no progress gets into the picture
        lines = printed_by(course, [f"$ {IN_COLOR} ./run {STEP}"])
    return terminal(f"./run {STEP}", lines)


def terminal(command: str, lines: list[str]) -> str:
    """Return a terminal as SVG: the command, and below it what it printed, with the codes of its colors."""
    console = Console(record=True, file=io.StringIO(), width=COLUMNS)
    console.print(Text.assemble(("$ ", "dim"), (command, "bold")))
    for line in lines:
        console.print(Text.from_ansi(line))
    console.print()

    def export(theme: TerminalTheme, template: str) -> str:
        return console.export_svg(title="", theme=theme, clear=False, code_format=template, unique_id="terminal")

    drawn = export(LIGHT, TEMPLATE).replace(DARK_STYLES, export(DARK, "{styles}"))
    return "\n".join(line.rstrip() for line in drawn.replace("</text><text", "</text>\n<text").splitlines()) + "\n"


def draw() -> None:
    """Write the picture that README.md shows."""
    PICTURE.write_text(verdict())
    print(PICTURE.relative_to(ROOT))
