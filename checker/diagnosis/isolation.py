"""Judge the functions of a file one by one, each beside the solution's code in the others."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType

from checker.course.languages import PYTHON
from checker.course.source import FunctionNode, Source
from checker.diagnosis.grafting import Graft, LearnersFile, Trials, graft
from checker.outcomes import Outcome, Outcomes, RaisedError, agrees, failed_outcomes
from checker.stages import Mark


@dataclass(frozen=True)
class Judgment:
    """The judgment of one function beside the solution's code in others.

    Attributes:
        label: the function.
        outcomes: the last outcomes of its claims.
        before_second_round: the outcomes before the second round of the claims that it has changed, which fail not only
            because of this function.
        fits: whether it calls the others as the solution's code can be called; else it cannot be judged alone.
    """

    label: str
    outcomes: Outcomes
    before_second_round: Outcomes = field(default_factory=dict)
    fits: bool = True


class Isolation:
    """The functions of one file, each judged alone, beside the solution's code in others.

    The parts outside the blanks that are ``restored`` are put back as the step gives them.
    """

    def __init__(self, file: LearnersFile, restored: Collection[Graft], trials: Trials) -> None:
        self.file, self.restored, self.trials, self.functions = file, restored, trials, file.functions
        self.changed_labels = _changed_labels(file)
        self.attributes_never_set = _attributes_never_set(file.source)
        self.callees = callees_of_each(file.source)

    @cached_property
    def only_functions_differ(self) -> bool:
        """Whether everything else is the solution's: imports, helpers, constants."""
        as_given = graft(self.file.source, self.file.solution, self._grafts(self.functions))
        return ast.dump(as_given) == PYTHON.meaning(self.file.solution)

    def judge(self, questions: Mapping[str, Outcomes], replaced_first: Collection[str]) -> list[Judgment]:
        """Return the judgments of functions after two rounds: beside some of the solution's others, then beside all.

        Suppose that ``a``, ``b`` and ``c`` are written, ``a`` and ``b`` are wrong, and ``a`` calls ``c``, which no
        claim of its own finds wrong. First ``a`` is tried beside the solution's ``b``, and ``b`` beside its ``a``. The
        claim of ``b`` now passes, so ``b`` only handed on what ``a`` gave it. The two claims of ``a`` fail, and are
        tried again beside the solution's ``b`` and ``c``. One says the same as before: it fails because of ``a``. The
        other passes: that has changed in the second round, so ``c`` is the next to be suspected.

        Args:
            questions: the outcomes in the file of the claims to try, by function.
            replaced_first: the labels of the functions that cannot be relied on, and are the solution's in both rounds.
        """
        return self._after_second_round(self._after_first_round(questions, replaced_first), replaced_first)

    def _after_first_round(self, questions: Mapping[str, Outcomes], replaced_first: Collection[str]) -> list[Judgment]:
        """Return the judgments of functions beside the solution's code in those ``replaced_first``.

        If that code does not fit the learner's in a claim, the claim keeps its outcome in the file.
        """
        others_replaced = {label: self._others(label) & {*replaced_first} for label in questions}
        outcomes_alone = self.try_beside(others_replaced, questions)
        judgments = []
        for label, outcomes_in_file in questions.items():
            outcomes = outcomes_alone.get(label, {})
            fitting = self._fitting_outcomes(outcomes)
            judgments.append(Judgment(label, {**outcomes_in_file, **fitting}, fits=len(fitting) == len(outcomes)))
        return judgments

    def _after_second_round(self, judgments: Iterable[Judgment], replaced_first: Collection[str]) -> list[Judgment]:
        """Return the judgments once the claims that still fail were tried beside the solution's code in all others.

        If all others are ``replaced_first``, the first round has tried just that.
        """
        claims_to_try = {}
        for judgment in judgments:
            still_failing = failed_outcomes(judgment.outcomes)
            if still_failing and not self._others(judgment.label) <= {*replaced_first}:
                claims_to_try[judgment.label] = still_failing
        outcomes_alone = self.try_beside({label: self._others(label) for label in claims_to_try}, claims_to_try)
        return [
            self._changed_by_second_round(judgment, outcomes_alone.get(judgment.label, {})) for judgment in judgments
        ]

    def _changed_by_second_round(self, judgment: Judgment, outcomes_alone: Outcomes) -> Judgment:
        """Return a judgment with the outcomes that the second round has changed, if they fit."""
        changed, before = {}, {}
        for claim, outcome in self._fitting_outcomes(outcomes_alone).items():
            if not agrees(outcome, judgment.outcomes[claim]):
                changed[claim], before[claim] = outcome, judgment.outcomes[claim]
        return replace(judgment, outcomes={**judgment.outcomes, **changed}, before_second_round=before)

    def _others(self, label: str) -> set[str]:
        return self.functions.keys() - {label}

    def to_wait_for(self, label: str, blamed: Collection[str]) -> list[str]:
        """Return the ``blamed`` functions that one waits for: those that it calls or, if none are, all others."""
        others = [other for other in blamed if other != label]
        return self.callees_among(label, others) or others

    def callees_among(self, label: str, others: Iterable[str]) -> list[str]:
        """Return which of the ``others`` one function is seen to call."""
        callees = self.callees.get(self.functions.get(label, ""), set())
        return [other for other in others if self.functions.get(other) in callees]

    def try_beside(
        self, replaced: Mapping[str, Collection[str]], claims: Mapping[str, Collection[str]]
    ) -> Mapping[str, Outcomes]:
        """Return the outcomes of claims on functions, with the solution's code in ``replaced`` ones.

        If that turns the file into the solution, the claims count as passes, and are not run.
        """
        outcomes = dict[str, Outcomes]()
        codes = dict[str, CodeType]()
        for label, labels in replaced.items():
            if self.is_solution_with(labels):
                outcomes[label] = dict.fromkeys(claims[label], Outcome(Mark.PASS, about=label))
            elif labels:
                codes[label] = self.file.grafted(self._grafts(labels))
        if codes:
            outcomes |= self.trials.run(codes, {label: list(claims[label]) for label in codes})
        return outcomes

    def is_solution_with(self, labels: Collection[str]) -> bool:
        """Return whether the solution's code in some functions turns the file into the solution."""
        if not self.changed_labels:
            return False  # it is the solution already, and was refused
        return self.changed_labels <= {*labels} and self.only_functions_differ

    def _fitting_outcomes(self, outcomes: Outcomes) -> dict[str, Outcome]:
        return {claim: outcome for claim, outcome in outcomes.items() if self._fits(outcome)}

    def _fits(self, outcome: Outcome) -> bool:
        """Return whether an outcome comes from the learner's code, not from its mixture with the solution's.

        It comes from the mixture if an attribute is missing that another of the learner's functions sets, or that the
        solution alone uses, or if a function with a blank gets arguments that the solution's does not take.
        """
        error = outcome.observation
        if not isinstance(error, RaisedError):
            return True
        attribute = error.missing_name if error.kind == "AttributeError" else ""
        if attribute and attribute not in self.attributes_never_set:
            return False
        return error.function not in self.functions

    def _grafts(self, labels: Iterable[str]) -> list[Graft]:
        """Return grafts of some functions, and those of the parts that are put back as the step gives them."""
        return [*self.restored, *(Graft(self.functions[label]) for label in labels)]


