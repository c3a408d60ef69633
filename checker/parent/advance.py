"""Advance a check by one event.

A check is a fold over events: :func:`advance` takes the state of a check and one event, and returns the next state and
the effects of the event, which are things to show and to save. It reads no file, no clock and no process, so a list of
events decides everything that a check shows (``tests/dev/checker/parent/test_advance.py``).

These events lead from one phase to another. Every other event comes later than UNREAD, leaves the phase as it is, and
saves nothing.

======================  =============================================  =================  ==============================
in the phase            comes the event                                leads to           and saves
======================  =============================================  =================  ==============================
UNREAD                  FileOpened: claims can be tried                TRYING
UNREAD                  FileOpened: nothing can be tried yet           OVER
UNREAD                  FileRefused                                    OVER               a failure, if it could be read
TRYING                  StageEnded: traced, the numbers are right,     PASSED_UNCOMPILED  a pass
                        progress is saved, something must compile
PASSED_UNCOMPILED       Tick: MAX compiles for long                    GOING_ON
… and GOING_ON          ClaimEnded: once compiled, it does not hold    TAKEN_BACK         a failure, which no verdict
                        and no other MAX is to blame                                      saves again
TRYING to TAKEN_BACK    CompiledTried                                  AFTER_VERDICT      what the verdict says
AFTER_VERDICT           ClaimBegan: on a GPU                           ON_GPU
every one after UNREAD  Ended, Unloadable, CheckFailed, Died, Late,    OVER               what the verdict says, unless
                        Interrupted                                                       it was given before
======================  =============================================  =================  ==============================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker.compiling import Compiler
from checker.parent import sentences
from checker.parent.effects import (
    CloseView,
    Effect,
    EndCompiling,
    SaveCutShort,
    SaveFailure,
    SavePass,
    ShowCompiling,
    ToSave,
    Words,
    WordsKind,
)
from checker.parent.rows import row_of_file, rows_of_claims, rows_of_missing, rows_of_unwritten
from checker.parent.state import Blames, Compilation, Phase, State, Tried, Verdict, VerdictKind
from checker.parent.verdict import decide
from checker.protocol import events
from checker.protocol.events import CutsShort, EndEvent, Event
from checker.stages import Mark, Stage

COMPILING_IS_LONG = 1.9  # seconds; loading from the cache takes less

StateAndEffects = tuple[State, Sequence[Effect]]  # the state after an event, and the effects of the event


def advance(state: State, event: Event, seconds: float) -> StateAndEffects:
    """Return the state after an event, and the effects of the event, in the order in which they are to be carried out.

    Args:
        state: the state before.
        event: the event.
        seconds: how long the check has taken so far.
    """
    state = replace(state, seconds=seconds)
    match event:
        case events.FileOpened():
            return _file_opened(state, event)
        case events.ClaimBegan():
            phase = Phase.ON_GPU if state.phase is Phase.AFTER_VERDICT else state.phase
            return replace(state, current_claim=event.sentence, phase=phase), []
        case events.ClaimEnded():
            return _claim_ended(state, event)
        case events.Finding():
            return replace(state, findings=(*state.findings, event)), []
        case events.StageEnded():
            return _stage_ended(state, event)
        case events.CompiledTried():
            return _give_verdict(state, event, Phase.AFTER_VERDICT)
        case events.FunctionsMissing():
            return _functions_missing(state, event)
        case events.Printed():
            return _printed(state, event.text)
        case events.NumbersCompared():
            return replace(state, numbers=event), []
        case events.NotSaved():
            return _not_saved(state, event)
        case events.HuntEnded():
            return state, [Words(event.sentence)]
        case events.CompilingBegan():
            compilation = Compilation(event.name, seconds, event.compiler)
            return replace(state, compilations=(*state.compilations, compilation)), []
        case events.CompilingEnded():
            return _compiling_ended(state, event)
        case events.Tick():
            return _ticked(state)
        case events.Unloadable():
            return _unloadable(state, event)
        case events.FileRefused():
            return _file_refused(state, event)
        case events.Ended() | events.CheckFailed() | events.Late() | events.Died() | events.Interrupted():
            return _end(state, event)
        case events.Busy():
            return state, []


def _file_opened(state: State, event: events.FileOpened) -> StateAndEffects:
    """Show the blanks that are still to write; if nothing can be tried yet, end the check."""
    rows = rows_of_unwritten(event.file.unwritten, state.context.language.stop_statement)
    labels = tuple(row.about for row in rows)
    state = replace(state, source=event.file.source, to_write=labels)
    if event.file.can_be_tried:
        return replace(state, phase=Phase.TRYING), rows
    state, effects = _end(state, event)
    return state, [*rows, *effects]


def _file_refused(state: State, event: events.FileRefused) -> StateAndEffects:
    """Show the claim about the file that does not hold, if there is one, and end the check."""
    rows = [row_of_file(event.claim, event.location)] if event.claim else []
    state, effects = _end(replace(state, source=event.source or state.source), event)
    return state, [*rows, *effects]


def _unloadable(state: State, event: events.Unloadable) -> StateAndEffects:
    """Show that the file cannot be loaded, and end the check."""
    row = row_of_file(state.context.language.claim_that_it_loads, event.why.location)
    state, effects = _end(state, event)
    return state, [row, *effects]


def _functions_missing(state: State, event: events.FunctionsMissing) -> StateAndEffects:
    """Show the functions that the file lacks, now that it has run."""
    rows = rows_of_missing(event.functions)
    labels = [row.about for row in rows]
    return replace(state, to_write=(*state.to_write, *labels)), rows


def _printed(state: State, text: str) -> StateAndEffects:
    """Show a line that the file has printed; if it tells of a crash, note that instead, for the verdict."""
    crash = state.context.language.read_crash(text)
    if crash:
        return replace(state, crash=crash), []
    return state, [Words(text, WordsKind.PRINTED)]


def _claim_ended(state: State, claim: events.ClaimEnded) -> StateAndEffects:
    """Note the outcome of a claim, and show the claim or, from the first failure on, hold it."""
    state = replace(state, ended_claims={**state.ended_claims, claim.name: claim}, current_claim="")
    if claim.mark is Mark.TRACED:
        return state, []
    if state.phase is Phase.ON_GPU:
        return _claim_ended_on_gpu(state, claim)
    if state.has_failed:
        return _hold(state, claim)
    return rows_of_claims(state, [claim])


def _claim_ended_on_gpu(state: State, claim: events.ClaimEnded) -> StateAndEffects:
    """Show a claim on a GPU, which changes no verdict."""
    state, rows = rows_of_claims(state, [claim])
    if claim.mark is not Mark.FAIL:
        return state, rows
    return state, [*rows, sentences.only_the_gpu_disagrees(claim)]


def _hold(state: State, claim: events.ClaimEnded) -> StateAndEffects:
    """Hold a claim, since a finding may say that it waits for another function; a failure takes back a pass."""
    state = replace(state, held_claims=(*state.held_claims, claim.name))
    takes_back = state.is_passed_uncompiled and claim.mark is Mark.FAIL and not state.another_max_is_to_blame(claim.why)
    if takes_back:
        return replace(state, phase=Phase.TAKEN_BACK), [SaveFailure()]
    return state, []


def _stage_ended(state: State, event: events.StageEnded) -> StateAndEffects:
    """Say that the outputs match as soon as that is known; save a pass if only compiling is left."""
    stage = event.stage
    state = replace(state, ended_stages=state.ended_stages | {stage})
    if stage is Stage.DRAWN and state.only_compiling_is_left:
        return replace(state, pass_was_said=True), [sentences.outputs_match(state)]
    some_are_traced = Mark.TRACED in state.marks  # else nothing has to be compiled, and a verdict follows
    if stage is Stage.TRACING and state.only_compiling_is_left and some_are_traced and state.context.saves_progress:
        return replace(state, phase=Phase.PASSED_UNCOMPILED), [SavePass(compiled=False)]
    return state, []


def _not_saved(state: State, event: events.NotSaved) -> StateAndEffects:
    """Note that a pass is not saved; say so once after an error, or after a verdict, since no later words will."""
    was_said = state.why_not_saved == event.reason
    state = replace(state, why_not_saved=event.reason)
    if event.error:
        return state, [] if was_said else [sentences.progress_was_not_saved(event)]
    if state.verdict:
        return state, [sentences.pass_was_not_saved(state)]
    return state, []


def _compiling_ended(state: State, event: events.CompilingEnded) -> StateAndEffects:
    """Note that a compilation has ended; Mojo's do not count as kept, since each save gives the kernel another text."""
    has_compiled = state.has_compiled or state.compiler is Compiler.MAX
    state = replace(state, compilations=state.compilations[:-1], has_compiled=has_compiled)
    return state, [EndCompiling(event.name, event.seconds)]


