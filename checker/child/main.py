"""The child process: runs the claims of a step on a learner's file, and sends the parent their outcomes.

A learner's file may hang, print, exit or kill its process; all of that happens here. The parent sends a job, and the
child answers with events (``checker.protocol.processes``).

``python -m checker.child.main [STEP]`` receives one job. With a step, the child first imports what that step's check
needs, so that a later job need not wait for it.

A trick, ``SIGVTALRM``: at this signal the child writes its stack, which says at which line a file hangs.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from pathlib import Path
from types import ModuleType

from checker import compiling
from checker.child.claim_errors import fault_of_check
from checker.child.keyboard import NoKeyboard, refuse_breakpoint
from checker.child.loading import load_step
from checker.child.missing import labels_of_missing, missing_functions
from checker.child.preparing import import_claims, import_max, prepare_ahead
from checker.child.stage_runner import StageRunner
from checker.compiling import Compiler, Listener
from checker.course.reading import Unreadable
from checker.course.steps import Step
from checker.errors import UserError
from checker.files import ROOT
from checker.protocol import events
from checker.protocol.event_codec import encode
from checker.protocol.events import FromChild, Reason, Send
from checker.protocol.job import Job, job_of
from checker.protocol.processes import ParentProcess, end_with_parent


def load_file(step: Step, job: Job, send: Send) -> ModuleType | None:
    """Return the module of the learner's file; if it cannot be loaded, report why, and return None."""
    try:
        name = f"steps.{step.name if job.options.is_solution else Path(job.path).stem}"
        return load_step(step, name, job.source, job.path)
    except Unreadable as error:
        send(events.Unloadable(Reason(str(error), error.location)))
    except UserError as error:  # Mojo cannot compile on this machine
        send(events.CheckFailed(str(error)))
    except BaseException as error:
        from checker.child.unloadable import unloadable_event

        send(unloadable_event(step, job, error))
    return None


def receive_job(parent: ParentProcess) -> Job | None:
    """Wait for the job and return it; None if the parent has started this process ahead and does not need it."""
    message = next(parent.messages(), None)
    if message is None:
        return None
    end_with_parent(sys.stdin.fileno())
    sys.stdin.close()  # the descriptor stays open, and is watched
    sys.stdin = NoKeyboard()
    sys.breakpointhook = refuse_breakpoint
    return job_of(message)


def try_file(step: Step, job: Job, send: Send) -> None:
    """Load the learner's file, and run the claims on its module."""
    try:
        module = load_file(step, job, send)
        if module:
            missing = missing_functions(step, job.source, module)
            if missing:
                send(events.FunctionsMissing(missing))
            to_write = [*job.to_write, *labels_of_missing(step, missing)]
            StageRunner(step, job, module, to_write, send).run()
    except Exception as error:  # a learner's code raises none this far up
        send(events.CheckFailed(fault_of_check(error)))


class Sender:
    """Sends events to the parent; as a listener, it makes events of what a compiler begins and ends."""

    def __init__(self, parent: ParentProcess) -> None:
        self.parent = parent

    def send(self, event: FromChild) -> None:
        """Send an event."""
        self.parent.send(encode(event))

    def compiling_began(self, name: str, compiler: Compiler) -> None:
        """Send that a compilation has begun."""
        self.send(events.CompilingBegan(name, compiler))

    def compiling_ended(self, name: str, seconds: float, error: BaseException | None) -> None:
        """Send that a compilation has ended."""
        self.send(events.CompilingEnded(name, seconds))


def prepare(parent: ParentProcess) -> Job | None:
    """Return the job, once all modules are imported that it needs; None if the parent does not need this process."""
    for name in sys.argv[1:]:
        prepare_ahead(Step(name))
    job = receive_job(parent)
    if job:
        sys.argv[:] = [job.path]
        import_max(Step(job.step))
        import_claims(Step(job.step))
    return job


def why_not_prepared(error: Exception) -> str:
    """Return in words why a module cannot be imported."""
    if not isinstance(error, ImportError) or _is_in_course(error.name or ""):
        return fault_of_check(error)
    from checker.packages import explain_import_error

    return explain_import_error(error)


def _is_in_course(module: str) -> bool:
    """Return whether a module is a file of the course, such as a solution, and of no installed package."""
    package = module.partition(".")[0]
    return package != "" and (ROOT / package).is_dir()


def main() -> None:
    """Do one job and end."""
    parent = ParentProcess()
    sender = Sender(parent)
    compiling.listeners.append(Listener(sender.compiling_began, sender.compiling_ended))
    try:
        job = prepare(parent)
    except Exception as error:
        sender.send(events.CheckFailed(why_not_prepared(error)))
        return
    if job is None:
        return
    # The stack of this thread alone, which runs the file. LLVM takes SIGUSR1 and SIGUSR2.
    faulthandler.register(signal.SIGVTALRM, parent.descriptor, all_threads=False)
    sender.send(events.Busy())
    try_file(Step(job.step), job, sender.send)
    sender.send(events.Ended())


if __name__ == "__main__":
    main()
