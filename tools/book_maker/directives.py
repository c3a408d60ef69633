"""Expand ``{{…}}`` in a chapter: ``expand`` turns a chapter's text into what mdBook renders."""

import ast
import importlib
import re
import textwrap
from html import escape, unescape

from checker.course.languages import MOJO
from checker.course.skeletons import skeleton_of
from checker.course.source import Source, function_nodes
from checker.course.steps import WIDGETS, find_step, relative_path
from checker.files import ROOT
from play.book.chapters import Fault, fences
from tools import modern
from tools.book_maker import formulas
from tools.book_maker.drawing.svg import Drawing
from tools.book_maker.screens import OPTION, console
from tools.book_maker.values import book_values

BLOCK = re.compile(r"^\{\{\s*(?P<name>[a-z]+)\s+(?P<rest>.*?)\s*\}\}$")
INLINE = re.compile(r"\{\{=\s*(?P<expression>.*?)\s*\}\}")
SPEC = re.compile(r"^(?P<expression>.*?)\s+:(?P<spec>[^\s\[\](){}'\"]+)$")
COMMENT = re.compile(r"^<!--.*?-->[ \t]*\n?", re.DOTALL | re.MULTILINE)
#: The model's name, which browsers would break after its hyphen. Code, tags and addresses are matched first; of them,
#: only code is touched, for its options.
NAME = re.compile(r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|<[^>]*>|\]\([^)]*\)|(?P<name>\bGPT-2s?\b)", re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
UNBROKEN, UNBROKEN_WHERE_WIDE = 18, 28  # letters of code that a table keeps on one line, on a phone and elsewhere
LANGUAGES = {".py": "python", ".mojo": "python", ".toml": "toml", ".json": "json", ".md": "markdown", "": "sh"}


def block(words: str, chapter: str = "") -> str:
    """Return a block directive of a chapter, without its braces, as Markdown.

    Raises:
        ValueError: there is no such directive, or it names something that does not exist.
    """
    name, _, rest = words.partition(" ")
    if name == "skeleton":
        return skeleton(rest, chapter)
    known = {function.__name__: function for function in (code, diff, figure, widget)}
    if name not in known:
        names = ", ".join(["skeleton", *known])
        raise ValueError(f"there is no directive {name!r}; choose from {names}, and {{{{= … }}}} for numbers")
    return known[name](rest.strip())


def number(words: str) -> str:
    """Return the value of an expression, formatted as its part after `` :`` says.

    Raises:
        ValueError: it cannot be computed, or not formatted that way.
    """
    match = SPEC.match(words)
    expression, spec = (match["expression"], match["spec"]) if match else (words, "")
    try:
        value = eval(expression, dict(vars(book_values)))
        printed = format(value, spec)
    except Exception as error:  # a writer's expression may raise anything
        raise ValueError(f"{expression!r} cannot be computed: {type(error).__name__}: {error}") from error
    if not spec and isinstance(value, float) and len(printed) > 8:
        raise ValueError(f"{expression!r} is {printed}; say how to round it: {{{{= {expression} :.2f}}}}")
    return printed


def skeleton(step: str, chapter: str = "") -> str:
    """Return the untouched file of a step; in its own chapter, as the panel that ``./run book`` puts an editor into."""
    shown = find_step(step)
    listing = fenced(relative_path(shown.learner_file), skeleton_of(shown))
    if chapter != shown.chapter.name:
        return listing
    commands = (
        f"In a terminal, `./run {shown.task}` checks your file, `./run watch {shown.task}` checks it at every save, "
        f"and `./run hint {shown.task}` gives a hint. `./run try {shown.task}` runs this page's Python blocks, with "
        "your code once it's written. `./run book` shows this page with an editor and the check in it."
    )
    folded = f"<details><summary>The file to fill in</summary>\n\n{listing}\n\n</details>"
    return f'<section class="panel" data-step="{shown.name}">\n\n{folded}\n\n{commands}\n\n</section>'


def code(words: str) -> str:
    """Return a file of the repository, or one definition in it by qualified name."""
    path, _, name = words.partition(" ")
    file = (ROOT / path).resolve()
    if not file.is_relative_to(ROOT) or not file.is_file():
        raise ValueError(f"there is no file {path!r} in the repository")
    source = file.read_text()
    return fenced(path, definition(source, name.strip(), file.suffix) if name else source)


