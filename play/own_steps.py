"""Choose the modules to run: the solutions, or the learner's own steps in their place."""

from __future__ import annotations

import ast
import dis
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import re
import runpy
import sys
import traceback
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.course.blanks import read_statically
from checker.course.languages import Unreadable, functions
from checker.course.progress import Standing, standing
from checker.course.steps import CACHED_MODEL, SOLUTIONS, Step, all_steps, find_step, relative_path, steps_up_to
from checker.errors import UserError

IMPORTED = re.compile(r"^from solutions\.(\w+) import", re.MULTILINE)

PLACE = re.compile(r'File "(.+?)", line (\d+)')  # in a message of MAX's with MODULAR_DEBUG=source-tracebacks

COMPILING = {"max.engine.api", "checker.max_adapter.graph_store"}

#: The learner's steps that stand in for solutions, by the path of their file.
in_use: dict[str, Step] = {}


def is_complete(step: Step) -> bool:
    """Return whether the learner's file of a step is there, is Python, and has no blank to write."""
    try:
        return not read_statically(step, step.learner_file).to_write
    except Unreadable:
        return False


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a learner's file; later steps call the attention of step 07 as they call the solution's."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the file."""
        super().exec_module(module)
        if self.name == "solutions.solution_07":
            mine: Any = module
            attention = mine.GPT2MultiHeadAttention
            mine.GPT2MultiHeadAttention = as_later_steps_call_it(attention, takes_mask=takes_mask(Path(self.path)))


def takes_mask(file: Path) -> bool:
    """Return whether ``_attn`` in a file of step 07 has a parameter for the mask that step 14 gives."""
    own = functions(ast.parse(file.read_bytes())).get("GPT2MultiHeadAttention._attn")
    return own is not None and len(own.args.args) > 4  # self, query, key and value


def as_later_steps_call_it(attention: Any, *, takes_mask: bool) -> Any:
    """Return a learner's attention with the solution's sizes, and with helpers that need no more than the tensor.

    The source tutorial gives both numbers at every call: ``_split_heads(x, num_heads, attn_head_size)``. Its ``_attn``
    takes no mask, so under that of step 14 the solution's runs.
    """
    own = attention._attn
    masked = own if takes_mask else runpy.run_path(str(find_step("07").solution_file))[attention.__name__]._attn

    def of_the_tensor(method: Any) -> Any:
        left_out = len(inspect.signature(method).parameters) - 2  # of self, the tensor and the numbers
        return lambda self, x, *numbers: method(self, x, *(numbers or (self.num_heads, self.head_dim)[:left_out]))

    class Attention(attention):
        _split_heads, _merge_heads = map(of_the_tensor, (attention._split_heads, attention._merge_heads))

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.num_heads, self.head_dim = config.n_head, config.head_dim
            self.embed_dim = self.split_size = config.n_embd  # by the names of the source tutorial

        def _attn(self, query: Any, key: Any, value: Any, *mask: Any) -> Any:
            return (masked if mask else own)(self, query, key, value, *mask)

    return Attention


class _Mine(importlib.abc.MetaPathFinder):
    """Finds the learner's file wherever a solution is imported."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.files = {f"solutions.{step.solution_file.stem}": step.learner_file for step in steps}
        in_use.update({str(step.learner_file): step for step in steps})

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the learner's file, for the solutions that it stands in for."""
        file = self.files.get(fullname)
        if file is None:
            return None
        return importlib.util.spec_from_loader(fullname, _Loader(fullname, str(file)))


def needed_by(*names: str) -> list[Step]:
    """Return the steps of these names, and those whose solutions theirs import, directly or not."""
    found, to_read = set[str](), [find_step(name).solution_file.stem for name in names]
    while to_read:
        module = to_read.pop()
        if module not in found:
            found.add(module)
            to_read += IMPORTED.findall((SOLUTIONS / f"{module}.py").read_text("utf-8"))
    return [step for step in all_steps() if step.solution_file.stem in found]


def done() -> list[Step]:
    """Return the learner's steps of the model that have passed as they are."""
    return [step for step in steps_up_to(CACHED_MODEL) if standing(step).state == "done"]


