"""The figures of the introduction: the course at a glance, GPT-2 with its steps, and which step needs which."""

import ast
from pathlib import Path

import numpy as np

from checker.course.steps import all_steps
from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing.svg import Kind, arrow, bars, box, brace, circle, figure, matrix, polyline, text
from tools.book_maker.figures.step_12 import PROMPT, likeliest

WIDTH, LEFT = 140, 116
NOTE = LEFT + WIDTH + 44

#: A step has the color of what it builds.
COLORS: dict[str, Kind] = {"s04": "key", "s05": "accent", "s06": "accent", "s07": "query", "s11": "value"}
TILE, COLUMNS = 46, 5


def cover() -> str:
    """Draw the course: a prompt, the files that a learner writes, and what the small model finds likely next."""
    steps = [step for step in all_steps() if step.name.startswith("step")]
    rows = -(-len(steps) // COLUMNS)
    wide, left, top = COLUMNS * TILE, 50, 168
    middle, floor = left + wide / 2, top + 30 + rows * TILE
    tiles = [
        box(
            left + at % COLUMNS * TILE + 3,
            floor - (at // COLUMNS + 1) * TILE + 3,
            TILE - 6,
            TILE - 6,
            step.number,
            kind=COLORS.get(step.task, "plain"),
            mono=True,
        )
        for at, step in enumerate(steps)
    ]
    return figure(
        2 * left + wide,
        floor + 82,
        text(middle, 12, "how likely each token is next", size="small", kind="muted"),
        bars(20, 26, 2 * left + wide - 30, [(repr(token), share) for token, share in likeliest(4)], labels=70),
        arrow(middle, top, middle, top - 28),
        box(left - 10, top, wide + 20, floor - top + 10, kind="muted", dashed=True, round=9),
        text(middle, top + 16, "the files that you write", size="small", kind="muted"),
        *tiles,
        arrow(middle, floor + 40, middle, floor + 12),
        box(middle - 50, floor + 40, 100, 36, PROMPT, kind="accent"),
        title="A prompt goes into the files that you write, one per step; out comes how likely each token is next",
    )


def model() -> str:
    """Draw GPT-2 from the bottom up: the numbers beside the parts are the steps of this course."""
    layers = GPT2Config().n_layer
    middle, tokens, positions = LEFT + WIDTH / 2, LEFT + 28, LEFT + WIDTH - 28

    def part(top: float, words: str, step: str, kind: str = "plain") -> str:
        return "\n".join(
            [
                box(LEFT, top, WIDTH, 36, words, kind=kind),  # type: ignore[arg-type]
                text(NOTE, top + 18, step, anchor="start", size="small"),
            ]
        )

    def block(norm_top: float, words: str, norm_step: str, step: str, kind: str) -> str:
        """Draw a sublayer with its norm below it, and the residual connection around both."""
        fork, join = norm_top + 48, norm_top - 68
        return "\n".join(
            [
                part(norm_top, "LayerNorm", norm_step),
                arrow(middle, norm_top, middle, norm_top - 14),
                part(norm_top - 50, words, step, kind),
                arrow(middle, norm_top - 50, middle, norm_top - 61),
                circle(middle, join - 2, 9, "+"),
                polyline(
                    [(middle, fork), (LEFT - 22, fork), (LEFT - 22, join - 2), (middle - 9, join - 2)],
                    head=True,
                    kind="accent",
                ),
                arrow(middle, fork + 4, middle, norm_top + 36),
            ]
        )

    return figure(
        425,
        565,
        text(middle, 16, "scores for the next token"),
        arrow(middle, 40, middle, 25),
        part(40, "lm_head", "step 11,\ntied to wte", "value"),
        arrow(middle, 104, middle, 76),
        part(90, "LayerNorm ln_f", "step 10"),
        arrow(middle, 148, middle, 126),
        box(LEFT - 38, 142, WIDTH + 76, 280, dashed=True, kind="muted"),
        block(230, "GPT2MLP", "", "step 04", "key"),
        block(362, "attention", "step 03", "step 07,\nmasked by 02", "query"),
        text(NOTE, 162, "residual: step 08", anchor="start", size="small", kind="accent"),
        brace(LEFT - 44, 142, 280, f"{layers} times\nstep 09", side="left"),
        arrow(middle, 460, middle, 400),
        circle(middle, 460, 9, "+"),
        box(tokens - 32, 485, 64, 36, "wte", kind="accent"),
        box(positions - 32, 485, 64, 36, "wpe", kind="accent"),
        polyline([(tokens, 485), (tokens, 460), (middle - 9, 460)], head=True),
        polyline([(positions, 485), (positions, 460), (middle + 9, 460)], head=True),
        text(NOTE, 503, "steps 05, 06", anchor="start", size="small"),
        arrow(tokens, 542, tokens, 521),
        arrow(positions, 542, positions, 521),
        text(tokens, 551, "token numbers", size="small"),
        text(positions, 551, "positions", size="small"),
        title="GPT-2 from its tokens at the bottom to the scores for the next token at the top",
    )


def needs() -> str:
    """Draw which step's solution imports which earlier ones: a row needs the filled columns."""
    steps = [step for step in all_steps() if step.name.startswith("step")]
    modules = [f"solutions.{step.solution_file.stem}" for step in steps]
    needed = np.array([[module in imports(step.solution_file) for module in modules] for step in steps], float)
    square, left, top = 20, 44, 40
    later = np.triu(np.ones_like(needed, bool))
    return figure(
        left + square * len(steps) + 10,
        top + square * len(steps) + 10,
        matrix(
            left,
            top,
            needed,
            rows=[step.task for step in steps],
            columns=[step.number for step in steps],
            cell=square,
            spec=None,
            masked=later,
        ),
        title="For every step, the earlier steps that its solution imports",
    )


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports from; a kernel imports none of them."""
    if path.suffix != ".py":
        return set()
    return {node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
