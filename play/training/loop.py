"""The training itself: steps, evaluations, samples and saves, and the lines that are printed about them."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng

from checker.errors import UserError
from checker.max_adapter.runtime import tensor
from play.generation.options import WriterOptions
from play.generation.streaming import new_tokens, pieces_of_text
from play.signals import putting_off_signals
from play.tokens import encode
from play.training.folder import Folder, SavedTraining
from play.training.graphs import Trainer
from play.training.plan import EVALUATIONS, HEADER, SAMPLES, History, Plan, duration
from play.training.windows import Material, count_bytes
from solutions.solution_12 import Sampling
from solutions.solution_16 import bits_per_byte
from solutions.solution_20 import learning_rate
from solutions.training import Batch

SAVE_EVERY = 30.0  # seconds, in addition to after each evaluation
SAMPLE_TOKENS = 60
TRIED_STEPS = 4  # to learn how long a step takes; the first does not count

SPEED = f"{'tokens/s':>8}  left"


def print_line(text: str) -> None:
    """Print a line below the one that a terminal shows for the moment."""
    show_for_now("")
    print(text, flush=True)


def show_for_now(text: str) -> None:
    """Show a line on a terminal that the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def resuming(folder: Folder, history: History) -> str:
    """Return the command that continues the training in a folder, with the code that it was begun with."""
    mine = " --mine" if history.facts.get("code") == "steps" else ""
    return f"./run train --resume {shlex.quote(str(folder.path))}{mine}"


