"""Figures whose tools are gone, because they have answered their question; the book shows their tables as they were.

A file says on which day and on which processor it was measured, and which commit of this repository has the tool.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.benchmarks.harness import Result


def origin(figures: Result) -> str:
    """Return the line that says where figures are from: date, machine and commit."""
    machine = f" on {figures['machine']}" if "machine" in figures else ""
    return f"Measured on {figures['date']}{machine}, with the code of commit `{figures['commit']}`."


def table(figures: Result, name: str) -> str:
    """Return a recorded table as Markdown."""
    made = figures["tables"][name]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (made["head"], made["rule"], *made["rows"]))


def notes(results: Mapping[str, Result]) -> str:
    """Return how the figures of some processors were measured otherwise than the others, as a list: each note once."""
    noted = dict.fromkeys(result["note"] for result in results.values() if "note" in result)
    names = {note: [name for name, result in results.items() if result.get("note") == note] for note in noted}
    return "\n".join(f"- {'; '.join(names[note])}: {note}." for note in noted)
