"""The figures of the introduction: GPT-2 with the step that builds each part, and which step needs which."""

import ast
from pathlib import Path

import numpy as np

from checker.course.steps import all_steps
from solutions.solution_01 import GPT2Config
from tools.book_maker.drawing.svg import arrow, box, brace, circle, figure, matrix, polyline, text

WIDTH, LEFT = 210, 140


def model() -> str:
    """Draw GPT-2 from the bottom up: the numbers beside the parts are the steps of this course."""
    layers = GPT2Config().n_layer
    middle = LEFT + WIDTH / 2

    def part(top: float, words: str, step: str, kind: str = "plain") -> str:
        return "\n".join(
            [
                box(LEFT, top, WIDTH, 36, words, kind=kind),  # type: ignore[arg-type]
                text(LEFT + WIDTH + 55, top + 18, step, anchor="start", size="small"),
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
        570,
        565,
        text(middle, 16, "scores for the next token"),
        arrow(middle, 40, middle, 25),
        part(40, "lm_head", "step 11, tied to wte", "value"),
        arrow(middle, 104, middle, 76),
        part(90, "LayerNorm ln_f", "step 10"),
        arrow(middle, 148, middle, 126),
        box(LEFT - 45, 142, WIDTH + 90, 280, dashed=True, kind="muted"),
        block(230, "GPT2MLP", "", "step 04", "key"),
        block(362, "attention", "step 03", "step 07, masked by 02", "query"),
        text(LEFT + WIDTH + 55, 162, "residual: step 08", anchor="start", size="small", kind="accent"),
        brace(LEFT - 52, 142, 280, f"{layers} times\nstep 09", side="left"),
        arrow(middle, 460, middle, 400),
        circle(middle, 460, 9, "+"),
        box(LEFT, 485, 95, 36, "wte", kind="accent"),
        box(LEFT + WIDTH - 95, 485, 95, 36, "wpe", kind="accent"),
        polyline([(LEFT + 48, 485), (LEFT + 48, 460), (middle - 9, 460)], head=True),
        polyline([(LEFT + WIDTH - 48, 485), (LEFT + WIDTH - 48, 460), (middle + 9, 460)], head=True),
        text(LEFT + WIDTH + 55, 503, "steps 05, 06", anchor="start", size="small"),
        arrow(LEFT + 48, 542, LEFT + 48, 521),
        arrow(LEFT + WIDTH - 48, 542, LEFT + WIDTH - 48, 521),
        text(LEFT + 48, 551, "token numbers", size="small"),
        text(LEFT + WIDTH - 48, 551, "positions", size="small"),
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
    """Return the modules that a file imports from."""
    return {node.module or "" for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)}