@dataclass
class Training:
    """One training, from its beginning or from wherever it was saved."""

    plan: Plan
    trainer: Trainer
    material: Material
    folder: Folder
    history: History

    def __post_init__(self) -> None:
        self.tokenizer, self.validation = self.material.tokenizer, self.material.validation
        self.bytes = count_bytes(self.tokenizer, self.validation)
        self.tokens_per_step = self.plan.accumulate * self.plan.batch * (self.plan.positions - 1)
        self.saved_step, self.saved_at = self.trainer.step, time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether its last step is done."""
        return self.trainer.step >= self.plan.steps

    def batches_of(self, step: int) -> Iterator[Batch]:
        """Yield the batches of a step; their labels are their tokens, which the loss of step 16 shifts."""
        for input_ids in self.material.windows.batches(step):
            yield tensor(input_ids), tensor(input_ids)

    def rate_of(self, step: int) -> float:
        """Return the learning rate of a step."""
        plan = self.plan
        return learning_rate(step, peak=plan.rate, warmup_steps=plan.warmup_steps, total_steps=plan.steps)

    def steps(self, until: int) -> Iterator[float]:
        """Train until a step, and yield the loss of each.

        Raises:
            FloatingPointError: the loss, or a weight after it, is not finite.
        """
        trainer = self.trainer
        while trainer.step < until:
            step = trainer.step + 1
            loss, _ = trainer.learn(self.batches_of(step), self.rate_of(step))
            if not all(np.isfinite(whole).all() for whole in trainer.groups["weights"].wholes.values()):
                raise FloatingPointError(f"after step {step} some weights are not finite")
            yield loss

    @contextmanager
    def diverging(self) -> Iterator[None]:
        """While this is open, turn the error of a number that is not finite into advice.

        Raises:
            UserError: a loss, weight or logit is not a finite number.
        """
        try:
            yield
        except FloatingPointError as error:
            if self.trainer.step == 0:
                what_to_do = "and no step has changed the weights yet, so it is the model that computes this"
            else:
                what_to_do = (
                    "the weights have left what float32 can hold. Begin again in another --out with a lower --rate "
                    f"than {self.plan.rate}"
                )
            raise UserError(f"{error}: {what_to_do}") from error

    def seconds_per_step(self) -> float:
        """Return how long a step takes, from timing a few whose effect is discarded."""
        times = [time.perf_counter()]
        with self.diverging():
            times += [time.perf_counter() for _ in self.steps(TRIED_STEPS)]
        self.trainer.begin(self.plan.seed)
        return float(np.median(np.diff(times)[1:]))

    def run(self) -> None:
        """Train until the last step, or until the step in which a signal comes, and save it.

        Raises:
            KeyboardInterrupt: a signal came before the last step.
            UserError: the loss, or a weight, is not a finite number, or a save failed.
        """
        try:
            with self.diverging():
                if not self.history.evaluations:
                    self.begin()
                print_line(f"{HEADER}  {SPEED}")
                steps = self.steps(self.plan.steps)
                while not self.is_over:
                    with putting_off_signals():
                        started = time.perf_counter()
                        self.history.losses.append(next(steps))
                        self.history.seconds += time.perf_counter() - started
                        self.after_step()
        except KeyboardInterrupt:
            if self.saved_step < self.trainer.step:
                self.save()
            if not self.is_over:
                raise
        finally:
            show_for_now("")

    def begin(self) -> None:
        """Evaluate before the first step."""
        loss, vocab = self.evaluate()["loss"], self.trainer.config.vocab_size
        guessing = f"guessing among {vocab:,} tokens costs ln {vocab} = {math.log(vocab):.2f}"
        print_line(f"Before the first step the loss is {loss:.2f}; {guessing}.")

    def after_step(self) -> None:
        """Evaluate, write a sample, save, and print, each if it is due."""
        step, history = self.trainer.step, self.history
        speed = f"{step * self.tokens_per_step / history.seconds:,.0f}"
        left = duration((self.plan.steps - step) * history.seconds / step)
        if has_sample := self.plan.is_one_of(SAMPLES, step):
            history.samples.append({"step": step, "text": self.sample(step)})
        if self.plan.is_one_of(EVALUATIONS, step):
            self.evaluate()
            print_line(f"{history.line(-1)}  {speed:>8}  {left}")
        elif time.monotonic() - self.saved_at > SAVE_EVERY:
            self.save()
        if has_sample:
            print_line(f"\n{history.samples[-1]['text']}\n")
        done = f"step {step:,} of {self.plan.steps:,}, loss {history.losses[-1]:.3f}"
        show_for_now(f"{done}, {speed} tokens/s, {left} left")

    def evaluate(self) -> dict[str, float]:
        """Measure the loss of the held-out text, and save; return the evaluation.

        Raises:
            UserError: the save failed.
        """
        step = self.trainer.step
        loss, count = self.trainer.loss(self.validation)
        evaluation = {"step": step, "loss": loss, "bits_per_byte": bits_per_byte(loss, count, self.bytes)}
        self.history.evaluations.append(evaluation)
        self.save(best=self.history.best is evaluation)
        return evaluation

    def save(self, *, best: bool = False) -> None:
        """Save.

        Raises:
            UserError: the disk is full, say; the last save stays.
        """
        step = self.trainer.step
        try:
            self.folder.save(self.saved(), best=best)
        except OSError as error:
            raise UserError(
                f"step {step} could not be saved ({error.strerror}), and {self.folder.path} holds step "
                f"{self.saved_step}. Make room, then continue with `{resuming(self.folder, self.history)}`"
            ) from error
        self.saved_step, self.saved_at = step, time.monotonic()

    def saved(self) -> SavedTraining:
        """Return the state from which the training can be resumed, as it is now."""
        return SavedTraining(self.plan, self.history, self.trainer.step, self.trainer.kept())

    def stopped(self) -> str:
        """Return a sentence on what a signal leaves: the last step or, if saving it took too long, the save before."""
        last = f"stopped after step {self.trainer.step:,} of {self.plan.steps:,}"
        kept = "which is saved" if self.saved_step == self.trainer.step else f"and step {self.saved_step:,} is saved"
        return f"{last}, {kept}; `{resuming(self.folder, self.history)}` continues it"

    def sample(self, seed: int) -> str:
        """Return a text that the model writes now, as ``generate`` does by default: the prompt and its continuation."""
        tokens = new_tokens(
            self.trainer.logits,
            self.tokenizer,
            encode(self.tokenizer, self.plan.prompt, self.trainer.config),
            SAMPLE_TOKENS,
            Sampling(WriterOptions.temperature, WriterOptions.top_k),
            n_positions=self.plan.positions,
            rng=default_rng(seed),
        )
        return self.plan.prompt + "".join(pieces_of_text(tokens, self.tokenizer))
