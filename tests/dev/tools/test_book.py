"""The book: what its chapters must have, what its pages lead to, and that everything it shows is still so."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from checker.course.blanks import blanks_of
from checker.course.paths import ROOT
from checker.course.steps import all_steps
from cli.tasks import tasks
from play.reading.chapters import SRC, chapters, fences, prose
from tests import test_warmup_01, test_warmup_06
from tools.benchmarks import speed
from tools.benchmarks.checks import loop
from tools.benchmarks.peers import results as peer_results
from tools.book_maker.directives import BLOCK, INLINE, expand
from tools.book_maker.drawing.preview import names as figure_names
from tools.book_maker.formulas import TOKEN
from tools.book_maker.transcripts import differences
from tools.book_maker.values import worked_examples
from tools.course_copy import Course

OTHER_CHAPTERS = [
    "introduction",
    "setup",
    "max",
    "training",
    "mojo",
    "heads",
    "ablations",
    "modern",
    "sizes",
    "speed",
    "cheat_sheet",
    "notation",
    "glossary",
    "troubleshooting",
    "classroom",
    "errors_elsewhere",
    "further_reading",
]
HEADINGS = [
    "The idea",
    "By hand",
    "You know this as",
    "Write it",
    "Hints",
    "When it fails",
    "Why this way?",
    "Exercises",
    "What you can do now",
    "The solution",
    "Next",
]
HINTS = ["Hint 1 of 3: the idea", "Hint 2 of 3: the operation", "Hint 3 of 3: the line"]

FIGURES = ROOT / "tools" / "benchmarks" / "figures"
FIGURE_MODULES = sorted((ROOT / "tools" / "book_maker" / "figures").glob("[a-z]*.py"))
PARTS = ("forward", "generation", "attention", "memory", "first")  # of ./run bench, on the page on speed

#: Where the book may link to: primary sources alone.
HOSTS = {
    "arxiv.org",
    "docs.modular.com",
    "docs.python.org",
    "github.com",
    "huggingface.co",
    "numpy.org",
    "openai.com",
    "pixi.sh",
    "cdn.openai.com",
}

every_chapter = pytest.mark.parametrize("chapter", [path.name for path in chapters()])
every_step = pytest.mark.parametrize("step", all_steps(), ids=lambda step: step.name)


@cache
def source(chapter):
    return (SRC / chapter).read_text()


def headings(chapter, level):
    marks = "#" * level + " "
    return [line.removeprefix(marks) for _, line in prose(chapter, source(chapter)) if line.startswith(marks)]


@dataclass
class Page(HTMLParser):
    """What a built page has: anchors, links, what it loads, and its words."""

    text: str
    ids: list = field(default_factory=list)
    links: list = field(default_factory=list)
    loads: list = field(default_factory=list)
    words: str = ""
    inside: list = field(default_factory=list)
    count: dict = field(default_factory=dict)

    def __post_init__(self):
        super().__init__()
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag in ("script", "style", "pre", "code"):
            self.inside.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link":
            self.loads.append(found.get("href"))
        self.loads += [found[name] for name in ("src", "srcset", "data", "poster") if name in found]

    def handle_endtag(self, tag):
        if tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data):
        if not self.inside:
            self.words += data


@pytest.fixture(scope="session")
def built(book):
    """Every page of the built book by file name."""
    pages = {path.name: Page(path.read_text()) for path in book.glob("*.html")}
    assert {f"{path.stem}.html" for path in chapters()} <= set(pages)
    return pages


# ---------------------------------------------------------------- chapters


def test_there_is_a_chapter_for_every_step_and_no_other():
    wanted = {step.name for step in all_steps()} | set(OTHER_CHAPTERS)
    assert {path.stem for path in chapters()} == wanted


def test_the_summary_lists_every_chapter_by_its_title_and_in_order():
    listed = re.findall(r"^(?:- )?\[(.*)\]\((.*)\.md\)$", (SRC / "SUMMARY.md").read_text(), re.MULTILINE)
    steps = [step.name for step in all_steps()]
    for step, before in {"step_02": ["max"], "step_21": ["training", "mojo"]}.items():  # before they are needed
        at = steps.index(step)
        steps[at:at] = before
    order = ["introduction", "setup", *steps, *OTHER_CHAPTERS[OTHER_CHAPTERS.index("heads") :]]
    assert [name for _, name in listed] == order
    for title, name in listed:
        assert headings(f"{name}.md", 1) == [title]


@every_step
def test_a_step_has_the_same_headings_everywhere(step):
    chapter = f"{step.name}.md"
    kind = "Step" if step.name.startswith("step") else "Warm-up"
    (title,) = headings(chapter, 1)
    assert re.fullmatch(rf"{kind} {step.number}: \S.*[^.]", title)
    assert headings(chapter, 2) == HEADINGS


@every_step
def test_a_step_has_three_hints_for_every_blank(step):
    text = source(f"{step.name}.md")
    hints = re.findall(r'^<details class="hint"><summary>(.*?)</summary>\n\n(.*?)\n\n</details>$', text, re.M | re.S)
    assert [summary for summary, _ in hints] == HINTS
    labels = [blank.label for blank in blanks_of(step)]
    for summary, body in hints:
        assert re.findall(r"^- \*\*`([^`]+)`\*\*:", body, re.MULTILINE) == labels, summary
        assert "{{" not in body


@every_step
def test_a_step_shows_its_skeleton_its_mistakes_and_every_blank_of_its_solution(step):
    text = source(f"{step.name}.md")
    short = step.number if step.name.startswith("step") else step.task
    assert text.count(f"{{{{skeleton {short}}}}}") == 1
    assert text.count(f"{{{{mistakes {short}}}}}") == 1
    (solution,) = re.findall(r'<details class="solution"><summary>The solution</summary>(.*?)</details>', text, re.S)
    path = re.escape(str(step.solution_file.relative_to(ROOT)))
    shown = re.findall(rf"^\{{\{{code {path}(?: (\S+))?\}}\}}$", solution, re.MULTILINE)
    for blank in blanks_of(step):
        around = blank.function.split(".")
        assert "" in shown or any(".".join(around[:end]) in shown for end in range(1, len(around) + 1)), blank.function


@every_chapter
def test_nothing_is_included_behind_the_back_of_the_directives(chapter):
    assert "{{#" not in source(chapter)
    assert "\n---\n" not in source(chapter)[:200], "no front matter"


@every_chapter
def test_every_fence_says_what_it_is(chapter):
    known = {"python", "mojo", "text", "console", "sh", "json", "toml"}
    for fence in fences(chapter, source(chapter)):
        assert fence.info in known, f"line {fence.first}: {fence.info!r}"


@every_chapter
def test_every_command_is_a_task(chapter):
    assert {*re.findall(r"(?:\./run|pixi run) ([a-z][\w-]*)", source(chapter))} <= tasks().keys()


#: Letters of formulas that a page defines for itself; all others are those of the page on notation.
OWN_LETTERS = {
    # W_O, the largest score m, a loss's rows, what is gathered, a residual's branch; what AdamW is made of
    "cheat_sheet.md": {"O", "m", "N", "c", "f", "n", "r", "\\beta", "\\lambda"},
    "step_03.md": {"\\beta", "\\gamma", "n"},  # the papers' letters, and the sample variance
    "step_04.md": {"\\Phi"},
    "step_09.md": {"I"},
    "step_11.md": {"N"},
    "step_12.md": {"E"},
    "step_19.md": {"D", "f"},  # the number of tokens in the rule of 6ND, and the branch of a residual
    "step_20.md": {"\\beta", "\\lambda", "m", "n", "r"},  # AdamW's constants, average, step, and rate
    "step_21.md": {"m"},  # the largest score so far
    "warmup_01.md": {"c"},
    "warmup_08.md": {"N", "c"},  # the number of rows, and what was gathered
}


def letters(text):
    """The letters in the formulas of a page, but for e, pi, words and commands."""
    found = set()
    for formula in re.findall(r"\$\$?([^$`]+)\$\$?", re.sub(r"`[^`]*`", " ", text)):
        bare = re.sub(r"\\(?:text|mathrm|mathbb)\{[^}]*\}", " ", formula)
        found |= set(re.findall(r"\\(?:alpha|beta|gamma|delta|ell|epsilon|lambda|mu|phi|Phi|sigma|tau|theta)\b", bare))
        found |= set(re.findall(r"[A-Za-z]", re.sub(r"\\[a-zA-Z]+", " ", bare)))
    return found - {"e"}


@every_chapter
def test_formulas_use_the_letters_of_the_page_on_notation(chapter):
    def of(page):
        text = source(page)
        return letters("\n".join(line for _, line in prose(page, text)))

    assert of(chapter) - of("notation.md") <= OWN_LETTERS.get(chapter, set())


def test_a_stray_letter_is_found():
    assert letters(r"the logits $\ell$ of width $D$, $\text{seq} \cdot e^x$") == {r"\ell", "D", "x"}


@every_chapter
def test_a_measured_number_is_never_typed(chapter):
    """A fraction of several digits, or a number with a unit, is a directive's or stands in what the chapter shows.

    A round fraction of one digit (0.01) may be an example's.
    """
    text = source(chapter)
    shown = "\n".join(fence.text for fence in fences(chapter, text))
    bare = []
    for number, line in prose(chapter, text):
        if BLOCK.match(line) or line.startswith(("#", "|--")):
            continue
        words = TOKEN.sub(" ", INLINE.sub(" ", line))
        words = re.sub(r"\]\([^)]*\)|<[^>]*>", " ", words)
        words = re.sub(
            r"(?:Python|MAX|mdBook|[Ss]ections?|[Cc]hapters?|Apache-|Figure|Table|equation) \d[\d.]*", " ", words
        )
        fractions = [value for value in re.findall(r"\d+\.\d+", words) if len(value.replace(".", "").strip("0")) > 1]
        units = re.findall(r"\b(\d[\d.,]*) ?(?:ms|seconds?|s|GB(?!/s| a second)|MB|%|percent|tokens/s)\b", words)
        bare += [f"{chapter}:{number}: {value}" for value in fractions + units if value not in shown]
    assert bare == []


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.mark.slow
def test_the_book_is_served_on_this_machine(tmp_path):
    port = free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "cli.tasks",
            "book-watch",
            "--port",
            str(port),
            "--dest-dir",
            str(tmp_path / "html"),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and server.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
                assert "Build GPT-2 in MAX" in answer.read().decode()
                return
            time.sleep(0.5)
        pytest.fail("the book was not served within two minutes")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("book") / "course")


MEASURED = "ablations.md"  # one model per part that is left out: minutes


@pytest.mark.slow
@pytest.mark.parametrize(
    "chapter",
    [pytest.param(path.name, marks=[pytest.mark.nightly] * (path.name == MEASURED)) for path in chapters()],
)
def test_what_a_chapter_shows_is_what_is_printed_now(chapter, copy):
    different = differences(chapter, copy)
    assert not different, "\n\n".join(map(str, different)) + f"\n\nIf that is right: ./run book-update {chapter[:-3]}"


def test_the_worked_examples_that_are_drawn_are_those_that_are_checked():
    assert worked_examples.SIX_WORDS == test_warmup_01.SIX_WORDS
    assert worked_examples.JOURNEY == test_warmup_01.JOURNEY
    assert worked_examples.LOWEST == test_warmup_06.SMALL


def test_every_figure_is_shown():
    shown = figure_names()
    for module in FIGURE_MODULES:
        drawn = re.findall(r"^def ([a-z]\w*)\(.*\) -> str:", module.read_text(), re.MULTILINE)
        assert {f"{module.stem}.{name}" for name in drawn} == {
            name for name in shown if name.startswith(f"{module.stem}.")
        }


def test_the_page_on_speed_has_the_tables_and_the_machines_of_the_last_benchmarks():
    made = expand("speed.md", source("speed.md"), faults := [])
    assert not faults
    last = {name: json.loads((FIGURES / f"{name}.json").read_text()) for name in ("loop", "speed", "serve")}
    for table in (loop.as_markdown(last["loop"]), *map(speed.tables(last["speed"]).get, PARTS)):
        assert table in made
    for result in last.values():
        assert result["machine"] in made


def test_the_page_on_speed_has_every_processor_on_which_the_peers_were_timed():
    made = expand("speed.md", source("speed.md"), faults := [])
    assert not faults
    peers = json.loads((FIGURES / "peers.json").read_text())
    assert peers
    assert peer_results.where_it_ran(peers) in made
    for part in peer_results.PARTS:
        assert peer_results.by_processor(peers, part) in made
    for name, result in peers.items():
        assert made.count(f"**{name}**") >= len(result["parts"])


# ---------------------------------------------------------------- pages


@pytest.mark.slow
@every_chapter
def test_every_link_leads_somewhere(chapter, built, book):
    page = built[f"{chapter[:-3]}.html"]
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme == "https", link
            assert parts.hostname in HOSTS, link
            continue
        path = unquote(parts.path) or f"{chapter[:-3]}.html"
        assert (book / path).is_file(), f"{link} leads nowhere"
        if parts.fragment and path in built:
            assert unquote(parts.fragment) in built[path].ids, f"{link}: there is no such heading"


@pytest.mark.slow
@every_chapter
def test_no_two_places_of_a_page_have_the_same_anchor(chapter, built):
    ids = built[f"{chapter[:-3]}.html"].ids
    assert sorted(ids) == sorted(set(ids))


def test_no_page_loads_anything_from_elsewhere(built, book):
    for name, page in built.items():
        for address in page.loads:
            assert not urlsplit(address or "").netloc, f"{name} loads {address}"
    for path in [*book.rglob("*.css"), *book.rglob("*.html")]:
        for address in re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)", path.read_text()):
            pytest.fail(f"{path.name} loads {address}")


@every_chapter
def test_every_directive_and_every_formula_became_what_it_stands_for(chapter, built):
    page = built[f"{chapter[:-3]}.html"]
    assert "{{" not in page.words
    assert "$" not in page.words
    assert not re.search(r"\\[a-z]+", page.words)
    formulas = sum(
        1
        for match in TOKEN.finditer("\n".join(line for _, line in prose(chapter, source(chapter))))
        if match["display"] or match["inline"]
    )
    assert page.count.get("math", 0) >= formulas
    figures = sum(1 for _, line in prose(chapter, source(chapter)) if line.startswith("{{figure "))
    assert page.count.get("figure", 0) == figures
