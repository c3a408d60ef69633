"""Judge the functions of a file one by one, each beside the solution's code in the others."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from checker.course.languages import PYTHON, calls
from checker.diagnosis import mistakes
from checker.diagnosis.causes import PERHAPS, File, failed
from checker.diagnosis.grafting import graft
from checker.diagnosis.outcomes import Outcome, Outcomes, Raised, agrees
from checker.events import PASS

if TYPE_CHECKING:
    from checker.diagnosis.explanation import Diagnosis

CALL = re.compile(r"TypeError: (?:\w+\.)*(\w+)\(\) (?:takes|got|missing)")
CALL = re.compile(r"(\w+)\(")  # in a piece of source
TOGETHER = "Each function is right alone, but together they are not."


class Alone:
    """The functions of one file, each judged beside the solution's code in others.

    Attributes:
        missing: the labels of those that are still to write.
        changed: the labels of those whose code differs from the solution's.
        calls: what each may call.
        only_functions_differ: whether everything else is the solution's: imports, helpers, constants.
        doubtful: claims that failed when they were judged, but not only because of the function that they are about.
        unfit: the labels of those that call others in another way than the solution, so they cannot be judged alone.
    """

    def __init__(self, diagnosis: Diagnosis, file: File, restored: Collection[str]) -> None:
        self.diagnosis, self.file, self.restored = diagnosis, file, restored
        source = file.source
        tree = ast.parse(source)
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        assigned = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
        self.unset = {node.attr for node in attributes} - assigned
        mine, theirs = PYTHON.functions(source), PYTHON.functions(diagnosis.solution)
        names = diagnosis.functions.items()
        self.changed = {label for label, name in names if name not in mine or mine[name].means != theirs[name].means}
        self.calls = calls(tree)
        as_given = graft(source, file.solution, self._theirs(diagnosis.functions))
        self.only_functions_differ = ast.dump(as_given) == PYTHON.meaning(file.solution)
        self.missing = {*file.to_write}
        self.doubtful: dict[str, Outcome] = {}
        self.unfit: set[str] = set()

    def judge(self, questions: Mapping[str, Outcomes], wrong: Collection[str]) -> dict[str, dict[str, Outcome]]:
        """Return what claims say of single functions.

        Each is tried with the solution's code in the other ``wrong`` functions; if a claim still fails, it is tried
        with the solution's code in all others. If that code does not fit the learner's, the claim keeps what it said
        before.

        Args:
            questions: by function, the claims and what they said of the whole file.
            wrong: the labels of the functions that cannot be relied on.
        """
        labels = self.diagnosis.functions.keys()
        judged = {label: dict(claims) for label, claims in questions.items()}
        beside_right = {label: (labels & set(wrong)) - {label} for label in questions}
        for label, outcomes in self.try_(beside_right, questions).items():
            fitting = {claim: outcome for claim, outcome in outcomes.items() if self._fits(outcome)}
            judged[label] |= fitting
            if len(fitting) < len(outcomes):
                self.unfit.add(label)
        doubted = {label: own for label, outcomes in judged.items() if (own := failed(outcomes))}
        beside_none = {label: labels - {label} for label in doubted if labels - {label} != beside_right[label]}
        for label, outcomes in self.try_(beside_none, doubted).items():
            for claim, outcome in outcomes.items():
                if self._fits(outcome) and not agrees(outcome, judged[label][claim]):
                    self.doubtful[claim] = judged[label][claim]
                    judged[label][claim] = outcome
        return judged

    def called_by(self, label: str, wrong: Collection[str]) -> list[str]:
        """Return those of the ``wrong`` functions that one calls; if it is seen to call none, all but itself."""
        others = [other for other in wrong if other != label]
        return self.called_of(others, label) or others or list(wrong)

    def called_of(self, others: Iterable[str], label: str) -> list[str]:
        """Return those of the ``others`` that one function is seen to call."""
        names = self.diagnosis.functions
        called = self.calls.get(names.get(label, ""), set())
        return [other for other in others if names.get(other) in called]

    def try_(
        self, replaced: Mapping[str, Collection[str]], claims: Mapping[str, Collection[str]]
    ) -> Mapping[str, Outcomes]:
        """Return what claims say of single functions, with the solution's code in ``replaced`` ones.

        If that turns the file into the solution, the claims pass without being run.
        """
        asked = {label: set(labels) for label, labels in replaced.items() if labels}
        becomes_right = self.only_functions_differ and self.changed  # the solution itself was refused
        right = {label for label, labels in asked.items() if becomes_right and self.changed <= labels}
        codes = {
            label: self.file.grafted(self._theirs(labels)) for label, labels in asked.items() if label not in right
        }
        tried = self.diagnosis.try_(codes, {label: list(claims[label]) for label in codes}) if codes else {}
        return {**tried, **{label: dict.fromkeys(claims[label], Outcome(PASS, about=label)) for label in right}}

    def _fits(self, outcome: Outcome) -> bool:
        """Return whether an outcome is the learner's own doing, though the solution's code was beside theirs.

        It is not if the missing attribute is one that another of the learner's functions sets, or that the solution
        alone uses, or if a function with a blank is called with arguments that the solution's does not take.
        """
        error = outcome.observed
        if not isinstance(error, Raised):
            return True
        is_set_elsewhere = error.kind == "AttributeError" and error.lacking and error.lacking not in self.unset
        return not is_set_elsewhere and error.called not in self.diagnosis.functions

    def closest(self, outcomes: Outcomes, names: Collection[str]) -> str:
        """Return that of some mistakes which agree with ``outcomes`` that is the most like, or nothing.

        One that is known by its errors alone has to call what the learner's function calls; and it is named with a
        "Perhaps" if the sizes in the errors are others.
        """
        answers = self.diagnosis.answers
        proven = [name for name in names if mistakes.by_numbers(outcomes, answers[name])]
        likely = proven or [name for name in names if self.calls_the_same(name)]
        name = mistakes.closest(outcomes, answers, likely)
        return name if not name or proven or mistakes.to_the_letter(outcomes, answers[name]) else PERHAPS + name

    def calls_the_same(self, name: str) -> bool:
        """Return whether the learner's functions in which a mistake would lie call all that it calls."""
        places, lines = self.diagnosis.lies_in[name], self.file.source.splitlines()
        own = [each for label, each in PYTHON.functions(self.file.source).items() if label.rpartition(".")[2] in places]
        called = CALL.findall("\n".join(line for each in own for line in lines[each.first - 1 : each.last]))
        made = CALL.findall("\n".join(self.diagnosis.attempts[name].values()))
        return not places or {*made} <= {*called}

    def together(self, refused: Outcomes) -> str:
        """Return what is said if each function is right alone; nothing if an error, or the only function, says more."""
        written = self.changed - self.missing
        first = next(iter(refused.values()))
        return "" if first.is_error or len(written) < 2 else TOGETHER

    def _theirs(self, labels: Iterable[str]) -> list[str]:
        """Return the qualified names of some functions, and of what is to be as the step gives it."""
        return [*self.restored, *(self.file.functions[label] for label in labels)]