def _ticked(state: State) -> StateAndEffects:
    """Show a compilation that takes long; if the file has passed, say that the learner may go on."""
    if not state.compilations:
        return state, []
    innermost = state.compilations[-1]
    compiling = ShowCompiling(innermost.name, state.seconds - innermost.began, innermost.compiler)
    if compiling.seconds <= COMPILING_IS_LONG:
        return state, []
    if state.phase is not Phase.PASSED_UNCOMPILED:
        return state, [compiling]
    return replace(state, phase=Phase.GOING_ON), [sentences.step_is_complete(state), compiling]


# ---------------------------------------------------------------- the end


def _end(state: State, event: EndEvent) -> StateAndEffects:
    """Give the verdict; if it was given once all was compiled, this is only the end of the part on a GPU."""
    closing = [CloseView()] if isinstance(event, CutsShort) else []
    if state.verdict:
        return replace(state, phase=Phase.OVER), [*closing, *_words_after_verdict(state, event)]
    state, effects = _give_verdict(state, event, Phase.OVER)
    return state, [*closing, *effects]


def _words_after_verdict(state: State, event: EndEvent) -> list[Words]:
    """Return words for claims on a GPU, which follow the verdict, if they do not come to their end."""
    if isinstance(event, events.CheckFailed):
        return [Words(sentences.no_verdict(event.reason))]
    if state.pass_stands and state.phase is Phase.ON_GPU and not isinstance(event, events.Ended):
        return [Words(sentences.GPU_WAS_CUT_SHORT)]
    return []


