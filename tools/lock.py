"""Pin every package in ``requirements/`` from ``pyproject.toml``, for every platform, with uv's resolver.

Lines that torch brings for one kind of GPU are left out: which of them a machine needs, pip finds out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

from checker.course.paths import ROOT

GPU_ONLY = re.compile(r"^(nvidia|cuda|triton)")
EXTRAS = ("dev", "pictures", "book", "reference", "serve")  # dev has all the others, which take their versions from it


def main() -> int:
    """Write one file for every environment."""
    if not shutil.which("uv"):
        print("lock: uv is not installed; `pip install uv` brings it", file=sys.stderr)
        return 2
    for name in (*EXTRAS, "learn"):
        command = ["uv", "pip", "compile", "pyproject.toml", "--universal", "--python-version", "3.11", "--no-header"]
        command += ["--no-annotate", "--quiet", *(["--extra", name] if name in EXTRAS else [])]
        command += [] if name == "dev" else ["--constraints", "requirements/dev.txt"]
        lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        kept = [line for line in lines if not GPU_ONLY.match(line)]
        path = ROOT / "requirements" / f"{name}.txt"
        path.write_text("# Made by `./run lock` from pyproject.toml.\n" + "\n".join(kept) + "\n")
        print(f"{path.relative_to(ROOT)}: {len(kept)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
