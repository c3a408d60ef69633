"""Train a GPT-2 on a text, or go on with a training: what ``./run train`` does."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from play.modules import use_mine

OUT = Path("my-gpt2")  # where the model goes, if nothing else is said
LAST_STEP = "step_20"  # training needs the steps up to this one


def train(
    tell: Callable[[str], None],
    *,
    text: tuple[Path, ...],
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
        numbers: of the plan, by its names; None where the plan's own is meant.

    Raises:
        NotWritten: steps are not complete, and the reference is not to stand in.
        WasRefused: a check said no to a step, which is not to run anyway.
        ValueError: an option, a text or a folder cannot be used, the loss is no number, or a save failed.
        OSError: the folder cannot be written.
    """
    given = {name: number for name, number in numbers.items() if number is not None}
    if resume:
        names = [*(["text"] if text else []), *given]
        names += [name for name, one in (("steps", steps), ("minutes", minutes), ("out", out)) if one is not None]
        if names:
            there = ", ".join(f"--{name}" for name in names)
            raise ValueError(f"--resume goes on with what {resume} was begun with; leave out {there}")
    if steps is not None and minutes is not None:
        raise ValueError("give --steps or --minutes, not both")
    if minutes is not None and not 0 < minutes < math.inf:
        raise ValueError(f"--minutes {minutes} is no time; give a number above 0")
    for words in use_mine(fill_in=fill_in, anyway=anyway, last=LAST_STEP) if mine else []:
        tell(words)

    from checker import interrupts
    from checker.max_adapter.runtime import listeners, notices, prepare
    from checker.session.waiting import telling_of_compiling
    from play.training.checkpoint import Folder
    from play.training.curve import as_svg
    from play.training.graphs import compile_trainer, config_of
    from play.training.loop import Session
    from play.training.plan import History, Plan, in_words
    from play.training.texts import read_corpus
    from play.training.windows import Windows, learn_tokenizer, token_ids, validation_windows

    # What is to be done; whatever is wrong with it is said before anything is compiled.
    folder = Folder(resume or out or OUT)
    saved = None
    if resume:
        saved, tokenizer = folder.load()
        plan, history = saved.plan, saved.history
        if saved.step >= plan.steps:
            raise ValueError(f"{resume} is done: it has had all {plan.steps} steps. {advice(folder.path, plan)}")
    else:
        folder.refuse_what_is_there()
        texts = tuple(str(file.absolute()) for file in text)
        plan, history = Plan(**given | {"texts": texts} | ({} if steps is None else {"steps": steps})), History()
    corpus = read_corpus([Path(file) for file in plan.texts])
    if not saved:
        tokenizer = learn_tokenizer(corpus.train, plan.vocab)
    windows = Windows(token_ids(tokenizer, corpus.train), plan)
    held_out = token_ids(tokenizer, corpus.dev)
    digest = hashlib.sha256(windows.tokens.tobytes() + held_out.tobytes()).hexdigest()
    if saved and history.facts["text"] != digest:
        raise ValueError(f"the text has changed since {resume} was begun, so this would be another training")
    config = config_of(plan, tokenizer.get_vocab_size())

    # The graphs.
    compiled: dict[str, float] = {}

    def note(what: str, seconds: float | None) -> None:
        if seconds is not None:
            compiled[what] = compiled.get(what, 0.0) + seconds

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
    session = Session(plan, trainer, tokenizer, windows, validation_windows(held_out, plan), folder, history)

    # The beginning, or the place to go on from.
    if saved:
        trainer.go_on(saved.step, saved.weights, saved.means, saved.squares)
        session.saved_step = saved.step
        tell(f"going on after step {saved.step:,} of {plan.steps:,}")
    else:
        trainer.begin(plan.seed)
        if minutes is not None:
            per_step = session.seconds_per_step()
            plan = session.plan = replace(plan, steps=max(2, int(60 * minutes / per_step)))
            tell(f"a step takes {per_step:.2f} s, so {minutes:g} minutes are {plan.steps:,} steps")
        parameters = sum(array.size for array in trainer.weights.arrays.values())
        history.facts = {
            "parameters": parameters,
            "vocab": config.vocab_size,
            "bytes": {"train": size(corpus.train), "validation": size(corpus.dev)},
            "tokens": {"train": len(windows.tokens), "validation": len(held_out)},
            "text": digest,
            "compile_seconds": {what: round(seconds, 1) for what, seconds in compiled.items()},
            "processor": processor(),
            "code": "steps" if mine else "solutions",
        }
        tell(
            f"{parameters:,} weights; {size(corpus.train):,} bytes to learn are {len(windows.tokens):,} tokens; "
            f"{plan.steps:,} steps are {plan.steps * session.tokens_per_step / len(windows.tokens):.1f} times the text"
        )
        folder.begin(plan, config, tokenizer, trainer.weights.arrays, history)
    if not session.run():
        tell(
            f"stopped after step {trainer.state.step:,} of {plan.steps:,}, which is saved; "
            f"`./run train --resume {folder.path}` goes on"
        )
        return False
    (folder.path / "loss.svg").write_text(as_svg(history), encoding="utf-8")
    best = history.best
    tell(
        f"{plan.steps:,} steps took {in_words(history.seconds)}; the validation loss is lowest after step "
        f"{best['step']:,}: {best['loss']:.3f}, {best['bits_per_byte']:.3f} bits per byte"
    )
    tell(f"{folder.path / 'loss.svg'} shows the loss. {advice(folder.path, plan)}")
    return True


def advice(folder: Path, plan: Any) -> str:
    """Return how to use what was trained."""
    return f'To write with it: `./run generate "{plan.prompt}" --model {folder / "best"}`'


def size(texts: list[str]) -> int:
    """Return the number of bytes, in UTF-8."""
    return sum(len(text.encode()) for text in texts)


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
