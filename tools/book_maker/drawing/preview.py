"""Look at figures without building the book: ``python -m tools.book_maker.drawing.preview OUT.html step_07.heads …``.

Without names, all figures. The page shows each one on a light and on a dark page; ``OUT.png`` beside it, if
Chromium is installed, is its picture.
"""

from __future__ import annotations

import importlib
import inspect
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

from checker.course.paths import ROOT

FIGURES = ROOT / "book" / "maker" / "figures"


def names() -> list[str]:
    """Every figure there is: ``step_07.heads``, from the functions without an underscore in figures/."""
    found = []
    for path in sorted(FIGURES.glob("[a-z]*.py")):
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
    """The SVG of one figure."""
    module, _, function = name.partition(".")
    return str(getattr(importlib.import_module(f"tools.book_maker.figures.{module}"), function)())


def page(figures: list[str]) -> str:
    """A page that shows figures in both themes."""
    style = (ROOT / "book" / "theme" / "figures.css").read_text()
    shown = "\n".join(f"<h2>{escape(name)}</h2>\n{draw(name)}" for name in figures)
    return (
        f"<!doctype html><html class='THEME'><meta charset='utf-8'><style>:root {{ --mono-font: monospace }} {style}"
        "body { margin: 12px; background: var(--page); color: var(--ink) } html { --page: #fff }"
        f"html.coal {{ --page: #141617 }}</style>{shown}</html>"
    )


def main() -> None:
    """Write the pages, and their pictures."""
    out, *wanted = sys.argv[1:]
    for theme in ("light", "coal"):
        path = Path(out).with_suffix(f".{theme}.html")
        path.write_text(page(wanted or names()).replace("THEME", theme))
        print(path)
        browser = shutil.which("chromium")
        if browser:
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=680,900", "--hide-scrollbars"]
            picture = path.with_suffix(".png").absolute()
            subprocess.run(
                [browser, *flags, f"--screenshot={picture}", path.absolute().as_uri()], check=True, capture_output=True
            )
            print(picture)


if __name__ == "__main__":
    main()
