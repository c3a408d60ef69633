"""Decide the verdict from everything that was heard of a check. Nothing is printed here."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from checker.course.languages import PYTHON, Language
from checker.events import (
    Claimed,
    Decided,
    Died,
    Ended,
    Event,
    Explained,
    Late,
    MaxUnusable,
    Notice,
    Printed,
    Started,
    Unloadable,
)

YES, NO, INTERRUPTED = 0, 1, 130

ERROR = re.compile(r"\w*(Error|Iteration|Exception): ")
WORD = re.compile(r"\w{3,}")
ALIKE = 0.6  # share of its words that a sentence may have in common with another and still add to it


@dataclass(frozen=True)
class Explanation:
    """One or two sentences on a no: the blank that they are about, and the line of the file to show."""

    sentence: str
    about: str = ""
    where: str = ""
    numbers: bool = False  # there are numbers to show


@dataclass(frozen=True)
class Verdict:
    """The end of a check: its exit status, the explanations of a no, and the last words."""

    status: int
    explanations: tuple[Explanation, ...] = ()
    words: tuple[str, ...] = ()


@dataclass
class Heard:
    """Everything that a child has said so far about a file in a ``language``, whose text is ``source``."""

    language: Language = PYTHON
    source: str = ""
    claims: dict[str, Claimed] = field(default_factory=dict)
    explained: list[Explained] = field(default_factory=list)
    sealed: dict[str, str] = field(default_factory=dict)  # claim -> its verdict, once its stage is over
    numbers_decided: bool = False
    traced: frozenset[str] = frozenset()  # compiled claims that hold as far as MAX traces the module
    ended: bool = False
    running: str = ""
    stopped: Explanation | None = None
    notices: list[str] = field(default_factory=list)
    crash: tuple[int, str] | None = None  # the line, and what the language said of it

    def hear(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case Started(sentence, _):
                self.running = sentence
            case Claimed():
                self.claims[event.claim] = event
            case Decided(stage, verdicts):
                self.sealed |= {claim: verdict for claim, verdict in verdicts.items() if verdict != "traced"}
                self.numbers_decided |= stage == "drawn"  # the last of them
                self.traced |= verdicts.keys() - self.sealed.keys()
            case Explained(claim, _, verdict, _, help, where, _):
                self.claims[claim] = replace(self.claims[claim], verdict=verdict, help=help, where=where)
                self.explained.append(event)
            case Notice(sentence):
                self.notices.append(sentence)
            case Ended():
                self.ended = True
            case Unloadable(help, where):
                self.stopped = Explanation(help, where=where)
            case MaxUnusable(sentence):
                self.stopped = Explanation(f"No verdict: {sentence}")
            case Late() | Died() if self.refused:
                pass  # while the reason was sought: the verdict stands
            case Late(seconds, where):
                said = f"Nothing was heard for {seconds:g} seconds"
                self.stopped = self.no_verdict(said, self.language.look_for[0], where)
            case Printed(text):
                self.crash = self.language.crash(text) or self.crash
            case Died() if self.crash:
                self.stopped = self._stopped_by(*self.crash)
            case Died():
                self.stopped = self.no_verdict("The process ended", self.language.look_for[1])

    def _stopped_by(self, line: int, said: str) -> Explanation:
        lines = self.source.splitlines()
        where = f"line {line}: {lines[line - 1].strip()}" if line <= len(lines) else ""
        return self.no_verdict(f"{self.language.name} stopped ({said})", "", where)

    def no_verdict(self, happened: str, advice: str, where: str = "") -> Explanation:
        """Return the explanation of a check that did not finish."""
        during = f"while this was tried: {self.running}" if self.running else "while the file was loaded."
        return Explanation(f"No verdict: {happened} {during} {advice}".rstrip(), where=where)

    @property
    def refused(self) -> bool:
        """Whether a claim says no."""
        return "no" in self.sealed.values()

    @property
    def numbers_are_right(self) -> bool:
        """Whether every claim about numbers was made, and held."""
        return self.numbers_decided and set(self.sealed.values()) == {"yes"}

    @property
    def only_compiling_is_left(self) -> bool:
        """Whether it is already a yes: the numbers are right, and MAX has traced the module; compiling may go on."""
        return bool(self.traced) and self.numbers_are_right


def adds_to(mistake: str, help: str) -> bool:
    """Return whether what was seen says more than the name of the mistake: an error's message does not."""
    words, known = set(WORD.findall(help)), set(WORD.findall(mistake))
    is_told = ERROR.match(help) or "must raise" in help or len(words & known) > ALIKE * len(words)
    return not (mistake and is_told)


def explain(heard: Heard, failed: Mapping[str, Claimed]) -> list[Explanation]:
    """Return the explanations of the claims that failed: one per function that makes a known mistake, else all."""
    told = [one for one in heard.explained if one.verdict == "no"]
    if not told:  # compiled claims, or the child ended before it could explain
        told = [Explained(name, one.about, "no", "", one.help, one.where) for name, one in failed.items()]
    explanations: dict[tuple[str, str], Explanation] = {}
    for one in told:
        sentence = f"{one.mistake} {one.help}".strip() if adds_to(one.mistake, one.help) else one.mistake
        explanations.setdefault(
            (one.about, one.mistake or sentence), Explanation(sentence, one.about, one.where, one.numbers)
        )
    return list(explanations.values())


def decide(heard: Heard, required: Collection[str], to_write: Collection[str], *, gpu_decides: bool = False) -> Verdict:
    """Return the verdict on a file.

    Args:
        heard: everything that the child said.
        required: the claims that a yes needs.
        to_write: the names of the blanks that are still to write.
        gpu_decides: whether compiled claims about the GPU decide too; otherwise they are only reported.
    """
    if heard.stopped:
        kept = ("The yes without the compiler is kept.",) if heard.only_compiling_is_left else ()
        return Verdict(NO, (heard.stopped,), kept)
    failed = {name: claim for name, claim in heard.claims.items() if claim.verdict == "no"}
    explanations = explain(heard, failed)
    said = {name: claim.verdict for name, claim in heard.claims.items()} | heard.sealed
    decisive = {
        name: "no" if name in failed else verdict
        for name, verdict in said.items()
        if gpu_decides or not name.endswith("[gpu]")
    }
    if "no" in decisive.values():
        return Verdict(NO, tuple(explanations))
    if to_write or "waits" in decisive.values():
        so_far = f"Right so far. Still to write: {', '.join(to_write)}." if decisive else "Nothing could be tried yet."
        return Verdict(NO, tuple(explanations), (so_far,))
    if missing := set(required) - {name.partition("[")[0] for name in heard.sealed}:
        unheard = f"{len(missing)} claims were not heard of ({', '.join(sorted(missing))})"
        return Verdict(NO, (heard.no_verdict(unheard, "Does the file stop the check?"),))
    if not heard.ended:
        return Verdict(NO, (heard.no_verdict("The check did not end", "Does the file stop it?"),))
    reserve = ("Only the GPU disagrees, and the CPU decides: yes, with that caveat.",) if failed else ()
    return Verdict(YES, tuple(explanations), reserve)
