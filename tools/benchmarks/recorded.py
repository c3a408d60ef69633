"""Figures whose tools are gone, because they have answered their question; the book shows their tables as they were.

A file says on which day and on which processor it was measured, and which commit of this repository has the tool.
"""

from __future__ import annotations

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


def tables(result: Result, name: str) -> list[str]:
    """Return a recorded table of a processor, if it has one of that name."""
    return [table(result["recorded"], name)] if name in result["recorded"]["tables"] else []
