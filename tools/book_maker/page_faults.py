"""What is wrong with a page whose directives expand: a broken table, a dead link, a lost commit, a typed number."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from checker.files import ROOT
from play.book.chapters import SRC, Fault, fences, prose
from tools.book_maker.directives import INLINE, number
from tools.book_maker.formulas import TOKEN
from tools.book_maker.words import DIRECTIVE

NumberedLines = Sequence[tuple[int, str]]  # a line's number, from 1, and the line
Found = Iterator[tuple[int, str]]  # the number of a line, and what is wrong with it

RULE = re.compile(r"\|[\s:|-]+\|\s*")  # below the head of a table
LINK = re.compile(r"\]\((?P<page>[\w-]+\.md)?(?:#(?P<place>[^)\s]+))?\)")
PLACE = re.compile(r"^#+ +(.*)|^(\S.*)\n: ", re.MULTILINE)  # a heading, or a word that the next line explains
COMMIT = re.compile(r"\b(?:commit|tag)\s+`([^`{]+)`")
CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>")
#: How a unit is not written here -> how it is.
UNITS = {
    r"[KMG]iB\b|\bKB\b": "write kB, MB or GB, which are powers of ten",
    r"\d %": "write % right after its number, without a space",
    r"\d per ?cent\b": "write %",
}
#: A number after one of these words names something, such as a version or a chapter.
NAMES = re.compile(
    r"(?:Python|MAX|glibc|Ubuntu|mdBook|[Ss]ections?|[Cc]hapters?|Apache-|Figure|Table|equation|transformers) "
    r"\d[\d.]*(?: to \d[\d.]*)?"
)
FRACTION = re.compile(r"\d+\.\d+")
UNIT = r"ms|seconds?|s|GB(?!/s| a second)|MB|kB|%|times (?:as|faster|longer)|tokens/s"
WITH_UNIT = re.compile(rf"\b(\d[\d.,]*) ?(?:{UNIT})(?!\w)")


def page_faults(chapter: str, text: str) -> list[Fault]:
    """Return what is wrong with a page besides its directives, whose values count as what it says."""
    source = list(prose(chapter, text))
    said = [(at, INLINE.sub(_value, line)) for at, line in source]
    shown = "\n".join(fence.text for fence in fences(chapter, text))
    found = [*broken_tables(source), *dead_links(chapter, source), *lost_commits(said), *strange_units(said)]
    return [Fault(chapter, at, reason) for at, reason in sorted([*found, *typed_numbers(source, shown)])]


def broken_tables(lines: NumberedLines) -> Found:
    """Find rows without a head: a blank line has cut them off from theirs, and Markdown shows their bars."""
    rows = {at: line for at, line in lines if line.startswith("|")}
    for at in rows:
        if at - 1 not in rows and not RULE.fullmatch(rows.get(at + 1, "")):
            yield at, "this row has no head: no blank line may be in a table, and |---| stands below its head"


def dead_links(chapter: str, lines: NumberedLines) -> Found:
    """Find links to pages, or to places in them, that do not exist."""
    for at, line in lines:
        for link in LINK.finditer(line):
            file, place = SRC / (link["page"] or chapter), link["place"]
            if not file.is_file():
                yield at, f"there is no page {file.name}"
            elif place and place not in (known := places(file.name, file.read_text())):
                yield at, f"there is no #{place} in {file.name}; choose from {', '.join(known)}"


def places(chapter: str, text: str) -> list[str]:
    """Return the places in a page to which a link can lead, named as mdBook does; an equal one is numbered from 1."""
    named: list[str] = []
    before: Counter[str] = Counter()
    for found in PLACE.findall("\n".join(line for _, line in prose(chapter, text))):
        name = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", "".join(found).lower()))
        named.append(f"{name}-{before[name]}" if before[name] else name)
        before[name] += 1
    return named


def lost_commits(lines: NumberedLines) -> Found:
    """Find commits and tags that are not in this repository."""
    for at, line in lines:
        for name in COMMIT.findall(line):
            if not _is_commit(name):
                yield at, f"there is no commit or tag {name!r} in this repository"


@cache
def _is_commit(name: str) -> bool:
    """Return whether there is such a commit or tag, or whether this clone is too shallow to tell."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)

    found = git("cat-file", "-e", f"{name}^{{commit}}").returncode == 0
    return found or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false"


def strange_units(lines: NumberedLines) -> Found:
    """Find units that this book writes in another way."""
    for at, line in lines:
        words = CODE.sub(" ", line)
        yield from ((at, reason) for wrong, reason in UNITS.items() if re.search(wrong, words))


def typed_numbers(lines: NumberedLines, shown: str) -> Found:
    """Find measured numbers that a writer has typed: a fraction of several digits, or a number with a unit.

    A directive must compute them, unless the page's code or output, ``shown``, has them too. A round fraction of one
    digit (0.01) may be an example's.
    """
    for at, line in lines:
        if line.startswith(("#", "|--")):
            continue
        words = TOKEN.sub(" ", DIRECTIVE.sub(lambda match: match["caption"] or " ", INLINE.sub(" ", line)))
        words = NAMES.sub(" ", re.sub(r"\]\([^)]*\)|<[^>]*>", " ", words))
        fractions = [value for value in FRACTION.findall(words) if len(value.replace(".", "").strip("0")) > 1]
        for value in (*fractions, *WITH_UNIT.findall(words)):
            if value not in shown:
                yield at, f"{value} is typed: compute it by {{{{= … }}}}, let a block of the page print it, or drop it"


def _value(directive: re.Match[str]) -> str:
    try:
        return number(directive["expression"])
    except ValueError:  # which expanding the page reports
        return ""
