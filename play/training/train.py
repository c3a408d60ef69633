"""Train a GPT-2 on a text, or resume a training (``./run train``)."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.course.steps import SAMPLING, TRAINING
from checker.errors import UserError
from play.mine.choice import OwnSteps
from play.processor import processor_name
from play.signals import exiting_on_signals, putting_off_signals
from play.startup import Tell, ready_to_run, tell_stopped
from play.training.places import BEST, new, resumed
from play.training.plan import CURVE, OUT, History, Plan, duration

if TYPE_CHECKING:  # at run time only once it is decided whose modules these import
    from play.training.folder import Folder
    from play.training.loop import Training


def run_training(
    tell: Tell,
    *,
    text: tuple[Path, ...] = (),
    also: tuple[Path, ...] = (),
    minutes: float | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    own: OwnSteps | None = None,
    **numbers: Any,
) -> None:
    """Train, and say how it goes. After a signal it can be resumed, and the program ends, saying so.

    Args:
        numbers: the plan's numbers by name, ``steps`` among them; None stands for the plan's default.

    Raises:
        ValueError: an option, a text or a folder cannot be used, the loss is not a number, or a save failed; or the
            learner's steps cannot run: see :func:`play.startup.ready_to_run`.
    """
    numbers = {name: number for name, number in numbers.items() if number is not None}
    require_consistent(numbers, resume, minutes, text=text, also=also, out=out)
    path = resume or out or OUT
    with resumed(path) if resume else new(path) as (place, is_new):
        stop = Stop(tell, place if is_new else None)
        with exiting_on_signals(stop.tell_end):
            with ready_to_run(tell, [TRAINING, SAMPLING], own):
                from play.training.folder import Folder

                folder = Folder(path, place)
                if resume:
                    training = stop.training = go_on(folder, tell, mine=own is not None)
                else:
                    plan = Plan(**numbers, texts=absolute(text), also=absolute(also))
                    training = begin(folder, plan, tell, minutes=minutes, mine=own is not None)
                    with putting_off_signals():
                        folder.begin(training.trainer.config, training.tokenizer, training.saved())
                        stop.training = training
            training.run()
    tell_done(training, tell)


@dataclass
class Stop:
    """What to tell when a signal stops a training: that it can be resumed, or that it had not begun."""

    tell: Tell
    new_folder: Path | None  # in which a new training is made
    training: Training | None = None

    def tell_end(self, by: str) -> None:
        """Tell what is left, and leave no empty folder."""
        if self.new_folder:
            with suppress(OSError):
                self.new_folder.rmdir()  # which is empty while MAX compiles
        tell_stopped(self.tell, self.training.stopped() if self.training else f"stopped by {by}")


def absolute(files: Iterable[Path]) -> tuple[str, ...]:
    """Return the absolute paths of files."""
    return tuple(str(file.absolute()) for file in files)


def tell_done(training: Training, tell: Tell) -> None:
    """Tell how a training has ended, and what to do with the model."""
    plan, history, folder = training.plan, training.history, training.folder
    best = history.best
    tell(
        f"{plan.steps:,} steps took {duration(history.seconds)}; the validation loss is lowest after step "
        f"{best['step']:,}: {best['loss']:.3f}, {best['bits_per_byte']:.3f} bits per byte"
    )
    tell(f"{folder.path / CURVE} shows the loss in a browser. {advice(folder, plan)}")


def require_consistent(numbers: dict[str, Any], resume: Path | None, minutes: float | None, **files: Any) -> None:
    """Refuse options that do not go together, or an impossible time.

    Raises:
        UserError: the options do not; the message names them.
    """
    given = {name: value for name, value in [*files.items(), ("minutes", minutes)] if value}
    chosen = numbers | given
    if resume and chosen:
        names = ", ".join(f"--{name}" for name in chosen)
        raise UserError(f"--resume continues with the options that {resume} was begun with; leave out {names}")
    if "share" in chosen and "also" not in chosen:
        raise UserError("--share is that of --text among other texts; give those with --also")
    if "steps" in chosen and minutes is not None:
        raise UserError("give --steps or --minutes, not both")
    if minutes is not None and not 0 < minutes < math.inf:
        raise UserError(f"--minutes {minutes} is not a time; give a number above 0")


def begin(folder: Folder, plan: Plan, tell: Tell, *, minutes: float | None, mine: bool) -> Training:
    """Return a training at its first step; given a number of ``minutes``, time a few steps to plan as many as fit.

    Raises:
        UserError: a text cannot be used; that shows before anything is compiled.
    """
    from play.training.graphs import compile_trainer, config_of
    from play.training.loop import Training
    from play.training.windows import read_material

    material = read_material(plan)
    config = config_of(plan, material.tokenizer.get_vocab_size())
    trainer = compile_trainer(config)
    trainer.begin(plan.seed)
    training = Training(plan, trainer, material, folder, History())
    if minutes is not None:
        per_step = training.seconds_per_step()
        plan = replace(plan, steps=max(2, int(60 * minutes / per_step)))
        training = Training(plan, trainer, read_material(plan, material.tokenizer), folder, History())
        tell(f"a step takes {per_step:.2f} s, so {minutes:g} minutes are enough for {plan.steps:,} steps")
    training.history.facts = {
        "parameters": sum(array.size for array in trainer.kept()["weights"].values()),
        "vocab": config.vocab_size,
        "bytes": material.bytes,
        "tokens": material.tokens,
        "text": material.digest,
        "processor": processor_name(),
        "code": "steps" if mine else "solutions",
    }
    tell_sizes(training, tell)
    return training


def tell_sizes(training: Training, tell: Tell) -> None:
    """Tell how large the model is and its texts are, and how often the steps read these."""
    plan, facts = training.plan, training.history.facts
    sizes, tokens = facts["bytes"], facts["tokens"]
    read = plan.steps * training.tokens_per_step
    times = (plan.share if plan.also else 1) * read / tokens["train"]
    tell(
        f"{facts['parameters']:,} weights; {sizes['train']:,} bytes to learn are {tokens['train']:,} tokens; "
        f"{plan.steps:,} steps are {times:.1f} times the text"
    )
    if plan.also:
        times = (1 - plan.share) * read / tokens["also"]
        tell(f"and {times:.1f} times the other texts: {sizes['also']:,} bytes, {tokens['also']:,} tokens")


def go_on(folder: Folder, tell: Tell, *, mine: bool) -> Training:
    """Continue the training in a folder from its last save.

    Raises:
        UserError: there is no training, it is done, or its text or its code is not what it was begun with.
    """
    from play.training.graphs import compile_trainer, config_of
    from play.training.loop import Training, resuming
    from play.training.windows import read_material

    saved, tokenizer = folder.load()
    plan, history = saved.plan, saved.history
    begun_with_mine = history.facts.get("code") == "steps"
    if begun_with_mine != mine:
        whose = "your own steps" if begun_with_mine else "the solutions"
        raise UserError(f"{folder.path} was begun with {whose}; continue with `{resuming(folder, history)}`")
    if saved.is_over:
        raise UserError(f"{folder.path} is done: it has had all {plan.steps} steps. {advice(folder, plan)}")
    material = read_material(plan, tokenizer)
    if history.facts["text"] != material.digest:
        raise UserError(
            f"the text has changed since {folder.path} was begun; restore it, or start a new training with --out"
        )
    trainer = compile_trainer(config_of(plan, tokenizer.get_vocab_size()))
    trainer.go_on(saved.step, saved.groups)
    tell(f"going on after step {saved.step:,} of {plan.steps:,}")
    return Training(plan, trainer, material, folder, history)


def advice(folder: Folder, plan: Plan) -> str:
    """Return how to use the trained model."""
    prompt, model = shlex.quote(plan.prompt), shlex.quote(str(folder.path / BEST))
    return f"To write with it: `./run generate {prompt} --model {model}`"
