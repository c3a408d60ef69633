"""Serve GPT-2 through MAX, with OpenAI's interface."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

from play.serving.options import KERNELS, MODULES, QUANTIZE, CannotServe, Options, check_version, choose_modules

RAY = {  # the environment of its processes, and of its package, which reads it when it is imported
    "RAY_DEDUP_LOGS": "0",  # a line of one replica's log is not left out because another said the same
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "30",  # not 5: on a busy machine, what takes requests starts slowly
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports nothing to its makers
}


def serve(
    tell: Callable[[str], None],
    *,
    mine: bool,
    fill_in: bool,
    anyway: bool,
    kernels: bool,
    quantize: str | None,
    no_key: bool,
    replicas: int = 1,
    **options: Any,
) -> int:
    """Serve until a signal ends it, ``tell`` how far along it is, and return the exit status.

    Args:
        tell: says how far along the server is.
        mine: serve the learner's steps.
        fill_in: take the reference's step where there is none of the learner's.
        anyway: also run a step that a check refused.
        kernels: run linear layers by the kernels of ``play/kernels``.
        quantize: the format that matrices are rounded to, as in step 22; the texts may change.
        no_key: let other machines ask without a key.
        replicas: how many servers share the requests; more than one run in Ray Serve.
        options: see :class:`play.serving.options.Options`.

    Raises:
        CannotServe: MAX's server is missing or another version, options exclude each other, the port is taken, or there
            is no such device.
        NotWritten: steps are not complete, and the reference may not stand in.
        CheckFailed: the last check of a step failed, and it may not run anyway.
        ValueError: the checkpoint cannot be found or read, or Mojo cannot compile the kernels.
    """
    check_version()
    if ((kernels or quantize) and options["device"] != "cpu") or (kernels and quantize):
        raise CannotServe("--kernels and --quantize run on the CPU, and exclude each other; leave one out")
    if quantize:
        os.environ[QUANTIZE] = quantize
    if mine:
        os.environ[MODULES] = " ".join(["mine", *["fill-in"] * fill_in, *["anyway"] * anyway])
    chosen = Options(**options)
    if chosen.log_json:
        from play.serving import records

        records.log_as_json()
        tell = records.LOGGER.info
    for words in choose_modules():
        tell(words)
    from play.serving.keys import keys_of

    if keys := keys_of(chosen, no_key):
        tell(f"a request needs one of {len(keys.digests())} keys")
    if kernels:
        from checker.session.printer import telling_of
        from play.kernels.operations import package

        with telling_of("the kernels of play/kernels"):
            package()
        os.environ[KERNELS] = "linear"
    try:
        if replicas > 1:
            os.environ.update(RAY)
            from play.serving.replicas import serve_replicas

            return serve_replicas(replicas, chosen, keys, tell)
        from play.serving.max import server

        return server.serve(chosen, keys, tell)
    finally:
        gc.freeze()  # else Python scans every object of MAX's once more, which takes seconds
