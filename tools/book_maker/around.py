"""What the build puts around a page: below its title a map with "you are here", and at its foot where to go next."""

from collections.abc import Collection, Mapping, Sequence

from checker.course.steps import FAST_PATH, find_step
from tools.book_maker.drawing.svg import Box, Drawing

ATTENTION = ("attention",)
WEIGHTS = ("embedding", "position", "norm", "attention", "MLP", "final norm", "head")
ALL = (*WEIGHTS, "text", "ids", "mask", "block", "blocks", "logits", "next token")
#: A page -> where it is: the parts of the map that it is about, and in words.
PLACES: Mapping[str, tuple[Collection[str], str]] = {
    **{f"warmup_0{number}": (ATTENTION, "attention, in NumPy") for number in (1, 2, 5)},
    "warmup_03": (("attention", "mask"), "attention and its mask, in NumPy"),
    "warmup_04": (ATTENTION, "the heads of attention, in NumPy"),
    "warmup_06": (("text", "ids"), "from text to ids"),
    "warmup_07": (("attention", "cache"), "the cache of keys and values, in NumPy"),
    "warmup_08": (ATTENTION, "attention, backward, in NumPy"),
    "step_01": (ALL, "the sizes of everything"),
    "step_02": (("mask",), "what attention may look at"),
    "step_03": (("norm", "final norm"), "the norm before each part"),
    "step_04": (("MLP",), "the second half of a block"),
    "step_05": (("ids", "embedding"), "from ids to vectors"),
    "step_06": (("position",), "where a token is"),
    "step_07": (ATTENTION, "where tokens exchange information"),
    "step_08": (("+",), "the sums around both halves of a block"),
    "step_09": (("norm", "attention", "MLP", "+", "block"), "one block"),
    "step_10": (("embedding", "position", "blocks", "final norm"), "everything but the head"),
    "step_11": (("head", "logits"), "from vectors to logits"),
    "step_12": (("logits", "next token", "again"), "from logits to text"),
    "step_13": (WEIGHTS, "everything that has weights"),
    "step_14": (("attention", "cache", "again"), "the next token, without computing the old ones again"),
    "step_15": (("text", "next token", "again"), "text in, text out, for many readers"),
    "step_16": (("logits", "loss"), "how wrong the logits are"),
    "step_17": (("embedding", "norm", "MLP", "final norm", "head", "again"), "the backward pass of the parts"),
    "step_18": (("attention", "again"), "the backward pass of attention"),
    "step_19": ((*WEIGHTS, "block", "blocks", "loss", "again"), "the backward pass of the whole model"),
    "step_20": (("update", *WEIGHTS), "a better value for every weight"),
    "step_21": (ATTENTION, "attention, as a kernel"),
    "step_22": (("embedding", "attention", "MLP", "head"), "the large matrices, with fewer bits"),
    "step_23": (("norm", "MLP", "final norm"), "what a block does to each token alone, in a Llama"),
    "step_24": (("position", "attention"), "positions in a Llama, which enter inside attention"),
    "step_25": (("attention", "cache"), "attention and its cache, in a Llama"),
    "step_26": (("embedding", "norm", "attention", "MLP", "final norm", "head"), "all weights of a Llama"),
    "step_27": (("text", "ids", "logits", "next token", "again"), "a question in, an answer out"),
}
FAST_PAGES = ("max", *(find_step(task).name for task in FAST_PATH))
FAST_WAY = ("introduction", "setup", *FAST_PAGES)
BACK = ("step_16", "warmup_08", "step_17", "step_18", "step_19", "step_20")  # there, the map has the backward pass


def map_of(page: str) -> str:
    """Return the map for the page of a step or warm-up as HTML, the page's parts lit; nothing for other pages."""
    if page not in PLACES:
        return ""
    lit, where = PLACES[page]
    draw = Drawing(f"A map from text to logits. You are here: {where}")
    draw_map(draw, lit, back=page in BACK)
    caption = f"<figcaption>You are here: {where}.</figcaption>"
    return f'<figure class="map">\n<div class="drawing">\n{draw.svg()}\n</div>\n{caption}\n</figure>'


