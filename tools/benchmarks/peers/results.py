"""The figures of all processors in one file, and their tables."""

from __future__ import annotations

from collections.abc import Sequence

from checker.course.paths import ROOT
from solutions.solution_01 import GPT2Config
from tools.benchmarks.harness import Column, Result, Row, merged, table
from tools.benchmarks.peers.catalog import WAYS
from tools.book_maker.values.arithmetic import decode_bytes

FILE = ROOT / "tools" / "benchmarks" / "figures" / "peers.json"

Parts = dict[str, list[Row]]


def merge(before: Result, result: Result) -> Result:
    """Return the figures of all processors, with those of one more run; a row that was measured again is replaced."""

    def join(parts: Parts, measured: Parts) -> Parts:
        joined = dict(parts)
        for part, rows in measured.items():
            shapes = [(row.get("batch"), row.get("length")) for row in rows]
            kept = [row for row in parts.get(part, []) if (row.get("batch"), row.get("length")) not in shapes]
            joined[part] = sorted([*kept, *rows], key=lambda row: (row.get("batch", 0), row.get("length", 0)))
        return joined

    return merged(before, result, join)


# ---------------------------------------------------------------- tables


#: By part what its figures are called in a row, their format, and what the column of a length is called.
PARTS = {
    "prefill": ("ms", ".0f", "{length}"),
    "generation": ("tokens/s", ".0f", "after {length}"),
    "start": ("seconds", ".1f", "seconds"),
    "memory": ("MB", ",.0f", "MB"),
}
HEADS = {
    "prefill": "milliseconds, by tokens of the prompt",
    "generation": "tokens per second",
    "start": "from starting a process to the first logits, with what it compiles and has not kept on the disk",
    "memory": "most memory in a process",
}


def one_table(part: str, rows: Sequence[Row]) -> str:
    """Return a table with a row for each way, and a column for each length; the best float32 figure is bold.

    That of generation also has the rate at which GPT-2 small's weights are read, once for each token.
    """
    unit, spec, title = PARTS[part]
    batch = rows[0].get("batch", 1)
    together = f", {batch} sequences at once" if batch > 1 else ""
    columns = [Column(HEADS[part] + together, "way")]
    lines: dict[str, Row] = {}
    for number, row in enumerate(rows):
        columns.append(Column(title.format(**row), str(number), rule="--:"))
        exact = [row[unit][way.title] for way in WAYS if way.weights == "float32" and way.title in row[unit]]
        best = (max if part == "generation" else min)(exact, default=None)
        for way in WAYS:
            line = lines.setdefault(way.title, {"way": way.title})
            if way.title in row[unit]:
                figure = row[unit][way.title]
                cell = format(figure, spec if figure >= 10 or part == "start" else ".1f")
                line[str(number)] = f"**{cell}**" if figure == best and way.weights == "float32" else cell
            elif way.title in row["failed"]:
                line[str(number)] = "not timed"
    if part == "generation" and batch == 1:
        columns.append(Column("reads, GB/s", "bandwidth", ".0f", rule="--:"))
        for way in WAYS:
            if rate := rows[0][unit].get(way.title):
                lines[way.title]["bandwidth"] = rate * decode_bytes(GPT2Config(), 0) * way.bits / 32 / 1e9
    return table(columns, [line for line in lines.values() if len(line) > 1])


def who_is_compared() -> str:
    """Return the table of all ways: what each multiplies, what its cache keeps, and what it computes logits for."""
    titles = {
        "title": "library",
        "weights": "weights",
        "inputs": "multiplied by numbers in",
        "cache": "cache",
        "logits": "logits of a prompt",
    }
    lines = [{name: getattr(way, name) for name in titles} for way in WAYS]
    return table([Column(title, name) for name, title in titles.items()], lines)


def where_it_ran(results: Result) -> str:
    """Return the table of processors, with their instruction sets, and the most cores that other work took there."""
    columns = [Column("processor", "name"), Column("instructions", "sets")]
    columns += [Column("rounds", "rounds", rule="--:"), Column("cores taken by other work", "busy", ".1f", rule="--:")]
    lines = []
    for name, result in results.items():
        timed = [row for rows in result["parts"].values() for row in rows if "busy" in row]  # all but memory
        busy = max((row["busy"] for row in timed), default=0.0)
        rounds = min((row["rounds"] for row in timed), default=0)
        sets = ", ".join(result["instruction sets"])
        lines.append({"name": name, "sets": sets, "rounds": rounds, "busy": busy})
    return table(columns, lines)


def versions(results: Result) -> str:
    """Return the versions of all libraries, each once."""
    return ", ".join(dict.fromkeys(version for result in results.values() for version in result["versions"].values()))


def by_processor(results: Result, part: str) -> str:
    """Return the tables of one part, those of all processors below one another."""
    found = []
    for name, result in results.items():
        rows = result["parts"].get(part, [])
        for batch in sorted({row.get("batch", 1) for row in rows}):
            found += [f"**{name}**", one_table(part, [row for row in rows if row.get("batch", 1) == batch])]
    return "\n\n".join(found)


def reasons(results: Result) -> dict[str, str]:
    """Return by title of a way, and processor, why it was not timed: a reason, or the end of a log."""
    return {
        f"{title} on {name}": why
        for name, result in results.items()
        for rows in result["parts"].values()
        for row in rows
        for title, why in row["failed"].items()
    }


def not_timed(results: Result) -> str:
    """Return what was not timed, and why, as Markdown."""
    found = reasons(results)
    return "\n\n".join(f"{title}:\n\n```text\n{why}\n```" for title, why in found.items()) or "All of it was timed."


def as_markdown(results: Result) -> str:
    """Return all tables, and what was not timed."""
    parts = [by_processor(results, part) for part in PARTS]
    return "\n\n".join([where_it_ran(results), *filter(None, parts), not_timed(results)])
