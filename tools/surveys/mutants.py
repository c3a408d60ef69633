"""Look for wrong answers that a check accepts.

A mutant is a solution with one small edit in a function that has a blank: an argument left out, two things
exchanged, a number, a comparison or a name replaced, a statement removed. Every mutant is graded as a learner's
file is, and those that are accepted are printed. Each is either equivalent to the solution for every caller, or shows
something that the check does not test.

``python -m tools.surveys.mutants STEP FIRST END`` is the child that grades them.
"""

from __future__ import annotations

import ast
import copy
import difflib
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import pytest

from checker.claims.observation import Draws, observe
from checker.claims.subjects import load_source
from checker.claims.surveying import answer_to
from checker.claims.worker import import_max
from checker.course.blanks import find_blanks
from checker.course.languages.python import FunctionNode as Function
from checker.course.languages.python import functions
from checker.course.steps import Step, claims_of, uses_max
from checker.events import Claimed, Event, Started

SECONDS = 20  # for one claim, not counting what MAX compiles
SAID = "mutant "  # begins a line of the child's

COMPARISONS: list[type[ast.cmpop]] = [ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq]
OPERATORS: list[type[ast.operator]] = [ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult]
PAIRS = [(ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr)]
OTHERS: dict[type[ast.AST], list[Any]] = {
    **{one: [other for other in COMPARISONS if other is not one] for one in COMPARISONS},
    **{one: [other for other in OPERATORS if other is not one] for one in OPERATORS},
    **{one: [other] for one, other in PAIRS} | {other: [one] for one, other in PAIRS},
}
EXCHANGED = [["max", "min", "sum", "mean"], ["argmax", "argmin"], ["sort", "argsort"], ["ones", "zeros"]]
EXCHANGED += [["tril", "triu"], ["exp", "sqrt"], ["concatenate", "stack"], ["float64", "float32"]]


def mutants(solution: str) -> Iterator[tuple[str, str]]:
    """Yield the solution, and every mutant of it: the function that was edited, and the edited source."""
    blanks = {blank.function for blank in find_blanks(solution)}
    tree = ast.parse(solution)
    callables = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("solutions."):
            callables += [name.name for name in node.names]
    config = ast.walk(ast.parse(Step("step_01").solution_file.read_text()))
    fields = [ast.unparse(node.target) for node in config if isinstance(node, ast.AnnAssign)]
    yield "", ast.unparse(tree)
    seen = {ast.unparse(tree)}
    for name, function in functions(tree).items():
        if name not in blanks:
            continue
        local = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
        local += [
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        kin = [list(dict.fromkeys(local)), callables, *EXCHANGED]
        own = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_name(node.value, "self")]
        attributes = {"self": list(dict.fromkeys(own)), "config": fields}
        for put, place in _places(function):
            for other in edits(place, kin, attributes):
                put(other)
                source = ast.unparse(tree)
                put(place)
                if source not in seen:
                    seen.add(source)
                    yield name, source


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


Put = Callable[[Any], None]


def _places(function: Function) -> Iterator[tuple[Put, ast.AST]]:
    """Yield every node in the body of a function except its docstring, and a function that replaces it."""
    for at in range(bool(ast.get_docstring(function)), len(function.body)):
        yield from _below(function.body[at], partial(function.body.__setitem__, at))


def _below(node: ast.AST, put: Put) -> Iterator[tuple[Put, ast.AST]]:
    yield put, node
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST) and field != "annotation":
            yield from _below(value, partial(setattr, node, field))
        for at, each in enumerate(value if isinstance(value, list) else []):
            if isinstance(each, ast.AST) and not (isinstance(node, ast.JoinedStr) and isinstance(each, ast.Constant)):
                yield from _below(each, partial(value.__setitem__, at))