def draw_map(draw: Drawing, lit: Collection[str], *, back: bool) -> None:
    """Draw the way from text to logits, the inside of a block below it, and the way on: to the next token, or back."""

    def kind(part: str) -> str:
        return "accent" if part in lit else "plain"

    def box(part: str, x: float, y: float, width: float, height: float = 28) -> Box:
        return draw.box(x, y, width, height, part.removeprefix("final "), kind(part), size="small")

    draw.line((184, 14), (26, 44), kind="muted", dashed=True)  # from the blocks to one of them
    draw.line((234, 14), (372, 44), kind="muted", dashed=True)

    # From text to logits, along y = 0.
    text, ids = box("text", 0, -14, 34), box("ids", 50, -14, 30)
    embedding, _ = box("embedding", 94, -28, 76, 26), box("position", 94, 2, 76, 26)
    blocks, norm, head = box("blocks", 184, -14, 50), box("final norm", 250, -14, 40), box("head", 306, -14, 40)
    logits = box("logits", 362, -14, 44)
    ends = [text.right, ids.right, (embedding.right[0], 0), blocks.right, norm.right, head.right]
    for end, start in zip(ends, [ids.left, (94, 0), blocks.left, norm.left, head.left, logits.left], strict=True):
        draw.arrow(end, start)

    # One block, along y = 82.
    draw.box(26, 44, 346, 100, kind="accent" if "block" in lit else "muted", dashed="block" not in lit)
    draw.text(364, 130, "one block", "end", kind="accent" if "block" in lit else "muted")
    for x, part, width, plus in (46, "attention", 72, 204), (230, "MLP", 40, 356):
        norm = box("norm", x, 68, 44)
        sublayer = box(part, x + 60, 68, width)
        draw.arrow((x - 16, 82), norm.left)
        draw.arrow(norm.right, sublayer.left)
        draw.arrow(sublayer.right, (plus - 10, 82))
        draw.arrow((x - 10, 82), (x - 10, 56), (plus, 56), (plus, 72))
        draw.circle(plus, 82, 10, "+", kind("+"))
    draw.arrow((214, 82), (230, 82))
    for part, x, width in ("mask", 96, 42), ("cache", 146, 48):
        drawn = box(part, x, 112, width, 24)
        draw.arrow(drawn.top, (drawn.top[0], 96))

    # And on: from the logits to the next token, which joins the text; or to the loss, and from there back.
    last = box("loss", 362, 160, 44) if back else box("next token", 330, 160, 76)
    draw.arrow(logits.bottom, (logits.bottom[0], 160))
    way = "accent" if "again" in lit else "plain"
    if back:
        draw.arrow(last.left, box("update", 0, 160, 56).right, kind=way, label="gradients")
    else:
        draw.arrow(last.left, (text.bottom[0], 174), text.bottom, kind=way)
        draw.text(175, 162, "and once more")


def foot_of(page: str, pages: Sequence[tuple[str, str]]) -> str:
    """Return the links at the foot of a page: to the next of all ``pages`` (names and titles), and on the fast path.

    Only a page that is on the fast path itself says that the next one is, too.
    """
    names = [name for name, _ in pages]
    later = pages[names.index(page) + 1 :]
    following, fast = later[:1], [(name, title) for name, title in later if name in FAST_WAY][:1]
    links = {"Next page, on the fast path too" if page in FAST_WAY else "Next page": following}
    if following != fast:
        links = {"Next page": following, "Next on the fast path": fast}
    words = " · ".join(f"{way}: [{title}]({name}.md)" for way, found in links.items() for name, title in found)
    return f'<nav class="foot" aria-label="Next">\n\n{words}\n\n</nav>' if words else ""
