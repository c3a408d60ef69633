"""What the check file of a step says of its claims.

A trick, ``reading claims``: it is read from the text, so neither pytest nor MAX is imported for it.
"""

from __future__ import annotations

import ast
from functools import cache

from checker.course.steps import Step
from checker.stages import ClaimKind

#: The claims of a check file that imports this module run MAX.
CLAIMS_THAT_RUN_MAX = "checker.claims.modules"


@cache
def _statements(step: Step) -> list[ast.stmt]:
    return ast.parse(step.check_file.read_text(encoding="utf-8")).body


def uses_max(step: Step) -> bool:
    """Return whether the claims of a step run MAX: their file imports ``checker.claims.modules``."""
    return any(isinstance(node, ast.ImportFrom) and node.module == CLAIMS_THAT_RUN_MAX for node in _statements(step))


def claims_of(step: Step) -> dict[str, ClaimKind]:
    """Return the claims of a step, and the kind of each, which its pytest marker says.

    Raises:
        ValueError: a claim has another decorator than such a marker or ``about(…)``, so its kind is not known.
    """
    markers = {f"pytest.mark.{kind}": kind for kind in ClaimKind}
    claims = {}
    for node in _statements(step):
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
            continue
        claims[node.name] = ClaimKind.NUMBERS
        for decorator in map(ast.unparse, node.decorator_list):
            if decorator in markers:
                claims[node.name] = markers[decorator]
            elif not decorator.startswith("about("):
                raise ValueError(f"{step.check_file.name}: {node.name} has @{decorator}, which says no kind of claim")
    return claims


def optional_in(step: Step) -> set[str]:
    """Return the labels of the blanks that a file may do without: ``OPTIONAL`` in the step's check file."""
    values = {ast.unparse(node.targets[0]): node.value for node in _statements(step) if isinstance(node, ast.Assign)}
    return ast.literal_eval(values["OPTIONAL"]) if "OPTIONAL" in values else set()