def edits(node: Any, kin: list[list[str]], attributes: dict[str, list[str]]) -> Iterator[ast.AST]:
    """Yield what may replace a node, which is wrong more often than not.

    Args:
        node: an expression or statement of a solution.
        kin: groups of names that may be mistaken for one another.
        attributes: the same for the attributes of ``self`` and ``config``.
    """

    def with_(**fields: Any) -> Any:
        changed = copy.copy(node)
        for field, value in fields.items():
            setattr(changed, field, value)
        return changed

    match node:
        case ast.Call():
            for at in range(len(node.args)):
                yield with_(args=_without(node.args, at))
            for at in range(len(node.keywords)):
                yield with_(keywords=_without(node.keywords, at))
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            for order in _exchanged(values):
                args, rest = order[: len(node.args)], order[len(node.args) :]
                given = [ast.keyword(old.arg, new) for old, new in zip(node.keywords, rest, strict=True)]
                yield with_(args=args, keywords=given)
            yield from values
            if isinstance(node.func, ast.Attribute):
                yield node.func.value
            if _is_name(node.func, "range"):
                yield with_(args=[*node.args[:-1], _one_more(node.args[-1])])
        case ast.Compare():
            for other in OTHERS[type(node.ops[0])]:
                yield with_(ops=[other()])
            yield with_(left=_one_more(node.left))
        case ast.BinOp():
            for other in OTHERS[type(node.op)]:
                yield with_(op=other())
            yield from (node.left, node.right, with_(left=node.right, right=node.left))
        case ast.BoolOp():
            yield with_(op=OTHERS[type(node.op)][0]())
            for at in range(len(node.values)):
                yield with_(values=_without(node.values, at)) if len(node.values) > 2 else node.values[at]
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from map(ast.Constant, (value + 1, value - 1))
        case ast.Constant(value=float(value)):
            yield from map(ast.Constant, (value * 2, 0.0))
        case ast.Constant(value=str()):
            yield ast.Constant("")
        case ast.Constant(value=None):
            yield ast.Constant(0)
        case ast.FormattedValue():
            yield ast.Constant("?")
        case ast.Name(ctx=ast.Load()):
            for names in kin:
                if node.id in names and node.id != "self":
                    yield from (ast.Name(other) for other in names if other not in (node.id, "self"))
        case ast.Attribute(ctx=ast.Load()):
            own = attributes.get(node.value.id, []) if isinstance(node.value, ast.Name) else []
            for names in (own, *kin):
                if node.attr in names:
                    yield from (with_(attr=other) for other in names if other != node.attr)
            yield node.value
        case ast.Subscript(ctx=ast.Load()):
            yield node.value
        case ast.Slice():
            yield from (with_(lower=None), with_(upper=None), with_(lower=node.upper, upper=node.lower))
            yield with_(lower=node.lower and _one_more(node.lower), upper=node.upper and _one_more(node.upper))
        case ast.IfExp():
            yield from (node.body, node.orelse, with_(body=node.orelse, orelse=node.body))
        case ast.Tuple() | ast.List():
            for order in (*_exchanged(node.elts), *(_without(node.elts, at) for at in range(len(node.elts)))):
                yield with_(elts=order)
        case ast.Dict():
            for at in range(len(node.keys)):
                yield with_(keys=_without(node.keys, at), values=_without(node.values, at))
        case ast.comprehension(ifs=[condition]):
            yield from (with_(ifs=[]), with_(ifs=[ast.UnaryOp(ast.Not(), condition)]))
        case ast.If():
            for test in (ast.UnaryOp(ast.Not(), node.test), ast.Constant(True), ast.Constant(False)):
                yield with_(test=test)
        case ast.Assign(targets=[ast.Name(id=name) as to], value=ast.BinOp(left=ast.Name(id=same)) as sum_) if (
            name == same
        ):
            yield ast.AugAssign(to, sum_.op, sum_.right)
    if isinstance(node, ast.For | ast.If | ast.Try):
        for at in range(len(node.body) - 1):
            yield with_(body=[*node.body[:at], node.body[at + 1], node.body[at], *node.body[at + 2 :]])
    if isinstance(node, ast.stmt) and not isinstance(node, ast.Pass):
        yield ast.Pass()


def _one_more(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


def _without(values: list[Any], at: int) -> list[Any]:
    return values[:at] + values[at + 1 :]


def _exchanged(values: list[Any]) -> Iterator[list[Any]]:
    for one, other in itertools.combinations(range(len(values)), 2):
        order = list(values)
        order[one], order[other] = order[other], order[one]
        yield order


def accepts(step: Step, source: str) -> bool:
    """Return whether every claim of a step says yes to a source, including the compiled ones."""
    try:
        subject = load_source("graded.mutant", source, "mutant")
    except Exception:
        return False
    heard: set[str] = set()
    stages: list[dict[str, Any]] = [{}, {"draws": Draws(answer_to(step), [0])}]
    for stage in [*stages, {"compiled": True}] if uses_max(step) else stages:
        said = observe(step, {"mutant": subject}, tell=_follow, **stage)["mutant"]
        if any(outcome.verdict != "yes" for outcome in said.values()):
            return False
        heard |= {claim.partition("[")[0] for claim in said}
    return heard == claims_of(step).keys()


def _late(signum: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"a claim took more than {SECONDS} seconds")


def _follow(event: Event) -> None:
    """Keep time, and stop grading a mutant once a claim has refused it."""
    signal.alarm(SECONDS if isinstance(event, Started) else 0)
    if isinstance(event, Claimed) and event.verdict != "yes":
        pytest.exit("refused")


def _wait_for_the_compiler(what: str, seconds: float | None) -> None:
    signal.alarm(SECONDS if seconds is not None else 0)


def grade(step: Step, first: int, end: int) -> None:
    """Say whether each mutant from number ``first`` up to ``end``, excluded, is accepted; 0 is the solution."""
    import_max(step, _wait_for_the_compiler)
    signal.signal(signal.SIGALRM, _late)
    made = enumerate(mutants(step.solution_file.read_text()))
    for number, (_, source) in itertools.islice(made, first, end):
        print(SAID + json.dumps([number, accepts(step, source)]), flush=True)


def accepted_of(step: Step, numbers: range) -> list[int]:
    """Return which of some mutants, by number, are accepted; a mutant that ends its process is not."""
    accepted: list[int] = []
    done = numbers.start
    while done < numbers.stop:
        command = [sys.executable, "-m", "tools.surveys.mutants", step.name, str(done), str(numbers.stop)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
            for line in child.stdout or []:
                if line.startswith(SAID):
                    number, yes = json.loads(line.removeprefix(SAID))
                    done = number + 1
                    accepted += [number] if yes else []
        done += done < numbers.stop
    return accepted


def report(step: Step) -> None:
    """Print the accepted mutants of a step as differences from its solution.

    Raises:
        SystemExit: the solution itself is refused.
    """
    made = list(mutants(step.solution_file.read_text()))
    accepted = accepted_of(step, range(len(made)))
    if accepted[:1] != [0]:
        sys.exit(f"{step.name}: the solution itself is refused, so nothing can be said of its mutants")
    print(f"{step.name}: {len(made) - 1} mutants, {len(accepted) - 1} accepted", flush=True)
    for function, source in (made[number] for number in accepted[1:]):
        print(f"\n  {function}")
        for line in difflib.ndiff(made[0][1].splitlines(), source.splitlines()):
            if line[0] in "+-":
                print(f"  {line}")
    print(flush=True)


if __name__ == "__main__":
    grade(Step(sys.argv[1]), *map(int, sys.argv[2:]))
