"""Options of the server: which model it serves and how, with which MAX, and by whose steps."""

from __future__ import annotations

import importlib.metadata
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.course.steps import CHAT, LLAMA, MODEL, QUANTIZATION, SERVER
from checker.errors import UserError
from checker.packages import why_not_usable
from play.mine.choice import Chosen, choose_own_steps
from play.options import ModelOptions
from play.smollm2 import is_llama

#: The environment variable that tells the processes of MAX and Ray what :func:`of_the_model` returns there, as JSON.
OF_THE_MODEL = "GPT2_SERVED"

LARGEST_HEAD = 1 << 14  # bytes of a request's line and headers
HEAD_SECONDS = 10.0  # in which all of them must have come
LARGEST_BODY = 1 << 20  # bytes; a full context of tokens has a few thousand
BODY_SECONDS = 30.0  # in which all of it must have come


@dataclass(frozen=True)
class ServerOptions(ModelOptions):
    """The options of a server: which model, where, for whom, and how many requests."""

    host: str = "127.0.0.1"
    port: int = 0
    context: int = 2048  # tokens that a text may have, if the model can have as many
    batch: int = 32  # texts that run at once
    queue: int = 256  # texts that wait
    time_limit: float = 600  # seconds that a request may take
    grace: float = 30  # seconds that running requests have once a signal asks the server to end
    restart: bool = False  # start the model again when its process ends
    no_prefix_cache: bool = False  # compute every prompt anew
    log_json: bool = False
    api_key: Path | None = None  # a file of keys, one of which a request needs
    no_key: bool = False  # let other machines connect without a key
    replicas: int = 1  # how many servers share the requests; more than one run in Ray Serve


def of_the_model() -> dict[str, Any]:
    """Return the options of the server that started this process, as far as they concern the model."""
    options: dict[str, Any] = json.loads(os.environ.get(OF_THE_MODEL, "{}"))
    return options


def check_version() -> None:
    """Refuse a MAX that ``play/serving/max`` was not written for: its interfaces have moved with every release so far.

    Raises:
        UserError: another version is installed, or MAX without its server.
    """
    if reason := why_not_usable():
        raise UserError(reason)
    try:
        importlib.metadata.version("fastapi")
    except importlib.metadata.PackageNotFoundError as error:
        raise UserError("MAX's server is not installed; `./run serve` installs it") from error


def choose_steps(options: ServerOptions) -> Chosen:
    """Return whose steps the server runs.

    Raises:
        UserError: steps are not complete, or the last check of one failed, and no option allows it.
    """
    if is_llama(options.model):
        needed = [*LLAMA, CHAT]
    elif options.quantize:
        needed = [MODEL, QUANTIZATION]
    else:
        needed = [MODEL]
    return choose_own_steps([*needed, SERVER], options.own)
