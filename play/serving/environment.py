"""The conditions for serving: the installed version of MAX, and whose modules every process of the server runs."""

from __future__ import annotations

import functools
import importlib.metadata
import os

from checker.course.installed import needed_version
from play.modules import use_mine

#: In the environment of the server and of the processes that it starts: whose modules run, if not the reference's.
MODULES = "GPT2_MODULES"
MINE, FILL_IN, ANYWAY = "mine", "fill-in", "anyway"

#: In the same environment, if linear layers are to run by the kernel of ``play/kernels``.
KERNELS = "GPT2_KERNELS"


class CannotServe(Exception):
    """The server cannot be started; the message says what to do."""


def check_version() -> None:
    """Refuse a MAX that ``play/serving/max`` was not written for: its interfaces have moved with every release so far.

    Raises:
        CannotServe: another version is installed, or MAX without its server.
    """
    version, needed = importlib.metadata.version("max"), needed_version()
    if version != needed:
        raise CannotServe(
            f"play/serving is written for MAX {needed}, and {version} is installed; "
            f"install max[serve]=={needed}, or bring play/serving up to date"
        )
    try:
        importlib.metadata.version("fastapi")
    except importlib.metadata.PackageNotFoundError as error:
        raise CannotServe(f"MAX's server is not installed; `./run serve` installs max[serve]=={needed}") from error


@functools.cache
def choose_modules() -> list[str]:
    """Let solutions mean the learner's steps if the environment says so; return what to tell the user about that.

    Call it in every process of the server, before any solution is imported.

    Raises:
        NotWritten: steps are not complete, and the reference may not stand in.
        WasRefused: a check said no to a step, which may not run anyway.
    """
    chosen = os.environ.get(MODULES, "").split()
    return use_mine(fill_in=FILL_IN in chosen, anyway=ANYWAY in chosen) if chosen else []
