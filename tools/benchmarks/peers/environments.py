"""The environments of the peers, each in a folder of its own under ``.peers/``, made when it is first needed.

``requirements/peer-NAME.txt`` pins the packages of Python's, ``requirements/peer-llama.cpp/`` those of npm. Nothing is
ever installed into the learner's environment.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from checker.course.paths import ROOT, relative_path

HOME = ROOT / ".peers"
REQUIREMENTS = ROOT / "requirements"
NPM = ["npm", "--no-audit", "--no-fund", "--loglevel", "error"]
LLAMA_PLATFORMS = {
    ("linux", "x86_64"): "linux-x64",
    ("linux", "aarch64"): "linux-arm64",
    ("darwin", "arm64"): "mac-arm64-metal",
}


class CannotPrepare(Exception):
    """An environment could not be made; the message says why."""


def root_of(peer: str) -> Path:
    """Return the folder of a peer's environment."""
    return HOME / peer


def executable(peer: str) -> Path:
    """Return the program that runs a peer's code, its own Python, or node for what npm installs."""
    return Path(shutil.which("node") or "node") if _of_npm(peer) else root_of(peer) / "bin" / "python"


def _of_npm(peer: str) -> bool:
    return (REQUIREMENTS / f"peer-{peer}").is_dir()


def pins(peer: str) -> Path:
    """Return the file that pins a peer's packages."""
    return REQUIREMENTS / f"peer-{peer}" / "package-lock.json" if _of_npm(peer) else REQUIREMENTS / f"peer-{peer}.txt"


def is_ready(peer: str) -> bool:
    """Return whether a peer's environment has just what its pins say."""
    stamp = root_of(peer) / "installed.txt"
    return stamp.is_file() and stamp.read_text() == pins(peer).read_text()


def make(peer: str) -> None:
    """Make a peer's environment, unless it is ready.

    Raises:
        CannotPrepare: a program is missing, or the packages could not be installed.
    """
    if is_ready(peer):
        return
    folder = root_of(peer)
    print(f"Setting up {relative_path(folder)}, once.", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in _npm(peer, folder) if _of_npm(peer) else _pip(peer, folder):
        try:
            done = subprocess.run(command, cwd=folder, env=os.environ, check=False, stdout=subprocess.DEVNULL)
        except FileNotFoundError as error:
            raise CannotPrepare(f"{peer} needs {command[0]}, which is not installed here") from error
        if done.returncode:
            raise CannotPrepare(
                f"the packages of {relative_path(pins(peer))} could not be installed; why is said above"
            )
    shutil.copy(pins(peer), folder / "installed.txt")


def _pip(peer: str, folder: Path) -> list[list[str]]:
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    return [
        [sys.executable, "-m", "venv", str(folder)],
        [*install, "--requirement", str(pins(peer))],
    ]


def _npm(peer: str, folder: Path) -> list[list[str]]:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(REQUIREMENTS / f"peer-{peer}" / name, folder)
    this = (sys.platform, platform.machine())
    if this not in LLAMA_PLATFORMS:
        raise CannotPrepare(f"{peer} has no binaries for {' '.join(this)}")
    ((name, version),) = json.loads((folder / "package.json").read_text())["dependencies"].items()
    binaries = f"@{name}/{LLAMA_PLATFORMS[this]}@{version}"
    # Optional are the binaries for all processors and GPUs, of which one is wanted.
    return [[*NPM, "install", "--no-save", "--omit=optional", "--ignore-scripts", binaries]]
