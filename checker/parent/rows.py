"""The rows of a check: of blanks that are still to write, and of claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from checker.course.blanks import Unwritten, label_of, what_to_do, what_to_do_about_missing
from checker.course.reading import Location
from checker.parent.effects import Row
from checker.parent.state import State
from checker.protocol.events import ClaimEnded
from checker.stages import ClaimKind, Mark


def rows_of_unwritten(unwritten: Iterable[Unwritten], stop: str) -> list[Row]:
    """Return the rows of blanks that are still to write; ``stop`` is the stop statement of the language."""
    return [Row(Mark.TODO, each.blank.label, what_to_do(each, stop), each.line) for each in unwritten]


def rows_of_missing(functions: Mapping[str, str]) -> list[Row]:
    """Return the rows of the functions that a file lacks; beside each is a name that may be meant, or nothing.

    If a class with blanks is missing as a whole, it has one row, which is about the class.
    """
    return [
        Row(Mark.TODO, about=label_of(function), sentence=what_to_do_about_missing(function, likely_name))
        for function, likely_name in functions.items()
    ]


def row_of_file(claim: str, location: Location | None) -> Row:
    """Return the row of a claim about the whole file that does not hold."""
    return Row(Mark.FAIL, "", claim, location.line if location else None)


def rows_of_claims(state: State, claims: Iterable[ClaimEnded]) -> tuple[State, Sequence[Row]]:
    """Return the state and the rows of some claims, with their findings; the state knows which functions wait."""
    rows = []
    for original in claims:
        claim = state.as_found(original)
        if _has_no_row(state, claim):
            continue
        rows.append(_row_of_claim(state, claim))
        if claim.mark is Mark.WAITS:
            state = replace(state, waiting_labels=state.waiting_labels | {claim.about})
    return state, rows


def _has_no_row(state: State, claim: ClaimEnded) -> bool:
    """Return whether a claim needs no row: another row says so already, or a drawn claim holds."""
    if claim.about in state.to_write:
        return True  # its blank has a row
    if claim.mark is Mark.WAITS:
        return claim.about in state.waiting_labels  # a row says so already
    is_drawn = state.context.kinds.get(claim.test) is ClaimKind.DRAWN
    return is_drawn and claim.mark is Mark.PASS  # a drawn claim is of interest only if it does not hold


def _row_of_claim(state: State, claim: ClaimEnded) -> Row:
    """Return the row of a claim; the row of a claim that waits says for what."""
    if claim.mark is Mark.WAITS:
        return Row(Mark.WAITS, claim.about, claim.why.sentence, state.def_line_of(claim.about))
    location = claim.why.location
    line = location.line if location else state.def_line_of(claim.about)
    group = _group_of(state, claim) if claim.mark is Mark.FAIL else ""
    return Row(claim.mark, claim.about, claim.sentence, line, group)


def _group_of(state: State, failure: ClaimEnded) -> str:
    """Return the group of a failure, whose rows are shown together: its finding's sentence, without figures."""
    for finding in state.findings:
        if finding.claim == failure.name:
            return finding.why.sentence
    return failure.why.sentence
