"""What a check says: between its rows, of its verdict, and in its last lines, with what a learner can do next."""

from __future__ import annotations

from collections.abc import Sequence

from checker.course.opening import OpenedFile
from checker.parent.effects import Item, Words, WordsKind
from checker.parent.state import Blames, Phase, State, Tried, Verdict, VerdictKind
from checker.protocol.events import Activity, ClaimEnded, Died, Late, Limit, NotSaved, Unloadable
from checker.stages import ClaimKind, Mark, Stage

RUN_AGAIN = "Run it again when the machine has less to do; if that does not help, please report it."
PASS_IS_KEPT = "The pass is kept, as `pass, not compiled`."
GPU_WAS_CUT_SHORT = "The GPU's part did not come to its end. The pass stands."


def outputs_match(state: State) -> Words:
    """Return the words for outputs that match: a pass, unless a compiled claim fails."""
    return Words(f"Pass: the outputs match {state.context.recorded_from}'s ({state.seconds:.1f} s).")


def step_is_complete(state: State) -> Words:
    """Return the words for a pass that MAX only compiles; if it is saved, the learner may go on."""
    sentences = "This step is complete. MAX now compiles your module."
    if not state.why_not_saved:
        sentences += f" {state.context.offers.going_on}"
    return Words(sentences, aside=True)


def pass_is_kept_or_not(state: State) -> str:
    """Return a sentence that says whether a pass which is not compiled was saved."""
    return f"The pass is not kept: {state.why_not_saved}." if state.why_not_saved else PASS_IS_KEPT


def pass_was_not_saved(state: State) -> Words:
    """Return the words for a pass that is not saved, since the file has been edited meanwhile."""
    return Words(f"({pass_is_kept_or_not(state)})", aside=True)


def progress_was_not_saved(event: NotSaved) -> Words:
    """Return the words for an error of the system, which has kept progress from being saved."""
    return Words(f"(Progress was not saved: {event.reason}, {event.error}.)", aside=True)


def only_the_gpu_disagrees(claim: ClaimEnded) -> Words:
    """Return the words for a claim that fails on a GPU alone."""
    return Words(f"{claim.why.sentence} Only the GPU disagrees, and the CPU decides: a pass, with that caveat.")


def no_verdict(reason: str) -> str:
    """Return that there is no verdict, and why."""
    return f"No verdict: {reason}"


# ---------------------------------------------------------------- the verdict's sentences


def nothing_to_try(state: State, file: OpenedFile) -> str:
    """Return what is left to do in a file in which nothing can be tried yet."""
    stop, again = state.context.language.stop_statement, state.context.offers.how_to_check_again
    if any(blank.started for blank in file.unwritten):
        delete = f"Delete it where you have written code, and {again}."
        return f"Nothing can be tried while every blank has `{stop}`. {delete}"
    if file.blanks == 1:
        return f"One blank is left to write. Replace `{stop}` with code, and {again}."
    return f"{file.blanks} blanks are left to write. Replace one `{stop}` with code, and {again}."


def still_to_write(state: State) -> str:
    """Return which functions are still to write, if others are right."""
    if Mark.PASS not in state.marks:
        return "Nothing could be tried yet."
    return f"Right so far. Still to write: {', '.join(state.to_write)}."


def why_unloadable(state: State, event: Unloadable) -> str:
    """Return why a file cannot be loaded, and what to do if it is older than its step."""
    if not event.changed_since:
        return event.why.sentence
    changed = f"The step has changed since this file was written: see {', '.join(event.changed_since)}."
    return f"{event.why.sentence}. {changed} {state.context.offers.of_old_file.format(task=state.context.task)}"


def interrupted(state: State, kind: VerdictKind) -> str:
    """Return that Ctrl-C has ended a check, and what is known of the file; ``kind`` is that of the verdict."""
    during = f" while {state.compiler} was compiling {state.compiled_now}" if state.compilations else ""
    if kind is VerdictKind.PASS:
        return f"Interrupted{during}. {pass_is_kept_or_not(state)}"
    what_is_kept = "; what MAX has compiled is kept" if state.has_compiled else ""
    return f"Interrupted{during}: {_known_so_far(state)}. Run it again{what_is_kept}."


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


def how_it_ended(state: State, died: Died) -> str:
    """Return how the process has ended, as the beginning of a sentence."""
    if state.crash:
        _, reason = state.crash
        return f"{state.context.language.name} stopped ({reason})"
    return f"the process was ended by {died.signal}" if died.signal else "the process ended"


def why_it_ended(state: State, died: Died) -> str:
    """Return why a file is not judged to the end: its child has ended too early."""
    happened = how_it_ended(state, died)
    if died.activity is Activity.STARTING:
        return f"{happened} before it could begin. {state.context.offers.not_begun}"
    when = f"while {state.compiler} was compiling." if died.activity is Activity.COMPILING else _when(state)
    advice = "" if state.crash else _look_for(state, died)
    return _sentences(f"{happened} {when}", advice)


def _look_for(state: State, died: Died) -> str:
    """Return what to look for in a file whose process was ended by a signal, or has exited."""
    if state.context.options.is_solution:
        return RUN_AGAIN
    if died.signal == "SIGKILL":
        return "Look for a kill, or for more than fits into memory."
    if died.ended_by_others:
        return "Look for a kill, in the file or from outside."
    if died.activity is Activity.COMPILING:
        return RUN_AGAIN
    if died.signal == "SIGABRT":
        return state.context.language.look_for_abort
    return state.context.language.look_for_crash if died.signal else state.context.language.look_for_exit


