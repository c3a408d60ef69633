"""The steps, each of which has one number, the same in every folder, and where these folders are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from checker.course.languages import MOJO, PYTHON, Language
from checker.course.source import Source
from checker.errors import UserError
from checker.files import ROOT

STEPS = ROOT / "steps"
SOLUTIONS = ROOT / "solutions"
TESTS = ROOT / "tests"
REFERENCES = TESTS / "references"
RECORDED_KERNELS = REFERENCES / "kernels.json"
WIDGETS = ROOT / "book" / "src" / "widgets"
SMALL_MODEL = ROOT / "models" / "moby-dick"

#: The order of the tutorial. Warm-ups 01 to 05 may be skipped; the others come before the step that needs them.
ORDER = (
    "s01", "s03", "s04", "w06", "s05", "s06", "w01", "w02", "w03", "w04", "w05", "s02",
    "s07", "s08", "s09", "s10", "s11", "s12", "s13", "w07", "s14", "s15", "s16", "s17",
    "w08", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27",
)  # fmt: skip
#: The steps to write if there is time for the main parts only, about five hours; for the others, the solutions run.
FAST_PATH = ("s03", "s04", "s02", "s07", "s08", "s09", "s10", "s11", "s12")

# What the steps add up to, from step 01 on: each name is that of the last step which it needs.
MODEL = "step_13"  # with pretrained weights
CACHED_MODEL = "step_14"
SERVER = "step_15"
TRAINING = "step_20"
QUANTIZATION = "step_22"  # the model needs it as well, to round its weights
SAMPLING = "step_12"  # the model needs it as well, to choose tokens
LLAMA = ("step_08", CACHED_MODEL, "step_23", "step_25", "step_26")  # a Llama, with published weights
CHAT = "step_27"  # a Llama needs it as well, to answer

WITH_GRADIENTS = ("step_17", "step_18", "step_19", TRAINING)
COMPILE_LONG = (SERVER, *WITH_GRADIENTS)  # MAX needs its kernel of attention to a paged cache, or many

#: The library whose numbers are recorded for a step; for all others, it is Hugging Face.
RECORDED_FROM = {QUANTIZATION: "llama.cpp", **dict.fromkeys(WITH_GRADIENTS, "PyTorch")}


@dataclass(frozen=True, order=True)
class Step:
    """One step of the tutorial, or one warm-up."""

    name: str  # ``step_07`` or ``warmup_01``; sorted by it, steps are in the order of their numbers, and warm-ups last

    @property
    def is_warmup(self) -> bool:
        """Whether it is a warm-up: in NumPy alone, and no part of the finished program."""
        return self.name.startswith("warmup")

    @property
    def number(self) -> str:
        """``07``."""
        return self.name.rpartition("_")[2]

    @property
    def compiles_long(self) -> bool:
        """Whether its compiled claims take minutes the first time: ``warm`` compiles them only if the step is named.

        A step in Mojo does, too: a graph that was compiled with another kernel must not be used for it.
        """
        return self.name in COMPILE_LONG or self.language is not PYTHON

    @property
    def task(self) -> str:
        """The task that checks its file: ``s07`` or ``w01``."""
        return self.name[0] + self.number

    @property
    def language(self) -> Language:
        """The language that its file is written in: Mojo if there is a solution in Mojo."""
        return MOJO if _solution(self.name, MOJO.suffix).is_file() else PYTHON

    @property
    def learner_file(self) -> Path:
        """The only file of this step that a learner edits."""
        return STEPS / f"{self.name}{self.language.suffix}"

    @property
    def solution_file(self) -> Path:
        """The file with the answer, of which the skeleton is made."""
        return _solution(self.name, self.language.suffix)

    @property
    def check_file(self) -> Path:
        """The file of its claims."""
        return TESTS / f"test_{self.name}.py"

    @property
    def attempts_file(self) -> Path:
        """The file of what people write instead: mistakes that can be named, and other right answers."""
        return TESTS / "attempts" / f"{self.name}.py"

    @property
    def kernel_folder(self) -> Path:
        """The folder of what surrounds a file in Mojo: an operation of MAX, C functions, and a model in NumPy."""
        return TESTS / "kernels" / self.name

    @property
    def model_file(self) -> Path:
        """The Python that computes what the solution does: the solution itself, or a kernel's model in NumPy."""
        return self.solution_file if self.language is PYTHON else self.kernel_folder / "model.py"

    @property
    def chapter(self) -> Path:
        """Its page of the book, with the hints."""
        return ROOT / "book" / "src" / f"{self.name}.md"

    @property
    def recorded_from(self) -> str:
        """The library whose numbers are in ``reference_file``."""
        return RECORDED_FROM.get(self.name, "Hugging Face")

    @property
    def reference_file(self) -> Path:
        """The recorded numbers that claims compare with."""
        return REFERENCES / f"{self.name}.npz"

    @property
    def answers_file(self) -> Path:
        """The recorded outcomes of every known mistake."""
        return REFERENCES / "mistakes" / f"{self.name}.json.gz"

    def read_solution(self) -> Source:
        """Return the text of the answer."""
        return Source(self.solution_file.read_text(encoding="utf-8"))

    def read_title(self) -> str:
        """Return its title: the first line of its solution, without the number, up to a comma."""
        words = self.language.docstring(self.read_solution()).partition("\n")[0]
        return words.partition(": ")[2].partition(",")[0].rstrip(".")


def _solution(name: str, suffix: str) -> Path:
    """Return the file of a solution in the language with this suffix, whether it is there or not."""
    return SOLUTIONS / f"{name.replace('step', 'solution')}{suffix}"


def all_steps() -> list[Step]:
    """Return every step there is a solution for, in the order of the tutorial."""
    steps = [
        Step(path.stem.replace("solution", "step"))
        for path in SOLUTIONS.glob("*_[0-9][0-9].*")
        if path.suffix in (PYTHON.suffix, MOJO.suffix)  # another may be left by a merge, or an editor
    ]
    places = {task: place for place, task in enumerate(ORDER)}
    return sorted(steps, key=lambda step: places.get(step.task, len(places)))


def steps_up_to(last: str) -> list[Step]:
    """Return the steps up to the ``last``, in the order of the tutorial, without warm-ups."""
    steps = all_steps()
    end = steps.index(Step(last)) + 1
    return [step for step in steps[:end] if not step.is_warmup]


def find_step(text: str) -> Step:
    """Return the step that a person means by ``07``, ``7``, ``s07``, ``w01``, ``step_07`` or ``step_07.py``.

    Raises:
        UserError: there is no such step; the message lists those there are.
    """
    match = re.fullmatch(r"(s|step_|w|warmup_)?(\d{1,2})(\.py|\.mojo)?", text)
    if match:
        kind = "warmup" if (match[1] or "s").startswith("w") else "step"
        step = Step(f"{kind}_{int(match[2]):02}")
        if step.solution_file.is_file():
            return step
    raise UserError(f"there is no step {text!r}; choose from {', '.join(step.task for step in all_steps())}")


def relative_path(path: Path) -> str:
    """Return ``path`` as it is printed: relative to the repository if it is inside."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
