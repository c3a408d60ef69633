"""The figure of step 12: the loop of generation."""

from tools.book_maker.drawing.svg import Drawing


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
