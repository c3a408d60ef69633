"""Serve GPT-2 through MAX, with OpenAI's interface."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

from play.serving.environment import (
    ANYWAY,
    FILL_IN,
    KERNELS,
    MINE,
    MODULES,
    CannotServe,
    check_version,
    choose_modules,
)


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
    kernels: bool,
    verbose: bool,
) -> None:
    """Serve until a signal ends it, and ``tell`` how far along it is.

    Raises:
        CannotServe: MAX's server is missing or another version, the port is taken, or there is no such device.
        NotWritten: steps are not complete, and the reference may not stand in.
        WasRefused: a check said no to a step, which may not run anyway.
        ValueError: the checkpoint cannot be found or read, or Mojo cannot compile the kernels.
        SystemExit: the server ended; status 1 if its model worker could not go on.
    """
    try:
        check_version()
        if mine:
            os.environ[MODULES] = " ".join([MINE, *[FILL_IN] * fill_in, *[ANYWAY] * anyway])
        for words in choose_modules():
            tell(words)
        if batch < 1:
            raise CannotServe(f"--batch {batch} allows no request to run; give 1 or more")
        if kernels:
            prepare_kernels(device)
        from play.serving.max import server

        server.serve(server.Options(model, host, port, device, batch, verbose), tell)
    except SystemExit as ending:
        if ending.code == 1:
            tell("the process that runs the model ended; the reason is above. `./run s15` checks the model itself")
        raise
    finally:
        gc.freeze()  # else Python scans every object of MAX's once more, which takes seconds


def prepare_kernels(device: str) -> None:
    """Compile the kernels, and let every process of the server run its linear layers by them.

    Raises:
        CannotServe: they do not run on the device.
        NoKernels: Mojo cannot compile them.
    """
    if device != "cpu":
        raise CannotServe("the kernels run on the CPU; leave --device gpu away")
    from play.kernels.operations import package

    package()
    os.environ[KERNELS] = "linear"
