"""Survey two mistakes at once, and a mistake in a right answer that is written differently: are they named correctly?

``./run pairs`` keeps the counts in ``tests/dev/session/pairs.json``, and writes the table beside them, ``pairs.md``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from checker.course.attempts import Edits, edited, load_attempts, places
from checker.course.paths import TESTS, relative_path
from checker.course.progress import digest
from checker.course.steps import Step, steps_in_python
from tools.benchmarks.harness import Column, table
from tools.surveys.survey import Surveyed, survey

TABLE = TESTS / "dev" / "session" / "pairs.md"
COUNTS = TABLE.with_suffix(".json")
MOST = 150  # pairs per step
SEED = 1

Pair = tuple[str, str]
Pairs = Mapping[Pair, Edits]

COLUMNS = (
    Column("step", "step"),
    Column("pairs of mistakes", "pairs", rule="--:"),
    Column("refused", "refused", rule="--:"),
    Column("both named", "both", rule="--:"),
    Column("alternatives with a mistake", "rewrites", rule="--:"),
    Column("refused", "rewrites_refused", rule="--:"),
    Column("named", "named", rule="--:"),
    Column("another one named", "misnamed", rule="--:"),
)
ABOUT = """\
# Mistakes in pairs, and in right answers that are written differently

Written by `./run pairs`. A pair is two known mistakes in one file, each of which lies wholly in a blank of its own; up
to {most} of a step are drawn by lot. Left out are pairs whose edits touch the same text, pairs in one blank, and
mistakes that spoil several functions ({several}). An alternative with a mistake is a right answer in other words,
spoiled by a known mistake, wherever the edits of both apply; one that is accepted has lost the mistake to the
alternative's edits.

{table}

{total}{older}

## Not as it should be

{listed}
"""


@dataclass
class Tally:
    """What was said of the pairs of one step; ``unnamed`` and ``misnamed`` are those that the check got wrong."""

    pairs: int = 0
    refused: int = 0
    both: int = 0
    rewrites: int = 0
    rewrites_refused: int = 0
    named: int = 0
    misnamed: int = 0
    wrong: list[str] = field(default_factory=list)
    of: str = ""  # a name for the solution, the claims and the attempts that were counted


def pairs_of(step: Step, count: int = MOST, seed: int = SEED) -> Pairs:
    """Return pairs of known mistakes, each of which lies wholly in a blank of its own, drawn by lot."""
    solution, mistakes = step.solution_file.read_text(), load_attempts(step).mistakes
    lies_in = {name: places(solution, edits) for name, edits in mistakes.items()}
    possible = (
        (one, other)
        for one, other in itertools.combinations(mistakes, 2)
        if len(lies_in[one]) == len(lies_in[other]) == 1 and lies_in[one] != lies_in[other]
    )
    return drawn(_both(solution, possible, mistakes), count, seed)


def rewrites_of(step: Step, count: int = MOST, seed: int = SEED) -> Pairs:
    """Return alternatives with a known mistake, as ``(alternative, mistake)``, drawn by lot."""
    attempts = load_attempts(step)
    possible = itertools.product(attempts.alternatives, attempts.mistakes)
    return drawn(
        _both(step.solution_file.read_text(), possible, {**attempts.alternatives, **attempts.mistakes}), count, seed
    )


def drawn(pairs: Pairs, count: int, seed: int) -> Pairs:
    """Return some of the pairs, the same ones for the same seed."""
    return {pair: pairs[pair] for pair in random.Random(seed).sample(sorted(pairs), min(count, len(pairs)))}


def _both(solution: str, possible: Iterable[Pair], edits_of: Mapping[str, Edits]) -> Pairs:
    """Return those pairs whose edits apply side by side, and what to edit."""
    found = {}
    for one, other in possible:
        edits = {**edits_of[one], **edits_of[other]}
        if len(edits) == len(edits_of[one]) + len(edits_of[other]):
            with contextlib.suppress(ValueError):
                edited(solution, edits)
                found[one, other] = edits
    return found


def survey_pairs(step: Step, pairs: Pairs, seed: int = SEED) -> Iterator[tuple[Pair, Surveyed]]:
    """Grade pairs in one child, and yield what was said of each."""
    names = {str(number): pair for number, pair in enumerate(pairs)}
    for surveyed in survey(step, {name: pairs[pair] for name, pair in names.items()}, seed=seed):
        yield names[surveyed.name], surveyed


def tally(step: Step) -> Tally:
    """Count what a step's check says of pairs and of alternatives with a mistake."""
    counted = Tally()
    for pair, said in survey_pairs(step, pairs_of(step)):
        both = {*pair} <= {*said.named}
        counted.pairs += 1
        counted.refused += not said.accepted
        counted.both += both
        if said.accepted or not both:
            counted.wrong.append(_line(step, pair, "accepted" if said.accepted else f"named: {_listed(said.named)}"))
    for pair, said in survey_pairs(step, rewrites_of(step)):
        others = [name for name in said.named if name != pair[1]]
        counted.rewrites += 1
        counted.rewrites_refused += not said.accepted
        counted.named += pair[1] in said.named
        counted.misnamed += bool(others)
        if others:
            counted.wrong.append(_line(step, pair, f"named: {_listed(others)}"))
    return counted


def _line(step: Step, pair: Pair, happened: str) -> str:
    return f"- {step.task}: {pair[0]} | {pair[1]} → {happened}"


def _listed(names: Sequence[str]) -> str:
    return " | ".join(names) or "nothing"


def state_of(step: Step) -> str:
    """Return a name for all that the counts of a step depend on."""
    return digest(*(file.read_text() for file in (step.solution_file, step.check_file, step.attempts_file)))


def record(steps: Sequence[Step]) -> None:
    """Count for some steps, one after the other; after each, keep the counts and write the table of all."""
    for step in steps:
        counted = tally(step)
        counted.of = state_of(step)
        print(f"{step.task}: {vars(counted)}", flush=True)
        counts = json.loads(COUNTS.read_text()) | {step.task: asdict(counted)}
        COUNTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n")
        TABLE.write_text(as_markdown({task: Tally(**one) for task, one in counts.items()}))
    print(relative_path(TABLE))


def as_markdown(tallies: Mapping[str, Tally]) -> str:
    """Return the page of all counts, by task, in the order of the course."""
    steps = [step for step in steps_in_python() if step.task in tallies]
    several = sum(
        len(places(step.solution_file.read_text(), edits)) != 1
        for step in steps
        for edits in load_attempts(step).mistakes.values()
    )
    total = {column.key: sum(getattr(tallies[step.task], column.key) for step in steps) for column in COLUMNS[1:]}
    older = [step.task for step in steps if tallies[step.task].of != state_of(step)]
    missing = [step.task for step in steps_in_python() if step.task not in tallies]
    return ABOUT.format(
        most=MOST,
        several=several,
        table=table(COLUMNS, [{"step": step.task, **vars(tallies[step.task])} for step in steps]),
        total=f"Both named: {total['both'] / max(total['pairs'], 1):.1%} of {total['pairs']} pairs. "
        f"Another mistake named: {total['misnamed'] / max(total['rewrites'], 1):.1%} of {total['rewrites']} "
        "alternatives with a mistake.",
        older="".join(
            f" {words}: {', '.join(tasks)}."
            for words, tasks in (
                ("Changed since they were counted", older),
                ("Not counted yet", missing),
            )
            if tasks
        ),
        listed="\n".join(line for step in steps for line in tallies[step.task].wrong) or "Nothing.",
    )
