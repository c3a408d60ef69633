"""What a check says between its rows, and its last lines: the verdict's words, and what a learner can do next."""

from __future__ import annotations

from collections.abc import Sequence

from checker.parent.effects import Item, Words, WordsKind
from checker.parent.state import Phase, State, Verdict, VerdictKind
from checker.protocol.events import ClaimEnded, NotSaved

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
    if not verdict.is_pass_to_the_end:
        return []
    context = state.context
    offer = context.offers.passed if context.tries_every_claim else context.offers.passed_uncompiled
    sentences = offer.format(seconds=state.seconds, solution=context.solution, left_out_by=context.left_out_by)
    return [Words(sentences)] if sentences else []


def _words_on_taking_back(state: State, verdict: Verdict) -> list[Words]:
    """Return the words for a pass that is taken back, maybe to be reported, or kept if another MAX is to blame."""
    if not (state.pass_was_said and state.has_failed):
        return []
    if not verdict.blames_file:
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
