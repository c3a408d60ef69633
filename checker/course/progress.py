"""How far a step is: untouched, in progress, done, or done but changed since.

That is read from the files. What they do not show is saved in one file that git ignores: which hints were read, and
what the last check said, which counts only for a file that means what the checked one meant. It may be deleted at any
time: hints and hunts start over, and a check finds out again what is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from checker.course.blanks import NoSuchFile, read_statically, read_text, skeleton
from checker.course.languages import Unreadable
from checker.course.steps import Step
from checker.files import ROOT, replacing, saved_at

FILE = ROOT / ".course" / "progress.json"
NOT_COMPILED, LAST_FAILED = "pass, not compiled", "last check: fail"  # the first counts as done


def digest(*parts: str | bytes) -> str:
    """Return a short name for contents: equal contents have equal names."""
    made = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        made.update(len(data).to_bytes(8, "big") + data)
    return made.hexdigest()[:32]


def digest_of_check(step: Step) -> str:
    """Return the digest of what a learner's file is compared with: the claims, and the recorded numbers."""
    files = (step.check_file, step.reference_file)
    return digest(*(path.read_bytes() if path.is_file() else b"" for path in files))


def digest_of_code(step: Step, source: str) -> str:
    """Return the digest of what a file means in its language: comments and the layout of lines change nothing.

    What is none of its language is taken as it is.
    """
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return digest(step.language.meaning(source))
    return digest(source)


def read() -> dict[str, dict[str, Any]]:
    """Return everything that is saved.

    A file that is missing or cannot be understood counts as an empty one, and of one that can, what is damaged is left
    out.

    Returns:
        ``hints``: by step, how many were seen. ``pass``: by step, the digests of the ``code`` and of the ``check``, and
        whether it was ``compiled`` too. ``fail``: by step, the digest of the code that failed last. ``hunts``: by step,
        what ``./run hunt`` saves.
    """
    try:
        file = json.loads(FILE.read_text())
        kinds = {"hints": int, "pass": dict, "fail": str, "hunts": dict}
        saved = {part: _of_kind(kind, file.get(part, {})) for part, kind in kinds.items()}
    except (OSError, ValueError, AttributeError):
        return {"hints": {}, "pass": {}, "fail": {}, "hunts": {}}
    parts = {"code", "check", "compiled"}
    saved["pass"] = {step: last for step, last in saved["pass"].items() if parts <= last.keys()}
    return saved


def _of_kind(kind: type, by_step: object) -> dict[str, Any]:
    """Return what is saved of steps without what is damaged."""
    if not isinstance(by_step, dict):
        return {}
    return {step: value for step, value in by_step.items() if isinstance(value, kind)}