def _give_verdict(state: State, event: EndEvent, phase_after: Phase) -> StateAndEffects:
    """Decide; save progress, then show the held claims and the last lines; the phase is ``phase_after`` then."""
    verdict = decide(state, event)
    saving = _what_to_save(state, verdict)
    state, rows = _show_held_claims(state)
    lines = sentences.last_lines(state, verdict)
    return replace(state, phase=phase_after, verdict=verdict), [*saving, *rows, *lines]


def _what_to_save(state: State, verdict: Verdict) -> list[ToSave]:
    """Return what is saved at a verdict: a pass if the check came to its end, a failure if it blames the file."""
    if state.phase is Phase.TAKEN_BACK or not state.context.saves_progress:
        return []
    if verdict.kind is VerdictKind.PASS:
        return [] if verdict.tried is Tried.SOME else [SavePass(compiled=verdict.tried is Tried.ALL)]
    match verdict.blames:
        case Blames.FILE:
            return [SaveFailure()]
        case Blames.FILE_OR_CHANCE:
            return [SaveCutShort()]
        case Blames.NOT_THE_FILE:
            return []


def _show_held_claims(state: State) -> StateAndEffects:
    """Show the claims that were held, since all that is known of them is known now."""
    held = [state.ended_claims[claim] for claim in state.held_claims]
    return rows_of_claims(replace(state, held_claims=()), held)
