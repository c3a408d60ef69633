"""Causes that lie in no single blank: a name that is missing, something given that was changed, state between calls."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Protocol

from checker.course.languages import PYTHON, Location, functions
from checker.diagnosis.given import LINES, differences, imports_of, name_of
from checker.diagnosis.grafting import compile_grafted, graft
from checker.diagnosis.locating import code_in
from checker.diagnosis.outcomes import Outcome, Outcomes, Raised
from checker.events import FAIL, PASS, WAITS, Explanation


class Try(Protocol):
    """Runs some modules, given as code by name, and then the claims that are asked for on each."""

    def __call__(
        self, codes: Mapping[str, CodeType], claims: Mapping[str, Collection[str]] | None, *, show: bool = False
    ) -> Mapping[str, Outcomes]:
        """Return the outcomes by name; with ``show``, with what the functions were given."""


AS_IT_IS, AS_GIVEN = "the file as it is", "what is given, as it was"  # versions of a file
CHANGING = ("append", "extend", "add", "update", "setdefault", "pop", "insert", "clear")
OUTLIVES = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
PERHAPS = "Perhaps: "  # before a mistake that is known by the kind of its error alone
KEPT = "It is right on its own, but not after earlier calls: something is kept from one call to the next."


def failed(outcomes: Outcomes) -> dict[str, Outcome]:
    """Return the outcomes of the claims that failed."""
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.mark == FAIL}


def explained(claim: str, about: str, mistake: str, outcome: Outcome) -> Explanation:
    """Return why a claim fails: the mistake's name, and what was measured; an error's words would say it once more.

    A mistake that only may be the cause comes behind the error's words.
    """
    if mistake.startswith(PERHAPS):
        return Explanation(f"{outcome.sentence} {mistake}", about, outcome.location, claim=claim, cause=outcome.cause)
    parts = [mistake, outcome.figures] if mistake and outcome.measured else [mistake or outcome.sentence]
    parts += [outcome.compared.tendency()] if outcome.compared and not mistake else []
    sentence, numbers = " ".join(filter(None, parts)), outcome.compared is not None
    cause = "" if mistake else outcome.cause
    return Explanation(sentence, about, outcome.location, numbers, claim=claim, mistake=mistake, cause=cause)


def waits(claim: str, about: str, labels: Collection[str]) -> Explanation:
    """Return that a claim about one function waits for others."""
    works = "work" if len(labels) > 1 else "works"
    return Explanation(f"waits until {' and '.join(labels)} {works}", about, claim=claim, mark=WAITS)


@dataclass(frozen=True)
class Kept:
    """What a function that is right on its own keeps from one call to the next: a sentence, and the place."""

    sentence: str
    location: Location | None


@dataclass(frozen=True)
class Blame:
    """A function that is to blame.

    Attributes:
        label: the function.
        outcomes: what its failing claims said last.
        mistake: the known mistake that it makes, or nothing.
        kept: what it keeps from one call to the next, if it is right but for that.
    """

    label: str
    outcomes: Outcomes
    mistake: str = ""
    kept: Kept | None = None

    def explanations(self) -> list[Explanation]:
        """Return why its claims fail."""
        if kept := self.kept:
            return [Explanation(kept.sentence, self.label, kept.location, claim=claim) for claim in self.outcomes]
        return [explained(claim, self.label, self.mistake, outcome) for claim, outcome in self.outcomes.items()]


# ---------------------------------------------------------------- a name that is missing


def from_missing_names(refused: Outcomes, source: str, solution: str, labels: Collection[str]) -> list[Explanation]:
    """Return what is said of the claims that ended at a name which the file does not define.

    Args:
        refused: the claims that failed.
        source: the learner's file.
        solution: whose imports tell what to write.
        labels: of the functions with a blank.
    """
    known, given = imports_of(solution), PYTHON.functions(solution)
    said: list[Explanation] = []
    to_blame: dict[str, str] = {}  # the name -> the function in which it is used first
    for claim, outcome in refused.items():
        error = outcome.observed
        if not (isinstance(error, Raised) and error.kind == "NameError"):
            continue
        name = error.lacking
        inside = _function_at(source, outcome.location, labels) or outcome.about
        about = to_blame.setdefault(name, inside)
        if about != outcome.about:
            said.append(waits(claim, outcome.about, [about]))
            continue
        advice, sentence = "", outcome.sentence
        if name in known:
            sentence = sentence.partition(" Did you mean")[0]
        if name in known and known[name] not in outcome.sentence:
            advice = f" The file does not import it: write `{known[name]}` at the top."
        elif name in given:
            advice = " The step gives it, outside the blanks: look at the skeleton in its chapter."
        sentence = sentence if sentence.endswith("?") else f"{sentence.rstrip('.')}."
        said.append(Explanation(f"{sentence}{advice}", about, outcome.location, claim=claim, cause=outcome.cause))
    return said


def _function_at(source: str, location: Location | None, labels: Collection[str]) -> str:
    """Return the label of the function with a blank that holds a place, or nothing."""
    if location is None:
        return ""
    holding = (name for name, each in PYTHON.functions(source).items() if each.first <= location.line <= each.last)
    return next((label for name in holding if (label := name.rpartition(".")[2]) in labels), "")


# ---------------------------------------------------------------- something given that was changed


@dataclass(frozen=True)
class File:
    """A learner's file beside the solution: the ``source`` of both and where they are, and what a learner writes.

    ``step_path`` is where the file of this step belongs: what the code there is given can be noted.
    ``functions`` are those with a blank, by label, and ``to_write`` the labels of those that are still to write;
    ``try_`` runs edited versions of the file.
    """

    source: str
    path: str
    solution: str
    solution_path: str
    step_path: str
    functions: Mapping[str, str]
    to_write: Collection[str]
    try_: Try

    def grafted(self, theirs: Collection[str]) -> CodeType:
        """Return the file with the solution's code in the place of ``theirs``, by qualified names."""
        tree = graft(self.source, self.solution, theirs)
        return compile_grafted(tree, self.solution, self.path, self.solution_path)


