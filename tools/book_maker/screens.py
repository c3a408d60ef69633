"""A transcript as a page shows it: verdicts in the terminal's colors, and lines that fit a page of any width.

What is printed into a pipe is never wrapped, so the browser breaks a line where the page ends, and indents the next one
to where the sentence began.
"""

import re
from html import escape

from checker.terminal import STYLES
from play.book.chapters import Fence

#: ``  pass      _attn  Given query, …``: what `Terminal.row` prints.
ROW = re.compile(rf"  (?P<mark>{'|'.join(STYLES)})(?P<about> +(?:\S+ +)?)(?P<sentence>\S.*)")
#: A name and what it is, such as a task and its description. A table has more columns, and is left in one piece.
ENTRY = re.compile(r"(?P<about> *\S+(?: \S+)*  +)(?P<sentence>[A-Z].*)")
#: An option, which browsers would break after its hyphens.
OPTION = re.compile(r"(?<![^\s\[(`])(--\w[\w-]*)")


def console(fence: Fence) -> str:
    """Return a transcript as HTML: the commands set off from what they printed."""
    screen = "".join(map(_line, fence.lines))
    return f'<pre class="console"><code class="nohighlight">{screen}</code></pre>'


def _line(line: str) -> str:
    """Return one line as HTML, with the column at which it continues on a narrow page."""
    if line.startswith("$ "):
        return _said(2, f'<span class="prompt">$ </span><span class="command">{_text(line[2:])}</span>\n')
    if row := ROW.match(line):
        classes = " ".join(f"terminal-{part}" for part in STYLES[row["mark"]].split())
        head = f'  <span class="{classes}">{row["mark"]}</span>{_text(row["about"])}'
        return _said(row.start("sentence"), f'{head}<span class="sentence">{_text(row["sentence"])}\n</span>')
    gaps = len(re.findall(r"\S {2,}(?=\S)", line))
    if gaps == 1 and (entry := ENTRY.fullmatch(line)):
        sentence = f'<span class="sentence">{_text(entry["sentence"])}\n</span>'
        return _said(entry.start("sentence"), f"{_text(entry['about'])}{sentence}")
    if gaps:
        return f'<span class="table">{_text(line)}\n</span>'
    return _said(len(line) - len(line.lstrip()), f"{_text(line)}\n")


def _said(column: int, made: str) -> str:
    return f'<span class="said" style="--below: {column}ch">{made}</span>'


def _text(line: str) -> str:
    return OPTION.sub(r'<span class="whole">\1</span>', escape(line, quote=False))
