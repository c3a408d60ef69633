"""Where the folders of this repository are, and how a path is printed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
TESTS = ROOT / "tests"
REFERENCES = TESTS / "references"
RECORDED_KERNELS = REFERENCES / "kernels.json"
WIDGETS = ROOT / "book" / "src" / "widgets"
SMALL_MODEL = ROOT / "models" / "moby-dick"


def relative_path(path: Path) -> str:
    """Return ``path`` as it is printed: relative to the repository if it is inside."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
