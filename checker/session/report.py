"""Print a check as it goes: rows while claims are heard, and finally the verdict that ``verdict`` has decided."""

from __future__ import annotations

import time

from checker.course.languages import Unreadable
from checker.course.paths import relative_path
from checker.course.static import StaticVerdict, what_to_do
from checker.course.steps import Step, claims_of, uses_max
from checker.events import Claimed, Compiling, Decided, Event, Printed, Shown, Tick, Unloadable
from checker.session.printer import Printer
from checker.session.verdict import INTERRUPTED, YES, Explanation, Heard, Verdict, decide


def print_unreadable(error: Unreadable, printer: Printer) -> None:
    """Print why a file cannot be graded."""
    if error.refuted:
        printer.row("no", "", error.refuted, str(error).lower())
        printer.explained("", str(error), "\n".join(error.code))
    else:
        printer.line(str(error))


def print_static(static: StaticVerdict, printer: Printer) -> None:
    """Print which blanks are still to write, and how to begin if that is all of them."""
    for one in static.to_write:
        printer.row("to write", one.blank.label, what_to_do(one, static.stop), f"line {one.line}" if one.line else "")
    if not static.can_be_tried:
        count = f"{static.blanks} blanks are" if static.blanks > 1 else "One blank is"
        printer.line(f"\n{count} left to write. Replace one `{static.stop}` with code, and {printer.again}.")


