"""The figure of step 18: the way back through attention."""

from tools.book_maker.drawing.svg import Drawing


def way_back(draw: Drawing) -> None:
    """Attention forward from left to right, its gradients below from right to left, and what they need of it."""
    names = (
        "hidden_states\n[T, C]",
        "query, key,\nvalue\n[H, T, d]",
        "weights\n[H, T, T]",
        "attn_output\n[T, C]",
        "output\n[T, C]",
    )
    forward, backward = [], []
    for at, name in enumerate(names):
        last = name == names[-1]
        gradient = f"{'grad, given' if last else 'gradient'}\n{name.rpartition(chr(10))[2]}"
        forward.append(draw.box(at * 132, 30, 97, 60, name, "plain" if last else "key", size="small"))
        backward.append(draw.box(at * 132, 190, 97, 60, gradient, "accent", size="small"))
    ways = (
        ("c_attn", "linear_backward"),
        ("softmax", "softmax_backward,\n2 matmuls"),
        ("@ value", "2 matmuls"),
        ("c_proj", "linear_backward"),
    )
    gaps = [box.right[0] + 17.5 for box in forward]
    for at, (there, back) in enumerate(ways):
        (x, y), (_, below) = forward[at].right, backward[at].right
        draw.arrow((x, y), (x + 33, y))
        draw.text(gaps[at], 14, there)
        draw.arrow((x + 35, below), (x + 2, below), kind="accent")
        draw.text(gaps[at], 268, back)
    for box, gap, aside in ((0, 0, 0), (1, 1, -12), (2, 1, 10), (1, 2, -10), (2, 2, 10), (3, 3, 0)):
        start, end = (forward[box].middle[0] + aside, 90), (gaps[gap] + aside / 2, 188)
        draw.arrow(start, end, kind="key", dashed=True)
    draw.text(forward[-1].right[0], 140, "needed again:\nkept, or\ncomputed\nonce more", "end")
    left, right = forward[1].middle[0], forward[3].middle[0]
    draw.brace(left, 290, right - left, "attn_backward", mono=True)
