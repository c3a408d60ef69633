"""Decide the verdict from the state of a check. Nothing is shown or saved here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checker.course.reading import Location, location_in
from checker.parent import sentences
from checker.parent.effects import Explanation
from checker.parent.state import Blames, State, Tried, Verdict, VerdictKind
from checker.protocol import events
from checker.protocol.events import Activity, EndEvent, Limit
from checker.stages import Mark


def decide(state: State, event: EndEvent) -> Verdict:
    """Return the verdict on a file at an event after which nothing more is tried that could change it."""
    match event:
        case events.FileOpened():
            return Verdict(VerdictKind.FAIL, sentences=(sentences.nothing_to_try(state, event.file),))
        case events.FileRefused():
            return _on_refusal(event)
        case events.Unloadable():
            return _on_unloadable(state, event)
        case events.CheckFailed():
            return _incomplete(
                state, CutShort(event.reason, None, sentences.no_verdict(event.reason), Blames.NOT_THE_FILE)
            )
        case events.Died():
            return _on_death(state, event)
        case events.Late():
            return _on_late(state, event)
        case events.Interrupted():
            return _on_interrupt(state)
        case events.CompiledTried() | events.Ended():
            return _all_tried(state)


def _all_tried(state: State) -> Verdict:
    """Return the verdict once every claim has been tried. A pass needs an outcome of each required claim."""
    if state.has_failed:
        return _failed(state)
    if state.to_write:
        return Verdict(VerdictKind.FAIL, sentences=(sentences.still_to_write(state),))
    if state.not_tried:
        reason = f"{', '.join(state.not_tried)} did not run. Does the file stop the check?"
        return _undecided(state, reason, blames=Blames.FILE)
    return Verdict(VerdictKind.PASS, tried=Tried.ALL if state.context.tries_every_claim else Tried.ALL_ASKED_FOR)


# ---------------------------------------------------------------- a file that cannot be tried


def _on_refusal(refused: events.FileRefused) -> Verdict:
    """Return the verdict on a file that was refused; one that could not be read counts as no failure."""
    blames = Blames.FILE if refused.source else Blames.NOT_THE_FILE
    if refused.claim:
        return Verdict(VerdictKind.FAIL, (Explanation(refused.sentence, location=refused.location),), blames=blames)
    return Verdict(VerdictKind.FAIL, sentences=(refused.sentence,), blames=blames)


def _on_unloadable(state: State, event: events.Unloadable) -> Verdict:
    """Return the verdict on a file that cannot be loaded."""
    if state.another_max_is_to_blame(event.why):
        return Verdict(VerdictKind.FAIL, (Explanation(state.context.why_another_max),))
    why = Explanation(sentences.why_unloadable(state, event), location=event.why.location)
    return Verdict(VerdictKind.FAIL, (why,), blames=Blames.FILE)


# ---------------------------------------------------------------- a check that is cut short


@dataclass(frozen=True)
class CutShort:
    """Why a check was cut short: the ``reason``, as the end of a sentence, and the line of the file, if it is known.

    ``after_failure`` is said of it if a claim has failed. If none has and no pass stands, it ``blames`` something.
    """

    reason: str
    location: Location | None
    after_failure: str
    blames: Blames


def _incomplete(state: State, cut: CutShort) -> Verdict:
    """Return the verdict on a file that is not judged to the end; another MAX is to blame if one is installed."""
    if state.has_failed:
        return _failed(state, cut.after_failure)
    if state.context.why_another_max:
        return _undecided(state, state.context.why_another_max, cut.location)
    return _undecided(state, cut.reason, cut.location, cut.blames)


def _undecided(
    state: State, reason: str, location: Location | None = None, blames: Blames = Blames.NOT_THE_FILE
) -> Verdict:
    """Return the verdict on a file if some claims were not tried and none has failed; an earlier pass stands."""
    if state.pass_stands:
        return Verdict(VerdictKind.PASS, sentences=(f"Not compiled: {reason}", sentences.pass_is_kept_or_not(state)))
    return Verdict(VerdictKind.FAIL, (Explanation(sentences.no_verdict(reason), location=location),), blames=blames)


def _on_interrupt(state: State) -> Verdict:
    """Return the verdict on a check that Ctrl-C ended."""
    kind = VerdictKind.PASS if state.pass_stands and not state.has_failed else VerdictKind.INTERRUPTED
    return Verdict(kind, sentences=(sentences.interrupted(state, kind),))


def _on_death(state: State, died: events.Died) -> Verdict:
    """Return the verdict on a check whose child has ended too early.

    The file is to blame if it was computing, unless others have ended it.
    """
    is_of_file = died.activity is Activity.COMPUTING and not died.ended_by_others
    blames = Blames.FILE_OR_CHANCE if is_of_file else Blames.NOT_THE_FILE
    after_failure = sentences.cut_short(sentences.how_it_ended(state, died))
    return _incomplete(
        state, CutShort(sentences.why_it_ended(state, died), _line_of_crash(state), after_failure, blames)
    )


def _on_late(state: State, late: events.Late) -> Verdict:
    """Return the verdict on a check whose child has reached a limit, for which a busy machine may be to blame."""
    is_of_file = late.limit in (Limit.COMPUTING, Limit.WAITING) and not late.load_if_busy
    blames = Blames.FILE_OR_CHANCE if is_of_file else Blames.NOT_THE_FILE
    after_failure = sentences.cut_short(sentences.which_limit(state, late))
    return _incomplete(state, CutShort(sentences.why_it_is_late(state, late), late.location, after_failure, blames))


def _line_of_crash(state: State) -> Location | None:
    """Return the line of the file at which the language stopped the process, if it did."""
    return location_in(state.source.lines, state.crash[0]) if state.crash else None


# ---------------------------------------------------------------- why claims fail


def _failed(state: State, cut_short: str = "") -> Verdict:
    """Return the verdict on a file whose claims failed; ``cut_short`` is what is said of one that was cut short.

    If another MAX has raised all the errors, the file is not to blame.
    """
    sentences = [cut_short] if cut_short else []
    failures = _failures(state)
    of_file = [failure for failure in failures if not state.another_max_is_to_blame(failure.why)]
    if failures and not of_file:
        return Verdict(VerdictKind.FAIL, (Explanation(state.context.why_another_max),), tuple(sentences))
    if of_file != failures:
        sentences = [state.context.why_another_max, *sentences]
    return Verdict(VerdictKind.FAIL, tuple(why_claims_fail(state, of_file)), tuple(sentences), blames=Blames.FILE)


def _failures(state: State) -> list[events.Finding]:
    """Return the findings of failures; if the child has found out none, the claims' own reasons."""
    failures = [finding for finding in state.findings if finding.mark is Mark.FAIL]
    if failures:
        return failures
    claims = [state.as_found(claim) for claim in state.ended_claims.values()]
    return [  # of compiled claims, or the child ended before it could explain: --show has no numbers of them
        events.Finding(claim.name, claim.about, replace(claim.why, has_numbers=False))
        for claim in claims
        if claim.mark is Mark.FAIL
    ]