def which_limit(state: State, late: Late) -> str:
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


def why_it_is_late(state: State, late: Late) -> str:
    """Return why a file is not judged to the end: its child has reached a limit."""
    happened, language, offers = which_limit(state, late), state.context.language, state.context.offers
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
    advice = RUN_AGAIN if state.context.options.is_solution else look_for  # in a solution there is nothing to look for
    return _sentences(f"{happened} {_when(state)}", advice, busy)


def _when(state: State) -> str:
    """Return in words when a check was cut short, as the end of a sentence."""
    if state.current_claim:
        return f"during this claim: {state.current_claim}"
    return "between two claims." if state.ended_claims else "while the file was loaded."


def cut_short(happened: str) -> str:
    """Return that a check was cut short after a failure, by what ``happened``."""
    return f"The check was cut short: {happened}. An explanation may be missing."


def _sentences(*sentences: str) -> str:
    """Return some sentences as one text, without those that are empty."""
    return " ".join(filter(None, sentences))


# ---------------------------------------------------------------- the last lines


def last_lines(state: State, verdict: Verdict) -> Sequence[Item]:
    """Return the last lines of a check, in their order: the one to act on is read last."""
    said = [Words(sentence) for sentence in verdict.sentences]
    match verdict.kind:
        case VerdictKind.PASS:
            numbers = _numbers(state, state.context.options.show) if state.context.options.show else []
            return [*said, *numbers, *_pass_in_words(state, verdict)]
        case VerdictKind.FAIL:
            taken_back, numbers = _words_on_taking_back(state, verdict), _words_on_numbers(state, verdict)
            return [*said, *taken_back, *numbers, *_explanations_last_first(verdict)]
        case VerdictKind.INTERRUPTED:
            return said


def _pass_in_words(state: State, verdict: Verdict) -> list[Words]:
    """Return the words for a pass; none if the check was cut short, whose verdict has sentences of its own."""
    if verdict.tried is Tried.SOME:
        return []
    context = state.context
    offer = context.offers.passed if context.tries_every_claim else context.offers.passed_uncompiled
    sentences = offer.format(seconds=state.seconds, solution=context.solution, left_out_by=context.left_out_by)
    return [Words(sentences)] if sentences else []


def _words_on_taking_back(state: State, verdict: Verdict) -> list[Words]:
    """Return the words for a pass that is taken back, maybe to be reported, or kept if another MAX is to blame."""
    if not (state.pass_was_said and state.has_failed):
        return []
    if verdict.blames is Blames.NOT_THE_FILE:
        return [Words(pass_is_kept_or_not(state))] if state.is_passed_uncompiled else []
    taken_back = "The pass is taken back."
    is_foreseen = any(claim.foreseen for claim in state.ended_claims.values())
    if is_foreseen or state.phase is not Phase.TAKEN_BACK:  # tracing has found it, or no pass was saved
        return [Words(taken_back)]
    report = "Only the compiler has found this, and the check should have found it before: please report it, with"
    return [Words(f"{report} {state.context.file}. {taken_back}")]


def _words_on_numbers(state: State, verdict: Verdict) -> list[Words]:
    """Return how to draw wrong numbers again, and the numbers themselves or how to show them."""
    task, options, offers, seed = state.context.task, state.context.options, state.context.offers, state.failed_seed
    with_numbers = [explanation.about for explanation in verdict.explanations if explanation.has_numbers]
    lines = []
    if seed is not None:
        offer = offers.draws_again if with_numbers else offers.draws_again_unshown
        again = offer.format(task=task, seed=seed)
        lines.append(Words(f"Every check draws new numbers; {again}" if again else "Every check draws new numbers."))
    if options.show:
        lines += _numbers(state, options.show)
    elif with_numbers:
        drawn = "" if seed is None else f" --seed {seed}"
        lines.append(Words(offers.shows_numbers.format(task=task, about=with_numbers[0], drawn=drawn)))
    return lines


def _numbers(state: State, label: str) -> list[Words]:
    """Return the lines with the numbers that ``--show`` asks for, or a line that there are none."""
    compared = state.numbers
    if compared and compared.about == label and compared.lines:
        return [Words(line, WordsKind.SHOWN) for line in compared.lines]
    if label in state.waiting_labels:
        return [Words(f"{label} waits, so it has no numbers to show yet.", WordsKind.SHOWN)]
    return [Words(f"{label} has no wrong numbers to show.", WordsKind.SHOWN)]


def _explanations_last_first(verdict: Verdict) -> Sequence[Item]:
    """Return the explanations of a verdict, the one to begin with last."""
    if not verdict.explanations:
        return []
    first, *others = verdict.explanations
    wrong = list(dict.fromkeys(explanation.about for explanation in verdict.explanations))  # each once
    if len(wrong) == 1:
        return [*reversed(others), first]
    lead = Words(f"{', '.join(wrong[:-1])} and {wrong[-1]} are each wrong. Begin with {wrong[0]}:", WordsKind.LEAD)
    return [*reversed(others), lead, first]
