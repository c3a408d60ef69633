"""What SmolLM2, the model of step 26, does with our sentence, as it was recorded with the code of commit ``faad1ac2``.

Its weights are fixed, so nothing of it is computed any more. ``tests/dev/play/attention/test_weights.py`` compares the
head that the page is about with the model in MAX.
"""

import json
from typing import Any

from checker.files import ROOT
from play.whale import read
from tools.book_maker.values.book_values import config as small

FILE = ROOT / "tools" / "benchmarks" / "figures" / "smollm2.json"
TEXT = "The whale struck the ship, and it"
VARIANTS = (
    TEXT,
    "The ship struck the whale, and it",
    "The whale struck the ship near the island, and it",
    "The ship was struck by the whale, and it",
    "The whale near the island struck the ship, and it",
)
ASIDE = "The whale struck, near the island, the ship, and it"  # the page's answer, not in its table
NOUNS = (" ship", " whale", " island")
TOP_P, TOP_K = 0.9, 40
WHAT_SANK = [f"The {text}, and it sank. What sank?" for text in ("whale struck the ship", "ship struck the whale")]

RECORDED: dict[str, Any] = json.loads(FILE.read_text())


def look(noun: str) -> dict[str, Any]:
    """Return the head that takes the most from a noun: its layer, its number, and what it takes from each token."""
    return RECORDED["looks"][noun]


def taken(noun: str) -> float:
    """Return how much that head takes from the noun."""
    return look(noun)["weights"][RECORDED["tokens"].index(noun)]


def variants() -> str:
    """Return the rows of the page's table of sentences: what the ship's head takes from each noun, the most in bold."""
    rows = []
    for text in VARIANTS:
        shares = RECORDED["heads"]["variants"][text]
        cells = {noun: f"{share:.2f}" for noun, share in shares.items()}
        cells[max(shares, key=shares.get)] = f"**{max(shares.values()):.2f}**"
        rows.append(f"| *{text}* | {' | '.join(cells.get(noun, '') for noun in NOUNS)} |")
    return "\n".join(rows)


def aside() -> dict[str, float]:
    """Return how much that head takes from each noun where another noun is put between the verb and its object."""
    shares: dict[str, float] = RECORDED["heads"]["variants"][ASIDE]
    return shares


def highest(kind: str) -> str:
    """Return cells of the page's table of heads: the highest share of a head of SmolLM2, and its head."""
    share, layer, head = RECORDED["heads"]["highest"][kind]
    return f"{share:.1%} | layer {layer}, head {head}"


def taken_by_the_small_model(noun: str) -> float:
    """Return the most that a head of the small model takes from the noun."""
    whale = read(TEXT)
    at = whale["tokens"].index(noun)
    return float(max(whale[f"h.{layer}.attn.weights"][:, -1, at].max() for layer in range(small.n_layer)))


def chances_of_sank() -> tuple[float, float]:
    """Return the probability of what follows it, where our sentence is read for the first and for the second time."""
    twice = RECORDED["heads"]["twice"]
    first, second = (twice["chances"][at] for at, token in enumerate(twice["tokens"]) if token == " it")
    return first, second


def conversations() -> str:
    """Return the recorded answers as a table: each question, the greedy answer, and those that were drawn."""
    names = {"greedy": "greedy", "drawn": f"top-p {TOP_P}", "from all": "all tokens"}
    rows: list[tuple[str, ...]] = [("you", *names.values()), ("---",) * (len(names) + 1)]
    for turns in zip(*(RECORDED[name] for name in names), strict=True):
        rows.append((turns[0]["question"], *(turn["answer"] + " …" * turn["is cut"] for turn in turns)))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
