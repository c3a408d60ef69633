"""One check, from the learner's file to its verdict: for the command line, for ``watch``, and for the page."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from checker import events
from checker.course import progress
from checker.course.blanks import read_statically, what_to_do, what_to_do_about_missing
from checker.course.languages import Location, Unreadable
from checker.course.steps import Step, claims_of, relative_path, uses_max
from checker.events import (
    COMPILED,
    DRAWN,
    FAIL,
    PASS,
    TODO,
    TRACED,
    TRACING,
    WAITS,
    Claimed,
    Event,
    Explanation,
    Job,
    Options,
)
from checker.interrupts import INTERRUPTED
from checker.session.child import Child
from checker.session.printer import Item, View
from checker.session.verdict import FAILED, PASSED, CheckState, Row, Verdict, Words, decide, why_late

MOST_SEEDS = 10_000


class Session:
    """A check: it reads the file, hears what the child says of it, tells a view what is known, and decides.

    Args:
        step: the step to grade.
        view: what shows it, as it becomes known.
        options: how.
        started: the time of ``time.perf_counter`` from which the check counts.

    Attributes:
        job: the work for a child; None if the verdict is known without running the file.
        items: everything that the view was told.
        verdict: set when it is known.
    """

    def __init__(self, step: Step, view: View, options: Options | None = None, started: float | None = None) -> None:
        self.step, self.view, self.options = step, view, options or Options()
        self.started = time.perf_counter() if started is None else started
        self.file = step.solution_file if self.options.solution else step.learner_file
        self.state = CheckState()
        self.items: list[Item] = []
        self.verdict: Verdict | None = None
        self.seed: int | None = None
        self.source = ""
        self.to_write: list[str] = []
        self.held: list[str] = []  # claims whose rows are not shown yet
        self.waiting: set[str] = set()  # functions whose row says that they wait
        self.shown: events.Shown | None = None
        self.crash: tuple[int, str] | None = None  # the line, and what the language said of it
        self.may_go_on = False  # the learner was told that only compiling is left
        kinds = claims_of(step)
        self.drawn = {claim for claim, kind in kinds.items() if kind == DRAWN}
        self.compiled = {claim for claim, kind in kinds.items() if kind == COMPILED}
        self.required = kinds.keys() - (set() if self.compiles else self.compiled)
        self.job = self._open()

    @property
    def compiles(self) -> bool:
        """Whether the compiled claims are tried."""
        return self.options.compile and not self.options.show

    @property
    def has_passed(self) -> bool:
        """Whether it is a pass that only the compiler could take back."""
        return self.state.only_compiling_is_left and self.options.device != "gpu"

    @property
    def drawn_failed(self) -> bool:
        """Whether the recorded numbers are right, and others are not."""
        outcomes = self.state.outcomes.items()
        return any(claim.partition("[")[0] in self.drawn for claim, outcome in outcomes if outcome == FAIL)

    @property
    def is_complete(self) -> bool:
        """Whether a pass would leave nothing open."""
        return bool(self.job) and (self.compiles or not self.compiled)

    def seconds(self) -> float:
        """Return how long the check has taken so far."""
        return time.perf_counter() - self.started

    def run(self, child: Child) -> Verdict:
        """Carry the check out in a child, to its end or until Ctrl-C."""
        try:
            for event in child.run(self.job) if self.job else ():
                self.hear(event)
        except KeyboardInterrupt:
            return self.interrupt()
        return self.conclude()

    def _open(self) -> Job | None:
        """Show what is known without running the file; return the work for a child if there is any."""
        self.view.begin(relative_path(self.file))
        try:
            static = read_statically(self.step, self.file, is_solution=self.options.solution)
        except Unreadable as error:
            line = self._line_of("", error.location)
            explanation = Explanation(str(error), location=error.location, line=line)
            self.verdict = Verdict(FAILED, (explanation,) if error.refuted else ())
            if not error.refuted:
                self._say(str(error))
                return None
            self._show(Row(FAIL, "", error.refuted, line))
            self._show(explanation)
            return None
        self.source, self.to_write = static.source, [blank.blank.label for blank in static.to_write]
        stop = self.step.language.stop
        for blank in static.to_write:
            self._show(Row(TODO, blank.blank.label, what_to_do(blank, stop), blank.line))
        if not static.can_be_tried:
            count = f"{static.blanks} blanks are" if static.blanks > 1 else "One blank is"
            self._say(f"{count} left to write. Replace one `{stop}` with code, and {self.view.again}.")
            self.verdict = Verdict(FAILED)
            return None
        options = self.options
        self.seed = random.randrange(MOST_SEEDS) if options.seed is None else options.seed
        how = asdict(replace(options, compile=self.compiles, seed=self.seed))
        return Job(step=self.step.name, source=static.source, path=str(self.file), to_write=self.to_write, **how)

    # ------------------------------------------------------------ what the child says

    def hear(self, event: Event) -> None:
        """Take in one event, and show what it says."""
        state = self.state
        match event:
            case events.Started():
                state.running = event.sentence
            case Claimed():
                state.outcomes[event.claim] = event.verdict
                if event.verdict != TRACED:
                    state.claims[event.claim] = event
                    self._take(event)
            case events.StageEnded():
                state.stages.add(event.stage)
                self._end_stage(event.stage)
            case events.Missing():
                for function, meant in event.functions.items():
                    label = function.rpartition(".")[2]
                    self.to_write.append(label)
                    self._show(Row(TODO, label, what_to_do_about_missing(function, meant)))
            case Explanation():
                claim = replace(state.claims[event.claim], verdict=event.verdict, reason=event.sentence)
                state.claims[event.claim] = replace(claim, location=event.location)
                state.explained.append(event)
            case events.Printed():
                self.crash = self.step.language.crash(event.text) or self.crash
                if not self.step.language.crash(event.text):  # which the verdict tells
                    self._show(Words("printed", event.text))
            case events.Compiling() | events.Tick():
                if isinstance(event, events.Tick) and self.view.is_long():
                    self._show_held()
                    self._say_that_it_passed()
                self.view.progress(event)
            case events.Shown():
                self.shown = event
            case events.Unloadable():
                if event.of_file:
                    self._show(Row(FAIL, "", self.step.language.loads, self._line_of("", event.location)))
                state.stopped = Explanation(event.sentence, location=event.location)
            case events.Ended():
                state.ended = True
            case events.Late() | events.Died() if self.verdict:
                self._say("The GPU's part did not come to its end. The pass stands.")
            case events.Late() | events.Died() if not state.has_failed:  # else the failure stands, unexplained
                state.stopped = self._stopped(event)

    def _stopped(self, event: events.Late | events.Died) -> Explanation:
        """Return why there is no verdict, when the child takes too long or has ended too early."""
        ends = self.step.language.look_for_end
        if isinstance(event, events.Late):
            compiled = self.view.compiling[0] if self.view.compiling else ""
            return why_late(self.state, event, self.step.language, compiled, is_solution=self.options.solution)
        if self.crash:
            line, reason = self.crash
            lines = self.source.splitlines()
            location = Location(line, lines[line - 1].strip()) if line <= len(lines) else None
            return self.state.no_verdict(f"{self.step.language.name} stopped ({reason})", "", location)
        return self.state.no_verdict("the process ended", ends)

    def _end_stage(self, stage: str) -> None:
        """Say that the outputs match as soon as that is known; keep the pass of a file that only has to be compiled."""
        if stage == DRAWN and self.compiles and self.compiled and self.state.numbers_are_right:
            self._say(f"Pass: the outputs match {self.step.recorded_from}'s ({self.seconds():.1f} s).")
        if stage == TRACING and self.has_passed:
            self._keep(lambda: progress.note_pass(self.step, self.source, compiled=False))
        if stage in (TRACING, COMPILED) and TRACED not in self.state.outcomes.values():
            self.state.ended = True  # a GPU's claims follow the verdict
            self.conclude()

    def _say_that_it_passed(self) -> None:
        """Say that the learner may go on, once compiling takes a while."""
        if self.has_passed and not self.may_go_on:
            self.may_go_on = True
            self._say("Shape check passed: this step is complete.", aside=True)
            again = f"You may go on: {self.view.stopping} keeps the pass."
            self._say(f"MAX now compiles your module for this machine. {again}", aside=True)

    def _take(self, event: Claimed) -> None:
        """Show a claim, or hold it from the first failure on: its explanation may say that it waits for another."""
        if self.verdict:
            self._show_claim(event)
            if event.verdict == FAIL:
                self._say(f"{event.reason} Only the GPU disagrees, and the CPU decides: a pass, with that caveat.")
        elif event.verdict == FAIL or self.held:
            self.held.append(event.claim)
        else:
            self._show_claim(event)

    def _show_held(self) -> None:
        for claim in self.held:
            self._show_claim(self.state.claims[claim])
        self.held.clear()

    def _show_claim(self, event: Claimed) -> None:
        about = event.about
        if about in self.to_write:
            return  # a blank that is still to write has its row already
        if event.verdict == PASS and event.claim.partition("[")[0] in self.drawn:
            return  # it is of interest only if it does not hold
        if event.verdict != WAITS:
            cause = self.state.cause_of(event) if event.verdict == FAIL else ""
            self._show(Row(event.verdict, about, event.sentence, self._line_of(about, event.location), cause))
        elif about not in self.waiting:
            self.waiting.add(about)
            self._show(Row(WAITS, about, event.reason, self._line_of(about, None)))

    def _line_of(self, about: str, location: Location | None) -> int | None:
        """Return the line that something is about: a place in the file, or else where the function is defined."""
        if location:
            return location.line
        functions = self.step.language.functions(self.source) if about else {}
        return next((each.defined for name, each in functions.items() if name.rpartition(".")[2] == about), None)

    # ------------------------------------------------------------ the end

    def conclude(self) -> Verdict:
        """Decide, show the verdict, and return it; keep it for ``status``."""
        if self.verdict:
            return self.verdict
        self._show_held()
        verdict = self.verdict = self._decide()
        for words in verdict.words:
            self._say(words)
        if self.state.has_failed and COMPILED in self.state.stages:
            self._say_that_it_is_taken_back()
        if self.drawn_failed:
            self._say(f"Every check draws new numbers; `./run {self.step.task} --seed {self.seed}` draws these again.")
        self._show_numbers(verdict)
        wrong = list(dict.fromkeys(explanation.about for explanation in verdict.explanations))
        for explanation in reversed(verdict.explanations):  # the one to begin with is read last, and acted on
            if len(wrong) > 1 and explanation is verdict.explanations[0]:
                self._say(f"{', '.join(wrong[:-1])} and {wrong[-1]} are each wrong. Begin with {wrong[0]}:")
            self._show(explanation)
        if verdict.status == PASSED:
            left_out_by = "--show" if self.options.show else "--no-compile"
            partly = "" if self.is_complete else f", not compiled: {left_out_by} left that verdict out"
            self._say(f"Pass ({self.seconds():.1f} s){partly}. Compare with {relative_path(self.step.solution_file)}.")
            self._keep(lambda: progress.note_pass(self.step, self.source, compiled=self.is_complete))
        elif self.state.has_failed:
            self._keep(lambda: progress.note_failure(self.step, self.source))
        return verdict

    def _say_that_it_is_taken_back(self) -> None:
        """Say that what only the compiler has found takes the pass back, and ask for a report unless it is foreseen."""
        report = (
            "Only the compiler has found this, and the check should have found it before: please report it, "
            f"with {relative_path(self.file)}. "
        )
        is_foreseen = any(claim.foreseen for claim in self.state.claims.values())
        self._say(f"{'' if is_foreseen else report}The pass is taken back.")

    def _decide(self) -> Verdict:
        verdict = decide(self.state, self.required, self.to_write)
        if not all(each.numbers for each in verdict.explanations) and uses_max(self.step):
            from checker.course.installed import why_not_usable  # another MAX raises errors

            if why := why_not_usable():
                verdict = Verdict(verdict.status, (Explanation(why),))
        explanations = (replace(each, line=self._line_of(each.about, each.location)) for each in verdict.explanations)
        return replace(verdict, explanations=tuple(explanations))

    def _show_numbers(self, verdict: Verdict) -> None:
        """Show the numbers that were asked for; otherwise say once how to see them."""
        show = self.options.show
        if show and verdict.status != PASSED:
            lines = self.shown.lines if self.shown and self.shown.about == show else ()
            for line in lines or [f"{show} has no wrong numbers to show."]:
                self._show(Words("shown", line))
        elif with_numbers := [each.about for each in verdict.explanations if each.numbers and each.about]:
            seed = f" --seed {self.seed}" if self.drawn_failed else ""
            self._say(f"`./run {self.step.task} --show {with_numbers[0]}{seed}` shows the numbers side by side.")

    def interrupt(self) -> Verdict:
        """Show the last words after Ctrl-C, and return the verdict."""
        self.view.close()
        if self.verdict:
            return self.verdict
        self._show_held()
        if self.has_passed:
            self.verdict = Verdict(PASSED)
            self._say("Interrupted while MAX was compiling. The pass is kept, as `pass, not compiled`.")
        else:
            self.verdict = Verdict(INTERRUPTED)
            known = "the outputs match so far" if self.state.numbers_are_right else "there is no verdict"
            self._say(f"Interrupted: {known}. Run it again; what MAX has compiled is kept.")
        return self.verdict

    def _keep(self, note: Callable[[], None]) -> None:
        """Write down what a check of the learner's file said, if that is possible."""
        if self.options.solution or self.options.device == "gpu":
            return
        try:
            note()
        except OSError as error:
            file = relative_path(progress.FILE)
            self._say(f"(Progress was not saved: {file} cannot be written, {error.strerror}.)", aside=True)

    def _say(self, text: str, *, aside: bool = False) -> None:
        self._show(Words("said", text, aside))

    def _show(self, item: Item) -> None:
        self.items.append(item)
        self.view.show(item)
