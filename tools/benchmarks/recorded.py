"""Figures whose tools are gone, because they have answered their question; the book shows their tables as they were.

A file says on which day and on which processor it was measured, and which commit of this repository has the tool.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.benchmarks.harness import Result


def origin(figures: Result) -> str:
    """Return the line that says where figures are from: date, machine and commit."""
    machine = f" on {figures['machine']}" if "machine" in figures else ""
    return (
        f"Measured on {figures['date']}{machine}, by a tool that is no longer part of this course; it is in commit "
        f"`{figures['commit']}`."
    )


def table(figures: Result, name: str) -> str:
    """Return a recorded table as Markdown."""
    made = figures["tables"][name]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (made["head"], made["rule"], *made["rows"]))


def by_processor(results: Mapping[str, Result], name: str) -> str:
    """Return the recorded tables of a name, ``forward`` and ``forward, 2``, each below the processor and the day.

    If there are several processors, each has a fold.
    """
    shown = {
        processor: "\n\n".join(
            f"**{processor}**, {result['date']}\n\n{table(result['recorded'], title)}"
            for title in result["recorded"]["tables"]
            if title.partition(",")[0] == name
        )
        for processor, result in results.items()
    }
    made = {processor: tables for processor, tables in shown.items() if tables}
    if len(made) == 1:
        return "".join(made.values())
    folds = (f"<details><summary>{one}</summary>\n\n{tables}\n\n</details>" for one, tables in made.items())
    return "\n\n".join(folds)


def notes(results: Mapping[str, Result]) -> str:
    """Return how the figures of some processors were measured otherwise than the others, as a list."""
    return "\n".join(f"- {name}: {result['note']}." for name, result in results.items() if "note" in result)