def diff(words: str) -> str:
    """Return what a variant of Llama changes in a file of the solutions: ``gemma solution_23``."""
    variant, _, file = words.partition(" ")
    return fenced(f"solutions/{file.strip()}.py", modern.diff(variant, file.strip()), "diff")


def definition(source: str, name: str, suffix: str = ".py") -> str:
    """Return the source of a function, or in Python of a class, by qualified name; decorators belong to it.

    Raises:
        ValueError: there is no such name; the message lists those there are.
    """
    if suffix == MOJO.suffix:
        places = {function: (place.first, place.last) for function, place in MOJO.functions(Source(source)).items()}
    else:
        tree = ast.parse(source)
        nodes = function_nodes(tree) | {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        places = {
            qualified: (min(part.lineno for part in (node, *node.decorator_list)), node.end_lineno or node.lineno)
            for qualified, node in nodes.items()
        }
    if name not in places:
        raise ValueError(f"there is no {name!r}; choose from {', '.join(places)}")
    first, last = places[name]
    return textwrap.dedent("\n".join(source.splitlines()[first - 1 : last])) + "\n"


def fenced(path: str, text: str, language: str = "") -> str:
    """Return a listing below the name of its file, in the language of the file if no other is given."""
    marks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"^\s*(`{3,})", text, re.MULTILINE)), default=0))
    language = language or LANGUAGES.get(path[path.rfind(".") :] if "." in path else "", "text")
    return f'<p class="file"><code>{escape(path)}</code></p>\n\n{marks}{language}\n{text.rstrip()}\n{marks}'


def figure(words: str) -> str:
    """Return a drawing, its caption, and folded the answer to its question: ``step_07.heads: Which? Answer: That.``"""
    name, _, caption = words.partition(":")
    drawn = drawing(name.strip())
    said, _, answer = (part.strip() for part in caption.partition(" Answer: "))
    if not said:
        raise ValueError("a figure needs a caption: {{figure step_07.heads: What there is to see.}}")
    if ("?" in said) != bool(answer):
        raise ValueError("a caption has either a question and its answer, or neither: {{figure a.b: Who? Answer: We.}}")
    fold = f"<details><summary>Answer</summary><p>{in_html(answer)}</p></details>" if answer else ""
    below = f"<figcaption>{in_html(said)}{fold}</figcaption>"
    return f'<figure>\n<div class="drawing">\n{drawn}\n</div>\n{below}\n</figure>'


def widget(words: str) -> str:
    """Return an interactive figure, by its scripts in ``book/src/widgets``: ``sampling: What may follow.``

    A second word is a part of what was recorded for it: ``attention w03: One head of our sentence.``
    """
    names, _, label = (word.strip() for word in words.partition(":"))
    name, _, part = names.partition(" ")
    scripts = ("widgets.js", f"{name}.js", f"{name}.data.js")
    if missing := [script for script in scripts if not (WIDGETS / script).is_file()]:
        raise ValueError(f"there is no {missing[0]} in {relative_path(WIDGETS)}")
    if not label:
        raise ValueError("a widget needs a name for screen readers: {{widget sampling: What may follow a text}}")
    chosen = f' data-part="{part}"' if part else ""
    return "\n".join(
        (
            f'<section class="widget" data-widget="{name}"{chosen} aria-label="{escape(label)}">',
            "<p>This figure needs JavaScript.</p>",
            "</section>",
            '<link rel="stylesheet" href="widgets/widgets.css">',
            *(f'<script src="widgets/{script}"></script>' for script in scripts),
        )
    )


