"""Serve GPT-2 through MAX, with OpenAI's interface."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

from play.serving.environment import ANYWAY, FILL_IN, MINE, MODULES, CannotServe, check_version, choose_modules


def serve(
    tell: Callable[[str], None],
    *,
    model: str | Path,
    mine: bool,
    fill_in: bool,
    anyway: bool,
    host: str,
    port: int,
    device: str,
    batch: int,
    verbose: bool,
) -> None:
    """Serve until a signal ends it, and ``tell`` how far it is.

    Raises:
        CannotServe: MAX's server is missing or another, the port cannot be had, or there is no such device.
        NotWritten: steps are not complete, and the reference is not to stand in.
        WasRefused: a check said no to a step, which is not to run anyway.
        ValueError: the checkpoint cannot be found or read.
        SystemExit: the server ended; status 1 where its model worker could not go on.
    """
    try:
        check_version()
        if mine:
            os.environ[MODULES] = " ".join([MINE, *[FILL_IN] * fill_in, *[ANYWAY] * anyway])
        for words in choose_modules():
            tell(words)
        if batch < 1:
            raise CannotServe(f"--batch {batch} allows no request to run; give 1 or more")
        from play.serving.max import server

        server.serve(server.Options(model, host, port, device, batch, verbose), tell)
    except SystemExit as ending:
        if ending.code == 1:
            tell("the process that runs the model ended; why stands above. `./run s15` checks the model itself")
        raise
    finally:
        gc.freeze()  # else Python looks once more at every object of MAX's, which takes seconds