def from_what_is_given(
    refused: Outcomes, file: File, named: Collection[str] = ()
) -> tuple[list[Explanation], set[str]]:
    """Return what is said of the claims that hold once something given is as it was, and the names of that.

    Args:
        refused: the claims that failed.
        file: the learner's.
        named: functions with a known mistake, which says more than that what is given in them was changed.
    """
    all_found = differences(file.source, file.solution)
    found = {each.name: each for each in all_found if each.name.partition(LINES)[0] not in named}
    if not found or not refused:
        return [], set()
    codes = {AS_IT_IS: file.grafted([]), AS_GIVEN: file.grafted(found)}
    answers = file.try_(codes, {version: list(refused) for version in codes})
    mended = [claim for claim in refused if _holds(answers, AS_GIVEN, claim) and not _holds(answers, AS_IT_IS, claim)]
    if not mended:
        return [], set()
    names = " and ".join(name.partition(LINES)[0] for name in found)
    sentence, place = " ".join(each.sentence for each in found.values()), next(iter(found.values())).location(file.path)
    is_as_given = f"waits until {names} {'are' if len(found) > 1 else 'is'} as given"
    first = refused[mended[0]].about
    return [
        Explanation(sentence, names, place, claim=claim)
        if refused[claim].about == first
        else Explanation(is_as_given, refused[claim].about, claim=claim, mark=WAITS)
        for claim in mended
    ], set(found)


def _holds(answers: Mapping[str, Outcomes], version: str, claim: str) -> bool:
    return claim in answers.get(version, {}) and answers[version][claim].mark == PASS


# ---------------------------------------------------------------- what is kept from one call to the next


def kept_between_calls(outcomes: Outcomes, suspects: Mapping[str, str], file: File) -> dict[str, Kept]:
    """Return what functions keep, by label: those whose claim holds when it is the only one about a module that is new.

    Args:
        outcomes: what the claims said, one after the other.
        suspects: the claim to try, by function.
        file: the learner's.
    """
    code = compile(file.source, file.path, "exec")
    answers = file.try_(dict.fromkeys(suspects, code), {label: [claim] for label, claim in suspects.items()})
    return {
        label: _kept_by(label, outcomes[claim], file)
        for label, claim in suspects.items()
        if _holds(answers, label, claim)
    }


def _kept_by(label: str, outcome: Outcome, file: File) -> Kept:
    line, why = next(what_outlives_a_call(ast.parse(file.source), file.functions.get(label, "")), (0, ""))
    location = Location(line, code_in(file.path, line)) if line else outcome.location
    return Kept(" ".join(filter(None, [KEPT, why, outcome.sentence])), location)


def what_outlives_a_call(tree: ast.Module, function: str) -> Iterator[tuple[int, str]]:
    """Yield what in a file may keep something from one call of its functions to the next: the line, and a sentence.

    What a ``function`` has itself comes first.
    """
    tables = {name_of(node) for node in tree.body if isinstance(getattr(node, "value", None), OUTLIVES)}
    for name, node in sorted(functions(tree).items(), key=lambda item: item[0] != function):
        for value in [*node.args.defaults, *node.args.kw_defaults]:
            if isinstance(value, OUTLIVES):
                yield value.lineno, f"The default {ast.unparse(value)} is made once, and all calls share it."
        for part in ast.walk(node):
            changed = _changed_by(part)
            is_own = ast.unparse(changed).startswith("self.") and not name.endswith("__init__") if changed else False
            if changed and (is_own or ast.unparse(changed) in tables):
                yield changed.lineno, f"{ast.unparse(changed)} outlives the call."


def _changed_by(node: ast.AST) -> ast.expr | None:
    """Return what a piece of code changes: the list of an append, the table or attribute of an assignment."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        return node.func.value
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return node.value
    return node if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else None
