"""Pin every package in ``requirements/`` from ``pyproject.toml``: one resolution by uv, exported once for each extra.

uv's own lock file names the registry that it came from, so it stays in a temporary folder. The packages that torch
brings for one kind of GPU are left out: pip finds out which of them a machine needs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from checker.files import ROOT

GPU_ONLY = re.compile(r"(nvidia|cuda|triton)(-|$)")
EXPORT = ["uv", "export", "--frozen", "--no-hashes", "--no-header", "--no-annotate", "--no-emit-project"]


def uv(folder: Path, command: list[str]) -> str:
    """Run uv in a folder with the Python that runs this, and return its output."""
    command = [*command, "--quiet", "--python", sys.executable]
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def write_requirements() -> int:
    """Write one file for every environment, and return the exit status."""
    if not shutil.which("uv"):
        print("lock: uv is not installed; `pip install uv` brings it", file=sys.stderr)
        return 2
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = stated["project"]["optional-dependencies"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copy(ROOT / "pyproject.toml", folder)
        try:
            uv(folder, ["uv", "lock"])
            names = [package["name"] for package in tomllib.loads((folder / "uv.lock").read_text())["package"]]
            export = [*EXPORT, *(f"--prune={name}" for name in names if GPU_ONLY.match(name))]
            pinned = {"learn": uv(folder, export)}
            pinned |= {extra: uv(folder, [*export, f"--extra={extra}"]) for extra in extras}
        except subprocess.CalledProcessError as error:
            return error.returncode  # uv has said why
    for environment, lines in pinned.items():
        path = ROOT / "requirements" / f"{environment}.txt"
        path.write_text(f"# Made by `./run lock` from pyproject.toml.\n{lines}")
        print(f"{path.relative_to(ROOT)}: {len(lines.splitlines())} packages")
    return 0
