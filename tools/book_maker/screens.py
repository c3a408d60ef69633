"""A transcript as a page shows it: verdicts in the terminal's colors, and lines that fit a page of any width.

A terminal of 110 columns broke the lines. Here each sentence is joined again; the browser breaks it where the page
ends, and indents the next line to where the sentence began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from checker.session.printer import STYLES, WIDTH
from play.reading.chapters import Fence

#: ``  pass      _attn  Given query, …``: what `Printer.row` prints.
ROW = re.compile(rf"(?P<head>  (?P<verdict>{'|'.join(STYLES)}) +(?:\S+ +)?)(?P<sentence>\S.*)")
#: A name and what it is, such as a task and its description. A table has more columns, and is left in one piece.
ENTRY = re.compile(r" *\S+(?: \S+)*  +(?=[A-Z])")


def console(fence: Fence) -> str:
    """Return a transcript as HTML: the commands set off from what they printed."""
    screen = "".join(map(_line, joined(fence.lines)))
    return f'<pre class="console"><code class="nohighlight"><span class="screen">{screen}</span></code></pre>'


def joined(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, with every sentence that the terminal's width had broken joined into one."""
    last = before = ""  # the line as it grows, and the part that was printed last
    for line in lines:
        if last and _goes_on(last, before, line):
            last += " " + line.strip()
        else:
            if before:
                yield last
            last = line
        before = line or " "
    if before:
        yield last


def _goes_on(whole: str, before: str, line: str) -> bool:
    """Return whether ``line`` is a line of its own only because it did not fit behind the one before."""
    words = line.split(maxsplit=1)
    if not words or whole.startswith("$ ") or len(before) + 1 + len(words[0]) <= WIDTH:
        return False
    indent = len(line) - len(line.lstrip())
    if row := ROW.match(whole):
        return indent == len(row["head"])
    return indent == 0 and not before.endswith((".", ":"))  # a line that ends this way may be complete


def _line(line: str) -> str:
    """Return one line as HTML, with the column at which it continues on a narrow page."""
    if line.startswith("$ "):
        made = f'<span class="prompt">$ </span><span class="command">{_text(line[2:])}</span>'
        return f'<span class="said" style="--below: 2ch">{made}\n</span>'
    if row := ROW.match(line):
        verdict, head, sentence = row["verdict"], row["head"], row["sentence"]
        colored = f'<span class="{_classes(STYLES[verdict])}">{verdict}</span>'
        return _entry(f"  {colored}{_text(head[2 + len(verdict) :])}", sentence, len(head))
    gaps = len(re.findall(r"\S {2,}(?=\S)", line))
    if gaps == 1 and (entry := ENTRY.match(line)):
        return _entry(_text(entry[0]), line[entry.end() :], entry.end())
    if gaps:
        return f'<span class="table">{_text(line)}\n</span>'
    return f'<span class="said" style="--below: {len(line) - len(line.lstrip())}ch">{_text(line)}\n</span>'


def _entry(head: str, sentence: str, column: int) -> str:
    """Return a name and its sentence, which begins in a column; on a narrow page it goes below the name."""
    return (
        f'<span class="said" style="--below: {column}ch">{head}<span class="sentence">{_text(sentence)}\n</span></span>'
    )


def _text(line: str) -> str:
    return escape(line, quote=False)


def _classes(style: str) -> str:
    """Return the classes of a style of the terminal, ``bold red``: book.css has its colors."""
    return " ".join(f"terminal-{part}" for part in style.split())
