"""Train a GPT-2 on a text, or resume a training: what ``./run train`` does."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Tokenizer

from checker import interrupts
from checker.processor import processor_name
from checker.session.waiting import telling_of_compiling
from play.own_steps import use_mine
from play.training.plan import CURVE, OUT, History, Plan, in_words
from play.training.texts import read_corpus

if TYPE_CHECKING:  # at run time only after use_mine, which decides whose modules these import
    from play.training.graphs import Trainer
    from play.training.windows import Blend, Windows
    from solutions.solution_01 import GPT2Config

LAST_STEP = "step_20"  # training needs the steps up to this one


def train(
    tell: Callable[[str], None],
    *,
    text: tuple[Path, ...],
    also: tuple[Path, ...] = (),
    steps: int | None,
    minutes: float | None,
    out: Path | None,
    resume: Path | None,
    mine: bool,
    fill_in: bool,
    anyway: bool,
    **numbers: Any,
) -> bool:
    """Train, and say how it goes; return whether the last step was reached, or False after Ctrl-C.

    Args:
        numbers: the plan's numbers by name; None stands for the plan's default.

    Raises:
        NotWritten: steps are not complete, and the reference may not stand in.
        WasRefused: a check said no to a step, which may not run anyway.
        ValueError: an option, a text or a folder cannot be used, the loss is not a number, or a save failed.
    """
    given = {name: one for name, one in {**numbers, "steps": steps}.items() if one is not None}
    check_options(given, text=text, also=also, minutes=minutes, out=out, resume=resume)
    for words in use_mine(fill_in=fill_in, anyway=anyway, last=LAST_STEP) if mine else []:
        tell(words)
    from play.training.checkpoint import Folder
    from play.training.graphs import config_of
    from play.training.loop import Session, resuming

    # What to do; whatever is wrong with it is reported before anything is compiled.
    folder = Folder(resume or out or OUT)
    if resume:
        saved, tokenizer = folder.load()
        plan, history = saved.plan, saved.history
        if history.facts.get("code") == "steps" and not mine:
            raise ValueError(f"{resume} was begun with your own steps; continue with `{resuming(folder, history)}`")
        if saved.step >= plan.steps:
            folder.save(saved, best=False)  # what the last save wrote after the state may be missing
            raise ValueError(f"{resume} is done: it has had all {plan.steps} steps. {advice(folder.path, plan)}")
    else:
        folder.refuse_what_is_there()
        saved, tokenizer, history = None, None, History()
        texts, others = (tuple(str(file.absolute()) for file in files) for files in (text, also))
        plan = Plan(**given, texts=texts, also=others)
    read = read_material(plan, tokenizer)
    if saved and history.facts["text"] != read.digest:
        raise ValueError(
            f"the text has changed since {resume} was begun; restore it, or start a new training with --out"
        )

    # The beginning, or the place to resume from.
    config = config_of(plan, read.tokenizer.get_vocab_size())
    trainer, compile_seconds = compile_and_tell(config, tell)
    session = Session(plan, trainer, read.tokenizer, read.windows, read.validation, folder, history)
    if saved:
        session.go_on(saved)
        tell(f"going on after step {saved.step:,} of {plan.steps:,}")
    else:
        trainer.begin(plan.seed)
        if minutes is not None:
            per_step = session.seconds_per_step()
            plan = session.plan = replace(plan, steps=max(2, int(60 * minutes / per_step)))
            session.windows = replace(session.windows, plan=plan)
            tell(f"a step takes {per_step:.2f} s, so {minutes:g} minutes are enough for {plan.steps:,} steps")
        history.facts = {
            "parameters": sum(array.size for array in trainer.weights.arrays.values()),
            "vocab": config.vocab_size,
            "bytes": read.bytes,
            "tokens": read.tokens,
            "text": read.digest,
            "compile_seconds": compile_seconds,
            "processor": processor_name(),
            "code": "steps" if mine else "solutions",
        }
        read_in_all = plan.steps * session.tokens_per_step
        times = (plan.share if also else 1) * read_in_all / read.tokens["train"]
        tell(
            f"{history.facts['parameters']:,} weights; {read.bytes['train']:,} bytes to learn are "
            f"{read.tokens['train']:,} tokens; {plan.steps:,} steps are {times:.1f} times the text"
        )
        if also:
            times = (1 - plan.share) * read_in_all / read.tokens["also"]
            tell(f"and {times:.1f} times the other texts: {read.bytes['also']:,} bytes, {read.tokens['also']:,} tokens")
        folder.begin(plan, config, read.tokenizer, trainer.weights.arrays, history)

    if not session.run():
        step = f"{trainer.state.step:,} of {plan.steps:,}"
        tell(f"stopped after step {step}, which is saved; `{session.resuming}` continues it")
        return False
    best = history.best
    tell(
        f"{plan.steps:,} steps took {in_words(history.seconds)}; the validation loss is lowest after step "
        f"{best['step']:,}: {best['loss']:.3f}, {best['bits_per_byte']:.3f} bits per byte"
    )
    tell(f"{folder.path / CURVE} shows the loss. {advice(folder.path, plan)}")
    return True


def check_options(
    given: dict[str, Any],
    *,
    text: tuple[Path, ...],
    also: tuple[Path, ...],
    minutes: float | None,
    out: Path | None,
    resume: Path | None,
) -> None:
    """Refuse options that do not go together, or an impossible time.

    Raises:
        ValueError: the options do not; the message names them.
    """
    if resume:
        others = given | {
            name: one for name, one in dict(text=text, also=also, minutes=minutes, out=out).items() if one
        }
        if others:
            there = ", ".join(f"--{name}" for name in others)
            raise ValueError(f"--resume continues with the options that {resume} was begun with; leave out {there}")
    if "share" in given and not also:
        raise ValueError("--share is that of --text among other texts; give those with --also")
    if "steps" in given and minutes is not None:
        raise ValueError("give --steps or --minutes, not both")
    if minutes is not None and not 0 < minutes < math.inf:
        raise ValueError(f"--minutes {minutes} is not a time; give a number above 0")


@dataclass(frozen=True)
class Material:
    """What a training reads."""

    tokenizer: Tokenizer
    windows: Windows | Blend
    validation: list[tuple[np.ndarray, np.ndarray]]
    bytes: dict[str, int]  # of each part: train and validation, and what is learned beside them
    tokens: dict[str, int]
    digest: str  # of all tokens


def read_material(plan: Plan, tokenizer: Tokenizer | None) -> Material:
    """Read the texts of a plan with its tokenizer, which is learned from them if there is none yet.

    Raises:
        ValueError: a text cannot be read, or is too short.
    """
    from play.training.windows import Blend, Windows, learn_tokenizer, token_ids, validation_windows

    corpus = read_corpus([Path(file) for file in plan.texts], [Path(file) for file in plan.also])
    tokenizer = tokenizer or learn_tokenizer(corpus.train + corpus.also, plan.vocab)
    parts = {"train": corpus.train, "validation": corpus.dev, **({"also": corpus.also} if plan.also else {})}
    ids = {part: token_ids(tokenizer, texts) for part, texts in parts.items()}
    windows = Windows(ids["train"], plan)
    return Material(
        tokenizer,
        Blend(windows, Windows(ids["also"], plan), plan) if plan.also else windows,
        validation_windows(ids["validation"], plan),
        {part: size(texts) for part, texts in parts.items()},
        {part: len(some) for part, some in ids.items()},
        hashlib.sha256(b"".join(some.tobytes() for some in ids.values())).hexdigest(),
    )


def compile_and_tell(config: GPT2Config, tell: Callable[[str], None]) -> tuple[Trainer, dict[str, float]]:
    """Return a trainer, and how many seconds each of its graphs took; until then, Ctrl-C ends the program."""
    from checker.max_adapter.runtime import listeners, notices, prepare
    from play.training.graphs import compile_trainer

    seconds: dict[str, float] = {}

    def note(what: str, took: float | None) -> None:
        if took is not None:
            seconds[what] = round(seconds.get(what, 0.0) + took, 1)

    prepare()
    stopped = interrupts.at_once(lambda: tell("stopped while MAX compiled, before any step"))
    with stopped, telling_of_compiling(listeners):
        listeners.append(note)
        try:
            trainer = compile_trainer(config)
        finally:
            listeners.remove(note)
    for notice in notices:
        tell(notice)
    return trainer, seconds


def advice(folder: Path, plan: Any) -> str:
    """Return how to use what was trained."""
    return f'To write with it: `./run generate "{plan.prompt}" --model {folder / "best"}`'


def size(texts: list[str]) -> int:
    """Return the number of bytes, in UTF-8."""
    return sum(len(text.encode()) for text in texts)
