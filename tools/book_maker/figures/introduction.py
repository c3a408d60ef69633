"""The figures of the introduction: the course at a glance, and GPT-2 with its steps."""

from checker.course.steps import all_steps
from play.whale import read
from solutions.solution_01 import GPT2Config
from solutions.solution_12 import Sampling
from tools.book_maker.drawing.svg import Box, Drawing

WIDTH = 140
NOTE = WIDTH + 44

#: A step has the color of what it builds.
COLORS = {"s04": "key", "s05": "accent", "s06": "accent", "s07": "query", "s11": "value"}
TILE, COLUMNS = 46, 5
PROMPT = "The whale struck the ship, and it"


def cover(draw: Drawing) -> None:
    """A prompt goes into the files that you write, one per step; out comes how likely each token is next."""
    steps = [step for step in all_steps() if not step.is_warmup]
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
    prompt = draw.box(middle - 124, floor + 40, 248, 36, PROMPT, "accent", size="small")
    draw.arrow(prompt.top, (middle, floor + 12))


def _likeliest(count: int) -> list[tuple[str, float]]:
    """Return the tokens that the small model finds likeliest after the prompt, with their probabilities."""
    prompt = read(PROMPT)
    shares = Sampling().probabilities(prompt["logits"][-1:])[0]
    return [(prompt["vocabulary"][token], float(shares[token])) for token in shares.argsort()[::-1][:count]]


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
