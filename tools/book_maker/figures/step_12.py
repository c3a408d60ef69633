"""The figures of step 12: the loop of generation, and what temperature does."""

from functools import cache

import numpy as np
from max.experimental import functional as F

from checker.course.paths import SMALL_MODEL
from checker.max_adapter.runtime import listeners, prepare, tensor
from checker.session.printer import telling_of_compiling
from play.tokens import load_tokenizer
from solutions.solution_12 import next_token_probabilities
from solutions.solution_13 import load_pretrained
from tools.book_maker.drawing.svg import Drawing

PROMPT = "Call me"
TEMPERATURES = (0.5, 1.0, 2.0)
SHOWN = 5  # tokens


def loop(draw: Drawing) -> None:
    """Token ids go through the model; a token is chosen from the last logits and appended to them."""
    ids = draw.box(8, 40, 84, 46, "token ids\n[batch, seq]", size="small")
    model = draw.box(118, 40, 64, 46, "model", "query")
    logits = draw.box(208, 40, 98, 46, "last logits\n[batch, vocab]", "value", size="small")
    choose = draw.box(332, 40, 84, 46, "choose", "accent")
    for start, end in ((ids, model), (model, logits), (logits, choose)):
        draw.arrow(start.right, end.left)
    draw.text(364, 22, "greedy, or a draw")
    draw.arrow(choose.bottom, (choose.bottom[0], 130), (ids.bottom[0], 130), ids.bottom)
    draw.text(212, 144, "one token per row: yielded, and appended")
    draw.text(150, 22, "everything so far")


@cache
def _logits() -> np.ndarray:  # -> [vocab]
    """Return what the small model gives for the token after the prompt."""
    prepare()
    ids = load_tokenizer(SMALL_MODEL).encode(PROMPT).ids
    with F.lazy():
        output = load_pretrained(SMALL_MODEL)(tensor(np.array([ids])))
    with telling_of_compiling(listeners):
        return np.from_dlpack(output)[0, -1]


def likeliest(count: int, temperature: float = 1.0) -> list[tuple[str, float]]:
    """Return the tokens that the small model finds likeliest after the prompt, with their probabilities."""
    tokenizer, logits = load_tokenizer(SMALL_MODEL), _logits()
    probabilities = next_token_probabilities(logits[None], temperature=temperature)[0]
    return [(tokenizer.decode([int(token)]), float(probabilities[token])) for token in logits.argsort()[::-1][:count]]


def temperature(draw: Drawing) -> None:
    """A low temperature puts the probability on the likeliest token, a high one on all the others."""
    for at, temperature in enumerate(TEMPERATURES):
        rows = [(repr(token), probability) for token, probability in likeliest(SHOWN, temperature)]
        rows.append(("others", float(1 - sum(value for _, value in rows))))
        draw.text(202 * at + 115, 14, f"temperature {temperature:g}", bold=True)
        draw.bars(202 * at + 5, 28, 198, rows, labels=62, limit=1.0, row=24)
