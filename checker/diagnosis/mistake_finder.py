"""Find the known mistake that a file, or one of its functions, makes: the mistake with the same outcomes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

from checker.course.languages import PYTHON, Function
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.mistakes import KnownMistakes, agrees_by_numbers, agrees_to_the_letter
from checker.outcomes import Outcome, Outcomes, failed_outcomes

CALL = re.compile(r"(\w+)\(")  # in a piece of source


@dataclass(frozen=True)
class Mistake:
    """A known mistake that a file, or one of its functions, makes, by its name.

    It is a guess if the errors are only of the same kind, with other sizes in their messages.
    """

    name: str
    is_guess: bool = False


class MistakeFinder:
    """Finds the known mistakes that explain the outcomes of one file."""

    def __init__(self, file: LearnersFile, known_mistakes: KnownMistakes) -> None:
        self.file, self.known_mistakes = file, known_mistakes

    @cached_property
    def own_functions(self) -> dict[str, Function]:
        """The functions with a blank that the file has, by label."""
        functions = PYTHON.functions(self.file.source)
        return {label: functions[name] for label, name in self.file.functions.items() if name in functions}

    def find_in_file(self, outcomes_in_file: Outcomes) -> Mistake | None:
        """Return the known mistake that surely explains a whole file, or None.

        A file may be put together in another way than the solution, and then raises its errors elsewhere. So errors
        count only in claims about a function in which the mistake lies, or about the last one, which uses the others.
        """
        if not failed_outcomes(outcomes_in_file):
            return None
        agreeing = []
        for name, answers in self.known_mistakes.answers.items():
            lies_in = self.known_mistakes.lies_in[name]
            if lies_in & {*self.file.to_write}:
                continue
            deciding_outcomes = {
                claim: outcome
                for claim, outcome in outcomes_in_file.items()
                if _decides(outcome, answers.get(claim), {*lies_in, self.file.last_label})
            }
            if self.known_mistakes.agrees_with(name, deciding_outcomes):
                agreeing.append(name)
        best = self.best_of(agreeing, outcomes_in_file)
        return None if best is None or best.is_guess else best

    def find_in_function(
        self, label: str, outcomes_alone: Outcomes, outcomes_in_file: Outcomes, ask: Callable[[list[str]], Outcomes]
    ) -> Mistake | None:
        """Return the known mistake that one function makes, if any; it may be a guess.

        Args:
            label: the function.
            outcomes_alone: the outcomes, on the function alone, of the claims that failed.
            outcomes_in_file: the outcomes in the file of the claims about the function.
            ask: returns the outcomes of further claims on the function alone.
        """
        latest_outcomes = {**outcomes_in_file, **outcomes_alone}
        absent = self.file.functions.keys() - self.own_functions.keys()  # others do what these would
        nowhere_else = {label} | absent
        known = self.known_mistakes
        possible = [name for name in known.answers if known.lies_in[name] <= nowhere_else]
        candidates = known.agreeing_mistakes(latest_outcomes, possible)
        if candidates:
            claims_to_ask = known.distinguishing_claims(candidates)
        else:  # what held of the whole file may not hold alone
            candidates = known.agreeing_mistakes(outcomes_alone, possible)
            claims_to_ask = list(outcomes_in_file.keys() - outcomes_alone.keys())
        if candidates and claims_to_ask:
            candidates = known.agreeing_mistakes(ask(claims_to_ask), candidates)
        return self.best_of(candidates, latest_outcomes)

    def best_of(self, names: Collection[str], outcomes: Outcomes) -> Mistake | None:
        """Return the best of some mistakes that agree with ``outcomes``; None if none is possible.

        A mistake that is known by its errors alone must not call functions that the learner's code does not call, and
        it is a guess unless the sizes in the errors are the same.
        """
        answers = self.known_mistakes.answers
        proven = [name for name in names if agrees_by_numbers(outcomes, answers[name])]
        candidates = proven or [name for name in names if self.is_possible(name)]
        closest = self.known_mistakes.closest(outcomes, candidates)
        if closest is None:
            return None
        is_sure = bool(proven) or agrees_to_the_letter(outcomes, answers[closest])
        return Mistake(closest, is_guess=not is_sure)

    def is_possible(self, mistake: str) -> bool:
        """Return whether the learner's functions in which a mistake would lie call all functions that it calls."""
        labels = self.known_mistakes.lies_in[mistake]
        if not labels:
            return True
        own_calls = set[str]()
        for label, function in self.own_functions.items():
            if label in labels:
                own_calls.update(CALL.findall("\n".join(self.file.source.lines[function.first - 1 : function.last])))
        calls_of_mistake = CALL.findall("\n".join(self.known_mistakes.edits[mistake].values()))
        return own_calls.issuperset(calls_of_mistake)


def _decides(outcome: Outcome, answer: Outcome | None, whose_errors_count: Collection[str]) -> bool:
    """Return whether an outcome in the file counts for or against a mistake with this ``answer``."""
    if outcome.about in whose_errors_count:
        return True
    if outcome.is_error:
        return False
    return answer is None or not answer.is_error
