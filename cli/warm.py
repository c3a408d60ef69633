"""Compile everything that a learner's command needs, so that nothing waits later.

A warm-up begins with MAX's own functions in Mojo, alone, since two processes at once would spoil them. Then come the
parts that MAX compiles: kernels, graphs, the model that writes, and the model that is served, each in a process of its
own, as many at once as there are processors. Last come the checks of all solutions. Everything that is compiled is
kept, so a warm-up that was stopped continues where it was.

If steps are named, only those are checked, and their graphs are compiled one by one. So are all graphs for a GPU.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from checker.course.steps import SMALL_MODEL, Step, all_steps, relative_path
from checker.device import DeviceKind
from checker.errors import UserError
from checker.files import ROOT
from checker.protocol.processes import kill_group
from checker.terminal import Terminal
from cli.shared.programs import require_gpu
from play.serving.options import check_version
from play.smollm2 import SMOLLM2, cached_file


@dataclass(frozen=True)
class WarmUpPart:
    """A part of a warm-up: ``python -m COMMAND``, in a process of its own, which has MAX compile something."""

    name: str
    command: tuple[str, ...]


#: The first part, before other processes import these functions.
FIRST = WarmUpPart("the functions of MAX in Mojo", ("checker.child.warm_checks", "planning"))
KERNELS = WarmUpPart("the kernels of the model's steps", ("checker.child.warm_checks", "kernels", "model"))
LATER = WarmUpPart("the kernels of the later steps", ("checker.child.warm_checks", "kernels", "later"))
GRAPHS = WarmUpPart("the graphs of the solutions", ("checker.child.warm_checks", "graphs"))
WRITING, WRITING_ON_GPU = (
    WarmUpPart("the model that writes", ("play.warm_model", device)) for device in (DeviceKind.CPU, DeviceKind.GPU)
)
SERVING = WarmUpPart("the model that is served", ("play.warm_model", "serving", str(SMALL_MODEL)))
TALKING = WarmUpPart("the model that answers", ("play.warm_model", "chat"))
TALKING_SERVED = WarmUpPart("the model that answers, served", ("play.warm_model", "serving", SMOLLM2))
TO_TRACE = [FIRST, KERNELS, LATER]  # the parts that suffice for a pass, not compiled


def all_parts() -> list[WarmUpPart]:
    """Return the parts of a warm-up: one that runs alone, then the others together.

    The served models are among them only if the server is installed, and the model that answers if it was fetched.
    """
    longest = [GRAPHS, WRITING]
    talking = [TALKING] if cached_file().is_file() else []
    with contextlib.suppress(UserError):
        check_version()
        longest.insert(1, SERVING)
        if talking:
            talking.append(TALKING_SERVED)
    return [FIRST, *talking, *longest, KERNELS, LATER]


def solution_check(step: Step, *options: str) -> WarmUpPart:
    """Return the part that checks a step's solution."""
    return WarmUpPart(relative_path(step.solution_file), ("cli", step.task, "--solution", *options))


class CarryingOut:
    """Carries out parts of a warm-up, and shows how far it is: a bar in a terminal, and a line for each part.

    Args:
        total: how many parts there are.
    """

    def __init__(self, total: int) -> None:
        self.terminal, self.processors = Terminal(), asyncio.Semaphore(os.cpu_count() or 1)
        self.failed = list[WarmUpPart]()
        columns = BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
        console = self.terminal.console
        self.bar = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self.task = self.bar.add_task("", total=total)

    async def carry_out(self, part: WarmUpPart) -> None:
        """Carry out a part as soon as a processor is free; its process ends with this call, also by Ctrl-C."""
        async with self.processors:
            started = time.perf_counter()
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *part.command,
                cwd=ROOT,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
                start_new_session=True,
            )
            try:
                output, _ = await process.communicate()
            finally:
                kill_group(process.pid)
                await process.wait()
        self.bar.update(self.task, advance=1, description=part.name)
        self.terminal.line(f"  {part.name} ({time.perf_counter() - started:.0f} s)")
        if process.returncode:
            self.failed.append(part)
            self.terminal.line(f"This failed:\n{output.decode(errors='replace')}")


async def carry_out(*rounds: Sequence[WarmUpPart]) -> list[WarmUpPart]:
    """Carry out parts of a warm-up, round after round, and the parts of one round at once.

    Returns:
        The parts that failed.
    """
    carrying = CarryingOut(sum(map(len, rounds)))
    carrying.terminal.line("MAX compiles what is missing, and keeps it; the first time takes a few minutes.")
    with carrying.bar:
        for parts in rounds:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(carrying.carry_out(part))
    return carrying.failed


def run(*rounds: Sequence[WarmUpPart]) -> list[WarmUpPart]:
    """Carry out parts of a warm-up as :func:`carry_out` does; SIGTERM or a closed terminal ends their processes first.

    As Ctrl-C does, such a signal cancels what the event loop runs: an exception in the loop itself would be printed.
    """
    ended_by = list[int]()

    async def carry_out_until_ended() -> list[WarmUpPart]:
        task = asyncio.current_task()
        assert task

        def end(number: int) -> None:
            ended_by.append(number)
            task.cancel()

        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, end, number)
        return await carry_out(*rounds)

    try:
        return asyncio.run(carry_out_until_ended())
    except asyncio.CancelledError:
        sys.exit(128 + ended_by[0])


def compile_missing(parts: Sequence[WarmUpPart]) -> None:
    """Carry out ``parts``, the first alone; this takes seconds if this machine has compiled them before."""
    run(parts[:1], parts[1:])


def warm_up(steps: Sequence[Step], device: DeviceKind) -> int:
    """Warm up the named steps, or everything, for a device; return the exit status: 1 if a part fails.

    Raises:
        UserError: there is no such device.
    """
    if device is DeviceKind.GPU:
        require_gpu()
    print("Ctrl-C stops it; the next run continues from there.")
    parts = list[WarmUpPart]()
    if not steps:
        parts = all_parts() if device is DeviceKind.CPU else [*TO_TRACE, WRITING_ON_GPU]
    checks = []
    for step in steps or all_steps():
        is_left_out = step.compiles_long and device is DeviceKind.CPU and not steps
        options = ["--no-compile"] if is_left_out else ["--device", device]
        checks.append(solution_check(step, *options))
    return int(bool(run(parts[:1], parts[1:], checks)))
