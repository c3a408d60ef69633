"""The loss of the recorded training: drawn from ``tools/benchmarks/figures/training.json``."""

from __future__ import annotations

from play.training.curve import thinned
from tools.book_maker.drawing.svg import Axis, Drawing
from tools.book_maker.values.training import guessing, history, plan


def loss() -> str:
    """Draw the losses of all steps, and those of the held-out text with the lowest in a ring."""
    steps, losses = thinned(history.losses)
    evaluated = [evaluation["step"] for evaluation in history.evaluations]
    held_out = [evaluation["loss"] for evaluation in history.evaluations]
    draw = Drawing(
        f"The loss falls from {held_out[0]:.1f} nats per token to {held_out[-1]:.1f} on text that is held out"
    )
    names = (("training", "query"), ("held-out text", "key"), ("guessing all tokens alike", "muted"))
    draw.legend(60, 12, names, lines=True)
    low, high = int(min(*losses, *held_out)), int(max(*losses, *held_out)) + 1
    step = Axis(0, plan.steps, [plan.steps * part / 4 for part in range(5)], "step")
    plot = draw.plot((60, 50, 540, 240), step, Axis(low, high, range(low, high + 1), "nats per token"))
    plot.curve([0, plan.steps], [guessing, guessing], "muted", dashed=True)
    plot.curve(steps, losses, "query")
    plot.curve(evaluated, held_out, "key", radius=3)
    plot.dots([history.best["step"]], [history.best["loss"]], "key", radius=6)
    return draw.svg()
