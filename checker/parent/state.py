"""What is known of a check: where it is, what the child has said, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto

from checker.compiling import Compiler
from checker.course.languages import Language
from checker.course.source import Source
from checker.device import DeviceKind
from checker.errors import FAILED, INTERRUPTED, PASSED
from checker.parent.effects import Explanation
from checker.parent.offers import Offers
from checker.protocol.events import ClaimEnded, Finding, NumbersCompared, Reason
from checker.protocol.job import Options
from checker.stages import ClaimKind, Mark, Stage

NO_TEXT = Source("")  # until the file is read


class Phase(Enum):
    """The phase of a check. A check goes through them in this order, and may leave some out."""

    UNREAD = auto()  # nothing is known of the file
    TRYING = auto()  # claims are tried
    PASSED_UNCOMPILED = auto()  # if progress is saved and something must compile: a pass, which is saved
    GOING_ON = auto()  # the same, and the learner was told to go on meanwhile
    TAKEN_BACK = auto()  # a compiled claim does not hold, so the pass is taken back
    AFTER_VERDICT = auto()  # the verdict is out, and claims on a GPU may follow
    ON_GPU = auto()  # claims on a GPU are tried
    OVER = auto()


class VerdictKind(StrEnum):
    """The kind of a verdict, in the word of a record."""

    PASS = "pass"
    FAIL = "fail"
    INTERRUPTED = "interrupted"


class Blames(Enum):
    """What a failure blames."""

    NOT_THE_FILE = auto()  # but the machine, say, or the packages on it; or there are only blanks yet
    FILE = auto()
    FILE_OR_CHANCE = auto()  # its process only ended, or was late: an earlier pass of the same code stays


class Tried(Enum):
    """How many claims have been tried for a pass."""

    SOME = auto()  # the check was cut short after its numbers; what had passed was saved before
    ALL_ASKED_FOR = auto()  # an option left out the others
    ALL = auto()


@dataclass(frozen=True)
class Verdict:
    """The end of a check: its kind, the explanations of a failure, and further sentences.

    A failure ``blames`` something; for a pass, some or all claims were ``tried``.
    """

    kind: VerdictKind
    explanations: tuple[Explanation, ...] = ()
    sentences: tuple[str, ...] = ()
    blames: Blames = Blames.NOT_THE_FILE
    tried: Tried = Tried.SOME

    @property
    def status(self) -> int:
        """The exit status of a command that ends with this verdict."""
        match self.kind:
            case VerdictKind.PASS:
                return PASSED
            case VerdictKind.FAIL:
                return FAILED
            case VerdictKind.INTERRUPTED:
                return INTERRUPTED


# ---------------------------------------------------------------- what is known


@dataclass(frozen=True)
class Compilation:
    """A compilation that goes on: its name, the second of the check at which it ``began``, and the compiler."""

    name: str
    began: float
    compiler: Compiler


@dataclass(frozen=True)
class Context:
    """What is known of a check before it begins.

    Attributes:
        task: the task that checks the step again, such as ``s07``.
        language: the language of the file.
        file: where the file is, as it is printed.
        solution: where the solution is, as it is printed.
        recorded_from: the library whose numbers are recorded.
        kinds: the kind of each claim.
        functions: the qualified names of the functions with a blank, by label.
        options: how the step is checked.
        seed: the seed of the configuration that is drawn.
        offers: what a learner can do next, in words.
        why_another_max: a sentence if claims run MAX, and another is installed than the course is written for, or none;
            else nothing.
    """

    task: str
    language: Language
    file: str
    solution: str
    recorded_from: str
    kinds: Mapping[str, ClaimKind]
    functions: Mapping[str, str]
    options: Options
    seed: int
    offers: Offers
    why_another_max: str

    @property
    def has_compiled_claims(self) -> bool:
        """Whether the step has compiled claims."""
        return ClaimKind.COMPILED in self.kinds.values()

    @property
    def left_out_by(self) -> str:
        """The option that leaves the compiled claims out; nothing if none does, or the step or a hunt needs none."""
        if not self.has_compiled_claims or self.options.hunt:
            return ""
        if self.options.show:
            return "--show"
        return "" if self.options.compile else "--no-compile"

    @property
    def tries_compiled_claims(self) -> bool:
        """Whether compiled claims are tried: the step has some, and neither an option nor a hunt leaves them out."""
        return self.has_compiled_claims and not self.options.hunt and not self.left_out_by

    @property
    def tries_every_claim(self) -> bool:
        """Whether a pass would leave no claim untried; in a hunt, claims about numbers suffice."""
        return not self.left_out_by

    @property
    def required(self) -> set[str]:
        """The claims that a pass needs."""
        return {
            claim for claim, kind in self.kinds.items() if kind is not ClaimKind.COMPILED or self.tries_compiled_claims
        }

    @property
    def saves_progress(self) -> bool:
        """Whether a pass or a failure is saved for ``status``: the file is the learner's, and the CPU decides."""
        return not self.options.is_solution and self.options.device is not DeviceKind.GPU


