"""Where things are: one number, one step, in every folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOLUTIONS = ROOT / "solutions"
RECORDED_KERNELS = ROOT / "tests" / "references" / "kernels.json"


@dataclass(frozen=True, order=True)
class Step:
    """One step of the tutorial, or one warm-up: ``name`` is ``step_07`` or ``warmup_01``."""

    name: str

    @property
    def number(self) -> str:
        """``07``."""
        return self.name.rpartition("_")[2]

    @property
    def task(self) -> str:
        """The task that grades it: ``s07`` or ``w01``."""
        return self.name[0] + self.number

    @property
    def learner_file(self) -> Path:
        """The only file of this step that a learner edits."""
        return ROOT / "steps" / f"{self.name}.py"

    @property
    def solution_file(self) -> Path:
        """The answer, and the one source of the skeleton."""
        return SOLUTIONS / f"{self.name.replace('step', 'solution')}.py"

    @property
    def check_file(self) -> Path:
        """The claims."""
        return ROOT / "tests" / f"test_{self.name}.py"

    @property
    def attempts_file(self) -> Path:
        """What people write instead of the solution: the mistakes that can be named, and other right answers."""
        return ROOT / "tests" / "attempts" / f"{self.name}.py"

    @property
    def chapter(self) -> Path:
        """What the book says of it, hints included."""
        return ROOT / "book" / "src" / f"{self.name}.md"

    @property
    def reference_file(self) -> Path:
        """Hugging Face's numbers, recorded."""
        return ROOT / "tests" / "references" / f"{self.name}.npz"


def all_steps() -> list[Step]:
    """Every step there is a solution for, warm-ups first, in the order of the tutorial."""
    names = (path.stem.replace("solution", "step") for path in SOLUTIONS.glob("*_[0-9][0-9].py"))
    return sorted((Step(name) for name in names), key=lambda step: (step.name[0] != "w", step.number))


def find_step(text: str) -> Step:
    """The step a person means by ``07``, ``7``, ``s07``, ``w01`` or ``step_07``.

    Raises:
        ValueError: there is no such step; the message lists those there are.
    """
    match = re.fullmatch(r"(s|step_|w|warmup_)?(\d{1,2})", text)
    if match:
        kind = "warmup" if (match[1] or "s").startswith("w") else "step"
        step = Step(f"{kind}_{int(match[2]):02}")
        if step.solution_file.is_file():
            return step
    raise ValueError(f"there is no step {text!r}; there are {', '.join(step.task for step in all_steps())}")


def shown(path: Path) -> str:
    """``path`` as it is printed: relative to the repository where it lies inside it."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
