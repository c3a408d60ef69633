"""Preview figures without building the book: each on a light and on a dark page, with pictures of both."""

import re
from html import escape
from pathlib import Path

from checker.course.steps import ROOT
from play.reading.chapters import chapters
from tools.book_maker.directives import drawing

THEMES = ("light", "coal")
FIGURE = re.compile(r"^\{\{figure (\w+\.\w+):", re.MULTILINE)


def names() -> list[str]:
    """Return every figure there is, in the order of the chapters that show it: ``step_07.module``."""
    return [name for chapter in chapters() for name in FIGURE.findall(chapter.read_text())]


def page(wanted: list[str], theme: str) -> str:
    """Return a page that shows figures in a theme."""
    style = (ROOT / "book" / "theme" / "figures.css").read_text()
    shown = "\n".join(f"<h2>{escape(name)}</h2>\n{drawing(name)}" for name in wanted)
    return (
        f"<!doctype html><html class='{theme}'><meta charset='utf-8'><style>:root {{ --mono-font: monospace }} {style}"
        "body { margin: 12px; background: var(--page); color: var(--ink) } html { --page: #fff }"
        f"html.coal {{ --page: #141617 }}</style>{shown}</html>"
    )


def preview(out: Path, wanted: list[str]) -> None:
    """Write a page in each theme, and its picture."""
    from tools.book_maker.browser import chromium  # not everyone has Playwright

    out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 680, "height": 900})
        for theme in THEMES:
            path = out / f"figures.{theme}.html"
            path.write_text(page(wanted, theme))
            window.goto(path.absolute().as_uri())
            window.screenshot(path=path.with_suffix(".png"), full_page=True)
            print(path, path.with_suffix(".png"), sep="\n")
