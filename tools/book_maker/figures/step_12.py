"""The figures of step 12: the loop of generation, and what temperature does."""

from functools import cache

import numpy as np

from checker.course.paths import ROOT
from tools.book_maker.drawing.svg import arrow, bars, box, figure, polyline, text

FOLDER = ROOT / "models" / "moby-dick"
PROMPT = "Call me"
TEMPERATURES = (0.5, 1.0, 2.0)
SHOWN = 5  # tokens


def loop() -> str:
    """Draw the way from the sequence through the model and a choice, and back."""
    return figure(
        424,
        176,
        box(8, 40, 84, 46, "token ids\n[batch, seq]", size="small"),
        arrow(92, 63, 118, 63),
        box(118, 40, 64, 46, "model", kind="query"),
        arrow(182, 63, 208, 63),
        box(208, 40, 98, 46, "last logits\n[batch, vocab]", size="small", kind="value"),
        arrow(306, 63, 332, 63),
        box(332, 40, 84, 46, "choose", kind="accent"),
        text(364, 22, "greedy, or a draw", size="small"),
        polyline([(374, 86), (374, 130), (50, 130), (50, 86)], head=True),
        text(212, 144, "one token per row: yielded, and appended", size="small"),
        text(150, 22, "everything so far", size="small"),
        title="Token ids go through the model; a token is chosen from the last logits and appended to them",
    )


@cache
def _logits() -> np.ndarray:  # -> [vocab]
    """Return what the small model gives for the token after the prompt."""
    from max.experimental import functional as F
    from max.experimental.tensor import Tensor
    from tokenizers import Tokenizer

    from checker.max_adapter.runtime import listeners, prepare
    from checker.session.waiting import telling_of_compiling
    from solutions.solution_13 import load_pretrained

    prepare()
    ids = Tokenizer.from_file(str(FOLDER / "tokenizer.json")).encode(PROMPT).ids
    with F.lazy():
        output = load_pretrained(FOLDER)(Tensor.from_dlpack(np.array([ids])))
    with telling_of_compiling(listeners):
        return np.from_dlpack(output)[0, -1]


def likeliest(count: int, temperature: float = 1.0) -> list[tuple[str, float]]:
    """Return the tokens that the small model finds likeliest after the prompt, with their probabilities."""
    from tokenizers import Tokenizer

    from solutions.solution_12 import next_token_probabilities

    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    logits = _logits()
    shown = logits.argsort()[::-1][:count]
    probabilities = next_token_probabilities(logits[None], temperature=temperature)[0]
    return [(tokenizer.decode([int(token)]), float(probabilities[token])) for token in shown]


def temperature() -> str:
    """Draw bars of the likeliest tokens' probabilities, one panel per temperature."""
    largest = likeliest(1, min(TEMPERATURES))[0][1]
    parts = []
    for at, one in enumerate(TEMPERATURES):
        left = 5 + 202 * at
        rows = [(repr(token), probability) for token, probability in likeliest(SHOWN, one)]
        rows.append(("others", float(1 - sum(value for _, value in rows))))
        parts.append(text(left + 110, 14, f"temperature {one:g}", bold=True, size="small"))
        parts.append(bars(left, 28, 198, rows, spec=".2f", labels=62, limit=max(largest, 1.0), row=24))
    return figure(
        620,
        28 + 24 * (SHOWN + 1) + 8,
        *parts,
        title="A low temperature puts the probability on the likeliest token, a high one on all the others",
    )
