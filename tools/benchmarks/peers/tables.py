"""The figures of all processors in one file, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from solutions.solution_01 import GPT2Config
from tools.benchmarks import harness
from tools.benchmarks.harness import Column, Result, Row, table
from tools.benchmarks.peers.catalog import WAYS
from tools.book_maker.values.arithmetic import decode_bytes


class Part(NamedTuple):
    """What is measured: what its figures are called in a row, their format, and the heads of its table."""

    unit: str
    spec: str
    head: str
    column: str


PARTS = {
    "forward": Part("ms", ".0f", "milliseconds, by tokens of the prompt", "{length}"),
    "generation": Part("tokens/s", ".0f", "tokens per second", "after {length}"),
    "memory": Part("MB", ",.0f", "most memory in a process", "MB"),
}


def tables(result: Result, part: str) -> list[str]:
    """Return the tables of one part, one for each size of a batch."""
    return _tables(result, part, PARTS[part])


def _tables(result: Result, name: str, part: Part) -> list[str]:
    rows = [row for row in result["parts"].get(name, {}).values() if part.unit in row]
    batches = sorted({row.get("batch", 1) for row in rows})
    return [_table(result, part, [row for row in rows if row.get("batch", 1) == batch], batch) for batch in batches]


def _table(result: Result, part: Part, rows: Sequence[Row], batch: int) -> str:
    """Return a table with a row for each way, and a column for each length; the best float32 figure is bold.

    That of generation also has the rate at which GPT-2 small's weights are read, once for each token.
    """
    failed = result["failed"]
    columns = [Column(part.head + (f", {batch} sequences at once" if batch > 1 else ""), "way")]
    lines: dict[str, Row] = {way.title: {"way": way.title} for way in WAYS}
    for number, row in enumerate(rows):
        figures = row[part.unit]
        columns.append(Column(part.column.format(**row), str(number), rule="--:"))
        compared = [way.title for way in WAYS if way.weights == "float32" and way.title not in failed]
        exact = [figures[title] for title in compared if title in figures]
        best = (max if part.unit == "tokens/s" else min)(exact, default=None)
        for way in WAYS:
            if way.title in failed:
                lines[way.title][str(number)] = "not timed"
            elif (figure := figures.get(way.title)) is not None:
                cell = format(figure, part.spec if figure >= 10 else ".1f")
                lines[way.title][str(number)] = f"**{cell}**" if figure == best and way.weights == "float32" else cell
    if part.unit == "tokens/s" and batch == 1:
        columns.append(Column("reads, GB/s", "bandwidth", ".0f", rule="--:"))
        for way in WAYS:
            if rate := rows[0][part.unit].get(way.title):
                lines[way.title]["bandwidth"] = rate * decode_bytes(GPT2Config(), 0) * way.bits / 32 / 1e9
    return table(columns, [line for line in lines.values() if len(line) > 1])


def on_gpu(results: Result) -> str:
    """Return the tables of text written on GPUs, a row for each way."""
    return harness.by_processor(results, _on_gpu)


def _on_gpu(result: Result) -> list[str]:
    columns, lines = [Column("milliseconds", "way")], dict[str, Row]()
    for row in result["parts"]["gpu"].values():
        for what in ("first", "later"):
            title = f"{what} token after {row['length']}"
            columns.append(Column(title, title, ".1f", rule="--:"))
            for way, figure in row[what].items():
                lines.setdefault(way, {"way": way})[title] = figure
    return [table(columns, lines.values())]


def who_is_compared() -> str:
    """Return the table of all ways: what each multiplies, what its cache keeps, and what it computes logits for."""
    columns = [Column("library", "title"), Column("weights", "weights"), Column("multiplied by numbers in", "inputs")]
    columns += [Column("cache", "cache"), Column("logits of a prompt", "logits")]
    return table(columns, map(vars, WAYS))


def where_it_ran(results: Result) -> str:
    """Return the table of processors, with their instruction sets, and the most cores that other work took there."""
    columns = [Column("processor", "name"), Column("instructions", "sets"), Column("measured on", "date")]
    columns += [Column("rounds", "rounds", rule="--:"), Column("cores taken by other work", "busy", ".1f", rule="--:")]
    rows = results.items()
    return table(columns, [{"name": name, "sets": ", ".join(row["instruction sets"])} | row for name, row in rows])


def versions(results: Result) -> str:
    """Return the versions of all libraries, each once."""
    return ", ".join(dict.fromkeys(version for result in results.values() for version in result["versions"].values()))


def as_markdown(results: Result) -> str:
    """Return all tables, and what was not timed."""
    parts = [harness.by_processor(results, tables, part) for part in PARTS]
    return "\n\n".join([where_it_ran(results), *filter(None, parts), harness.not_timed(results)])
