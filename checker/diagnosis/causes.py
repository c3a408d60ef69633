"""Causes that lie in no single blank: a name that is missing, something given that was changed, state between calls."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checker.course.languages import PYTHON
from checker.course.reading import Location
from checker.course.source import Source
from checker.diagnosis.frames import code_in
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.outside_blanks import Change, changes_outside_blanks, imports_of, name_of
from checker.events import Finding, Mark
from checker.outcomes import Outcome, Outcomes, RaisedError, failed, outcomes_about

AS_IT_IS, AS_GIVEN = "the file as it is", "what is given, as it was"  # versions of a file
CHANGING = ("append", "extend", "add", "update", "setdefault", "pop", "insert", "clear")
OUTLIVES = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
SHARED = "It is right on its own, but not after earlier calls: something is kept from one call to the next."


def waits(claim: str, about: str, labels: Collection[str]) -> Finding:
    """Return that a claim about one function waits for others."""
    works = "work" if len(labels) > 1 else "works"
    return Finding(claim, about, f"waits until {' and '.join(labels)} {works}", mark=Mark.WAITS)


# ---------------------------------------------------------------- a name that is missing


def findings_on_missing_names(failing: Outcomes, file: LearnersFile) -> list[Finding]:
    """Return what is said of the claims that ended at a name which the file does not define.

    The solution's imports tell what to write. A claim about another function than the one in which the name stands
    waits for that, unless no claim about that one comes to the name.
    """
    findings: list[Finding] = []
    errors = {
        claim: outcome.observation
        for claim, outcome in failing.items()
        if isinstance(outcome.observation, RaisedError) and outcome.observation.kind == "NameError"
    }
    pairs_met = {(error.missing_name, failing[claim].about) for claim, error in errors.items()}
    to_blame: dict[str, str] = {}  # the name -> the function in which it is used first
    for claim, error in errors.items():
        outcome, name = failing[claim], error.missing_name
        if name not in to_blame:
            to_blame[name] = _function_at(file, outcome.location) or outcome.about
        about = to_blame[name]
        if about != outcome.about and (name, about) in pairs_met:
            findings.append(waits(claim, outcome.about, [about]))
        else:
            sentence = _on_missing_name(outcome, error, file.solution)
            findings.append(Finding(claim, about, sentence, outcome.location, error_key=outcome.error_key))
    return findings


def _on_missing_name(outcome: Outcome, error: RaisedError, solution: Source) -> str:
    """Return what is said of a name that the file does not define."""
    imports = imports_of(solution)
    if error.missing_name in imports:
        return f"{error.words}. The file does not import it: write `{imports[error.missing_name]}` at the top."
    sentence = outcome.sentence if outcome.advice else f"{outcome.sentence}."
    if error.missing_name in PYTHON.functions(solution):
        return f"{sentence} The step gives it, outside the blanks: look at the skeleton in its chapter."
    return sentence


def _function_at(file: LearnersFile, location: Location | None) -> str | None:
    """Return the label of the function with a blank that holds a place; None if none does, or no place is known."""
    if location is None:
        return None
    for name, function in PYTHON.functions(file.source).items():
        label = name.rpartition(".")[2]
        if function.first <= location.line <= function.last and label in file.functions:
            return label
    return None


# ---------------------------------------------------------------- something given that was changed


def findings_on_changes(
    failing: Outcomes, file: LearnersFile, trials: Trials, named_functions: Collection[str] = ()
) -> tuple[list[Finding], list[Graft]]:
    """Return what is said of the claims that hold once something given is as it was, and what that is.

    Args:
        failing: the claims that failed.
        file: the learner's.
        trials: try the file with what is given as it was.
        named_functions: those with a known mistake, which says more than that what is given in them was changed.
    """
    all_changes = changes_outside_blanks(file.source, file.solution)
    changes = [change for change in all_changes if change.name not in named_functions]
    if not changes or not failing:
        return [], []
    restored = [Graft(change.name, change.statements) for change in changes]
    codes = {AS_IT_IS: file.grafted([]), AS_GIVEN: file.grafted(restored)}
    outcomes = trials.run(codes, {version: list(failing) for version in codes})
    mended = [claim for claim in failing if _holds(outcomes, AS_GIVEN, claim) and not _holds(outcomes, AS_IT_IS, claim)]
    if not mended:
        return [], []
    return _on_changes({claim: failing[claim].about for claim in mended}, changes, file.path), restored


def _on_changes(mended: Mapping[str, str], changes: Sequence[Change], path: str) -> list[Finding]:
    """Return what is said of the claims that changes are behind; ``mended`` says which function each is about."""
    names = " and ".join(change.name for change in changes)
    sentence = " ".join(change.sentence for change in changes)
    are = "are" if len(changes) > 1 else "is"
    first = next(iter(mended.values()))
    return [
        Finding(claim, names, sentence, changes[0].location(path))
        if about == first
        else Finding(claim, about, f"waits until {names} {are} as given", mark=Mark.WAITS)
        for claim, about in mended.items()
    ]


def _holds(outcomes: Mapping[str, Outcomes], version: str, claim: str) -> bool:
    """Return whether a claim holds of one version of a file; it may not have run there."""
    return claim in outcomes.get(version, {}) and outcomes[version][claim].mark == Mark.PASS


# ---------------------------------------------------------------- what is kept from one call to the next


@dataclass(frozen=True)
class SharedState:
    """What the calls of a function share, which is right in the first one: a sentence, and the place."""

    sentence: str
    location: Location | None


def first_failures_after_a_pass(outcomes_in_file: Outcomes, labels: Iterable[str]) -> dict[str, str]:
    """Return, of some functions, the first claim about each that failed, if the function had passed one before.

    A check runs the claims in the order of ``outcomes_in_file``, on one module: a pass may leave something behind.
    """
    suspects = {}
    for label in labels:
        outcomes = outcomes_about(label, outcomes_in_file)
        failing, first_outcome = failed(outcomes), next(iter(outcomes.values()))
        if failing and first_outcome.mark == Mark.PASS:
            suspects[label] = next(iter(failing))
    return suspects


def find_shared_state(
    outcomes_in_file: Outcomes, suspects: Mapping[str, str], file: LearnersFile, trials: Trials
) -> dict[str, SharedState]:
    """Return what is shared, by label of a function whose claim holds if it is the only one about a module that is new.

    Args:
        outcomes_in_file: what the claims said, one after the other.
        suspects: the claim to try, by function.
        file: the learner's.
        trials: try a claim alone.
    """
    if not suspects:
        return {}
    code = file.source.compiled(file.path)
    outcomes_alone = trials.run(dict.fromkeys(suspects, code), {label: [claim] for label, claim in suspects.items()})
    return {
        label: _shared_by(label, outcomes_in_file[claim], file)
        for label, claim in suspects.items()
        if _holds(outcomes_alone, label, claim)
    }


def _shared_by(label: str, outcome: Outcome, file: LearnersFile) -> SharedState:
    """Return what the calls of a function share; if nothing in the file is seen to be that, where its claim failed."""
    first = next(what_outlives_a_call(file.source, file.functions.get(label, "")), None)
    if first is None:
        return SharedState(f"{SHARED} {outcome.sentence}".rstrip(), outcome.location)
    line, reason = first
    return SharedState(f"{SHARED} {reason} {outcome.sentence}".rstrip(), Location(line, code_in(file.path, line)))


def what_outlives_a_call(source: Source, function: str) -> Iterator[tuple[int, str]]:
    """Yield what in a file may keep something from one call of its functions to the next: the line, and a sentence.

    What a ``function`` has itself comes first.
    """
    tables = {name_of(node) for node in source.tree.body if isinstance(getattr(node, "value", None), OUTLIVES)}
    for name, node in sorted(source.function_nodes.items(), key=lambda item: item[0] != function):
        for value in [*node.args.defaults, *node.args.kw_defaults]:
            if isinstance(value, OUTLIVES):
                yield value.lineno, f"The default {ast.unparse(value)} is made once, and all calls share it."
        for part in ast.walk(node):
            target = _changed_by(part)
            if target is None:
                continue
            code = ast.unparse(target)
            is_of_object = code.startswith("self.") and not name.endswith("__init__")
            if is_of_object or code in tables:
                yield target.lineno, f"{code} outlives the call."


def _changed_by(node: ast.AST) -> ast.expr | None:
    """Return what a piece of code changes: the list of an append, the table or attribute of an assignment."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        return node.func.value
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value
    return node if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
