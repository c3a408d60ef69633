"""How every event changes what is known of a check.

A check is a fold over events: :func:`advance` takes what is known and one event, and returns what is known then and
what follows from it, to show and to save. It reads no file, no clock and no process, so a list of events says
everything about what a check shows (``tests/dev/checker/check/test_advance.py``).

These events lead from one phase to another. Every other event comes later than UNREAD, leaves the phase as it is, and
saves nothing.

======================  =============================================  =================  ==============================
in the phase            comes the event                                leads to           and saves
======================  =============================================  =================  ==============================
UNREAD                  Opened: something can be tried                 TRYING
UNREAD                  Opened: nothing can                            OVER
UNREAD                  Refused                                        OVER               a failure, if it could be read
TRYING                  StageEnded: traced, and the numbers are right  PASSED_UNCOMPILED  a pass
TRYING                  StageEnded: there is nothing left to compile   AFTER_VERDICT      what the verdict says
PASSED_UNCOMPILED       Tick: MAX compiles for long                    GOING_ON
… and GOING_ON          Claimed: once compiled, a claim does not hold  TAKEN_BACK         a failure
                        and no other MAX is to blame
… and TAKEN_BACK        StageEnded: all is compiled                    AFTER_VERDICT      what the verdict says
AFTER_VERDICT           ClaimBegan: on a GPU                           ON_GPU
every one after UNREAD  Ended, Unloadable, CheckFailed, Died, Late,    OVER               what the verdict says, unless
                        Interrupted                                                       it was given before
======================  =============================================  =================  ==============================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checker import events
from checker.check.effects import CloseView, Effect, EndCompiling, Row, SaveProgress, ShowCompiling, Words, WordsKind
from checker.check.state import PASSED, BeingCompiled, Phase, State, Verdict
from checker.check.verdict import decide, no_verdict
from checker.compiling import Compiler
from checker.course.blanks import what_to_do, what_to_do_about_missing
from checker.course.steps import Kind
from checker.events import Claimed, Event, Mark, Stage

COMPILING_IS_LONG = 1.9  # seconds; what comes from the cache takes less

Advanced = tuple[State, list[Effect]]  # what is known after an event, and what follows from it


def advance(state: State, event: Event, seconds: float = 0.0) -> Advanced:
    """Return what is known after an event, and what follows from it, in the order in which it is to be done.

    Args:
        state: what was known.
        event: what has happened.
        seconds: how long the check has taken so far.
    """
    state, effects = _what_follows(replace(state, seconds=seconds), event)
    rows = tuple(effect for effect in effects if isinstance(effect, Row))
    return replace(state, rows=state.rows + rows), effects


def _what_follows(state: State, event: Event) -> Advanced:
    """Return the same as ``advance``; the rows are not noted yet."""
    match event:
        case events.Opened():
            return _opened(state, event)
        case events.ClaimBegan():
            phase = Phase.ON_GPU if state.phase is Phase.AFTER_VERDICT else state.phase
            return replace(state, running=event.sentence, phase=phase), []
        case Claimed():
            return _claimed(state, event)
        case events.Finding():
            return replace(state, findings=(*state.findings, event)), []
        case events.StageEnded():
            return _stage_ended(state, event.stage)
        case events.Missing():
            return _missing(state, event)
        case events.Printed():
            return _printed(state, event.text)
        case events.Shown():
            return replace(state, shown=event), []
        case events.NotSaved():
            return _not_saved(state, event)
        case events.HuntEnded():
            return state, [remark(event.sentence)]
        case events.CompilingBegan():
            begun = BeingCompiled(event.what, state.seconds, event.compiler)
            return replace(state, being_compiled=(*state.being_compiled, begun)), []
        case events.CompilingEnded():
            return _compiling_ended(state, event)
        case events.Tick():
            return _ticked(state)
        case events.Unloadable():
            return _unloadable(state, event)
        case events.Refused():
            return _refused(state, event)
        case events.Ended() | events.CheckFailed() | events.Late() | events.Died() | events.Interrupted():
            return _end(state, event)
    return state, []


def _opened(state: State, event: events.Opened) -> Advanced:
    """Show the blanks that are still to write; that is all if there is nothing to try yet."""
    file, stop = event.file, state.context.language.stop
    labels = tuple(unwritten.blank.label for unwritten in file.to_write)
    state = replace(state, phase=Phase.TRYING, source=file.source, to_write=labels)
    rows: list[Effect] = [
        Row(Mark.TODO, each.blank.label, what_to_do(each, stop), each.line, tells_line=each.line is not None)
        for each in file.to_write
    ]
    if file.can_be_tried:
        return state, rows
    state, effects = _end(state, event)
    return state, rows + effects


def _refused(state: State, event: events.Refused) -> Advanced:
    """Show the claim about the file that does not hold, if there is one; that is all."""
    rows: list[Effect] = [Row(Mark.FAIL, "", event.claim, state.line_of("", event.location))] if event.claim else []
    state, effects = _end(replace(state, source=event.source), event)
    return state, rows + effects


def _unloadable(state: State, event: events.Unloadable) -> Advanced:
    """Show that the file cannot be loaded; that is all."""
    loads, line = state.context.language.loads, state.line_of("", event.location)
    state, effects = _end(state, event)
    return state, [Row(Mark.FAIL, "", loads, line), *effects]


def _missing(state: State, event: events.Missing) -> Advanced:
    """Show the functions that the file does not have, now that it has run."""
    labels = [function.rpartition(".")[2] for function in event.functions]
    sentences = [what_to_do_about_missing(function, meant) for function, meant in event.functions.items()]
    rows: list[Effect] = [Row(Mark.TODO, label, text) for label, text in zip(labels, sentences, strict=True)]
    return replace(state, to_write=(*state.to_write, *labels)), rows


def _printed(state: State, text: str) -> Advanced:
    """Show what the file has printed, unless the language says there that it stopped, which the verdict tells."""
    if crash := state.context.language.crash(text):
        return replace(state, crash=crash), []
    return state, [Words(WordsKind.PRINTED, text)]


def _claimed(state: State, claim: Claimed) -> Advanced:
    """Note what was said of a claim, and show it or, from the first failure on, hold it."""
    state = replace(state, claims={**state.claims, claim.name: claim}, running="")
    if claim.mark == Mark.TRACED:
        return state, []
    if state.phase is Phase.ON_GPU:
        return _claimed_on_gpu(state, claim)
    if state.has_failed:
        return _hold(state, claim)
    return _rows(state, [claim])


def _claimed_on_gpu(state: State, claim: Claimed) -> Advanced:
    """Show a claim on a GPU, which changes no verdict."""
    state, effects = _rows(state, [claim])
    if claim.mark == Mark.FAIL:
        only = f"{claim.reason} Only the GPU disagrees, and the CPU decides: a pass, with that caveat."
        effects.append(remark(only))
    return state, effects


def _hold(state: State, claim: Claimed) -> Advanced:
    """Hold a claim, whose explanation may say that it waits for another; a failure takes back a pass."""
    state = replace(state, held=(*state.held, claim.name))
    takes_back = state.is_passed_uncompiled and claim.mark == Mark.FAIL and not state.is_of_another_max(claim)
    if takes_back:
        return replace(state, phase=Phase.TAKEN_BACK), [SaveProgress(passed=False)]
    return state, []


def _rows(state: State, claims: Iterable[Claimed]) -> Advanced:
    """Return the rows of some claims, but none of what a learner knows already, or need not know."""
    rows: list[Effect] = []
    waiting = set(state.waiting)
    for claim in map(state.with_finding, claims):
        about = claim.about
        if about in state.to_write:
            continue  # its blank has a row
        if claim.mark == Mark.PASS and state.context.kinds.get(claim.test) == Kind.DRAWN:
            continue  # it is of interest only if it does not hold
        if claim.mark == Mark.WAITS:
            if about not in waiting:  # else a row says so already
                waiting.add(about)
                rows.append(Row(Mark.WAITS, about, claim.reason, state.line_of(about, None)))
        else:
            group = _group_of(state, claim) if claim.mark == Mark.FAIL else ""
            rows.append(Row(claim.mark, about, claim.sentence, state.line_of(about, claim.location), group))
    return replace(state, waiting=frozenset(waiting)), rows


def _group_of(state: State, failed: Claimed) -> str:
    """Return what failures that are shown together have in common: a known mistake, or else the reason of the claim."""
    return next((finding.mistake for finding in state.findings if finding.claim == failed.name), "") or failed.reason


def _rows_of_held(state: State) -> Advanced:
    """Return the rows of the claims that were held."""
    return _rows(replace(state, held=()), [state.claims[claim] for claim in state.held])


def _stage_ended(state: State, stage: Stage) -> Advanced:
    """Say that the outputs match as soon as that is known; save the pass of a file that only has to be compiled."""
    state = replace(state, stages=state.stages | {stage})
    context, is_compiled = state.context, Mark.TRACED not in state.marks
    match stage:
        case Stage.DRAWN if context.tries_compiled_claims and state.numbers_are_right:
            return state, [remark(f"Pass: the outputs match {context.recorded_from}'s ({state.seconds:.1f} s).")]
        case Stage.TRACING | Stage.COMPILED if is_compiled and not state.verdict:
            return _give_verdict(state, Phase.AFTER_VERDICT)
        case Stage.TRACING if state.numbers_are_right and context.saves_progress:
            return replace(state, phase=Phase.PASSED_UNCOMPILED), [SaveProgress(passed=True)]
    return state, []


def _not_saved(state: State, event: events.NotSaved) -> Advanced:
    """Note that nothing is saved; after an error or a verdict say so, else the words of a pass cut short do."""
    state = replace(state, not_saved=event.why)
    if event.error:
        return state, [remark(f"(Progress was not saved: {event.why}, {event.error}.)", aside=True)]
    return state, [remark(f"({state.saved_in_words})", aside=True)] if state.verdict else []


def _compiling_ended(state: State, event: events.CompilingEnded) -> Advanced:
    """Note that something is compiled; nobody can promise that a kernel is kept, another text at each save."""
    has_compiled = state.has_compiled or state.compiler is Compiler.MAX
    state = replace(state, being_compiled=state.being_compiled[:-1], has_compiled=has_compiled)
    return state, [EndCompiling(event.what, event.seconds)]


def _ticked(state: State) -> Advanced:
    """Say what has been compiling for long; and that the learner may go on, if the file has passed."""
    if not state.being_compiled:
        return state, []
    seconds = state.seconds - state.being_compiled[-1].began
    compiling = ShowCompiling(state.compiled_now, seconds, state.compiler)
    if compiling.seconds <= COMPILING_IS_LONG:
        return state, []
    if state.phase is not Phase.PASSED_UNCOMPILED:
        return state, [compiling]
    words = "This step is complete. MAX now compiles your module."
    if not state.not_saved:
        words += f" {state.context.offers.going_on}"
    return replace(state, phase=Phase.GOING_ON), [remark(words, aside=True), compiling]


def remark(text: str, *, aside: bool = False) -> Words:
    """Return a sentence of the check."""
    return Words(WordsKind.SAID, text, aside)


# ---------------------------------------------------------------- the end


def _end(state: State, event: Event) -> Advanced:
    """Decide, unless the verdict was given once all was compiled: what this ends then is the part on a GPU."""
    effects: list[Effect] = [CloseView()] if isinstance(event, events.Late | events.Died | events.Interrupted) else []
    if state.verdict:
        return replace(state, phase=Phase.OVER), effects + _end_after_verdict(state, event)
    state, following = _give_verdict(replace(state, end_event=event), Phase.OVER)
    return state, effects + following


def _end_after_verdict(state: State, event: Event) -> list[Effect]:
    """Return what is said where claims on a GPU, which follow the verdict, do not come to their end."""
    if isinstance(event, events.CheckFailed):
        return [remark(no_verdict(event.why))]
    if state.has_passed and state.phase is Phase.ON_GPU and not isinstance(event, events.Ended):
        return [remark("The GPU's part did not come to its end. The pass stands.")]
    return []


def _give_verdict(state: State, phase_after: Phase) -> Advanced:
    """Decide; first save progress, then show what was held and the last lines. The phase is ``phase_after`` then."""
    state, rows = _rows_of_held(state)
    verdict = decide(state)
    saving: list[Effect] = [verdict.progress] if verdict.progress and state.context.saves_progress else []
    return replace(state, phase=phase_after, verdict=verdict), [*saving, *rows, *_last_lines(state, verdict)]


def _last_lines(state: State, verdict: Verdict) -> list[Effect]:
    """Return the last lines of a check, in their order: the one to act on is read last."""
    words = list[Effect](map(remark, verdict.words))
    if verdict.status == PASSED and state.came_to_its_end:
        return words + _pass_in_words(state)
    if verdict.status == PASSED or isinstance(state.end_event, events.Interrupted):
        return words
    return words + _taken_back(state) + _about_numbers(state, verdict) + _explanations_last_first(verdict)


def _pass_in_words(state: State) -> list[Effect]:
    """Return what is said of a pass."""
    context = state.context
    left_out_by = ""
    if not context.is_complete:
        left_out_by = "--show" if context.options.show else "--no-compile"
    words = context.offers.passed(state.seconds, context.solution, left_out_by)
    return [remark(words)] if words else []


def _taken_back(state: State) -> list[Effect]:
    """Return that what only the compiler has found takes a pass back; ask for a report unless it is foreseen."""
    if state.phase is not Phase.TAKEN_BACK:
        return []
    report = (
        "Only the compiler has found this, and the check should have found it before: please report it, "
        f"with {state.context.file}. "
    )
    is_foreseen = any(claim.foreseen for claim in state.claims.values())
    return [remark(f"{'' if is_foreseen else report}The pass is taken back.")]


def _about_numbers(state: State, verdict: Verdict) -> list[Effect]:
    """Return how wrong numbers come again, if they were drawn, and the numbers themselves or what shows them."""
    lines = list[Effect]()
    task, options, offers = state.context.task, state.context.options, state.context.offers
    with_numbers = [why.about for why in verdict.explanations if why.has_numbers and why.about]
    if state.failed_seed is not None:
        again = offers.draws_again(task, state.failed_seed, has_wrong_numbers=bool(with_numbers))
        lines.append(remark(f"Every check draws new numbers; {again}" if again else "Every check draws new numbers."))
    if options.show:
        numbers = state.shown.lines if state.shown and state.shown.about == options.show else ()
        lines += [Words(WordsKind.SHOWN, line) for line in numbers or [f"{options.show} has no wrong numbers to show."]]
    elif with_numbers:
        lines.append(remark(offers.shows_numbers(task, with_numbers[0], state.failed_seed)))
    return lines


def _explanations_last_first(verdict: Verdict) -> list[Effect]:
    """Return the explanations of a verdict, the one to begin with last."""
    first, others = verdict.explanations[:1], verdict.explanations[1:]
    wrong = list(dict.fromkeys(why.about for why in verdict.explanations))
    if len(wrong) < 2:
        return [*reversed(others), *first]
    lead = Words(WordsKind.LEAD, f"{', '.join(wrong[:-1])} and {wrong[-1]} are each wrong. Begin with {wrong[0]}:")
    return [*reversed(others), lead, *first]
