"""Compare again, in the parent: the arrays that a claim compared with Hugging Face's recorded ones.

The check file says which claims are ``equal`` to a recorded array. The parent reads it, loads the recording itself, and
believes such a claim's yes only if an array from the child equals the recording here as well.
"""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from checker.course.steps import Step
from checker.events import Array, Claimed

if TYPE_CHECKING:  # NumPy is loaded when the first child runs, so that the static verdict does not wait for it
    import numpy as np

    from checker.numeric.references import Reference


def claims_of(step: Step, *, compiled: bool) -> set[str]:
    """Return the claims that the check of a step makes, read from its file: a yes needs every one of them."""
    return {claim.name for claim in _claims(step) if compiled or not _is_marked(claim, "compiled")}


def drawn_claims_of(step: Step) -> set[str]:
    """Return the claims about another configuration that the check of a step makes."""
    return {claim.name for claim in _claims(step) if _is_marked(claim, "drawn")}


def _claims(step: Step) -> Iterator[ast.FunctionDef]:
    for node in ast.parse(step.check_file.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def _is_marked(claim: ast.FunctionDef, marker: str) -> bool:
    return f"pytest.mark.{marker}" in map(ast.unparse, claim.decorator_list)


class Evidence:
    """The recorded arrays of a step, and the claims that compare with them."""

    def __init__(self, step: Step) -> None:
        self.file = step.reference_file
        self.compared = {claim.name: list(_recorded(claim)) for claim in _claims(step)} if self.file.is_file() else {}

    def load(self) -> None:
        """Load NumPy and the recorded arrays now: later, the child needs all processors for its claims."""
        if self.compared:
            _ = self.reference

    @cached_property
    def reference(self) -> Reference:
        """Hugging Face's numbers, read by the parent."""
        from checker.numeric.references import Reference

        return Reference(self.file)

    def disputes(self, claimed: Claimed) -> bool:
        """Return whether a claim said yes without the arrays that it must have compared."""
        wanted = self.compared.get(claimed.claim.partition("[")[0], [])
        if claimed.verdict != "yes" or not wanted:
            return False
        arrays = [_decoded(array) for array in claimed.evidence]
        return not all(any(_equal(array, one) for one in self.values(part) for array in arrays) for part in wanted)

    def values(self, part: ast.expr) -> list[np.ndarray]:
        """Return the recorded arrays that an expression of the check file stands for; several for a loop's variable."""
        if {node.id for node in ast.walk(part) if isinstance(node, ast.Name)} == {"reference"}:
            code = compile(ast.Expression(part), "a claim", "eval")
            return [eval(code, {"__builtins__": {}, "reference": self.reference})]
        (named,) = [node.slice for node in ast.walk(part) if isinstance(node, ast.Subscript)]
        assert isinstance(named, ast.JoinedStr)
        pieces = (re.escape(str(piece.value)) if isinstance(piece, ast.Constant) else ".*" for piece in named.values)
        fits = re.compile("".join(pieces))
        return [self.reference[name] for name in self.reference if fits.fullmatch(name)]


def _recorded(claim: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the second argument of a claim's ``equal`` calls, if it is recorded: ``reference[…]`` or a part of it."""
    for node in ast.walk(claim):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "equal" and len(node.args) > 1:
            expected = node.args[1]
            names = {each.id for each in ast.walk(expected) if isinstance(each, ast.Name)}
            is_named = isinstance(expected, ast.Subscript) and ast.unparse(expected.value) == "reference"
            if names == {"reference"} or (is_named and isinstance(expected.slice, ast.JoinedStr)):  # type: ignore[attr-defined]
                yield expected


def _decoded(array: Array) -> np.ndarray:
    import numpy as np

    return np.frombuffer(base64.b64decode(array.data), np.dtype(array.dtype)).reshape(array.shape)


def _equal(actual: Any, expected: Any) -> bool:
    from checker.numeric.tolerance import close

    return actual.shape == expected.shape and actual.dtype == expected.dtype and close(actual, expected)
