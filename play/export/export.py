"""Write one file of the learner's steps 01 to 14, or of the solutions: GPT-2 that needs nothing of this repository."""

from __future__ import annotations

import pydoc
import shlex
import sys
from collections.abc import Collection
from pathlib import Path

from checker.course.reading import read_text
from checker.course.skeletons import back_up
from checker.course.steps import CACHED_MODEL, SMALL_MODEL, SOLUTIONS, STEPS, Step, relative_path, steps_up_to
from checker.files import require_writable, write_durably
from checker.packages import needed_version
from play.export.merging import Module, merge
from play.mine.choice import IMPORTED, OwnSteps, choose_own_steps
from play.startup import Tell

#: What the file has behind the steps, by the names under which they are imported.
PROGRAM = {
    "play.generation.streaming": Path(__file__).parents[1] / "generation" / "streaming.py",
    "play.export.program": Path(__file__).with_name("program.py"),
}

INSTALL = "pip install max "  # in the docstring of ``program.py``

#: The sections of the file: the module that each begins with, and its heading.
SECTIONS = {
    "solution_01": "The configuration",
    "arrays": "The model",
    "solution_12": "Generation",
    "checkpoint": "Checkpoints",
    "caching": "The KV cache",
    "play.generation.streaming": "The program",
}
#: Constants and methods that the course needs and the file does not, by their module.
UNUSED = {"solution_01": ("PUBLISHED", "published")}
#: Modules of types alone, which stand at the head of a section: before the module named, not where they are needed.
BEFORE = {"solution_02": ["arrays"]}


def write_program(file: Path, tell: Tell, own: OwnSteps | None) -> None:
    """Write one file of the learner's steps; a file that was there before is kept beside it.

    Args:
        file: the file to write.
        tell: told whose steps the file has, and how to run it.
        own: how the learner's steps are taken; without it, the solutions are.

    Raises:
        UserError: steps are not complete, or the last check of one failed, and no option allows it; or a step does
            not fit the others.
        OSError: the file cannot be written.
    """
    require_writable(file)
    steps = steps_up_to(CACHED_MODEL)
    chosen = choose_own_steps([step.name for step in steps], own)
    for sentence in chosen.sentences:
        tell(sentence)
    text = with_version(merge(modules_of(steps, chosen.steps), are_same))
    if file.exists() and file.read_bytes() != text.encode():
        tell(f"the {file.name} that was there is kept as {relative_path(back_up(file))}")
    write_durably(file, text.encode())
    tell(f"{file} has {len(text.splitlines())} lines, and runs wherever MAX, NumPy, safetensors and tokenizers do:")
    python, program = relative_path(Path(sys.executable)), shlex.quote(str(file))
    tell(f'{python} {program} "The whale" --model {relative_path(SMALL_MODEL)}')


def with_version(text: str) -> str:
    """Return the file's text with the version of MAX in its first lines, which say what to install."""
    assert INSTALL in text, "the docstring of program.py says it"
    return text.replace(INSTALL, f"pip install max=={needed_version()} ", 1)  # a step may say it, too


def are_same(one: str, other: str) -> bool:
    """Return whether two dotted names, such as ``max.graph.TensorType``, name the same object."""
    found = pydoc.locate(one)
    return found is not None and found is pydoc.locate(other)


def modules_of(steps: Collection[Step], own: Collection[Step]) -> list[Module]:
    """Return the modules of a program in the order of their steps, each given module before the step that needs it.

    Args:
        steps: the steps of the program.
        own: the steps of which the learner's file is taken.
    """
    modules: dict[str, Module] = {}
    for step in sorted(steps):
        add_module(modules, step.solution_file.stem, step.learner_file if step in own else step.solution_file)
    for name, file in PROGRAM.items():
        modules[name] = Module(relative_path(file), (name,), read_text(file), SECTIONS.get(name, ""))
    return [*modules.values()]


def add_module(modules: dict[str, Module], name: str, file: Path) -> None:
    """Add a module of the solutions to ``modules``, behind those that it imports; its text is that of ``file``."""
    for needed in BEFORE.get(name, []) + IMPORTED.findall((SOLUTIONS / f"{name}.py").read_text("utf-8")):
        if needed not in modules:
            add_module(modules, needed, SOLUTIONS / f"{needed}.py")
    names = (f"{SOLUTIONS.name}.{name}", f"{STEPS.name}.{name.replace('solution', 'step')}")
    modules[name] = Module(relative_path(file), names, read_text(file), SECTIONS.get(name, ""), UNUSED.get(name, ()))
