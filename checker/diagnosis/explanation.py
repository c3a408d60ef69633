"""Explain a failure: judge each function alone, and look up which known mistake it makes.

The verdict on the whole file stands. To explain it, the claims about one function are tried again with the solution's
code in all other functions that are wrong or missing (:func:`graft`), so that no function is blamed for another.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import CodeType

from checker.course.blanks import blanks_of
from checker.course.languages import PYTHON, FunctionNode, calls
from checker.course.steps import Step
from checker.diagnosis import mistakes
from checker.diagnosis.mistakes import Answers, Outcome, Outcomes
from checker.events import FAIL, PASS, WAITS, Explanation

#: Runs some modules, given as code by name, and then the claims that are asked for on each.
Try = Callable[[Mapping[str, CodeType], Mapping[str, Collection[str]] | None], Mapping[str, Outcomes]]

NO_ATTRIBUTE = re.compile(r"AttributeError: .*has no attribute '(\w+)'")
FAR = 1_000_000  # added to the line numbers of the solution, to tell its code from the learner's
WRONG_CALL = re.compile(r"TypeError: (?:\w+\.)*(\w+)\(\) (?:takes|got|missing)")


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
        attempts = mistakes.load_attempts(self.step).mistakes
        return {
            name: {place.rpartition(".")[2] for place in mistakes.places(self.solution, edits, self.step.language)}
            for name, edits in attempts.items()
        }

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
        refused = _failed(outcomes)
        alone = Alone(self, source, path, to_write)
        wrong: dict[str, dict[str, Outcome]] = {}
        for claim, outcome in outcomes.items():
            if outcome.verdict != PASS and outcome.about not in alone.missing:
                wrong.setdefault(outcome.about, {})[claim] = outcome
        possible = [name for name in self.answers if not self.lies_in[name] & alone.missing]
        known = self._made_by(outcomes, possible)
        self.blamed = {label: own for label, seen in wrong.items() if (own := _failed(seen))}
        lies_in = self.lies_in.get(known, set())
        if known and len(lies_in & wrong.keys()) != 1:
            return _all_from(refused, known)

        judged = {label: wrong[label] for label in lies_in}
        questions = {label: claims for label, claims in wrong.items() if label not in lies_in}
        judged |= alone.judge(questions, wrong.keys() | alone.missing)
        if alone.doubtful:  # a function whose own claims hold may be behind it
            others = self.functions.keys() - wrong.keys() - alone.missing
            judged |= alone.judge(dict.fromkeys(others, alone.doubtful), self.functions.keys())
        blamed = {label: own for label, seen in judged.items() if (own := _failed(seen))}
        sure = blamed.keys() - alone.unfit
        blamed = {label: own for label, own in blamed.items() if label in sure or not alone.called_of(sure, label)}
        self.blamed = blamed or self.blamed
        if not blamed:
            return _all_from(refused, "Each function is right alone, but together they are not.")

        order = list(dict.fromkeys(outcome.about for outcome in outcomes.values()))
        explained = []
        for label in sorted(blamed, key=[*order, *blamed].index):
            own = _of(label, outcomes)
            mistake = known if label in lies_in else self._mistake_of(label, judged[label], own, alone)
            for claim, outcome in blamed[label].items():
                explained.append(_explained(claim, label, mistake, outcome))
        answered = {each.claim for each in explained}
        for claim, outcome in refused.items():
            if claim not in answered:
                waited_for = alone.called_by(outcome.about, blamed)
                explained.append(_waits(claim, outcome.about, waited_for))
        return explained

    def _made_by(self, outcomes: Outcomes, possible: Collection[str]) -> str:
        """Return the known mistake that explains a whole file, or nothing.

        Of a function in which it does not lie, other than the last one, which uses all, errors tell nothing: a file may
        be put together in another way than the solution.
        """
        last, agreeing = list(outcomes.values())[-1].about, list[str]()
        for name in possible:
            own, answers = self.lies_in[name] | {last}, self.answers[name]
            telling = {
                c for c, seen in outcomes.items() if seen.about in own or not (seen.is_error or answers[c].is_error)
            }
            agreeing += mistakes.that_agree({claim: outcomes[claim] for claim in telling}, self.answers, [name])
        return mistakes.closest(outcomes, self.answers, agreeing)

    def _explain_in_order(self, outcomes: Outcomes) -> list[Explanation]:
        """Return what each failure of a kernel comes from, without compiling another: the first function that is wrong.

        Every function of a kernel calls those before it and none after it, so one that comes later has to wait.
        """
        refused = _failed(outcomes)
        wrong = {outcome.about for outcome in refused.values()}
        first = next(label for label in self.functions if label in wrong)
        own = _of(first, outcomes)
        self.blamed = {first: _failed(own)}
        possible = [name for name in self.answers if self.lies_in[name] == {first}]
        known = [name for seen in (outcomes, own) for name in mistakes.that_agree(seen, self.answers, possible)]
        return [
            _explained(claim, first, known[0] if known else "", outcome)
            if outcome.about == first
            else _waits(claim, outcome.about, [first])
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
        return mistakes.closest({**own, **judged}, self.answers, candidates)


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

    def __init__(self, diagnosis: Diagnosis, source: str, path: str, missing: Collection[str]) -> None:
        self.diagnosis, self.source, self.path = diagnosis, source, path
        tree = ast.parse(source)
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        assigned = {node.attr for node in attributes if isinstance(node.ctx, ast.Store)}
        self.unset = {node.attr for node in attributes} - assigned
        mine, theirs = PYTHON.functions(source), PYTHON.functions(diagnosis.solution)
        names = diagnosis.functions.items()
        self.changed = {label for label, name in names if name not in mine or mine[name].means != theirs[name].means}
        self.calls = calls(tree)
        self.only_functions_differ = ast.dump(self._grafted(diagnosis.functions)) == PYTHON.meaning(diagnosis.solution)
        self.missing = {*missing}
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
        failed = {label: own for label, outcomes in judged.items() if (own := _failed(outcomes))}
        beside_none = {label: labels - {label} for label in failed if labels - {label} != beside_right[label]}
        for label, outcomes in self.try_(beside_none, failed).items():
            for claim, outcome in outcomes.items():
                if self._fits(outcome) and not mistakes.agrees(outcome, judged[label][claim]):
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
        path = str(self.diagnosis.step.solution_file)
        codes = {
            label: compile_grafted(self._grafted(labels), self.diagnosis.solution, self.path, path)
            for label, labels in asked.items()
            if label not in right
        }
        tried = self.diagnosis.try_(codes, {label: list(claims[label]) for label in codes}) if codes else {}
        return {**tried, **{label: dict.fromkeys(claims[label], Outcome(PASS, about=label)) for label in right}}

    def _fits(self, outcome: Outcome) -> bool:
        """Return whether an outcome is the learner's own doing, though the solution's code was beside theirs.

        It is not if the missing attribute is one that another of the learner's functions sets, or that the solution
        alone uses, or if a function with a blank is called with arguments that the solution's does not take.
        """
        error = outcome.observed if isinstance(outcome.observed, str) else ""
        attribute, call = NO_ATTRIBUTE.match(error), WRONG_CALL.match(error)
        return not ((attribute and attribute[1] not in self.unset) or (call and call[1] in self.diagnosis.functions))

    def _grafted(self, labels: Iterable[str]) -> ast.Module:
        """Return the file with the solution's code in some functions."""
        return graft(self.source, self.diagnosis.solution, [self.diagnosis.functions[label] for label in labels])


