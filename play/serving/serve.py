"""Serve GPT-2 through MAX, with OpenAI's interface.

A trick, ``gc``: Python collects no cycles in what a server has imported.
"""

from __future__ import annotations

import gc
import json
import os
from typing import Any

from checker.errors import UserError
from play.serving.keys import keys_of
from play.serving.options import OF_THE_MODEL, ServerOptions, check_version, choose_steps
from play.smollm2 import is_llama
from play.startup import Tell, check_bfloat16, usable_kernels

RAY = {  # the environment of its processes, and of its package, which reads it when it is imported
    "RAY_DEDUP_LOGS": "0",  # a line of one replica's log is not left out because another said the same
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "30",  # not 5: on a busy machine, what takes requests starts slowly
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray reports nothing to its makers
}


def run_server(tell: Tell, **chosen: Any) -> int:
    """Serve until a signal ends it, ``tell`` how far along it is, and return the exit status.

    Args:
        tell: says how far along the server is.
        chosen: the fields of :class:`play.serving.options.ServerOptions`.

    Raises:
        UserError: MAX's server is missing or another version, options exclude each other, the port is taken, or there
            is no such device.
        ValueError: steps are not complete, or the last check of one failed, and no option allows it; or the checkpoint
            cannot be found or read.
    """
    check_version()
    options = ServerOptions(**chosen)
    if options.quantize and is_llama(options.model):
        raise UserError("--quantize rounds the weights of a GPT-2; leave it away with a GGUF file, which says its own")
    if options.log_json:
        from play.serving import request_log

        request_log.log_as_json()
        tell = request_log.LOGGER.info
    if keys := keys_of(options):  # before anything is fetched or compiled
        tell(f"a request needs one of {len(keys.read())} keys")
    pass_on(options, kernels=False)
    own = choose_steps(options)
    own.hand_on()
    own.install()
    for sentence in own.sentences:
        tell(sentence)
    from play.serving.served_checkpoint import checkpoint_of

    checkpoint = checkpoint_of(options, tell)  # before the kernels are compiled, and the model
    pass_on(options, kernels=kernels_of(options, tell))
    try:
        if options.replicas > 1:
            os.environ.update(RAY)
            from play.serving.replicas import serve_replicas

            return serve_replicas(options, keys, tell)
        from play.serving.max import server

        return server.serve(options, checkpoint, keys, tell)
    finally:
        gc.freeze()  # else Python scans every object of MAX's once more, which takes seconds


def pass_on(options: ServerOptions, *, kernels: bool) -> None:
    """Let the processes that this one starts know the options that concern the model."""
    concerning_the_model = {"kernels": kernels, "quantize": options.quantize, "dtype": options.dtype}
    os.environ[OF_THE_MODEL] = json.dumps(concerning_the_model)


def kernels_of(options: ServerOptions, tell: Tell) -> bool:
    """Return whether the kernels of ``play.kernels`` run; ``tell`` why they cannot.

    Raises:
        UserError: bfloat16 was chosen, and cannot run.
    """
    kernels = usable_kernels(options, tell)
    if options.dtype == "bfloat16":
        check_bfloat16(kernels)
    return kernels
