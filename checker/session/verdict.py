"""Decide the verdict from everything that is known of a check. Nothing is shown or kept here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker import events
from checker.course.languages import Language, Location
from checker.events import FAIL, PASS, TRACED, WAITS, Died, Explanation, Late
from checker.interrupts import INTERRUPTED
from checker.session.limits import COMPILING, COMPUTING, STARTING, WAITING
from checker.session.state import FAILED, PASSED, Phase, State, Verdict

KEPT = "The pass is kept, as `pass, not compiled`."
RUN_AGAIN = "Run it again when the machine has less to do; if that does not help, please report it."


def decide(state: State) -> Verdict:
    """Return the verdict on a file, once nothing more is tried that could change it."""
    verdict = _decide(state)
    explanations = verdict.explanations
    if state.unusable and not all(explanation.has_numbers for explanation in explanations):  # another MAX raises errors
        return replace(verdict, explanations=(Explanation(state.unusable),))
    of_file = verdict.status == FAILED and _is_of_file(state)
    return replace(verdict, explanations=tuple(map(state.with_line, explanations)), of_file=of_file)


def _decide(state: State) -> Verdict:
    match state.end:
        case events.Refused():
            return _not_run(state.end)
        case events.Interrupted():
            return _interrupted(state)
        case events.Opened():
            return Verdict(FAILED, words=(_all_to_write(state, state.end),))
        case events.Unloadable():  # after a failure, the check itself is at fault, while it explained why
            return _stopped(state, Explanation(state.end.sentence, location=state.end.location), state.end.sentence)
        case Late() | Died():
            happened = f"The check was cut short: {_what_happened(state, state.end)}. An explanation may be missing."
            return _stopped(state, _why_stopped(state, state.end), happened)
    explanations = tuple(why_claims_fail(state))
    if state.has_failed:
        return Verdict(FAILED, explanations)
    if state.to_write or WAITS in state.marks:
        now = f"Right so far. Still to write: {', '.join(state.to_write)}."
        return Verdict(FAILED, explanations, (now if PASS in state.marks else "Nothing could be tried yet.",))
    tried = {name.partition("[")[0] for name, claim in state.claims.items() if claim.mark != TRACED}
    if missing := sorted(state.context.required - tried):
        not_tried = f"No verdict: {', '.join(missing)} did not run. Does the file stop the check?"
        return Verdict(FAILED, (Explanation(not_tried),))
    return Verdict(PASSED)


def _is_of_file(state: State) -> bool:
    """Return whether the file is to blame for a failure; one that is not written yet, or has passed, is not."""
    match state.end:
        case events.Refused():
            return bool(state.source)
        case _ if state.has_failed:
            return True
        case _ if state.has_passed:
            return False
        case events.Unloadable():
            return state.end.of_file
        case Died():  # who kills it is the system, when memory is short, or somebody else
            return state.end.doing == COMPUTING and state.end.signal != "SIGKILL"
        case Late():
            return state.end.limit in (COMPUTING, WAITING) and not state.end.crowd
    return not (state.to_write or WAITS in state.marks)


def _not_run(refused: events.Refused) -> Verdict:
    """Return the verdict on a file that was not run."""
    if refused.claim:
        return Verdict(FAILED, (Explanation(refused.sentence, location=refused.location),))
    return Verdict(FAILED, words=(refused.sentence,))


def _all_to_write(state: State, opened: events.Opened) -> str:
    """Return what is left to do of a file in which nothing can be tried."""
    reading, stop, again = opened.reading, state.context.language.stop, state.context.offers.again
    if any(unwritten.started for unwritten in reading.to_write):
        return (
            f"Nothing can be tried while every blank has `{stop}`. Delete it where you have written code, and {again}."
        )
    if reading.blanks == 1:
        return f"One blank is left to write. Replace `{stop}` with code, and {again}."
    return f"{reading.blanks} blanks are left to write. Replace one `{stop}` with code, and {again}."


def _interrupted(state: State) -> Verdict:
    """Return the verdict on a check that Ctrl-C ended."""
    if state.has_passed:
        return Verdict(PASSED, words=(f"Interrupted while MAX was compiling. {KEPT}",))
    known = "the outputs match so far" if state.numbers_are_right else "there is no verdict"
    if state.has_failed:
        known = "the failure is not explained yet"
    if state.phase is Phase.TAKEN_BACK:
        known = "once compiled, a claim does not hold, and the pass is taken back"
    return Verdict(INTERRUPTED, words=(f"Interrupted: {known}. Run it again; what MAX has compiled is kept.",))


def _stopped(state: State, why: Explanation, after_failure: str) -> Verdict:
    """Return the verdict on a file that cannot be judged to the end; a failure or a pass stands.

    Args:
        state: what is known.
        why: there is no verdict, if there was none before.
        after_failure: the words for it after a failure.
    """
    if state.has_failed:
        return Verdict(FAILED, tuple(why_claims_fail(state)), (after_failure,))
    if state.has_passed:
        not_compiled = f"Not compiled: {why.sentence.removeprefix('No verdict: ')}"
        return Verdict(PASSED, words=(state.unusable or not_compiled, KEPT))
    return Verdict(FAILED, (why,))


# ---------------------------------------------------------------- why there is no verdict


def _why_stopped(state: State, end: Late | Died) -> Explanation:
    """Return why there is no verdict, when the child takes too long or has ended too early."""
    language, happened = state.context.language, _what_happened(state, end)
    if isinstance(end, Late):
        return _why_late(state, end, happened)
    if end.doing == STARTING:
        return Explanation(f"No verdict: {happened} before it could begin. {state.context.offers.not_begun}")
    if not state.crash:
        return _no_verdict(state, happened, _of_a_solution(state) or _look_for(language, end))
    line, _ = state.crash
    lines = state.source.splitlines()
    location = Location(line, lines[line - 1].strip()) if line <= len(lines) else None
    return _no_verdict(state, happened, "", location)


def _what_happened(state: State, end: Late | Died) -> str:
    """Return what has ended a check too early, as the middle of a sentence."""
    if isinstance(end, Died):
        if state.crash:
            return f"{state.context.language.name} stopped ({state.crash[1]})"
        return f"the process was ended by {end.signal}" if end.signal else "the process ended"
    seconds = f"{end.seconds:.0f} s"
    if end.limit == STARTING:
        return f"it could not begin within {seconds}"
    if end.limit == COMPILING:
        return f"{_compiler(end)} was still compiling {end.compiling} after {seconds}"
    if end.limit == WAITING:
        return f"after {seconds}, it still waits for something"
    return f"timed out after {seconds}"


def _look_for(language: Language, died: Died) -> str:
    """Return what to look for where a signal has ended the process, or it has exited; a compiler may end by itself."""
    if died.signal == "SIGKILL":
        return "Look for a kill, or for more than fits into memory."
    if died.doing == COMPILING:
        return RUN_AGAIN
    return language.look_for_crash if died.signal else language.look_for_exit


def _compiler(end: Late | Died) -> str:
    """Return whose compiler was at work when a child has ended."""
    return "Mojo" if end.compiling == events.THE_KERNEL else "MAX"


def _why_late(state: State, late: Late, happened: str) -> Explanation:
    """Return why there is no verdict, when a child has reached a limit."""
    crowd = f"Other programs have the processor ({late.crowd})." if late.crowd else ""
    if late.limit in (STARTING, COMPILING):
        offers = state.context.offers
        advice = offers.not_begun if late.limit == STARTING else offers.not_compiled
        return Explanation(" ".join(f"No verdict: {happened}. {crowd} {advice}".split()))
    if late.limit == WAITING:
        advice = state.context.language.look_for_wait
    else:
        advice = state.context.language.look_for_loop if late.location else ""
    return _no_verdict(state, happened, f"{_of_a_solution(state) or advice} {crowd}".strip(), late.location)


def _of_a_solution(state: State) -> str:
    """Return what to do about a solution, which has neither an endless loop nor an end of its own; else nothing."""
    return RUN_AGAIN if state.context.options.solution else ""


def _no_verdict(state: State, happened: str, advice: str, location: Location | None = None) -> Explanation:
    """Return the explanation of a check that did not finish."""
    if isinstance(state.end, Died) and state.end.doing == COMPILING:
        during = f"while {_compiler(state.end)} was compiling."
    elif state.running:
        during = f"during this claim: {state.running}"
    else:
        during = "between two claims." if state.claims else "while the file was loaded."
    return Explanation(f"No verdict: {happened} {during} {advice}".rstrip(), location=location)


# ---------------------------------------------------------------- why claims fail


def why_claims_fail(state: State) -> list[Explanation]:
    """Return the explanations of the claims that failed: one per known mistake, else one per function.

    That of a function is its first one, since claims go from the plain to the special: what a special one says of a
    mistake in the plain is often false. An error that several inputs cause at one line is told of the first.
    """
    failures = [explanation for explanation in state.explanations if explanation.mark == FAIL]
    if not failures:  # compiled claims, or the child ended before it could explain
        failed = (claim for claim in map(state.as_seen, state.claims.values()) if claim.mark == FAIL)
        failures = [Explanation(claim.reason, claim.about, claim.location, cause=claim.cause) for claim in failed]
    by_mistake: dict[tuple[str, str], list[Explanation]] = {}
    for explanation in failures:
        by_mistake.setdefault((explanation.about, explanation.mistake), []).append(explanation)
    return [_first_with_count(alike) for alike in by_mistake.values()]


def _first_with_count(explanations: Sequence[Explanation]) -> Explanation:
    """Return the first explanation of a function, with how many claims fail by the same error with other sizes."""
    first = explanations[0]
    if first.mistake or not first.cause:
        return first
    more = len({explanation.sentence for explanation in explanations if explanation.cause == first.cause}) - 1
    if not more:
        return first
    count = "another input" if more == 1 else f"{more} other inputs"
    return replace(first, sentence=f"{first.sentence} (The same happens with {count} of the check.)")
