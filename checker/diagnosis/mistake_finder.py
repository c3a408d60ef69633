"""Find the known mistake that a file, or one of its functions, makes: the one that gives the same outcomes."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from checker.course.languages import PYTHON, Function
from checker.diagnosis.grafting import LearnersFile
from checker.diagnosis.mistakes import KnownMistakes, agrees_by_numbers, agrees_to_the_letter
from checker.outcomes import Outcomes, failed

CALL = re.compile(r"(\w+)\(")  # in a piece of source


@dataclass(frozen=True)
class Mistake:
    """The mistake behind some failures, by its name, or nothing.

    It is a guess if only the kind of its errors is the same, and the sizes in them are others.
    """

    name: str
    is_guess: bool = False


NO_MISTAKE = Mistake("")


class MistakeFinder:
    """Finds the known mistakes that explain what claims say of one file.

    Args:
        file: the learner's.
        known_mistakes: those that can be found.
    """

    def __init__(self, file: LearnersFile, known_mistakes: KnownMistakes) -> None:
        self.file, self.known_mistakes = file, known_mistakes

    @cached_property
    def own_functions(self) -> dict[str, Function]:
        """The functions with a blank that the file has, by label."""
        functions = PYTHON.functions(self.file.source)
        return {label: functions[name] for label, name in self.file.functions.items() if name in functions}

    def lies_in(self, mistake: str) -> set[str]:
        """Return the labels of the functions in which a mistake lies; none of no mistake."""
        return self.known_mistakes.lies_in[mistake] if mistake else set()

    def find_in_file(self, outcomes: Outcomes) -> str:
        """Return the known mistake that explains a whole file, or nothing.

        Of a function in which it does not lie, other than the last one, which uses all, errors tell nothing: a file may
        be put together in another way than the solution.
        """
        if not failed(outcomes):
            return ""
        last = list(outcomes.values())[-1].about
        agreeing = list[str]()
        for mistake, answers in self.known_mistakes.answers.items():
            if self.lies_in(mistake) & {*self.file.to_write}:
                continue
            decisive = self.lies_in(mistake) | {last}
            telling = {
                claim: outcome
                for claim, outcome in outcomes.items()
                if outcome.about in decisive or not (outcome.is_error or answers.get(claim, outcome).is_error)
            }
            agreeing += self.known_mistakes.agreeing_mistakes(telling, [mistake])
        closest = self.closest(outcomes, agreeing)
        return "" if closest.is_guess else closest.name

    def candidates_in_function(self, label: str, alone: Outcomes, in_file: Outcomes) -> tuple[list[str], list[str]]:
        """Return the known mistakes that one function may make, and the claims that could tell which of them it is.

        Args:
            label: the function.
            alone: what the claims that failed say of it alone.
            in_file: what the claims about it said of the whole file.
        """
        outcomes = {**in_file, **alone}  # of the whole file, unless they were tried alone
        absent = self.file.functions.keys() - self.own_functions.keys()  # others do what these would
        nowhere_else = {label} | absent
        possible = [mistake for mistake in self.known_mistakes.answers if self.lies_in(mistake) <= nowhere_else]
        candidates = self.known_mistakes.agreeing_mistakes(outcomes, possible)
        if candidates:
            return candidates, self.known_mistakes.distinguishing_claims(candidates)
        # What held of the whole file may not hold alone.
        return self.known_mistakes.agreeing_mistakes(alone, possible), list(in_file.keys() - alone.keys())

    def closest(self, outcomes: Outcomes, mistakes: Collection[str]) -> Mistake:
        """Return that of some mistakes which agree with ``outcomes`` that is the most like, or nothing.

        One that is known by its errors alone has to call what the learner's function calls, and it is a guess unless
        the sizes in the errors are the same.
        """
        answers = self.known_mistakes.answers
        proven = [mistake for mistake in mistakes if agrees_by_numbers(outcomes, answers[mistake])]
        candidates = proven or [mistake for mistake in mistakes if self.is_possible(mistake)]
        name = self.known_mistakes.closest(outcomes, candidates)
        is_guess = name != "" and not proven and not agrees_to_the_letter(outcomes, answers[name])
        return Mistake(name, is_guess)

    def is_possible(self, mistake: str) -> bool:
        """Return whether the learner's functions in which a mistake would lie call all that it calls."""
        labels = self.lies_in(mistake)
        if not labels:
            return True
        own_calls = set[str]()
        for label, function in self.own_functions.items():
            if label in labels:
                own_calls.update(CALL.findall("\n".join(self.file.source.lines[function.first - 1 : function.last])))
        calls_of_mistake = CALL.findall("\n".join(self.known_mistakes.edits[mistake].values()))
        return own_calls.issuperset(calls_of_mistake)
