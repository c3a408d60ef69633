"""The environments of the peers, each in a folder of its own under ``.peers/``, made when it is first needed.

``requirements/peer-NAME.txt`` pins the packages of Python's, ``requirements/peer-llama.cpp/`` those of npm.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from pathlib import Path

from checker import environments
from checker.course.paths import ROOT
from checker.environments import CannotPrepare

__all__ = ["CannotPrepare", "executable", "is_ready", "make", "pins", "root_of"]

HOME = ROOT / ".peers"
REQUIREMENTS = ROOT / "requirements"
NPM = ["npm", "--no-audit", "--no-fund", "--loglevel", "error"]
LLAMA_PLATFORMS = {
    ("linux", "x86_64"): "linux-x64",
    ("linux", "aarch64"): "linux-arm64",
    ("darwin", "arm64"): "mac-arm64-metal",
}


def root_of(peer: str) -> Path:
    """Return the folder of a peer's environment."""
    return HOME / peer


def executable(peer: str) -> Path:
    """Return the program that runs a peer's code, its own Python, or node for what npm installs."""
    return Path(shutil.which("node") or "node") if _of_npm(peer) else environments.python_of(root_of(peer))


def _of_npm(peer: str) -> bool:
    return (REQUIREMENTS / f"peer-{peer}").is_dir()


def pins(peer: str) -> Path:
    """Return the file that pins a peer's packages."""
    return REQUIREMENTS / f"peer-{peer}" / "package-lock.json" if _of_npm(peer) else REQUIREMENTS / f"peer-{peer}.txt"


def is_ready(peer: str) -> bool:
    """Return whether a peer's environment has just what its pins say."""
    return environments.is_ready(root_of(peer), pins(peer))


def make(peer: str) -> None:
    """Make a peer's environment, unless it is ready.

    Raises:
        CannotPrepare: a program is missing, or the packages could not be installed.
    """
    environments.make(root_of(peer), pins(peer), _npm(peer) if _of_npm(peer) else ())


def _npm(peer: str) -> list[list[str]]:
    """Return the commands that install, of the binaries for all processors and GPUs, the one that is wanted."""
    this, folder = (sys.platform, platform.machine()), REQUIREMENTS / f"peer-{peer}"
    if this not in LLAMA_PLATFORMS:
        raise CannotPrepare(f"{peer} has no binaries for {' '.join(this)}")
    ((name, version),) = json.loads((folder / "package.json").read_text())["dependencies"].items()
    binaries = f"@{name}/{LLAMA_PLATFORMS[this]}@{version}"
    copy = ["cp", str(folder / "package.json"), str(folder / "package-lock.json"), "."]
    return [copy, [*NPM, "install", "--no-save", "--omit=optional", "--ignore-scripts", binaries]]
