"""Explain a failure: judge each function alone, and look up which known mistake it makes.

The verdict on the whole file stands. To explain it, the claims about one function are tried again with the solution's
code in all other functions that are wrong or missing (``alone.py``), so that no function is blamed for another.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.steps import Step
from checker.diagnosis import causes, mistakes
from checker.diagnosis.alone import Alone
from checker.diagnosis.causes import PERHAPS, File, Try, explained, failed, waits
from checker.diagnosis.given import changed_lines, reordered
from checker.diagnosis.mistakes import Answers
from checker.diagnosis.outcomes import Outcome, Outcomes
from checker.events import FAIL, PASS, Explanation


class Diagnosis:
    """Explains what the claims of a step said, of one file or of many.

    Args:
        step: whose claims.
        try_: runs modules and claims.
        drawn: whether the claims that failed are about a configuration drawn anew, on which no known mistake was
        tried.
    """

    def __init__(self, step: Step, try_: Try, *, drawn: bool = False) -> None:
        self.step = step
        self.try_ = try_
        self.drawn = drawn
        self.solution = step.solution_file.read_text()
        self.blamed: dict[str, dict[str, Outcome]] = {}  # by function, what its failing claims said last
        self.functions = {blank.label: blank.function for blank in blanks_of(step)}

    @functools.cached_property
    def answers(self) -> Answers:
        """What every known mistake answers, as it was recorded."""
        return {} if self.drawn else mistakes.read_answers(self.step) or {}

    @functools.cached_property
    def lies_in(self) -> Mapping[str, set[str]]:
        """The functions with a blank that each mistake spoils, by their labels."""
        return {
            name: {place.rpartition(".")[2] for place in mistakes.places(self.solution, edits, self.step.language)}
            for name, edits in self.attempts.items()
        }

    @functools.cached_property
    def attempts(self) -> Mapping[str, mistakes.Edits]:
        """How each known mistake is made."""
        return mistakes.load_attempts(self.step).mistakes

    def explain(self, outcomes: Outcomes, source: str, path: str, to_write: Collection[str] = ()) -> list[Explanation]:
        """Return the cause of each failure of a file, with the function to fix first at the front.

        Args:
            outcomes: what the claims said of it.
            source: the file.
            path: where it is.
            to_write: the labels of the functions that are still to write.
        """
        if self.step.language is not PYTHON:
            return self._explain_in_order(outcomes)
        solution_path = str(self.step.solution_file)
        file = File(source, path, self.solution, solution_path, self.functions, to_write, self.try_)
        settled = causes.from_missing_names(failed(outcomes), source, self.solution, self.functions)
        left = _without(settled, outcomes)
        restored: Collection[str] = ()
        in_other_order = reordered(source, self.solution)
        if in_other_order or not self._is_named(left, file):
            named = self._likely_named(left) - in_other_order
            of_the_given, restored = causes.from_what_is_given(failed(left), file, named)
            settled += self._by_their_names(of_the_given, source)
            left = _without(settled, outcomes)
        if not failed(left):
            return settled
        return settled + self._explain_functions(left, file, restored)

    def _by_their_names(self, said: list[Explanation], source: str) -> list[Explanation]:
        """Return what is said of something given, by the name of the known mistake that changes it alike, if any."""
        mine = changed_lines(source, self.solution) if said else set()
        made = (name for name, edits in self.attempts.items() if self._changes(edits) == mine)
        name = next(made, "") if mine else ""
        return [replace(each, sentence=name, mistake=name) if name and each.mark == FAIL else each for each in said]

    def _changes(self, edits: mistakes.Edits) -> set[tuple[str, str]]:
        return changed_lines(mistakes.edited(self.solution, edits), self.solution)

    def _is_named(self, outcomes: Outcomes, file: File) -> bool:
        """Return whether one known mistake explains a whole file, whatever in it was changed."""
        known = self._made_by(outcomes, Alone(self, file, ())) if failed(outcomes) else ""
        return bool(known) and not known.startswith(PERHAPS)

    def _likely_named(self, outcomes: Outcomes) -> set[str]:
        """Return the functions, by qualified names, whose own claims are answered as by a known mistake in them."""
        named = set()
        for label in {outcome.about for outcome in failed(outcomes).values()} & self.functions.keys():
            possible = [name for name in self.answers if self.lies_in[name] == {label}]
            if mistakes.that_agree(_of(label, outcomes), self.answers, possible):
                named.add(self.functions[label])
        return named

    def _explain_functions(self, outcomes: Outcomes, file: File, restored: Collection[str]) -> list[Explanation]:
        """Return the cause of each failure that lies in the functions with a blank.

        Args:
            outcomes: what the claims said.
            file: the learner's.
            restored: what is to be as the step gives it, outside the blanks.
        """
        refused = failed(outcomes)
        alone = Alone(self, file, restored)
        wrong: dict[str, dict[str, Outcome]] = {}
        for claim, outcome in outcomes.items():
            if outcome.mark != PASS and outcome.about not in alone.missing:
                wrong.setdefault(outcome.about, {})[claim] = outcome
        known = self._made_by(outcomes, alone)
        self.blamed = {label: own for label, seen in wrong.items() if (own := failed(seen))}
        lies_in = self.lies_in.get(known, set())
        if known and len(lies_in & wrong.keys()) != 1:
            return _all_from(refused, known)

        judged = {label: wrong[label] for label in lies_in}
        questions = {label: claims for label, claims in wrong.items() if label not in lies_in}
        judged |= alone.judge(questions, wrong.keys() | alone.missing)
        if alone.doubtful:  # a function whose own claims hold may be behind it
            others = self.functions.keys() - wrong.keys() - alone.missing
            judged |= alone.judge(dict.fromkeys(others, alone.doubtful), self.functions.keys())
        blamed = {label: own for label, seen in judged.items() if (own := failed(seen))}
        sure = blamed.keys() - alone.unfit
        blamed = {label: own for label, own in blamed.items() if label in sure or not alone.called_of(sure, label)}
        self.blamed = blamed or self.blamed
        known_of = {
            label: known if label in lies_in else self._mistake_of(label, judged[label], _of(label, outcomes), alone)
            for label in blamed
        }
        unsure = [label for label in wrong if known_of.get(label, "").startswith(PERHAPS) or not known_of.get(label)]
        said = causes.from_earlier_calls(outcomes, _first_after_a_pass(outcomes, unsure), file)
        kept = {each.about: each for each in said}
        if not blamed and not kept:
            return _all_from(refused, alone.together(refused))

        unnamed = [label for label in blamed if not known_of[label]]
        known_of |= self._copied({label: blamed[label] for label in unnamed}, file)
        order = list(dict.fromkeys(outcome.about for outcome in outcomes.values()))
        for label in sorted(blamed.keys() - kept.keys(), key=[*order, *blamed].index):
            for claim, outcome in blamed[label].items():
                said.append(explained(claim, label, known_of[label], outcome))
        answered = {each.claim for each in said}
        for claim, outcome in refused.items():
            if claim not in answered:
                waited_for = alone.called_by(outcome.about, kept.keys() | blamed.keys())
                is_kept = outcome.about in kept
                said.append(
                    replace(kept[outcome.about], claim=claim) if is_kept else waits(claim, outcome.about, waited_for)
                )
        return said

    def _copied(self, blamed: Mapping[str, Outcomes], file: File) -> dict[str, str]:
        """Return a sentence on each function whose result is what it was given; the first comparison is made again."""
        compared = {label: [claim for claim, seen in own.items() if seen.compared] for label, own in blamed.items()}
        asked = {label: claims[:1] for label, claims in compared.items() if claims}
        code = compile(file.source, str(self.step.learner_file), "exec")  # inputs of the repository's code are noted
        answers = self.try_(dict.fromkeys(asked, code), asked, show=True) if asked else {}
        seen = {label: outcome.compared for label, own in answers.items() for outcome in own.values()}
        return {
            label: f"The result is {name}, unchanged."
            for label, each in seen.items()
            if each and (name := each.copied())
        }

    def _made_by(self, outcomes: Outcomes, alone: Alone) -> str:
        """Return the known mistake that explains a whole file, or nothing.

        Of a function in which it does not lie, other than the last one, which uses all, errors tell nothing: a file may
        be put together in another way than the solution.
        """
        possible = [name for name in self.answers if not self.lies_in[name] & alone.missing]
        last, agreeing = list(outcomes.values())[-1].about, list[str]()
        for name in possible:
            own, answers = self.lies_in[name] | {last}, self.answers[name]
            telling = {
                c for c, seen in outcomes.items() if seen.about in own or not (seen.is_error or answers[c].is_error)
            }
            agreeing += mistakes.that_agree({claim: outcomes[claim] for claim in telling}, self.answers, [name])
        known = alone.closest(outcomes, agreeing)
        return "" if known.startswith(PERHAPS) else known

    def _explain_in_order(self, outcomes: Outcomes) -> list[Explanation]:
        """Return what each failure of a kernel comes from, without compiling another: the first function that is wrong.

        Every function of a kernel calls those before it and none after it, so one that comes later has to wait.
        """
        refused = failed(outcomes)
        wrong = {outcome.about for outcome in refused.values()}
        first = next(label for label in self.functions if label in wrong)
        own = _of(first, outcomes)
        self.blamed = {first: failed(own)}
        possible = [name for name in self.answers if self.lies_in[name] == {first}]
        known = [name for seen in (outcomes, own) for name in mistakes.that_agree(seen, self.answers, possible)]
        return [
            explained(claim, first, known[0] if known else "", outcome)
            if outcome.about == first
            else waits(claim, outcome.about, [first])
            for claim, outcome in refused.items()
        ]

    def _mistake_of(self, label: str, judged: Outcomes, own: Outcomes, alone: Alone) -> str:
        """Return the known mistake that one function makes, or nothing.

        Args:
            label: the function.
            judged: what the claims that failed say of it alone.
            own: what the claims about it said of the whole file.
            alone: tries more claims if these do not decide.
        """
        possible = [name for name in self.answers if self.lies_in[name] <= {label}]
        candidates = mistakes.that_agree({**own, **judged}, self.answers, possible)
        ask = mistakes.telling_apart(candidates, self.answers)
        if not candidates:  # what held of the whole file may not hold alone
            candidates, ask = mistakes.that_agree(judged, self.answers, possible), list(own.keys() - judged.keys())
        if candidates and ask:
            seen = alone.try_({label: self.functions.keys() - {label}}, {label: ask}).get(label, {})
            candidates = mistakes.that_agree(seen, self.answers, candidates)
        return alone.closest({**own, **judged}, candidates)


def _of(label: str, outcomes: Outcomes) -> dict[str, Outcome]:
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.about == label}


def _without(said: Iterable[Explanation], outcomes: Outcomes) -> dict[str, Outcome]:
    """Return the outcomes of the claims on which nothing has been said."""
    answered = {each.claim for each in said}
    return {claim: outcome for claim, outcome in outcomes.items() if claim not in answered}


def _first_after_a_pass(outcomes: Outcomes, labels: Collection[str]) -> list[str]:
    """Return, of some functions, the first claim of each that failed, if an earlier one held."""
    firsts = []
    for label in labels:
        own = _of(label, outcomes)
        first = next((claim for claim, outcome in own.items() if outcome.mark == FAIL), None)
        if first and next(iter(own.values())).mark == PASS:
            firsts.append(first)
    return firsts


def _all_from(refused: Outcomes, sentence: str) -> list[Explanation]:
    """Return the explanation of a file in which one cause, in no single function, is behind every failure."""
    (first, outcome), *others = refused.items()
    return [
        explained(first, outcome.about, sentence, outcome),
        *(waits(claim, other.about, [outcome.about]) for claim, other in others if other.about != outcome.about),
    ]
