"""Hunt for a mistake in a copy of the solution: the check says what it does to the claims, and the learner finds it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from checker.course.blanks import blanks_of
from checker.course.hunts import SENTENCES, Hunt
from checker.course.source import Source
from checker.course.standings import standing_of
from checker.course.steps import Step, relative_path
from checker.diagnosis.hunt_copies import copies_of, copy_of, copy_with, sentences_with
from checker.diagnosis.mistakes import keys_of_mistakes
from checker.errors import FAILED, PASSED, UserError, exit_on_termination
from checker.parent.check import Check
from checker.parent.child_process import Child
from checker.parent.effects import SavePass, ToSave
from checker.parent.offers import IN_TERMINAL, Offers
from checker.parent.printer import Printer
from checker.parent.records import Record, verdict_record
from checker.parent.state import VerdictKind
from checker.parent.view import View
from checker.protocol.events import Event, HuntEnded
from checker.protocol.job import Options
from checker.terminal import Terminal
from cli.compare import rows_of_texts
from cli.shared.command_line import require_label

BEGUN = "This copy of the solution has one mistake in it. Find it and repair it."


def hunt_in(step: Step) -> Hunt:
    """Return the hunt for a mistake in the solution of a step, which may be given as its copy."""
    return Hunt(step.name, keys_of_mistakes(step))


def offers_in_hunt(task: str) -> Offers:
    """Return what a learner can do next in a hunt, whose end already tells how the copy differed from the solution."""
    return replace(
        IN_TERMINAL,
        writer=f"`./run {task} --new`",
        of_old_file="",  # what is said below a copy that cannot be tried puts another in its place
        passed="Pass ({seconds:.1f} s).",
        passed_uncompiled="Pass ({seconds:.1f} s).",
    )


def check_of_copy(hunt: Hunt, view: View, options: Options, offers: Offers) -> Check:
    """Return a check of the copy, which ends the hunt at a pass; how far the step itself is stays as it is."""
    return Check(hunt.copy, view, replace(options, hunt=True), offers=offers, save=partial(end_at_pass, hunt))


def end_at_pass(hunt: Hunt, effect: ToSave, source: Source) -> Event | None:
    """End the hunt if its copy has passed; return that it is over then."""
    if isinstance(effect, SavePass) and hunt.saved().mistake:
        return HuntEnded(hunt.end(source.text))
    return None


def begin(hunt: Hunt, seed: int | None = None) -> Path | None:
    """Begin another hunt; return where the copy of a learner's last file is.

    Raises:
        UserError: the step has not passed, and the copy would show its solution; or there is nothing to draw.
        OSError: a file cannot be written.
    """
    step = hunt.step
    if not standing_of(step).is_done:
        file, check = relative_path(step.learner_file), f"`./run {step.task}` checks it"
        raise UserError(f"a hunt shows the solution, and {file} has not passed as it is now; {check}")
    if copies := copies_of(step):
        return hunt.begin(copies, seed)
    raise UserError(f"no mistake can be drawn: {why_none_is_known(step)}")


def why_none_is_known(step: Step) -> str:
    """Return why nothing is known of the mistakes of a step, and what to do."""
    return f"what is recorded of them is out of date; `./run survey {step.number}`"


def hunt_mistake(step: Step, *, new: bool, give_up: bool, number: int | None, as_json: bool, **options: Any) -> int:
    """Begin a hunt and check the copy, check it again, name the mistake instead, or give up; return the exit status.

    Raises:
        UserError: as ``begin``; or no hunt is on that can end.
        OSError: a file cannot be written.
    """
    exit_on_termination()
    labels = [blank.label for blank in blanks_of(step)]
    require_label(options["show"], labels)
    hunt, terminal = hunt_in(step), Terminal(labels, quiet=as_json)
    if give_up or number is not None:
        status, record = give_up_or_guess(hunt, terminal, None if give_up else number)
    else:
        if new or not hunt.saved().mistake:
            begin_and_say_so(hunt, terminal, options["seed"])
        status, record = check_copy(hunt, terminal, Options(**options))
    if status == PASSED and not hunt.saved().mistake:
        terminal.line(f"\n`./run {hunt.copy.task}` begins another hunt.")
    if as_json:
        print(json.dumps(record, indent=1))
    return status


def begin_and_say_so(hunt: Hunt, terminal: Terminal, seed: int | None) -> None:
    """Begin another hunt; raise what ``begin`` does."""
    if hunt.is_gone():
        terminal.line(f"{relative_path(hunt.copy.learner_file)} is gone, so another hunt begins.")
    if copy := begin(hunt, seed):
        terminal.line(f"What you had is kept as {relative_path(copy)}.")
    terminal.line(f"{BEGUN} `./run {hunt.copy.task}` checks it again.")
    terminal.line(f"--name lists {SENTENCES} sentences, of which you choose the mistake's; --give-up tells it.\n")


def check_copy(hunt: Hunt, terminal: Terminal, options: Options) -> tuple[int, Record]:
    """Check the copy; return the exit status and the record of the check."""
    offers = offers_in_hunt(hunt.copy.task)
    check = check_of_copy(hunt, Printer(terminal), options, offers)
    with Child() as child:
        verdict = check.run(child)
    cannot_all_be_tried = check.state.to_write or not check.state.has_failed
    if verdict.kind is VerdictKind.FAIL and cannot_all_be_tried:
        terminal.line(f"\n{offers.writer} puts another copy in its place, and keeps this one beside it.")
    return verdict.status, verdict_record(check)


def give_up_or_guess(hunt: Hunt, terminal: Terminal, number: int | None) -> tuple[int, Record]:
    """Tell the mistake or, given a number, say whether that sentence names it; return the exit status and a record.

    Raises:
        UserError: no hunt is on, or there is no such sentence.
    """
    if not hunt.saved().mistake:
        raise UserError(f"no hunt is on; `./run {hunt.copy.task}` begins one")
    status, lines = reveal(hunt) if number is None else take_guess(hunt, number)
    for line in lines:
        terminal.line(line)
    return status, {"task": hunt.copy.task, "file": relative_path(hunt.copy.learner_file), "said": lines}


def take_guess(hunt: Hunt, number: int) -> tuple[int, list[str]]:
    """Return an exit status, and sentences of which one names the mistake or, with a number, whether that one does."""
    saved, task = hunt.saved(), hunt.copy.task
    sentences = sentences_with(hunt.step, saved.mistake)
    if len(sentences) == 1:
        raise UserError(f"no other mistakes can be listed: {why_none_is_known(hunt.step)}")
    if not 0 <= number <= len(sentences):
        raise UserError(f"--name is {number}; choose from 1 to {len(sentences)}")
    if saved.is_named:
        answer = hunt.how_named()
    elif number:
        answer = hunt.guess(sentences[number - 1])
    else:
        question = f"\nWhich one is it? `./run {task} --name 2` answers: the second."
        return PASSED, [*(f"{at}  {sentence}" for at, sentence in enumerate(sentences, start=1)), question]
    if not hunt.saved().is_named:
        return FAILED, [answer]
    return PASSED, [answer, f"Now repair it: `./run {task}` checks the file, and --new begins another hunt."]


def reveal(hunt: Hunt) -> tuple[int, list[str]]:
    """Return an exit status, the mistake, and how its lines differ from the solution's."""
    copy, right_copy = copy_of(hunt.step, hunt.saved().mistake), copy_with(hunt.step, {})
    return PASSED, [hunt.end(), "", *rows_of_texts(copy, right_copy)]