def _of(label: str, outcomes: Outcomes) -> dict[str, Outcome]:
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.about == label}


def _failed(outcomes: Outcomes) -> dict[str, Outcome]:
    return {claim: outcome for claim, outcome in outcomes.items() if outcome.verdict == FAIL}


def _all_from(refused: Outcomes, sentence: str) -> list[Explanation]:
    """Return the explanation of a file in which one cause, in no single function, is behind every failure."""
    (first, outcome), *others = refused.items()
    return [
        _explained(first, outcome.about, sentence, outcome),
        *(_waits(claim, other.about, [outcome.about]) for claim, other in others if other.about != outcome.about),
    ]


def _explained(claim: str, about: str, mistake: str, outcome: Outcome) -> Explanation:
    """Return why a claim fails: the mistake's name, and what was measured; an error's words would say it once more."""
    parts = [mistake, outcome.figures] if mistake and outcome.measured else [mistake or outcome.sentence]
    parts += [outcome.compared.tendency()] if outcome.compared and not mistake else []
    sentence, numbers = " ".join(filter(None, parts)), outcome.compared is not None
    return Explanation(sentence, about, outcome.location, numbers, claim=claim, mistake=mistake)


def _waits(claim: str, about: str, labels: Collection[str]) -> Explanation:
    works = "work" if len(labels) > 1 else "works"
    return Explanation(f"waits until {' and '.join(labels)} {works}", about, claim=claim, verdict=WAITS)


def graft(learner: str, solution: str, theirs: Collection[str]) -> ast.Module:
    """Return the learner's file with the solution's code in the functions ``theirs``.

    Methods that only the solution has are added; whatever else the learner wrote stays.

    Args:
        learner: the source of the learner's file.
        solution: the source of the solution.
        theirs: qualified names of functions, such as ``GPT2MultiHeadAttention._attn``.
    """
    tree = ast.parse(learner)
    _exchange(tree.body, _far(solution).body, "", theirs)
    return tree


def compile_grafted(tree: ast.Module, solution: str, path: str, solution_path: str) -> CodeType:
    """Compile what :func:`graft` returned, for a traceback that shows the lines of each file as its own.

    The solution is run first, in the same module: what the learner's file lacks, such as an import, it has from there.
    """
    both = [*_far(solution).body, *tree.body]
    # What is imported from __future__ has to come first, and holds here too, for all that this module compiles.
    body = [node for node in both if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")]
    return _filed(compile(ast.Module(body, []), path, "exec"), solution_path)


def _far(solution: str) -> ast.Module:
    tree = ast.parse(solution)
    ast.increment_lineno(tree, FAR)
    return tree


def _exchange(mine: list[ast.stmt], theirs: list[ast.stmt], prefix: str, wanted: Collection[str]) -> None:
    """Put some functions of another module or class in place of one's own; add to a class the methods it lacks."""
    donated = {node.name: node for node in theirs if isinstance(node, FunctionNode | ast.ClassDef)}
    lacking = dict(donated) if prefix else {}
    for at, node in enumerate(mine):
        if isinstance(node, FunctionNode | ast.ClassDef):
            lacking.pop(node.name, None)
            other = donated.get(node.name)
            if isinstance(node, FunctionNode) and prefix + node.name in wanted:
                mine[at] = other or node
            elif isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
                _exchange(node.body, other.body, f"{prefix}{node.name}.", wanted)
    mine += lacking.values()


def _filed(code: CodeType, solution_path: str) -> CodeType:
    """Return code in which what came from the solution says so: its file, and its own line numbers."""
    inner = (_filed(each, solution_path) if isinstance(each, CodeType) else each for each in code.co_consts)
    code = code.replace(co_consts=tuple(inner))
    if code.co_firstlineno > FAR:
        return code.replace(co_filename=solution_path, co_firstlineno=code.co_firstlineno - FAR)
    return code