def _changed_labels(file: LearnersFile) -> set[str]:
    """Return the labels of the functions with a blank that a file lacks, or whose code differs from the solution's."""
    mine, theirs = PYTHON.functions(file.source), PYTHON.functions(file.solution)
    return {
        label
        for label, name in file.functions.items()
        if name not in mine or mine[name].meaning != theirs[name].meaning
    }


def _attributes_never_set(source: Source) -> set[str]:
    """Return the attributes that a file uses and nowhere sets."""
    attributes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)]
    set_somewhere = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
    return {node.attr for node in attributes} - set_somewhere


def callees_of_each(source: Source) -> dict[str, set[str]]:
    """Return which functions of a file each function may call, itself or through others, by qualified name.

    Names decide: a function that mentions a class may call all its methods, and a method needs ``__init__``.
    """
    nodes = source.function_nodes
    callees = {name: _functions_mentioned(name, node, nodes) for name, node in nodes.items()}
    for through in nodes:  # afterwards, calls by way of this function are known, too (Warshall's algorithm)
        for name in nodes:
            if through in callees[name]:
                callees[name] |= callees[through]
    return callees


def _functions_mentioned(caller: str, node: FunctionNode, nodes: Iterable[str]) -> set[str]:
    """Return the functions among ``nodes`` that one function calls itself."""
    own_class = caller.rpartition(".")[0]
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    attributes = {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    mentioned = set()
    for name in nodes:
        owner, _, last = name.rpartition(".")
        if not owner:
            is_mentioned = last in names
        else:
            makes_the_object = owner == own_class and last in ("__init__", "__post_init__")
            is_mentioned = owner in names or last in attributes or makes_the_object
        if is_mentioned and name != caller:
            mentioned.add(name)
    return mentioned
