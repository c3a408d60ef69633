"""The figures of the introduction: the course at a glance, GPT-2 with its steps, and which step needs which."""

import ast
from pathlib import Path

import numpy as np
from max.experimental import functional as F

from checker.course.steps import SMALL_MODEL, all_steps
from checker.max_adapter.runtime import listeners, prepare, tensor
from checker.session.printer import telling_of_compiling
from play.tokens import load_tokenizer
from solutions.solution_01 import GPT2Config
from solutions.solution_12 import Sampling
from solutions.solution_13 import load_pretrained
from tools.book_maker.drawing.svg import Box, Drawing

WIDTH = 140
NOTE = WIDTH + 44

#: A step has the color of what it builds.
COLORS = {"s04": "key", "s05": "accent", "s06": "accent", "s07": "query", "s11": "value"}
TILE, COLUMNS = 46, 5
PROMPT = "Call me"


def cover(draw: Drawing) -> None:
    """A prompt goes into the files that you write, one per step; out comes how likely each token is next."""
    steps = [step for step in all_steps() if step.name.startswith("step")]
    wide, top = COLUMNS * TILE, 168
    middle, floor = wide / 2, top + 30 + -(-len(steps) // COLUMNS) * TILE
    draw.text(middle, 12, "how likely each token is next", kind="muted")
    draw.bars(-30, 26, wide + 70, [(repr(token), share) for token, share in _likeliest(4)], labels=70)
    draw.arrow((middle, top), (middle, top - 28))
    draw.box(-10, top, wide + 20, floor - top + 10, kind="muted", dashed=True, round=9)
    draw.text(middle, top + 16, "the files that you write", kind="muted")
    for at, step in enumerate(steps):
        x, y = at % COLUMNS * TILE + 3, floor - (at // COLUMNS + 1) * TILE + 3
        draw.box(x, y, TILE - 6, TILE - 6, step.number, COLORS.get(step.task, "plain"), mono=True)
    prompt = draw.box(middle - 50, floor + 40, 100, 36, PROMPT, "accent")
    draw.arrow(prompt.top, (middle, floor + 12))


def _likeliest(count: int) -> list[tuple[str, float]]:
    """Return the tokens that the small model finds likeliest after the prompt, with their probabilities."""
    prepare()
    tokenizer = load_tokenizer(SMALL_MODEL)
    with F.lazy():
        output = load_pretrained(SMALL_MODEL)(tensor(np.array([tokenizer.encode(PROMPT).ids])))
    with telling_of_compiling(listeners):
        logits = np.from_dlpack(output)[0, -1]
    probabilities = Sampling().probabilities(logits[None])[0]
    return [(tokenizer.decode([int(token)]), float(probabilities[token])) for token in logits.argsort()[::-1][:count]]


def model(draw: Drawing) -> None:
    """GPT-2 from its tokens at the bottom to the scores for the next token at the top."""
    middle = WIDTH / 2

    def part(top: float, words: str, step: str, kind: str = "plain") -> Box:
        draw.text(NOTE, top + 18, step, "start")
        return draw.box(0, top, WIDTH, 36, words, kind)

    def block(norm_top: float, words: str, norm_step: str, step: str, kind: str) -> None:
        """Draw a sublayer with its norm below it, and the residual connection around both."""
        fork, join = norm_top + 48, norm_top - 70
        norm, sublayer = part(norm_top, "LayerNorm", norm_step), part(norm_top - 50, words, step, kind)
        draw.arrow(norm.top, sublayer.bottom)
        draw.arrow(sublayer.top, (middle, join + 9))
        draw.circle(middle, join, 9, "+")
        draw.arrow((middle, fork), (-22, fork), (-22, join), (middle - 9, join), kind="accent")
        draw.arrow((middle, fork + 4), norm.bottom)

    draw.text(middle, 16, "scores for the next token", size="normal")
    head, last_norm = part(40, "lm_head", "step 11,\ntied to wte", "value"), part(90, "LayerNorm ln_f", "step 10")
    draw.arrow(head.top, (middle, 25))
    draw.arrow(last_norm.top, head.bottom)
    draw.arrow((middle, 148), last_norm.bottom)
    draw.box(-38, 142, WIDTH + 76, 280, dashed=True, kind="muted")
    block(230, "GPT2MLP", "", "step 04", "key")
    block(362, "attention", "step 03", "step 07,\nmasked by 02", "query")
    draw.text(NOTE, 162, "residual: step 08", "start", kind="accent")
    draw.brace(-44, 142, 280, f"{GPT2Config().n_layer} times\nstep 09", "left")
    draw.arrow((middle, 460), (middle, 400))
    draw.circle(middle, 460, 9, "+")
    draw.text(NOTE, 503, "steps 05, 06", "start")
    for x, words, below, aside in ((28, "wte", "token numbers", -9), (WIDTH - 28, "wpe", "positions", 9)):
        table = draw.box(x - 32, 485, 64, 36, words, "accent")
        draw.arrow(table.top, (x, 460), (middle + aside, 460))
        draw.arrow((x, 542), table.bottom)
        draw.text(x, 551, below)


def needs(draw: Drawing) -> None:
    """For every step, the earlier steps that its solution imports."""
    steps = [step for step in all_steps() if step.name.startswith("step")]
    modules = [f"solutions.{step.solution_file.stem}" for step in steps]
    needed = np.array([[module in _imports(step.solution_file) for module in modules] for step in steps], float)
    rows, columns = [step.task for step in steps], [step.number for step in steps]
    later = np.triu(np.ones_like(needed, bool))
    draw.matrix(0, 0, needed, rows=rows, columns=columns, cell=20, spec=None, masked=later)


def _imports(path: Path) -> set[str]:
    """Return the modules that a file imports from; a kernel imports none of them."""
    if path.suffix != ".py":
        return set()
    return {node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
