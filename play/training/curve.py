"""The loss over the steps: the points that a page draws, and the page in a training's folder, drawn as in the book."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from play.browser.page import as_html

POINTS = 300  # of the curve; in a longer training, each is the mean of several steps


def as_points(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what a page draws of the figures of a training, those of ``training.json``.

    Each evaluation gets the mean training loss since the one before, as the command prints it.
    """
    losses, evaluations = figures["losses"], figures["evaluations"]
    runs = np.array_split(np.array(losses), min(len(losses), POINTS) or 1)
    ends = np.cumsum([len(run) for run in runs]).tolist()
    before = [0, *(evaluation["step"] for evaluation in evaluations)]
    return {
        "planned": figures["plan"]["steps"],
        "guessing": math.log(figures["facts"]["vocab"]),
        "losses": [[end, round(float(run.mean()), 4)] for end, run in zip(ends, runs, strict=True) if len(run)],
        "evaluations": [
            {
                "step": evaluation["step"],
                "training": float(np.mean(since)) if (since := losses[start : evaluation["step"]]) else None,
                "held out": evaluation["loss"],
                "bits per byte": evaluation["bits_per_byte"],
            }
            for start, evaluation in zip(before, evaluations, strict=False)
        ],
        "samples": [{"step": sample["step"], "text": sample["text"]} for sample in figures["samples"]],
    }


def as_page(figures: dict[str, Any], folder: str) -> str:
    """Return one HTML file that needs no other and shows the figures of a training in ``folder``."""
    return as_html("training", f"The loss of {folder}", as_points(figures) | {"folder": folder})
