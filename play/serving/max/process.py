"""The process that runs the model: started without a wait, reached by no signal, and ended with the server.

It imports this file before anything else of ours, so nothing of MAX is imported here.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import tempfile
import threading
from multiprocessing import reduction
from multiprocessing.context import SpawnProcess
from typing import Any

from play.mine.stand_ins import line_that_failed
from play.signals import blocking_signals, start_tracker


class ModelProcess(SpawnProcess):
    """A process that MAX starts in its event loop, where nothing may wait.

    The function to run, with a tokenizer and all, is more than a pipe holds. The standard library writes it to a pipe,
    which takes until the new process has imported MAX, and never ends if that was killed. So it goes into a file.

    A signal may go to all processes of a group, as systemd and a terminal send it, and requests go on meanwhile: this
    process ends with the server alone.
    """

    def start(self) -> None:
        """Start the process."""
        start_tracker()
        with blocking_signals():
            super().start()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state from which the new process is made, and write the function that it is to run to a file."""
        state = dict(vars(self))
        work = [state.pop(name) for name in ("_target", "_args", "_kwargs")]
        with tempfile.NamedTemporaryFile(delete=False) as file:
            reduction.dump(work, file)
        return state | {"_file": file.name}

    def run(self) -> None:
        """Run the function, in the new process."""
        threading.Thread(target=_end_with_the_server, daemon=True).start()
        this: Any = self
        with open(this._file, "rb") as file:
            this._target, this._args, this._kwargs = pickle.load(file)
        os.unlink(this._file)
        try:
            super().run()
        except BaseException as error:  # also what ends a program without a word
            if words := line_that_failed(error):
                print(f"serve: {words}", file=sys.stderr)
                sys.exit(1)
            raise


def _end_with_the_server() -> None:
    server = multiprocessing.parent_process()
    assert server, "multiprocessing has started this process"
    server.join()
    os._exit(1)
