"""Causes that lie in no single blank: a missing name, a change outside the blanks, state between calls."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checker.course.blanks import label_of
from checker.course.languages import PYTHON
from checker.course.reading import Location
from checker.course.source import Source
from checker.diagnosis.findings import finding_that_waits
from checker.diagnosis.frames import code_in
from checker.diagnosis.grafting import Graft, LearnersFile, Trials
from checker.diagnosis.outside_blanks import NOT_IMPORTED, Change, changes_outside_blanks, imports_of, name_of
from checker.outcomes import Outcome, Outcomes, RaisedError, failed_outcomes, outcomes_about
from checker.protocol.events import Finding, Reason
from checker.stages import Mark

AS_IT_IS, AS_GIVEN = "the file as it is", "what is given, as it was"  # the names of two versions of a file
CHANGING = ("append", "extend", "add", "update", "setdefault", "pop", "insert", "clear")
OUTLIVES = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
SHARED = "It is right on its own, but not after earlier calls: something is kept from one call to the next."


# ---------------------------------------------------------------- a missing name


def findings_on_missing_names(failing: Outcomes, file: LearnersFile) -> list[Finding]:
    """Return findings on the claims that ended at a name which the file does not define.

    The solution's imports tell what to write. A claim about another function waits for the one in which the name
    stands, if a claim about that one also ended at the name.
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
            findings.append(finding_that_waits(claim, outcome.about, [about]))
        else:
            sentence = _sentence_on_missing_name(outcome, error, file.solution)
            findings.append(Finding(claim, about, replace(outcome.why, sentence=sentence, comes_from_max=False)))
    return findings


def _sentence_on_missing_name(outcome: Outcome, error: RaisedError, solution: Source) -> str:
    """Return a sentence on a name that the file does not define."""
    imports = imports_of(solution)
    if error.missing_name in imports:
        return f"{error.as_printed}. {NOT_IMPORTED.format(imports[error.missing_name])}"
    sentence = outcome.reason if outcome.reason.endswith((".", "?")) else f"{outcome.reason}."
    if error.missing_name in PYTHON.functions(solution):
        return f"{sentence} The step gives it, outside the blanks: look at the skeleton in its chapter."
    return sentence


def _function_at(file: LearnersFile, location: Location | None) -> str | None:
    """Return the label of the function with a blank that holds a place; None if none does, or no place is known."""
    if location is None:
        return None
    for name, function in PYTHON.functions(file.source).items():
        label = label_of(name)
        if function.first <= location.line <= function.last and label in file.functions:
            return label
    return None


# ---------------------------------------------------------------- a change outside the blanks


def findings_on_changes(
    failing: Outcomes, file: LearnersFile, trials: Trials, named_functions: Collection[str] = ()
) -> tuple[list[Finding], list[Graft]]:
    """Return findings on the claims that hold once the given parts are restored, and grafts that restore them.

    The ``named_functions`` have a known mistake, whose name says more than that a given part was changed.
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
    return _findings_for_changes({claim: failing[claim].about for claim in mended}, changes, file.path), restored


def _findings_for_changes(mended: Mapping[str, str], changes: Sequence[Change], path: str) -> list[Finding]:
    """Return findings on the ``mended`` claims, which hold without the changes; each is given with its function."""
    names = [change.name for change in changes]
    sentence = " ".join(change.sentence for change in changes)
    first = next(iter(mended.values()))
    return [
        Finding(claim, " and ".join(names), Reason(sentence, changes[0].location(path)))
        if about == first
        else finding_that_waits(claim, about, names, "is as given", "are as given")
        for claim, about in mended.items()
    ]


def _holds(outcomes: Mapping[str, Outcomes], version: str, claim: str) -> bool:
    """Return whether a claim has run on one version of a file, and holds."""
    return claim in outcomes.get(version, {}) and outcomes[version][claim].mark is Mark.PASS


# ---------------------------------------------------------------- state between calls


@dataclass(frozen=True)
class SharedState:
    """State that the calls of a function share, of which only the first is right: a sentence, and the place."""

    sentence: str
    location: Location | None


def find_shared_state(
    labels: Iterable[str], outcomes_in_file: Outcomes, file: LearnersFile, trials: Trials
) -> dict[str, SharedState]:
    """Return the shared state of some functions, by label: of those whose first failure holds on a module of its own.

    A check runs the claims in the order of ``outcomes_in_file``, on one module, so an earlier call may leave state
    behind. A function whose very first claim fails is not tried.
    """
    claims = dict[str, str]()
    for label in labels:
        outcomes = outcomes_about(label, outcomes_in_file)
        failing, first_outcome = failed_outcomes(outcomes), next(iter(outcomes.values()))
        if failing and first_outcome.mark is Mark.PASS:
            claims[label] = next(iter(failing))
    if not claims:
        return {}
    code = file.source.compiled(file.path)
    outcomes_alone = trials.run(dict.fromkeys(claims, code), {label: [claim] for label, claim in claims.items()})
    return {
        label: _state_shared_by(label, outcomes_in_file[claim], file)
        for label, claim in claims.items()
        if _holds(outcomes_alone, label, claim)
    }


def _state_shared_by(label: str, outcome: Outcome, file: LearnersFile) -> SharedState:
    """Return the state that the calls of a function share; if none is seen in the file, the place where it failed."""
    first = next(state_that_outlives_a_call(file.source, file.functions.get(label, "")), None)
    if first is None:
        return SharedState(f"{SHARED} {outcome.reason}".rstrip(), outcome.location)
    line, reason = first
    return SharedState(f"{SHARED} {reason} {outcome.reason}".rstrip(), Location(line, code_in(file.path, line)))


def state_that_outlives_a_call(source: Source, function: str) -> Iterator[tuple[int, str]]:
    """Yield the places of a file that may keep state from one call of its functions to the next, with a sentence.

    The places in one ``function`` come first.
    """
    tables = {name_of(node) for node in source.tree.body if isinstance(getattr(node, "value", None), OUTLIVES)}
    for name, node in sorted(source.function_nodes.items(), key=lambda item: item[0] != function):
        for value in [*node.args.defaults, *node.args.kw_defaults]:
            if isinstance(value, OUTLIVES):
                yield value.lineno, f"The default {ast.unparse(value)} is made once, and all calls share it."
        for part in ast.walk(node):
            target = _target_changed_by(part)
            if target is None:
                continue
            code = ast.unparse(target)
            is_of_object = code.startswith("self.") and not name.endswith("__init__")
            if is_of_object or code in tables:
                yield target.lineno, f"{code} outlives the call."


def _target_changed_by(node: ast.AST) -> ast.expr | None:
    """Return the expression that a piece of code changes: the list of an append, the table or attribute assigned to."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        return node.func.value
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value
    return node if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
