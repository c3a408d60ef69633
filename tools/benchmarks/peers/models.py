"""What the peers load: seeded weights in all formats, made when they are first needed and kept under ``.peers/``."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from checker.course.paths import ROOT, SMALL_MODEL
from tools.benchmarks.harness import say
from tools.benchmarks.peers import environments
from tools.benchmarks.peers.catalog import CHECKPOINT, COURSE, HUGGING_FACE, ways_of

EXPORTS = "tools.benchmarks.peers.exports"
LOG_LINES = 12  # of an export that fails


def ready(peers: Sequence[str], small: bool) -> tuple[Path, dict[str, str]]:
    """Make what is missing: the environments of some peers, and the models in their formats.

    Returns the folder of the models, and by title of a way the last lines of what kept it from being made.

    Raises:
        CannotPrepare: Hugging Face's environment or checkpoint is missing, with which all is compared.
    """
    failed: dict[str, str] = {}
    environments.make(HUGGING_FACE)
    folder = environments.HOME / ("models-small" if small else "models")
    folder.mkdir(exist_ok=True)
    if small and not (folder / CHECKPOINT).is_dir():
        shutil.copytree(SMALL_MODEL, folder / CHECKPOINT)
    if why := export(CHECKPOINT, folder):
        raise environments.CannotPrepare(f"the checkpoint could not be written: {why}")
    for way in ways_of(peers):
        try:
            if way.peer != COURSE:
                environments.make(way.peer)
        except environments.CannotPrepare as error:
            failed[way.title] = str(error)
            continue
        if why := export(way.format, folder):
            failed[way.title] = why
            say(f"  {way.title} is left out: {why}")
    return folder, failed


def export(name: str, folder: Path) -> str:
    """Write the models in a format, unless they are there; return the end of the log if that fails."""
    if (folder / name).exists():
        return ""
    say(f"  writing {name}")
    python = str(environments.executable(HUGGING_FACE))
    done = subprocess.run(
        [python, "-m", EXPORTS, name, str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()[-LOG_LINES:] or [f"it ended with {done.returncode} and said nothing"]
    return "\n".join(lines) if done.returncode else ""