@dataclass(frozen=True)
class State:
    """Everything that is known of a check.

    Attributes:
        context: what was known before the check began.
        phase: the phase of the check.
        seconds: how long the check had taken when the last event came.
        source: the text of the file, if that could be read.
        to_write: the labels of the functions that are still to write.
        ended_claims: the last outcome of each claim.
        findings: why claims fail, by the child's diagnosis.
        ended_stages: the stages that have ended.
        pass_was_said: whether it was said that the outputs match, which is a pass unless a compiled claim fails.
        why_not_saved: why a pass could not be saved; nothing if it was.
        current_claim: the claim that is being tried, in words; nothing between two claims.
        compilations: what MAX or Mojo compiles now, each compilation within the one before.
        has_compiled: whether MAX has compiled something, which is kept.
        held_claims: the claims since the first failure, which get a row only once it is known why they fail.
        waiting_labels: the labels of the functions whose row says that they wait.
        crash: the line at which the language stopped the process, and the reason that it printed.
        numbers: the numbers that ``--show`` shows.
        verdict: the verdict, once it is decided.
    """

    context: Context
    phase: Phase = Phase.UNREAD
    seconds: float = 0.0
    source: Source = NO_TEXT
    to_write: tuple[str, ...] = ()
    ended_claims: Mapping[str, ClaimEnded] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    ended_stages: frozenset[Stage] = frozenset()
    pass_was_said: bool = False
    why_not_saved: str = ""
    current_claim: str = ""
    compilations: tuple[Compilation, ...] = ()
    has_compiled: bool = False
    held_claims: tuple[str, ...] = ()
    waiting_labels: frozenset[str] = frozenset()
    crash: tuple[int, str] | None = None
    numbers: NumbersCompared | None = None
    verdict: Verdict | None = None

    @property
    def marks(self) -> set[Mark]:
        """The marks of all claims so far."""
        return {claim.mark for claim in self.ended_claims.values()}

    @property
    def is_passed_uncompiled(self) -> bool:
        """Whether there is a pass that only the compiler can take back."""
        return self.phase in (Phase.PASSED_UNCOMPILED, Phase.GOING_ON)

    @property
    def pass_stands(self) -> bool:
        """Whether a pass stands: as the verdict, or until the compiler takes it back."""
        if self.verdict:
            return self.verdict.kind is VerdictKind.PASS
        return self.is_passed_uncompiled

    @property
    def has_failed(self) -> bool:
        """Whether a claim has failed."""
        return Mark.FAIL in self.marks

    @property
    def not_tried(self) -> list[str]:
        """The claims that a pass needs and that have no outcome, in the order of their names."""
        tried = {claim.test for claim in self.ended_claims.values() if claim.mark is not Mark.TRACED}
        return sorted(self.context.required - tried)

    @property
    def compiled_now(self) -> str:
        """The name of the innermost compilation that goes on; nothing if there is none."""
        return self.compilations[-1].name if self.compilations else ""

    @property
    def compiler(self) -> Compiler:
        """The compiler that is at work; MAX's if none is."""
        return self.compilations[-1].compiler if self.compilations else Compiler.MAX

    @property
    def numbers_are_right(self) -> bool:
        """Whether no blank is left to write, and every claim about numbers was tried and holds."""
        numbers_not_tried = [claim for claim in self.not_tried if self.context.kinds[claim] is not ClaimKind.COMPILED]
        hold = self.marks <= {Mark.PASS, Mark.TRACED}
        return not self.to_write and Stage.DRAWN in self.ended_stages and not numbers_not_tried and hold

    @property
    def only_compiling_is_left(self) -> bool:
        """Whether the numbers are right, and only claims that MAX compiles follow."""
        return self.numbers_are_right and self.context.tries_compiled_claims

    @property
    def has_drawn_numbers(self) -> bool:
        """Whether numbers were drawn, which happens once all recorded numbers are right."""
        kinds = self.context.kinds
        recorded_marks = {
            claim.mark for claim in self.ended_claims.values() if kinds.get(claim.test) is ClaimKind.NUMBERS
        }
        return (
            ClaimKind.DRAWN in kinds.values() and Stage.NUMBERS in self.ended_stages and recorded_marks == {Mark.PASS}
        )

    @property
    def failed_kinds(self) -> set[ClaimKind | None]:
        """The kinds of the claims that have failed."""
        return {self.context.kinds.get(claim.test) for claim in self.ended_claims.values() if claim.mark is Mark.FAIL}

    @property
    def failed_seed(self) -> int | None:
        """The seed of drawn numbers that are wrong; None if none are."""
        return self.context.seed if ClaimKind.DRAWN in self.failed_kinds else None

    def another_max_is_to_blame(self, why: Reason) -> bool:
        """Return whether another MAX is installed and to blame for a failure, since MAX has raised the error."""
        return bool(self.context.why_another_max) and why.comes_from_max

    def as_found(self, claim: ClaimEnded) -> ClaimEnded:
        """Return a claim with its finding, if it has one: it may fail only because another function is wrong."""
        for finding in self.findings:
            if finding.claim == claim.name:
                claim = replace(claim, mark=finding.mark, why=replace(finding.why, sentence=finding.sentence))
        return claim

    def def_line_of(self, label: str) -> int | None:
        """Return the line at which the function with a blank is defined; None if the file lacks it."""
        name = self.context.functions.get(label, label)
        function = self.context.language.functions(self.source).get(name)
        return function.def_line if function else None
