"""The loss of the recorded training: drawn from ``tools/benchmarks/figures/training.json``."""

from __future__ import annotations

from play.training.curve import thinned
from tools.book_maker.drawing.svg import Plot, figure, line, text
from tools.book_maker.values.training import guessing, history, plan


def loss() -> str:
    """Draw the losses of all steps, and those of the held-out text with the lowest in a ring."""
    steps, losses = thinned(history.losses)
    at, found = ([one[name] for one in history.evaluations] for name in ("step", "loss"))
    low, high = int(min([*losses, *found])), int(max([*losses, *found])) + 1
    plot = Plot(60, 50, 540, 240, (0, plan.steps), (low, high))
    best = history.best
    return figure(
        640,
        340,
        line(60, 12, 84, 12, kind="query"),
        text(90, 12, "training", anchor="start", size="small"),
        line(190, 12, 214, 12, kind="key"),
        text(220, 12, "held-out text", anchor="start", size="small"),
        line(340, 12, 364, 12, kind="muted", dashed=True),
        text(370, 12, "guessing all tokens alike", anchor="start", size="small"),
        plot.axes(
            x_ticks=[plan.steps * part / 4 for part in range(5)],
            y_ticks=list(range(low, high + 1)),
            x_label="step",
            y_label="nats per token",
        ),
        plot.curve([0, plan.steps], [guessing, guessing], kind="muted", dashed=True),
        plot.curve(list(map(float, steps)), list(map(float, losses)), kind="query"),
        plot.curve(at, found, kind="key"),
        plot.dots(at, found, kind="key", radius=3),
        plot.dots([best["step"]], [best["loss"]], kind="key", radius=6),
        title=f"The loss falls from {found[0]:.1f} nats per token to {found[-1]:.1f} on text that is held out",
    )
