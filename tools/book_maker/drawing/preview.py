"""Preview figures without building the book: each on a light and on a dark page, with pictures of both."""

from __future__ import annotations

import importlib
import inspect
from html import escape
from pathlib import Path

from checker.course.paths import ROOT
from tools.book_maker import figures

THEMES = ("light", "coal")


def names() -> list[str]:
    """Return every figure there is: ``step_07.heads``, from the functions without an underscore in figures/."""
    found = []
    for path in sorted(Path(figures.__path__[0]).glob("[a-z]*.py")):
        module = importlib.import_module(f"tools.book_maker.figures.{path.stem}")
        found += [
            f"{path.stem}.{name}"
            for name, made in vars(module).items()
            if inspect.isfunction(made)
            and made.__module__ == module.__name__
            and not name.startswith("_")
            and not inspect.signature(made).parameters
        ]
    return found


def draw(name: str) -> str:
    """Return the SVG of one figure."""
    module, _, function = name.partition(".")
    return str(getattr(importlib.import_module(f"tools.book_maker.figures.{module}"), function)())


def page(wanted: list[str], theme: str) -> str:
    """Return a page that shows figures in a theme."""
    style = (ROOT / "book" / "theme" / "figures.css").read_text()
    shown = "\n".join(f"<h2>{escape(name)}</h2>\n{draw(name)}" for name in wanted)
    return (
        f"<!doctype html><html class='{theme}'><meta charset='utf-8'><style>:root {{ --mono-font: monospace }} {style}"
        "body { margin: 12px; background: var(--page); color: var(--ink) } html { --page: #fff }"
        f"html.coal {{ --page: #141617 }}</style>{shown}</html>"
    )


def preview(out: Path, wanted: list[str]) -> None:
    """Write a page in each theme, and its picture."""
    from tools.book_maker.browser import chromium

    out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        window = browser.new_page(viewport={"width": 680, "height": 900})
        for theme in THEMES:
            path = out / f"figures.{theme}.html"
            path.write_text(page(wanted, theme))
            window.goto(path.absolute().as_uri())
            window.screenshot(path=path.with_suffix(".png"), full_page=True)
            print(path, path.with_suffix(".png"), sep="\n")
