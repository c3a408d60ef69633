"""What the child tells, gathered and worded; and the one place that decides what is a yes."""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass, field

from checker.course.paths import relative_path
from checker.course.steps import Step
from checker.session.child import Event
from checker.session.printer import Printer

YES, NO, INTERRUPTED = 0, 1, 130


def claims_of(step: Step, *, compiled: bool) -> set[str]:
    """The claims that the check of a step makes, read from its file: a yes needs every one of them."""
    nodes = ast.parse(step.check_file.read_text()).body
    claims = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    if not compiled:
        claims = [claim for claim in claims if "pytest.mark.compiled" not in map(ast.unparse, claim.decorator_list)]
    return {claim.name for claim in claims}


@dataclass
class Report:
    """The verdict on one file, growing with every event."""

    step: Step
    printer: Printer
    to_write: list[str]  # blanks that are not written yet
    compile: bool
    gpu_decides: bool
    started: float
    verdicts: dict[str, Event] = field(default_factory=dict)  # by claim, as they came
    mistakes: dict[str, str] = field(default_factory=dict)  # claim -> the mistake that it gives away
    running: str = ""
    stopped: bool = False
    numbers_right: bool = False

    def hear(self, event: Event) -> None:
        """Take in one event, and print what it says."""
        match event["event"]:
            case "start":
                self.running = event["sentence"]
            case "printed":
                self.printer.printed(event["text"])
            case "compiling" | "tick":
                self.printer.progress(event)
            case "claim":
                self._claim(event)
            case "numbers":
                right = all(event["verdict"] == "yes" for event in self.verdicts.values())
                self.numbers_right = right and bool(self.verdicts)
                if right and claims_of(self.step, compiled=self.compile) - claims_of(self.step, compiled=False):
                    self.printer.line(f"\nYes: the numbers are Hugging Face's ({self.seconds()}).")
            case "mistake":
                self.mistakes[event["claim"]] = event["sentence"]
            case "unloadable":
                self.printer.row("no", "", "The file can be imported.")
                self._explain("", event["help"], event["where"])
                self.stopped = True
            case "late":
                self._stop(
                    f"Nothing was heard for {event['seconds']} seconds",
                    "Look for a loop that never ends.",
                    event["where"],
                )
            case "died":
                self._stop("The process ended", "Look for os._exit, a kill, or a crash.")

    def _claim(self, event: Event) -> None:
        about, waits = event["about"], event["verdict"] == "waits"
        said_before = any(other["about"] == about and other["verdict"] == "waits" for other in self.verdicts.values())
        self.verdicts[event["claim"]] = event
        if about in self.to_write:
            return  # a blank that is still to write has its line already
        if not waits:
            self.printer.row(event["verdict"], about, event["sentence"])
        elif not said_before:
            self.printer.row("waits", about, event["help"])

    def conclude(self) -> int:
        """The last words, and the exit status."""
        if self.stopped:
            return NO
        failed = {claim: event for claim, event in self.verdicts.items() if event["verdict"] == "no"}
        for claim, mistake in self.mistakes.items():
            self._explain(failed[claim]["about"], f"{mistake} {failed[claim]['help']}", failed[claim]["where"])
        if failed and not self.mistakes:
            first = next(iter(failed.values()))
            self._explain(first["about"], first["help"], first["where"])
        received = {claim.partition("[")[0] for claim in self.verdicts}
        decisive = {claim: event["verdict"] for claim, event in self.verdicts.items() if self._decides(claim)}
        if "no" in decisive.values():
            return NO
        if self.to_write or "waits" in decisive.values():
            what = (
                f"Right so far. Still to write: {', '.join(self.to_write)}."
                if decisive
                else "Nothing could be tried yet."
            )
            self.printer.line(f"\n{what}")
            return NO
        if missing := claims_of(self.step, compiled=self.compile) - received:
            self._stop(
                f"{len(missing)} claims were not heard of ({', '.join(sorted(missing))})",
                "Does the file stop the check?",
            )
            return NO
        if failed:
            self.printer.line("Only the GPU disagrees, and the CPU decides: yes, with that reserve.")
        self.printer.line(f"\nYes ({self.seconds()}). Compare with {relative_path(self.step.solution_file)}.")
        return YES

    def interrupt(self) -> int:
        """The last words after Ctrl-C, and the exit status."""
        self.printer.close()
        known = (
            "the numbers are right, the compiled verdict is missing" if self.numbers_right else "there is no verdict"
        )
        self.printer.line(f"\nInterrupted: {known}. Run it again; what MAX has compiled is kept.")
        return INTERRUPTED

    def seconds(self) -> str:
        """How long the check has taken so far."""
        return f"{time.perf_counter() - self.started:.1f} s"

    def _decides(self, claim: str) -> bool:
        """Grading is the CPU's; a GPU decides only where it was asked for."""
        return self.gpu_decides or not claim.endswith("[gpu]")

    def _explain(self, about: str, sentence: str, where: str = "") -> None:
        self.printer.line()
        self.printer.line(f"{about}: {sentence}" if about else sentence)
        if where:
            self.printer.code(where)

    def _stop(self, what: str, advice: str, where: str = "") -> None:
        self.stopped = True
        during = f"while this was tried: {self.running}" if self.running else "while the file was loaded."
        self._explain("", f"No verdict: {what} {during} {advice}", where)
