"""Run a learner's files wherever solutions are imported, and tell which of them an error comes from."""

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
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from checker.course.languages import functions
from checker.course.progress import standing
from checker.course.steps import Step, find_step
from checker.errors import UserError

PLACE = re.compile(r'File "(.+?)", line (\d+)')  # in a message of MAX's with MODULAR_DEBUG=source-tracebacks

COMPILING = {"max.engine.api", "checker.max_adapter.graph_store"}

#: The learner's steps that stand in for solutions, by the path of their file.
in_use: dict[str, Step] = {}


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


def stand_in(steps: Sequence[Step]) -> None:
    """Let the import of these solutions import the learner's files; of those that are in use, again."""
    if not {str(step.learner_file) for step in steps} <= in_use.keys():
        loaded = [name for name in sys.modules if name.startswith("solutions.")]
        assert not loaded, f"{loaded} were imported too early"
        sys.meta_path.insert(0, _Mine(steps))


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


# ---------------------------------------------------------------- which step is to blame


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
