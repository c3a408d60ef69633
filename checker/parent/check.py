"""One check, from the learner's file to its verdict: for the command line, for ``watch``, and for the page.

This is the edge around the fold of ``advance.py``: it reads the file, listens to the child, and carries out the effects
of events.

A trick, ``first Ctrl-C``: it is noted, and handled after all that had been read; only a second one raises an exception.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import assert_never

from checker.course import progress
from checker.course.blanks import blanks_of
from checker.course.check_file import claims_of, uses_max
from checker.course.opening import open_file
from checker.course.reading import Unreadable
from checker.course.source import Source
from checker.course.steps import Step, relative_path
from checker.packages import why_not_usable
from checker.parent import effects
from checker.parent.advance import advance
from checker.parent.child_process import Child
from checker.parent.effects import Explanation, ForView, Item, Row, ToSave, Words
from checker.parent.offers import Offers
from checker.parent.state import Context, Phase, State, Verdict
from checker.parent.view import View
from checker.protocol import events
from checker.protocol.events import Event
from checker.protocol.job import Job, Options

MOST_SEEDS = 10_000

Save = Callable[[ToSave, Source], Event | None]


class Check:
    """A check: it handles events, and has their effects shown by a view and saved.

    Args:
        step: the step to check.
        view: shows the parts of the check, as they become known.
        options: how the step is checked.
        offers: what a learner can do next, in the words of the place where the view is.
        started: the time of ``time.perf_counter`` from which the check counts.
        save: saves that a source has passed or failed, and returns an event if something follows from that.

    Attributes:
        state: everything that is known.
        items: every part that was given to the view, also if it has only shown a count.
    """

    def __init__(
        self,
        step: Step,
        view: View,
        options: Options | None = None,
        *,
        offers: Offers,
        started: float | None = None,
        save: Save | None = None,
    ) -> None:
        options = options or Options()
        self.step, self.view = step, view
        self.save = save or partial(save_progress, step)
        self.started = time.perf_counter() if started is None else started
        self.file = step.solution_file if options.is_solution else step.learner_file
        self.state = State(context_of(step, self.file, options, offers))
        self.items: list[Item] = []

    @property
    def job(self) -> Job | None:
        """The work for a child; None if the file has not been read, or the verdict is known without running it."""
        state = self.state
        if state.phase is not Phase.TRYING:
            return None
        context = state.context
        return Job(
            step=self.step.name,
            source=state.source,
            path=str(self.file),
            to_write=state.to_write,
            options=context.options,
            seed=context.seed,
            tries_compiled_claims=context.tries_compiled_claims,
        )

    def seconds(self) -> float:
        """Return how long the check has taken so far."""
        return time.perf_counter() - self.started

    def open(self) -> Job | None:
        """Read the file, and show what is known without running it; return the work for a child, if there is any."""
        self.view.begin(self.state.context.file)
        try:
            opened_file = open_file(self.step, self.file, is_solution=self.state.context.options.is_solution)
        except Unreadable as error:
            sentence = error.sentence_with(self.state.context.offers.writer)
            self.handle(events.FileRefused(sentence, error.location, error.refuted, error.source))
        else:
            self.handle(events.FileOpened(opened_file))
        return self.job

    def run(self, child: Child) -> Verdict:
        """Carry out the whole check in a child, to its end or until Ctrl-C; all events that were heard are handled."""
        with noting_first_ctrl_c() as ctrl_c, closing(self):
            if job := self.open():
                for event in child.run(job, is_interrupted=ctrl_c.is_set):
                    self.handle(event)
        assert self.state.verdict
        return self.state.verdict

    def close(self) -> None:
        """Leave nothing that moves in the view, also after a fault of the check itself."""
        self.view.close()

    def stop_showing(self) -> None:
        """Show nothing more; ``items`` goes on to collect."""
        self.close()
        self.view = View()

    def handle(self, event: Event) -> None:
        """Take in an event, and carry out its effects, one after the other; saving may lead to another event."""
        pending = deque([event])
        while pending:
            self.state, effects_of_event = advance(self.state, pending.popleft(), self.seconds())
            for effect in effects_of_event:
                if isinstance(effect, ToSave):
                    if answer := self._try_to_save(effect):
                        pending.append(answer)
                else:
                    self._show(effect)
            if self.state.phase is Phase.OVER:
                self.view.show_rest()

    def _show(self, effect: ForView) -> None:
        """Have the view show an effect."""
        match effect:
            case effects.ShowCompiling():
                self.view.show_rest()
                self.view.show_compiling(effect.name, effect.seconds, effect.compiler)
            case effects.EndCompiling():
                self.view.end_compiling(effect.name, effect.seconds)
            case effects.CloseView():
                self.view.close()
            case Row() | Explanation() | Words():
                self.items.append(effect)
                self.view.add(effect)
            case _:
                assert_never(effect)

    def _try_to_save(self, effect: ToSave) -> Event | None:
        """Save a pass or a failure; return an event if it is not saved."""
        try:
            return self.save(effect, self.state.source)
        except OSError as error:
            reason = f"{relative_path(progress.FILE)} cannot be written"
            return events.NotSaved(reason, error.strerror or str(error))


def save_progress(step: Step, effect: ToSave, source: Source) -> Event | None:
    """Save for ``status`` that a source has passed or failed; return an event if a pass is not saved."""
    match effect:
        case effects.SavePass():
            is_saved = progress.note_pass(step, source, compiled=effect.compiled)
            return None if is_saved else events.NotSaved("the file has been edited since")
        case effects.SaveFailure():
            progress.note_failure(step, source, takes_back=True)
        case effects.SaveCutShort():
            progress.note_failure(step, source, takes_back=False)
    return None


@contextmanager
def noting_first_ctrl_c() -> Iterator[threading.Event]:
    """While this is open, the first Ctrl-C only sets the event that is yielded; a second one raises an exception.

    Otherwise, the first one would raise it, anywhere.
    """
    ctrl_c = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        ctrl_c.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield ctrl_c
    finally:
        signal.signal(signal.SIGINT, before)


def context_of(step: Step, file: Path, options: Options, offers: Offers) -> Context:
    """Return what is known of a check of a file before it begins; if the options have no seed, one is drawn."""
    return Context(
        task=step.task,
        language=step.language,
        file=relative_path(file),
        solution=relative_path(step.solution_file),
        recorded_from=step.recorded_from,
        kinds=claims_of(step),
        functions={blank.label: blank.function for blank in blanks_of(step)},
        options=options,
        seed=random.randrange(MOST_SEEDS) if options.seed is None else options.seed,
        offers=offers,
        why_another_max=why_not_usable() if uses_max(step) else "",  # in 0.02 s, while the child begins
    )