@contextlib.contextmanager
def changing() -> Iterator[dict[str, dict[str, Any]]]:
    """Change what is saved. Two processes (``watch`` and ``hint``, say) take turns, and a reader never sees half.

    Raises:
        OSError: the file cannot be written.
    """
    FILE.parent.mkdir(exist_ok=True)
    with (FILE.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        saved = read()
        yield saved
        with replacing(FILE) as new:
            new.write_text(json.dumps(saved, indent=1, sort_keys=True) + "\n")


def note_pass(step: Step, source: str, *, compiled: bool) -> bool:
    """Save that this ``source`` passed, and whether it did so once MAX had compiled it; return whether that is saved.

    If the step was reset meanwhile, its file means something else, and this pass is not known any more: it stays so.
    """
    with changing() as saved:
        passed = {"code": digest_of_code(step, source), "check": digest_of_check(step)}
        before = saved["pass"].get(step.name, {})
        is_known = passed.items() <= before.items()
        counts = is_known or digest_of_code(step, _text_of(step)) == passed["code"]
        if counts:
            saved["pass"][step.name] = {**passed, "compiled": compiled or (is_known and before["compiled"])}
            saved["fail"].pop(step.name, None)
    return counts


def _text_of(step: Step) -> str:
    """Return the text of a learner's file as it is now; nothing if it cannot be read."""
    with contextlib.suppress(Unreadable):
        return read_text(step.learner_file)
    return ""


def note_failure(step: Step, source: str, *, takes_back: bool) -> None:
    """Save that this ``source`` failed; if it has passed before, only a failure that ``takes_back`` the pass counts."""
    with changing() as saved:
        code = digest_of_code(step, source)
        if saved["pass"].get(step.name, {}).get("code") == code:
            if not takes_back:
                return
            del saved["pass"][step.name]  # it has since been compiled, or its check has changed
        saved["fail"][step.name] = code


def note_hints(step: Step, seen: int) -> None:
    """Save how many hints of a step were shown, at least."""
    with changing() as saved:
        saved["hints"][step.name] = max(seen, saved["hints"].get(step.name, 0))


def forget(step: Step) -> None:
    """Start a step over: no hint seen, no verdict; a mistake that was hunted for stays known."""
    with changing() as saved:
        for part in ("hints", "pass", "fail"):
            saved[part].pop(step.name, None)


@dataclass(frozen=True)
class Standing:
    """Where one step stands: ``state`` is ``untouched``, ``missing``, ``in progress``, ``done`` or ``changed``.

    ``failed`` says that the file as it is failed its last check, and ``uncompiled`` that its pass left compiling out;
    ``by_its_check``, of a step that has changed, that not its file has, but the check that this passed.
    """

    step: Step
    state: str
    words: str
    failed: bool = False
    uncompiled: bool = False
    by_its_check: bool = False


def standing_of(step: Step) -> Standing:
    """Return where a step stands now."""
    saved = read()
    passed = saved["pass"].get(step.name)
    state, begun = ("changed", "changed since its pass") if passed else ("in progress", "in progress")
    try:
        static = read_statically(step, step.learner_file)
    except NoSuchFile:
        return Standing(step, "missing", "missing: `./run skeletons` writes it anew")
    except Unreadable as error:
        place = error.location
        why = f"line {place.line}: {error.short}" if place else error.short
        failed = bool(error.source) and digest_of_code(step, error.source) == saved["fail"].get(step.name)
        details = f"{why}, {LAST_FAILED}" if failed else why
        return Standing(step, state, f"{begun} ({details})", failed)
    if static.source == skeleton(step.solution_source, step.language):
        return Standing(step, "untouched", "untouched")
    code = digest_of_code(step, static.source)
    if passed and passed["code"] == code:
        if passed["check"] != digest_of_check(step):
            from checker.course.forms import other_forms  # which a check does without

            words = "done, but its check has changed since"
            if names := [name.rpartition(".")[2] for name in other_forms(step, static.source)]:
                more = f" and {len(names) - 1} more" if len(names) > 1 else ""
                words = f"{words} (see {names[0]}{more})"
            return Standing(step, "changed", words, by_its_check=True)
        return Standing(step, "done", "done" if passed["compiled"] else NOT_COMPILED, uncompiled=not passed["compiled"])
    to_write = len(static.to_write)
    failed = saved["fail"].get(step.name) == code
    checked = ""
    if failed:
        checked = LAST_FAILED
    elif passed or not to_write:
        checked = "not checked"
    written = f"{static.blanks - to_write} of {static.blanks} blanks" if to_write or not passed else ""
    details = ", ".join(filter(None, [written, checked]))
    return Standing(step, state, f"{begun} ({details})", failed)


def first_to_do(standings: Iterable[Standing]) -> Step | None:
    """Return the first step that is not done."""
    return next((standing.step for standing in standings if standing.state != "done"), None)


def next_to_do(standings: Sequence[Standing]) -> Step | None:
    """Return the step to continue with: the one being worked on, else the first to do after the last that is done.

    So a learner who skips a step is not sent back to it before everything else is done. The one being worked on was
    saved last; if none is in progress, it is the first that has changed since its pass, or whose check has.
    """
    begun = [standing.step for standing in standings if standing.state in ("in progress", "changed")]
    if any(standing.state == "in progress" for standing in standings):
        return max(begun, key=lambda step: saved_at(step.learner_file))
    if begun:
        return begun[0]
    after = max((number for number, standing in enumerate(standings, 1) if standing.state == "done"), default=0)
    return first_to_do([*standings[after:], *standings[:after]])
