"""The tables of ``./run bench-replicas``, for the terminal and for the book."""

from __future__ import annotations

from typing import Any

from tools.benchmarks.harness import Column, Result, table


def tables(result: Result) -> dict[str, str]:
    """Return a table for each part that was measured."""
    makers = {"iterations": _of_iterations, "cost": _of_compared, "two": _of_two, "simulated": _of_simulated}
    makers |= {"prefixes": _of_prefixes, "faults": _of_faults, "ray": _of_compared}
    return {name: make(result["parts"][name]) for name, make in makers.items() if name in result["parts"]}


def agreement(part: Result) -> dict[str, tuple[float, float]]:
    """Return how many times the simulated latency the measured one is, at the least and at the most of all loads.

    Args:
        part: ``two``, where both are.
    """
    quotients = {
        what: [row[f"measured {what}"] / row[f"simulated {what}"] for row in part["rows"]] for what in ("median", "p95")
    }
    return {what: (min(found), max(found)) for what, found in quotients.items()}


def _of_iterations(part: Result) -> str:
    columns = [Column("requests in the batch", "batch", rule="--:")]
    columns += [
        Column(words, busy, ".1f", "--:") for busy, words in (("1", "one server, ms"), ("2", "each of two, ms"))
    ]
    seconds = part["seconds"]
    rows = [
        {"batch": batch} | {busy: 1000 * seconds[busy][at] for busy in seconds}
        for at, batch in enumerate(part["batches"])
    ]
    prompt = {"batch": "one prompt"} | {busy: 1000 * value for busy, value in part["prompt"].items()}
    return table(columns, [prompt, *rows])


def _of_compared(part: Result) -> str:
    one, other = (name.removesuffix(", tokens/s") for name in part["rows"][0] if name.endswith(", tokens/s"))
    columns = [Column("clients", "clients", "d", "--:"), Column("answers", "kind")]
    for words, key, spec in (
        ("tokens/s", "tokens/s", ".0f"),
        ("first token, ms", "first ms", ".1f"),
        ("ms", "ms", ".1f"),
    ):
        columns += [
            Column(f"{one}, {words}", f"{one}, {key}", spec, "--:"),
            Column(other, f"{other}, {key}", spec, "--:"),
        ]
    return table(columns, [row | {"kind": "streams" if row["stream"] else "at once"} for row in part["rows"]])


def _of_two(part: Result) -> str:
    columns = [
        Column("load", "load", ".0%", "--:"),
        Column("requests a second", "requests a second", ".1f", "--:"),
        *(
            Column(f"{who} {what}, ms", f"{who} {what}", ".0f", "--:")
            for what in ("median", "p95")
            for who in ("measured", "simulated")
        ),
    ]
    rows = [
        {name: 1000 * value if name.startswith(("measured", "simulated")) else value for name, value in row.items()}
        for row in part["rows"]
    ]
    return table(columns, rows)


def _of_simulated(part: Result) -> str:
    loads = sorted({row["load"] for row in part["rows"]})
    columns = [Column("replicas", "replicas", "d", "--:"), Column("a request goes to", "rule")]
    columns += [Column(f"{load:.0%}".replace("%", " %"), str(load), ".0f", "--:") for load in loads]
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for row in part["rows"]:
        key = row["replicas"], row["rule"]
        rows.setdefault(key, {"replicas": key[0], "rule": key[1]})[str(row["load"])] = 1000 * row["p99"]
    return table(columns, rows.values())


def _of_prefixes(part: Result) -> str:
    columns = [
        Column("prefix caching", "caching"),
        Column("a conversation stays at one server, ms", "stays", ".0f", "--:"),
        Column("goes to any, ms", "wanders", ".0f", "--:"),
    ]
    found = {(row["cached"], row["stays"]): 1000 * row["first token, s"] for row in part["rows"]}
    rows = [
        {"caching": words, "stays": found[cached, True], "wanders": found[cached, False]}
        for cached, words in ((True, "on"), (False, "off"))
    ]
    return table(columns, rows)


def _of_faults(part: Result) -> str:
    columns = [
        Column("one of two servers is", "fault"),
        Column("requests", "requests", ",d", "--:"),
        Column("failed", "failed", "d", "--:"),
        Column("of them streams", "failed streams", "d", "--:"),
        Column("wrong", "wrong", "d", "--:"),
        Column("longest wait, s", "longest, s", ".1f", "--:"),
    ]
    return table(columns, part["rows"])