def why_claims_fail(state: State, failures: Sequence[events.Finding]) -> list[Explanation]:
    """Return the explanations of the claims that failed: one for each known mistake, else one for each function.

    A function is explained by its first failure, since the claims about one blank go from the plain to the special, as
    CONTRIBUTING.md asks: the reason of a special claim is often false if a plain one fails. If several inputs cause an
    error at one line, the first is told.
    """
    by_mistake: dict[tuple[str, str | None], list[events.Finding]] = {}
    for failure in failures:
        by_mistake.setdefault((failure.about, failure.mistake), []).append(failure)
    return [_first_with_count(state, alike) for alike in by_mistake.values()]


def _first_with_count(state: State, failures: Sequence[events.Finding]) -> Explanation:
    """Return why the first claim fails, and how many others fail by the same error with other sizes."""
    first = failures[0]
    sentence, error_key = first.sentence, first.why.error_key
    if error_key and not first.mistake:
        sentences = {failure.sentence for failure in failures if failure.why.error_key == error_key}
        others = len(sentences) - 1
        if others:
            count = "another input" if others == 1 else f"{others} other inputs"
            sentence += f" (The same happens with {count} of the check.)"
    has_numbers, def_line = first.why.has_numbers and bool(first.about), state.def_line_of(first.about)
    return Explanation(sentence, first.about, first.why.location, has_numbers, def_line)
