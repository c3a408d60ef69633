"""Serve GPT-2 through MAX, with OpenAI's interface."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from play.serving.environment import (
    ANYWAY,
    FILL_IN,
    KERNELS,
    MINE,
    MODULES,
    QUANTIZE,
    CannotServe,
    Options,
    check_version,
    choose_modules,
)

if TYPE_CHECKING:
    from play.serving.front.keys import Keys


def serve(
    tell: Callable[[str], None],
    *,
    mine: bool,
    fill_in: bool,
    anyway: bool,
    kernels: bool,
    quantize: str | None,
    api_key: Path | None,
    no_key: bool,
    replicas: int = 1,
    **options: Any,
) -> None:
    """Serve until a signal ends it, and ``tell`` how far along it is.

    Args:
        tell: says how far along the server is.
        mine: serve the learner's steps.
        fill_in: take the reference's step where there is none of the learner's.
        anyway: also run a step that a check refused.
        kernels: run linear layers by the kernels of ``play/kernels``.
        quantize: the format that matrices are rounded to, as in step 22; the texts may change.
        api_key: the file of keys, one of which a request needs.
        no_key: let other machines ask without a key.
        replicas: how many servers share the requests; more than one run in Ray Serve, and this never returns.
        options: see :class:`play.serving.environment.Options`.

    Raises:
        CannotServe: MAX's server is missing or another version, an option makes no sense, the port is taken, or there
            is no such device.
        NotWritten: steps are not complete, and the reference may not stand in.
        CheckFailed: the last check of a step failed, and it may not run anyway.
        ValueError: the checkpoint cannot be found or read, or Mojo cannot compile the kernels.
        SystemExit: the server ended otherwise than asked; status 1 if its model worker could not go on.
    """
    try:
        check_version()
        if quantize:
            if kernels or options["device"] != "cpu":
                raise CannotServe("rounded matrices run on the CPU, by MAX; leave --device gpu and --kernels away")
            os.environ[QUANTIZE] = quantize
        if mine:
            os.environ[MODULES] = " ".join([MINE, *[FILL_IN] * fill_in, *[ANYWAY] * anyway])
        chosen = Options(**options)
        if chosen.log_json:
            from play.serving import logs

            logs.write_json()
            tell = logs.say
        for words in choose_modules():
            tell(words)
        keys = prepare_keys(tell, chosen.host, api_key, no_key)
        if replicas > 1:
            from play.serving.replicas.start import serve_replicas

            modules = {"mine": mine, "fill_in": fill_in, "anyway": anyway, "kernels": kernels, "quantize": quantize}
            serve_replicas(replicas, modules | {"api_key": api_key} | options, tell)
        if kernels:
            prepare_kernels(chosen.device)
        from play.serving.max import server

        server.serve(chosen, keys, tell)
    except SystemExit as ending:
        if ending.code == 1:
            tell("the process that runs the model ended; the reason is above. `./run s15` checks the model itself")
        raise
    finally:
        gc.freeze()  # else Python scans every object of MAX's once more, which takes seconds


def prepare_keys(tell: Callable[[str], None], host: str, path: Path | None, no_key: bool) -> Keys | None:
    """Read the keys that requests need. Without them only this machine may ask, unless anybody who can reach it may.

    Raises:
        CannotServe: there are no keys where there must be some.
    """
    from play.serving.front.keys import Keys, NoKeys, is_loopback

    if path and no_key:
        raise CannotServe("--api-key and --no-key exclude each other; leave one out")
    if path is None:
        if not no_key and not is_loopback(host):
            raise CannotServe(
                f"--host {host} lets other machines ask; give --api-key FILE, a file with one key per line, "
                "or say --no-key if something in front of this server decides who may ask"
            )
        return None
    try:
        keys = Keys(path, tell)
    except NoKeys as none:
        raise CannotServe(str(none)) from none
    tell(f"a request needs one of {len(keys)} keys")
    return keys


def prepare_kernels(device: str) -> None:
    """Compile the kernels, and let every process of the server run its linear layers by them.

    Raises:
        CannotServe: they do not run on the device.
        NoKernels: Mojo cannot compile them.
    """
    if device != "cpu":
        raise CannotServe("the kernels run on the CPU; leave --device gpu away")
    from checker.session.waiting import telling_of
    from play.kernels.operations import package

    with telling_of("the kernels of play/kernels"):
        package()
    os.environ[KERNELS] = "linear"