def drawing(name: str) -> str:
    """Return the SVG of a function in ``tools/book_maker/figures``: ``step_07.heads``. Its docstring is the title.

    Raises:
        ValueError: there is no such function, or it fails.
    """
    module, _, function = name.partition(".")
    try:
        draw_figure = getattr(importlib.import_module(f"tools.book_maker.figures.{module}"), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no function {function}() in tools/book_maker/figures/{module}.py") from error
    try:
        draw = Drawing(" ".join((draw_figure.__doc__ or "").split()).removesuffix("."))
        draw_figure(draw)
        return draw.svg()
    except Exception as error:  # a writer's figure may raise anything
        raise ValueError(f"the figure {name} cannot be drawn: {type(error).__name__}: {error}") from error


def in_html(words: str) -> str:
    """Return a caption as HTML: `` `code` `` and ``$formulas$`` as in Markdown, everything else as it is."""

    def reject(at: int, reason: str) -> None:
        raise ValueError(f"in the caption: {reason}")

    def made(match: re.Match[str]) -> str:
        part = match[0]
        return formulas.replace(unescape(part), reject) if part[0] == "$" else f"<code>{part[1:-1]}</code>"

    return re.sub(r"`[^`]+`|\$[^$]+\$", made, escape(words, quote=False))


def breakable(row: str) -> str:
    """Return a row of a table in which long code may be broken after a sign, so that it fits a phone."""

    def with_breaks(match: re.Match[str]) -> str:
        long_code = match[1].replace("\\|", "|")
        if len(long_code) <= UNBROKEN:
            return match[0]
        parts = re.split(r"(?<=[.,(_=/])(?=\w)", long_code)
        size = "long" if len(long_code) <= UNBROKEN_WHERE_WIDE else "long longest"
        return f'<code class="{size}">{"<wbr>".join(map(in_markdown, parts))}</code>'

    return CODE.sub(with_breaks, row) if row.startswith("|") else row


def unbroken(text: str) -> str:
    """Return prose in which no line breaks inside the model's name, or inside an option such as ``--mine``."""

    def joined(match: re.Match[str]) -> str:
        if match["name"]:
            return f'<span class="whole">{match[0]}</span>'
        parts = OPTION.split(match[0].strip("`")) if match["ticks"] == "`" else []
        if len(parts) < 2:
            return match[0]
        parts[1::2] = (f'<span class="whole">{in_markdown(option)}</span>' for option in parts[1::2])
        parts[0::2] = map(in_markdown, parts[0::2])
        return f"<code>{''.join(parts)}</code>"

    return NAME.sub(joined, text)


def in_markdown(words: str) -> str:
    """Return words as HTML in which Markdown finds nothing of its own."""
    return "".join(letter if letter.isalnum() or letter == " " else f"&#{ord(letter)};" for letter in words)


def expand(chapter: str, text: str, faults: list[Fault]) -> str:
    """Return a chapter as mdBook should render it; add whatever is wrong with it to ``faults``."""
    blocks = {fence.first: fence for fence in fences(chapter, text)}
    lines, pieces, prose = text.splitlines(), list[str](), list[str]()
    at = 1

    def finish() -> None:
        """Move the prose that has been read up to the line ``at`` to the pieces, without comments."""
        words, first = "\n".join(prose), at - len(prose)

        def wrong(place: int, reason: str) -> None:
            faults.append(Fault(chapter, first + words.count("\n", 0, place), reason))

        if prose:
            pieces.append(COMMENT.sub("", unbroken(formulas.replace(words, wrong))))
        prose.clear()

    while at <= len(lines):
        line = lines[at - 1]
        if fence := blocks.get(at):
            finish()
            if any("{{#" in shown for shown in fence.lines):
                faults.append(Fault(chapter, at, "mdBook's {{#…}} is not used here; use {{code …}}"))
            is_screen = fence.info == "console" and not fence.indent
            pieces += [console(fence)] if is_screen else lines[at - 1 : fence.last]
            at = fence.last + 1
            continue
        try:
            line = INLINE.sub(lambda match: number(match["expression"]), line)
            if BLOCK.match(line):
                finish()
                pieces.append(block(line[2:-2].strip(), chapter))
            elif "{{" in re.sub(r"`[^`]*`|\$[^$]*\$", "", line):
                raise ValueError("this has braces, but is not a directive alone on its line")
            else:
                prose.append(breakable(line))
        except ValueError as error:
            faults.append(Fault(chapter, at, f"{line.strip()}: {error}"))
            prose.append("")
        at += 1
    finish()
    return "\n".join(pieces) + "\n"
