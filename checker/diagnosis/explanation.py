"""Explain a failure: judge each function alone, and look up which known mistake it makes.

The verdict on the whole file stands. To explain it, the claims about one function are tried again with the solution's
code in all other functions that are wrong or missing (``alone.py``), so that no function is blamed for another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON
from checker.course.steps import Step
from checker.diagnosis import causes, mistakes
from checker.diagnosis.alone import Alone
from checker.diagnosis.causes import PERHAPS, Blame, File, Try, explained, failed, waits
from checker.diagnosis.given import changed_lines, reordered
from checker.diagnosis.mistakes import Edits, KnownMistakes
from checker.diagnosis.outcomes import Outcomes
from checker.events import FAIL, PASS, Explanation

CALL = re.compile(r"(\w+)\(")  # in a piece of source
TOGETHER = "Each function is right alone, but together they are not."


@dataclass(frozen=True)
class Diagnosis:
    """Why a file fails: what is said of each claim, with the function to fix first at the front, and what is blamed."""

    explanations: list[Explanation]
    blamed: tuple[Blame, ...] = ()


class Explainer:
    """Explains what the claims of a step said, of one file or of many.

    Args:
        step: whose claims.
        try_: runs modules and claims.
        known: the mistakes that can be named; none, if the claims that failed are about a configuration drawn anew.
    """

    def __init__(self, step: Step, try_: Try, known: KnownMistakes) -> None:
        self.step, self.try_, self.known = step, try_, known
        self.solution = step.solution_file.read_text()
        self.functions = {blank.label: blank.function for blank in blanks_of(step)}

    def explain(self, outcomes: Outcomes, source: str, path: str, to_write: Collection[str] = ()) -> Diagnosis:
        """Return the cause of each failure of a file.

        Args:
            outcomes: what the claims said of it.
            source: the file.
            path: where it is.
            to_write: the labels of the functions that are still to write.
        """
        if self.step.language is not PYTHON:
            return self._explain_in_order(outcomes)
        solution_path, step_path = str(self.step.solution_file), str(self.step.learner_file)
        file = File(source, path, self.solution, solution_path, step_path, self.functions, to_write, self.try_)
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
            return Diagnosis(settled)
        of_functions = OfFunctions(file, self.known, restored).explain(left)
        return replace(of_functions, explanations=settled + of_functions.explanations)

    def _by_their_names(self, said: list[Explanation], source: str) -> list[Explanation]:
        """Return what is said of something given, by the name of the known mistake that changes it alike, if any."""
        mine = changed_lines(source, self.solution) if said else set()
        made = (name for name, edits in self.known.edits.items() if self._changes(edits) == mine)
        name = next(made, "") if mine else ""
        return [replace(each, sentence=name, mistake=name) if name and each.mark == FAIL else each for each in said]

    def _changes(self, edits: Edits) -> set[tuple[str, str]]:
        return changed_lines(mistakes.edited(self.solution, edits), self.solution)

    def _is_named(self, outcomes: Outcomes, file: File) -> bool:
        """Return whether one known mistake explains a whole file, whatever in it was changed."""
        return bool(failed(outcomes)) and bool(OfFunctions(file, self.known, ()).made_by(outcomes))

    def _likely_named(self, outcomes: Outcomes) -> set[str]:
        """Return the functions, by qualified names, whose own claims are answered as by a known mistake in them."""
        labels = {outcome.about for outcome in failed(outcomes).values()} & self.functions.keys()
        return {
            self.functions[label]
            for label in labels
            if self.known.that_agree(_of(label, outcomes), self.known.only_in(label))
        }

    def _explain_in_order(self, outcomes: Outcomes) -> Diagnosis:
        """Return what each failure of a kernel comes from, without compiling another: the first function that is wrong.

        Every function of a kernel calls those before it and none after it, so one that comes later has to wait.
        """
        refused = failed(outcomes)
        wrong = {outcome.about for outcome in refused.values()}
        first = next(label for label in self.functions if label in wrong)
        own, possible = _of(first, outcomes), self.known.only_in(first)
        known = [name for seen in (outcomes, own) for name in self.known.that_agree(seen, possible)]
        blame = Blame(first, failed(own), known[0] if known else "")
        explanations = [
            explained(claim, first, blame.mistake, outcome)
            if outcome.about == first
            else waits(claim, outcome.about, [first])
            for claim, outcome in refused.items()
        ]
        return Diagnosis(explanations, (blame,))


class OfFunctions:
    """Explains the failures of one file that lie in its functions with a blank.

    Args:
        file: the learner's.
        known: the mistakes that can be named.
        restored: what is to be as the step gives it, outside the blanks.
    """

    def __init__(self, file: File, known: KnownMistakes, restored: Collection[str]) -> None:
        self.file, self.known, self.restored, self.functions = file, known, restored, file.functions

    @cached_property
    def alone(self) -> Alone:
        """The functions of the file, each beside the solution's code in others; a named file needs none of it."""
        return Alone(self.file, self.restored)

    @cached_property
    def absent(self) -> set[str]:
        """The functions that the file does without: what they do in the solution, others do in it."""
        return {label for label, name in self.functions.items() if name not in PYTHON.functions(self.file.source)}

    def explain(self, outcomes: Outcomes) -> Diagnosis:
        """Return the cause of each failure."""
        refused, wrong = failed(outcomes), self._wrong(outcomes)
        known = self.made_by(outcomes)
        lies_in = self.known.lies_in.get(known, set())
        unjudged = tuple(Blame(label, own) for label, seen in wrong.items() if (own := failed(seen)))
        if known and len(lies_in & wrong.keys()) != 1:
            return Diagnosis(_all_from(refused, known), unjudged)

        blamed = self._keeping(outcomes, wrong, self._blamed(outcomes, wrong, known))
        if not blamed:
            return Diagnosis(_all_from(refused, self._together(refused)), unjudged)
        return Diagnosis(self._said(outcomes, self._copied(blamed)), blamed)

    def _wrong(self, outcomes: Outcomes) -> dict[str, Outcomes]:
        """Return what the claims about each function said that do not hold, but for those that are still to write."""
        about = dict.fromkeys(outcome.about for outcome in outcomes.values() if outcome.mark != PASS)
        return {
            label: {claim: seen for claim, seen in _of(label, outcomes).items() if seen.mark != PASS}
            for label in about
            if label not in self.alone.missing
        }

    def _blamed(self, outcomes: Outcomes, wrong: Mapping[str, Outcomes], known: str) -> tuple[Blame, ...]:
        """Return the functions that are to blame; the one in which a ``known`` mistake lies need not be judged."""
        alone, lies_in = self.alone, self.known.lies_in.get(known, set())
        judged = alone.judge(
            {label: claims for label, claims in wrong.items() if label not in lies_in}, wrong.keys() | alone.missing
        )
        if doubted := {claim: seen for each in judged for claim, seen in each.doubted.items()}:
            others = self.functions.keys() - wrong.keys() - alone.missing  # one whose own claims hold may be behind it
            judged += alone.judge(dict.fromkeys(others, doubted), self.functions.keys())
        unfit = {each.label for each in judged if not each.fits}
        all_judged = {label: wrong[label] for label in lies_in & wrong.keys()} | {
            each.label: each.outcomes for each in judged
        }
        failing = {label: own for label, seen in all_judged.items() if (own := failed(seen))}
        sure = failing.keys() - unfit
        order = list(dict.fromkeys([*(outcome.about for outcome in outcomes.values()), *failing]))
        blamed = (
            Blame(
                label,
                failing[label],
                known if label in lies_in else self._mistake_of(label, all_judged[label], _of(label, outcomes)),
            )
            for label in sorted(failing, key=order.index)
            if label in sure or not alone.called_of(sure, label)
        )
        return tuple(blamed)

    def _keeping(self, outcomes: Outcomes, wrong: Collection[str], blamed: tuple[Blame, ...]) -> tuple[Blame, ...]:
        """Return what is blamed, first what only goes wrong because it keeps something, unless its mistake is known."""
        sure = {blame.label for blame in blamed if blame.mistake and not blame.mistake.startswith(PERHAPS)}
        suspects = _first_after_a_pass(outcomes, [label for label in wrong if label not in sure])
        kept = causes.kept_between_calls(outcomes, suspects, self.file)
        keeping = (Blame(label, failed(_of(label, outcomes)), kept=each) for label, each in kept.items())
        return *keeping, *(blame for blame in blamed if blame.label not in kept)

    def _said(self, outcomes: Outcomes, blamed: Iterable[Blame]) -> list[Explanation]:
        """Return what is said of each claim: why it fails, or for whom it waits."""
        said = [each for blame in blamed for each in blame.explanations()]
        labels = [blame.label for blame in blamed]
        for claim, outcome in failed(_without(said, outcomes)).items():
            said.append(waits(claim, outcome.about, self.alone.called_by(outcome.about, labels)))
        return said

    # ------------------------------------------------------------ known mistakes

    def made_by(self, outcomes: Outcomes) -> str:
        """Return the known mistake that explains the whole file, or nothing.

        Of a function in which it does not lie, other than the last one, which uses all, errors tell nothing: a file may
        be put together in another way than the solution.
        """
        last, agreeing = list(outcomes.values())[-1].about, list[str]()
        for name, answers in self.known.answers.items():
            if self.known.lies_in[name] & {*self.file.to_write}:
                continue
            own = self.known.lies_in[name] | {last}
            telling = {
                claim: seen
                for claim, seen in outcomes.items()
                if seen.about in own or not (seen.is_error or answers[claim].is_error)
            }
            agreeing += self.known.that_agree(telling, [name])
        known = self._closest(outcomes, agreeing)
        return "" if known.startswith(PERHAPS) else known

    def _mistake_of(self, label: str, judged: Outcomes, own: Outcomes) -> str:
        """Return the known mistake that one function makes, or nothing.

        Args:
            label: the function.
            judged: what the claims that failed say of it alone.
            own: what the claims about it said of the whole file.
        """
        known = self.known
        possible = [name for name in known.answers if known.lies_in[name] <= {label} | self.absent]
        candidates = known.that_agree({**own, **judged}, possible)
        ask = known.telling_apart(candidates)
        if not candidates:  # what held of the whole file may not hold alone
            candidates, ask = known.that_agree(judged, possible), list(own.keys() - judged.keys())
        if candidates and ask:
            seen = self.alone.try_({label: self.functions.keys() - {label}}, {label: ask}).get(label, {})
            candidates = known.that_agree(seen, candidates)
        return self._closest({**own, **judged}, candidates)

    def _closest(self, outcomes: Outcomes, names: Collection[str]) -> str:
        """Return that of some mistakes which agree with ``outcomes`` that is the most like, or nothing.

        One that is known by its errors alone has to call what the learner's function calls; and it is named with a
        "Perhaps" if the sizes in the errors are others.
        """
        answers = self.known.answers
        proven = [name for name in names if mistakes.by_numbers(outcomes, answers[name])]
        name = self.known.closest(outcomes, proven or [name for name in names if self._calls_the_same(name)])
        return name if not name or proven or mistakes.to_the_letter(outcomes, answers[name]) else PERHAPS + name

    def _calls_the_same(self, name: str) -> bool:
        """Return whether the learner's functions in which a mistake would lie call all that it calls."""
        places, lines = self.known.lies_in[name], self.file.source.splitlines()
        names = {self.functions[label] for label in places}
        own = [each for name, each in PYTHON.functions(self.file.source).items() if name in names]
        called = CALL.findall("\n".join(line for each in own for line in lines[each.first - 1 : each.last]))
        made = CALL.findall("\n".join(self.known.edits[name].values()))
        return not places or {*made} <= {*called}

    def _copied(self, blamed: tuple[Blame, ...]) -> tuple[Blame, ...]:
        """Return what is blamed; if a result is only what was given, that is the mistake, unless there is another.

        The first comparison is made again, with what the function was given.
        """
        compared = {
            blame.label: [claim for claim, seen in blame.outcomes.items() if seen.compared][:1]
            for blame in blamed
            if not (blame.mistake or blame.kept)
        }
        asked = {label: claims for label, claims in compared.items() if claims}
        if not asked:
            return blamed
        code = compile(self.file.source, self.file.step_path, "exec")
        answers = self.file.try_(dict.fromkeys(asked, code), asked, show=True)
        copied = {
            label: f"The result is {name}, unchanged."
            for label, own in answers.items()
            for outcome in own.values()
            if outcome.compared and (name := outcome.compared.copied())
        }
        return tuple(replace(blame, mistake=copied.get(blame.label, blame.mistake)) for blame in blamed)

    def _together(self, refused: Outcomes) -> str:
        """Return what is said if each function is right alone; nothing if an error, or the only function, says more."""
        written = self.alone.changed - self.alone.missing
        first = next(iter(refused.values()))
        return "" if first.is_error or len(written) < 2 else TOGETHER


def _of(label: str, outcomes: Outcomes) -> Outcomes:
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.about == label}


def _without(said: Iterable[Explanation], outcomes: Outcomes) -> Outcomes:
    """Return the outcomes of the claims on which nothing has been said."""
    answered = {each.claim for each in said}
    return {claim: outcome for claim, outcome in outcomes.items() if claim not in answered}


def _first_after_a_pass(outcomes: Outcomes, labels: Iterable[str]) -> dict[str, str]:
    """Return, of some functions, the first claim about each that failed, if an earlier one held."""
    firsts = {}
    for label in labels:
        own = _of(label, outcomes)
        first = next((claim for claim, outcome in own.items() if outcome.mark == FAIL), None)
        if first and next(iter(own.values())).mark == PASS:
            firsts[label] = first
    return firsts


def _all_from(refused: Outcomes, sentence: str) -> list[Explanation]:
    """Return the explanation of a file in which one cause, in no single function, is behind every failure."""
    (first, outcome), *others = refused.items()
    return [
        explained(first, outcome.about, sentence, outcome),
        *(waits(claim, other.about, [outcome.about]) for claim, other in others if other.about != outcome.about),
    ]
