"""What a claim gave the learner's code: the arrays among the arguments of the call that it compared."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import numpy as np

MOST = 4  # arrays


def inputs_of(claim: Callable[..., Any], trace: TracebackType | None) -> dict[str, np.ndarray]:
    """Return the arrays that a claim gave to the learner's code, by what the claim calls them.

    Args:
        claim: a function of the check file, which calls ``equal(step.function(array), …)``.
        trace: the traceback of its failure.
    """
    while trace and trace.tb_frame.f_code is not claim.__code__:
        trace = trace.tb_next
    if trace is None:
        return {}
    tree = ast.parse(textwrap.dedent(inspect.getsource(claim)))
    line = trace.tb_lineno - claim.__code__.co_firstlineno + 1
    call = _compared(tree, line)
    if isinstance(call, ast.Name):
        made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and node.lineno < line]
        assigned = [
            node.value for node in made if call.id in {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        ]
        call = assigned[-1] if assigned else call
    found = {}
    for argument in call.args if isinstance(call, ast.Call) else []:
        value = _value(argument, trace.tb_frame)
        if isinstance(value, np.ndarray) and value.size:
            found[_name(argument)] = value
    return dict(list(found.items())[:MOST])


def _compared(tree: ast.AST, line: int) -> ast.expr | None:
    """Return the first argument of the call of ``equal`` at a line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "equal":
            holds = node.lineno <= line <= (node.end_lineno or 0)
            if holds:
                return node.args[0]
    return None


def _value(argument: ast.expr, frame: FrameType) -> object:
    """Return what an argument was, if finding out runs nothing."""
    if any(isinstance(node, ast.Call | ast.Lambda | ast.Await) for node in ast.walk(argument)):
        return None
    code = compile(ast.fix_missing_locations(ast.Expression(argument)), "an argument", "eval")
    try:
        return eval(code, frame.f_globals, frame.f_locals)
    except Exception:
        return None


def _name(argument: ast.expr) -> str:
    """Return ``query`` for ``reference["query"]``, and other arguments as they stand."""
    if isinstance(argument, ast.Subscript) and isinstance(argument.slice, ast.Constant):
        return str(argument.slice.value)
    return ast.unparse(argument).replace("'", '"')
