"""Decide the verdict from the state of a check. Nothing is shown or saved here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checker.course.languages import Language
from checker.course.opening import OpenedFile
from checker.course.reading import Location
from checker.parent.effects import Explanation, SaveCutShort, SaveFailure, SavePass, ToSave
from checker.parent.state import Phase, State, Verdict, VerdictKind
from checker.parent.words import no_verdict, pass_is_kept_or_not
from checker.protocol import events
from checker.protocol.events import Activity, EndEvent, Limit
from checker.stages import ClaimKind, Mark, Stage

RUN_AGAIN = "Run it again when the machine has less to do; if that does not help, please report it."
SENT_BY_OTHERS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")  # signals by which others end a process


def decide(state: State, event: EndEvent) -> Verdict:
    """Return the verdict on a file at an event after which nothing more is tried that could change it."""
    match event:
        case events.FileOpened():
            return _not_begun(state, event.file)
        case events.FileRefused():
            return _on_refusal(event)
        case events.Unloadable():
            return _on_unloadable(state, event)
        case events.CheckFailed():
            return _on_failed_check(state, event)
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
        sentence = "Nothing could be tried yet."
        if Mark.PASS in state.marks:
            sentence = f"Right so far. Still to write: {', '.join(state.to_write)}."
        return Verdict(VerdictKind.FAIL, sentences=(sentence,))
    if state.not_tried:
        reason = f"{', '.join(state.not_tried)} did not run. Does the file stop the check?"
        return _without_verdict(state, reason, to_save=SaveFailure())
    return Verdict(VerdictKind.PASS, to_save=SavePass(compiled=state.context.tries_every_claim))


# ---------------------------------------------------------------- before a claim is tried


def _not_begun(state: State, file: OpenedFile) -> Verdict:
    """Return the verdict on a file in which nothing can be tried yet; it says what is left to do."""
    stop, again = state.context.language.stop_statement, state.context.offers.how_to_check_again
    if any(blank.started for blank in file.unwritten):
        delete = f"Delete it where you have written code, and {again}."
        sentence = f"Nothing can be tried while every blank has `{stop}`. {delete}"
    elif file.blanks == 1:
        sentence = f"One blank is left to write. Replace `{stop}` with code, and {again}."
    else:
        sentence = f"{file.blanks} blanks are left to write. Replace one `{stop}` with code, and {again}."
    return Verdict(VerdictKind.FAIL, sentences=(sentence,))


def _on_refusal(refused: events.FileRefused) -> Verdict:
    """Return the verdict on a file that was refused; one that could not be read counts as no failure."""
    to_save = SaveFailure() if refused.source else None
    if refused.claim:
        return Verdict(VerdictKind.FAIL, (Explanation(refused.sentence, location=refused.location),), to_save=to_save)
    return Verdict(VerdictKind.FAIL, sentences=(refused.sentence,), to_save=to_save)


# ---------------------------------------------------------------- a check that is cut short


@dataclass(frozen=True)
class CutShort:
    """Why a check was cut short.

    Attributes:
        reason: the reason, as the end of a sentence, and maybe more sentences.
        location: the line of the file at which that happened, if it is known.
        after_failure: the words for it if a claim has failed.
        to_save: what is saved if no claim has failed and no pass stands; None if the file is not to blame.
    """

    reason: str
    location: Location | None
    after_failure: str
    to_save: ToSave | None


def _incomplete(state: State, cut: CutShort) -> Verdict:
    """Return the verdict on a file that is not judged to the end; another MAX is to blame if one is installed."""
    if state.has_failed:
        return _failed(state, cut.after_failure)
    if state.context.why_another_max:
        return _without_verdict(state, state.context.why_another_max, cut.location)
    return _without_verdict(state, cut.reason, cut.location, cut.to_save)


def _without_verdict(
    state: State, reason: str, location: Location | None = None, to_save: ToSave | None = None
) -> Verdict:
    """Return the verdict on a file if some claims were not tried and none has failed; an earlier pass stands."""
    if state.pass_stands:
        return Verdict(VerdictKind.PASS, sentences=(f"Not compiled: {reason}", pass_is_kept_or_not(state)))
    return Verdict(VerdictKind.FAIL, (Explanation(no_verdict(reason), location=location),), to_save=to_save)


def _on_unloadable(state: State, event: events.Unloadable) -> Verdict:
    """Return the verdict on a file that cannot be loaded."""
    if state.another_max_is_to_blame(event.why):
        return Verdict(VerdictKind.FAIL, (Explanation(state.context.why_another_max),))
    sentence = event.why.sentence
    if event.changed_since:
        changed = f"The step has changed since this file was written: see {', '.join(event.changed_since)}."
        offer = state.context.offers.of_old_file.format(task=state.context.task)
        sentence = _sentences(f"{sentence}.", changed, offer)
    return Verdict(VerdictKind.FAIL, (Explanation(sentence, location=event.why.location),), to_save=SaveFailure())


def _on_failed_check(state: State, event: events.CheckFailed) -> Verdict:
    """Return the verdict where the check itself cannot go on."""
    return _incomplete(state, CutShort(event.reason, None, after_failure=no_verdict(event.reason), to_save=None))


def _on_interrupt(state: State) -> Verdict:
    """Return the verdict on a check that Ctrl-C ended."""
    during = f" while {state.compiler} was compiling {state.compiled_now}" if state.compilations else ""
    if state.pass_stands and not state.has_failed:
        return Verdict(VerdictKind.PASS, sentences=(f"Interrupted{during}. {pass_is_kept_or_not(state)}",))
    what_is_kept = "; what MAX has compiled is kept" if state.has_compiled else ""
    sentence = f"Interrupted{during}: {_known_so_far(state)}. Run it again{what_is_kept}."
    return Verdict(VerdictKind.INTERRUPTED, sentences=(sentence,))


def _known_so_far(state: State) -> str:
    """Return what is known of a file without a verdict, as the middle of a sentence."""
    if state.phase is Phase.TAKEN_BACK:
        return "once compiled, a claim does not hold, and the pass is taken back"
    if ClaimKind.COMPILED in state.failed_kinds and Stage.TRACING in state.ended_stages:
        return "once compiled, a claim does not hold"
    if ClaimKind.COMPILED in state.failed_kinds:
        return "the outputs match, but a claim about the compiled module does not hold"
    if state.has_failed:
        return "the failure is not explained yet"
    if state.numbers_are_right:
        return "the outputs match so far"
    return "there is no verdict"


def _on_death(state: State, died: events.Died) -> Verdict:
    """Return the verdict on a check whose child has ended too early.

    The file is to blame if it was computing, unless a signal ended it that others send: the system, when memory is
    short, or somebody.
    """
    happened = _how_it_ended(state, died)
    is_of_file = died.activity is Activity.COMPUTING and died.signal not in SENT_BY_OTHERS
    reason, to_save = _why_ended(state, died, happened), SaveCutShort() if is_of_file else None
    return _incomplete(state, CutShort(reason, _line_of_crash(state), _words_after_failure(happened), to_save))


def _how_it_ended(state: State, died: events.Died) -> str:
    """Return how the process has ended, as the beginning of a sentence."""
    if state.crash:
        _, reason = state.crash
        return f"{state.context.language.name} stopped ({reason})"
    return f"the process was ended by {died.signal}" if died.signal else "the process ended"


def _why_ended(state: State, died: events.Died, happened: str) -> str:
    """Return why a file is not judged to the end: its child has ended too early."""
    if died.activity is Activity.STARTING:
        return f"{happened} before it could begin. {state.context.offers.not_begun}"
    when = f"while {state.compiler} was compiling." if died.activity is Activity.COMPILING else _when(state)
    advice = "" if state.crash else _advice_on_solution(state) or _look_for(state.context.language, died)
    return _sentences(f"{happened} {when}", advice)


def _look_for(language: Language, died: events.Died) -> str:
    """Return what to look for in a file whose process was ended by a signal, or has exited."""
    if died.signal == "SIGKILL":
        return "Look for a kill, or for more than fits into memory."
    if died.signal in SENT_BY_OTHERS:
        return "Look for a kill, in the file or from outside."
    if died.activity is Activity.COMPILING:
        return RUN_AGAIN
    if died.signal == "SIGABRT":
        return language.look_for_abort
    return language.look_for_crash if died.signal else language.look_for_exit


def _on_late(state: State, late: events.Late) -> Verdict:
    """Return the verdict on a check whose child has reached a limit, for which a busy machine may be to blame."""
    happened = _which_limit(state, late)
    is_of_file = late.limit in (Limit.COMPUTING, Limit.WAITING) and not late.load_if_busy
    reason, to_save = _why_late(state, late, happened), SaveCutShort() if is_of_file else None
    return _incomplete(state, CutShort(reason, late.location, _words_after_failure(happened), to_save))


def _which_limit(state: State, late: events.Late) -> str:
    """Return in words which limit was reached, as the middle of a sentence."""
    seconds = f"{late.seconds:.0f} s"
    match late.limit:
        case Limit.STARTING:
            return f"it could not begin within {seconds}"
        case Limit.COMPUTING:
            return f"timed out after {seconds}"
        case Limit.WAITING:
            return f"after {seconds}, it still waits for something"
        case Limit.COMPILING:
            return f"{state.compiler} was still compiling {state.compiled_now} after {seconds}"


def _why_late(state: State, late: events.Late, happened: str) -> str:
    """Return why a file is not judged to the end: its child has reached a limit."""
    language, offers = state.context.language, state.context.offers
    busy = f"Other programs have the processor ({late.load_if_busy})." if late.load_if_busy else ""
    match late.limit:
        case Limit.STARTING:
            return _sentences(f"{happened}.", busy, offers.not_begun)
        case Limit.COMPILING:
            return _sentences(f"{happened}.", busy, offers.not_compiled)
        case Limit.WAITING:
            look_for = language.look_for_wait
        case Limit.COMPUTING:
            look_for = language.look_for_loop if late.location else ""
    advice = _advice_on_solution(state) or look_for
    return _sentences(f"{happened} {_when(state)}", advice, busy)


def _when(state: State) -> str:
    """Return in words when a check was cut short, as the end of a sentence."""
    if state.current_claim:
        return f"during this claim: {state.current_claim}"
    return "between two claims." if state.ended_claims else "while the file was loaded."


def _advice_on_solution(state: State) -> str:
    """Return what to do if a solution was checked, in which there is nothing to look for; else nothing."""
    return RUN_AGAIN if state.context.options.is_solution else ""


def _words_after_failure(happened: str) -> str:
    """Return the words for a check that is cut short after a failure."""
    return f"The check was cut short: {happened}. An explanation may be missing."


def _line_of_crash(state: State) -> Location | None:
    """Return the line of the file at which the language stopped the process, if it did."""
    number, lines = state.crash[0] if state.crash else 0, state.source.lines
    return Location(number, lines[number - 1].strip()) if 0 < number <= len(lines) else None


def _sentences(*sentences: str) -> str:
    """Return some sentences as one text, without those that are empty."""
    return " ".join(filter(None, sentences))


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
    return Verdict(VerdictKind.FAIL, tuple(why_claims_fail(state, of_file)), tuple(sentences), to_save=SaveFailure())


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