class Report:
    """The report on one file, growing with every event.

    Args:
        step: the step that is graded.
        printer: where it goes.
        to_write: the names of the blanks that are not written yet.
        compile_: whether compiled claims are wanted too.
        gpu_decides: whether only the GPU was asked for.
        source: the file's text.
        show: the function whose numbers are to be shown.
        seed: what another configuration is drawn from.
        started: the time of ``time.perf_counter`` from which the verdict counts.
    """

    def __init__(
        self,
        step: Step,
        printer: Printer,
        to_write: list[str],
        *,
        compile_: bool,
        gpu_decides: bool,
        started: float,
        source: str = "",
        show: str = "",
        seed: int = 0,
    ) -> None:
        self.show = show
        self.seed = seed
        self.step = step
        self.printer = printer
        self.to_write = to_write
        self.gpu_decides = gpu_decides
        self.started = started
        self.heard = Heard(step.language, source)
        self.held: list[str] = []  # claims whose rows are not printed yet
        self.waiting: set[str] = set()  # blanks whose row says that they wait
        kinds = claims_of(step)
        compiled = {claim for claim, kind in kinds.items() if kind == "compiled"}
        self.required = kinds.keys() - (set() if compile_ else compiled)
        self.drawn = {claim for claim, kind in kinds.items() if kind == "drawn"}
        self.more_to_come = bool(compiled) and compile_
        self.left_out = compiled if not compile_ else set()  # what a yes leaves open
        self.shown: Shown | None = None
        self.may_go_on = False  # the learner was told that only compiling is left

    def hear(self, event: Event) -> None:
        """Take in one event, and print what it says."""
        match event:
            case Printed(text):
                if not self.step.language.crash(text):  # which the verdict tells
                    self.printer.printed(text)
            case Compiling() | Tick():
                if self.printer.is_long():
                    self._print_held()
                    self._say_that_it_is_a_yes()
                self.printer.progress(event)
            case Claimed():
                self._take(event)
            case Shown():
                self.shown = event
            case Unloadable(_, where):
                self.printer.row("no", "", self.step.language.loads, where)
        self.heard.hear(event)
        decided = isinstance(event, Decided) and event.stage == "drawn"  # the last of the numbers
        if decided and self.more_to_come and self.heard.numbers_are_right:
            self.printer.line(f"\nYes: the numbers are {self.step.recorded_from}'s ({self.seconds()}).")

    @property
    def is_yes_so_far(self) -> bool:
        """Whether it is a yes that only the compiler could take back."""
        return self.heard.only_compiling_is_left and not self.gpu_decides

    def _say_that_it_is_a_yes(self) -> None:
        if self.is_yes_so_far and not self.may_go_on:
            self.may_go_on = True
            self.printer.line("MAX has traced it for all sizes, so this step is done.")
            self.printer.line(
                f"It is now compiled for your machine. You may go on: {self.printer.stopping} keeps the yes."
            )

    def _take(self, event: Claimed) -> None:
        """Print a claim, or hold it from the first no on: its explanation may say that it waits for another."""
        if event.verdict == "no" or self.held:
            self.held.append(event.claim)
        else:
            self._print_claim(event)

    def _print_held(self) -> None:
        for claim in self.held:
            self._print_claim(self.heard.claims[claim])
        self.held.clear()

    def _print_claim(self, event: Claimed) -> None:
        about = event.about
        if about in self.to_write:
            return  # a blank that is still to write has its line already
        if event.verdict == "yes" and event.claim.partition("[")[0] in self.drawn:
            return  # it is of interest only if it does not hold
        if event.verdict != "waits":
            self.printer.row(event.verdict, about, event.sentence, event.where)
        elif about not in self.waiting:
            self.waiting.add(about)
            self.printer.row("waits", about, event.help)

    def conclude(self) -> Verdict:
        """Decide, print the last words, and return the verdict."""
        self._print_held()
        verdict = decide(self.heard, self.required, self.to_write, gpu_decides=self.gpu_decides)
        if verdict.status != YES and uses_max(self.step):
            from checker.course.installed import why_not_usable  # a yes need not wait for it

            if why := why_not_usable():
                verdict = Verdict(verdict.status, (Explanation(why),))
        wrong = list(dict.fromkeys(explanation.about for explanation in verdict.explanations))
        if len(wrong) > 1:
            self.printer.line(f"\n{', '.join(wrong[:-1])} and {wrong[-1]} are each wrong. Begin with {wrong[0]}.")
        for explanation in verdict.explanations:
            self.printer.explained(
                explanation.about, explanation.sentence, explanation.where, numbers=explanation.numbers
            )
        if self.is_refused_by_drawn:
            again = f"./run {self.step.task} --seed {self.seed}"
            self.printer.line(f"\nEvery check draws new numbers; `{again}` draws these again.")
        self._show(verdict)
        for words in verdict.words:
            self.printer.line(words if verdict.status == YES else f"\n{words}")
        if verdict.status == YES:
            compare = f"Compare with {relative_path(self.step.solution_file)}."
            if self.left_out:
                self.printer.line(
                    f"\nYes ({self.seconds()}), not compiled: --no-compile left that verdict out. {compare}"
                )
            else:
                self.printer.line(f"\nYes ({self.seconds()}). {compare}")
        for notice in self.heard.notices:
            self.printer.line(f"({notice})")
        return verdict

    @property
    def is_refused_by_drawn(self) -> bool:
        """Whether the recorded numbers are right, and others are not."""
        return any(claim.partition("[")[0] in self.drawn for claim, said in self.heard.sealed.items() if said == "no")

    def _show(self, verdict: Verdict) -> None:
        """Print the numbers that were asked for; otherwise say once how to see them."""
        if self.show and verdict.status != YES:
            lines = self.shown.lines if self.shown and self.shown.about == self.show else ()
            self.printer.line()
            for line in lines or [f"{self.show} has no wrong numbers to show."]:
                self.printer.styled(line)
        elif with_numbers := [one.about for one in verdict.explanations if one.numbers and one.about]:
            seed = f" --seed {self.seed}" if self.is_refused_by_drawn else ""
            self.printer.line(
                f"\n`./run {self.step.task} --show {with_numbers[0]}{seed}` shows the numbers side by side."
            )

    def interrupt(self) -> int:
        """Print the last words after Ctrl-C, and return the exit status."""
        self.printer.close()
        self._print_held()
        if self.is_yes_so_far:
            self.printer.line("\nInterrupted while MAX was compiling. The yes is kept, as `yes, not compiled`.")
            return YES
        known = "the numbers are right, the compiled verdict is missing"
        known = known if self.heard.numbers_are_right else "there is no verdict"
        self.printer.line(f"\nInterrupted: {known}. Run it again; what MAX has compiled is kept.")
        return INTERRUPTED

    def seconds(self) -> str:
        """Return how long the check has taken so far."""
        return f"{time.perf_counter() - self.started:.1f} s"
