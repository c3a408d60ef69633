"""The figure of step 08: where the normalization stands."""

from tools.book_maker.drawing.svg import Drawing


def pre_and_post(draw: Drawing) -> None:
    """With pre-norm one path from x to the output has only sums; with post-norm all pass the norm."""
    _block(draw, 0, "pre-norm: GPT-2", ["norm", "sublayer"], [], "good")
    _block(draw, 220, "post-norm", ["sublayer"], ["norm"], "bad")


def _block(draw: Drawing, middle: float, title: str, inside: list[str], above: list[str], kind: str) -> None:
    """Draw a path straight up beside a sublayer, with parts ``inside`` the bypass and ``above`` the sum."""
    draw.heading(middle, 14, title)
    draw.text(middle, 244, "x", size="normal", mono=True, bold=True)

    def part(words: str, foot: float, length: float) -> float:
        """Draw a part at the end of an arrow; return where its top is."""
        color = "key" if words == "sublayer" else "plain"
        drawn = draw.box(middle - 55, foot - length - 32, 110, 32, words, color, mono=True)
        draw.arrow((middle, foot), drawn.bottom)
        return drawn.y

    y = 232.0
    for words in inside:
        y = part(words, y, 28)
    join = y - 26
    draw.arrow((middle, y), (middle, join + 10))
    draw.circle(middle, join, 10, "+")
    draw.arrow((middle, 218), (middle - 84, 218), (middle - 84, join), (middle - 10, join), kind=kind)
    y = join - 10
    for words in above:
        y = part(words, y, 22)
    draw.arrow((middle, y), (middle, 34))
