"""Which rows a learner sees, of blanks that are still to write and of claims, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from checker.course.blanks import Unwritten, what_to_do, what_to_do_about_missing
from checker.course.reading import Location
from checker.course.steps import Kind
from checker.events import ClaimEnded, Mark
from checker.parent.effects import Row
from checker.parent.state import State


def rows_of_blanks(to_write: Iterable[Unwritten], stop: str) -> list[Row]:
    """Return the rows of the blanks that are still to write, in which the language has the statement ``stop``."""
    rows = []
    for unwritten in to_write:
        line, sentence = unwritten.line, what_to_do(unwritten, stop)
        rows.append(Row(Mark.TODO, unwritten.blank.label, sentence, line, tells_line=line is not None))
    return rows


def rows_of_missing(functions: Mapping[str, str]) -> list[Row]:
    """Return the rows of the functions that a file does not have; with each comes one that may be meant."""
    return [
        Row(Mark.TODO, about=function.rpartition(".")[2], sentence=what_to_do_about_missing(function, likely_name))
        for function, likely_name in functions.items()
    ]


def row_of_file(claim: str, location: Location | None) -> Row:
    """Return the row of a claim about the whole file that does not hold."""
    return Row(Mark.FAIL, "", claim, location.line if location else None)


def rows_of_claims(state: State, claims: Iterable[ClaimEnded]) -> tuple[State, Sequence[Row]]:
    """Return the rows of some claims, and what is known once they are shown: which functions wait."""
    rows = []
    for original in claims:
        claim = state.with_finding(original)
        if _has_no_row(state, claim):
            continue
        rows.append(_row_of_claim(state, claim))
        if claim.mark == Mark.WAITS:
            state = replace(state, waiting_labels=state.waiting_labels | {claim.about})
    return state, rows


def _has_no_row(state: State, claim: ClaimEnded) -> bool:
    """Return whether a learner knows already what is said of a claim, or need not know."""
    if claim.about in state.to_write:
        return True  # its blank has a row
    if claim.mark == Mark.WAITS:
        return claim.about in state.waiting_labels  # a row says so already
    is_drawn = state.context.kinds.get(claim.test) == Kind.DRAWN
    return is_drawn and claim.mark == Mark.PASS  # it is of interest only if it does not hold


def _row_of_claim(state: State, claim: ClaimEnded) -> Row:
    """Return the row of a claim; of one that waits, it says for what."""
    if claim.mark == Mark.WAITS:
        return Row(Mark.WAITS, claim.about, claim.reason, state.line_of(claim.about, None))
    line = state.line_of(claim.about, claim.location)
    group = _group_of(state, claim) if claim.mark == Mark.FAIL else ""
    return Row(claim.mark, claim.about, claim.sentence, line, group)


def _group_of(state: State, failure: ClaimEnded) -> str:
    """Return what failures that are shown together have in common: the sentence on them, whatever each has measured."""
    for finding in state.findings:
        if finding.claim == failure.name:
            return finding.sentence
    return failure.reason