def use_steps(steps: Sequence[Step]) -> None:
    """Let the import of these solutions import the learner's files. Call it before any solution is imported."""
    loaded = [name for name in sys.modules if name.startswith("solutions.")]
    assert not loaded, f"{loaded} were imported too early"
    sys.meta_path.insert(0, _Mine(steps))


def use_step(step: Step) -> str:
    """Let the import of one solution import the learner's file, if that is complete; return what to say about it."""
    if not is_complete(step):
        return f"{relative_path(step.learner_file)} is not written yet, so the solution stands in"
    sys.meta_path.insert(0, _Mine([step]))
    return f"on {relative_path(step.learner_file)}; --solution runs it on the solution"


def use_mine(needed: Sequence[str], *, fill_in: bool, anyway: bool) -> list[str]:
    """Let the import of a solution import the learner's step. Call it before any solution is imported.

    Args:
        needed: the names of the steps that are needed, with all that :func:`needed_by` finds.
        fill_in: let the reference stand in for steps that are not complete.
        anyway: also run steps whose last check failed.

    Returns:
        What to say first: for which steps the reference stands in, and which have not passed as they are.

    Raises:
        ValueError: steps are not complete, or the last check of one failed, and no option allows it.
    """
    steps = needed_by("05", *needed)  # step 05 checks the tokens of every text
    missing = [step for step in steps if not is_complete(step)]
    if missing and not fill_in:
        names = ", ".join(step.task for step in missing)
        raise ValueError(
            f"these steps are not written yet: {names}. Write them, or add --fill-in to let the reference stand in"
        )
    standings = [standing(step) for step in steps if step not in missing]
    failed = [its.step.task for its in standings if its.refused]
    if failed and not anyway:
        raise ValueError(
            f"the last check of {', '.join(failed)} failed; `./run {failed[0]}` says why. "
            "Add --anyway to run them regardless"
        )
    use_steps([its.step for its in standings])
    sentences = [f"the reference stands in for {step.task}" for step in missing]
    if failed:
        sentences.append(f"running {', '.join(failed)} in spite of a failed check, so expect wrong results")
    sentences += unchecked([its for its in standings if its.state != "done" and not its.refused])
    attention = find_step("07")
    if attention not in missing and CACHED_MODEL in needed and not takes_mask(attention.learner_file):
        sentences.append(
            "_attn of s07 takes no mask: where there is a cache, the reference's runs; generate --no-cache runs yours"
        )
    return sentences


def unchecked(standings: Sequence[Standing]) -> list[str]:
    """Return what to say of steps that run though no check has passed them as they are."""
    why = defaultdict[str, list[str]](list)
    for its in standings:
        words = its.words.partition(" (")[0]
        why["no check has passed yet" if words == "in progress" else words].append(its.step.task)
    return [
        f"running {', '.join(tasks)} unchecked ({words}), so the results may be wrong; `./run {tasks[0]}` checks it"
        for words, tasks in why.items()
    ]


def not_passed() -> list[Step]:
    """Return the learner's steps in use that no check has passed as they are."""
    return [step for step in in_use.values() if standing(step).state != "done"]


def failing_file(error: Exception) -> str | None:
    """Return the learner's file in use that an error comes from, the innermost that it passed through, if any.

    What MAX's compiler refuses comes from the graph of all steps, though one of them called the compiler.
    """
    files, modules = [], set[str]()
    for frame, _ in traceback.walk_tb(error.__traceback__):
        files.append(frame.f_code.co_filename)
        modules.add(frame.f_globals.get("__name__", ""))
    if modules & COMPILING:
        return None
    return next((file for file in reversed(files) if file in in_use), None)


def line_in_graph(error: Exception) -> tuple[str, int] | None:
    """Return the learner's file and line of the operation that failed in a graph, if MAX was told to keep them."""
    lines = [(file, int(number)) for file, number in PLACE.findall(str(error)) if file in in_use]
    return lines[-1] if lines else None


def is_refusal(error: Exception) -> bool:
    """Return whether code of the course raised an error to say what cannot be done, which blames no step."""
    if not isinstance(error, ValueError):
        return isinstance(error, UserError | OSError)
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    if trace is None:
        return True
    frame = trace.tb_frame
    is_raised = dis.opname[frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"  # not by a call into NumPy, say
    return is_raised and frame.f_globals.get("__name__", "").startswith(("solutions.", "play.", "checker."))
