"""The texts of MAX's error messages: what they give away, and what of them is for a learner.

It imports neither MAX nor anything of ours, so ``diagnosis`` can word an exception where there is no MAX.
``contract`` provokes each of these messages in the installed MAX.
"""

from __future__ import annotations

import re

#: A pattern in a message → what people who know PyTorch or NumPy meant, and what to write instead.
ADVICE = {
    r"unexpected keyword argument '(dim|dims)'": "MAX's word for it is axis.",
    r"no attribute 'tri[ul]'": "MAX has F.band_part; with exclude=True it keeps what is outside a band.",
    r"no attribute 'masked_fill_?'": "Add the mask to the scores, or use F.where.",
    r"no attribute 'view'": "MAX's word for it is reshape.",
    r"no attribute 'contiguous'": "MAX needs none: leave it out.",
    r"no attribute 'size'": "MAX's word for it is shape.",
    r"no attribute 'cat'": "MAX's word for it is concat.",
    r"transpose\(\) takes \d+ positional arguments": "transpose swaps two axes; permute([0, 2, 1, 3]) orders all.",
    r"reshape\(\) takes \d+ positional arguments": "reshape takes one list: reshape([2, 3]).",
    r"permute\(\) takes \d+ positional arguments": "permute takes one list: permute([0, 2, 1]).",
    r"StaticDim": "A size taken from a shape is not a plain number: math.sqrt(int(query.shape[-1])) makes it one.",
    r"(Symbol|Algebra)icDim|only supported for static dims": (
        "While MAX compiles, this size is a symbol. It stands for any length, so int(...) cannot make a number of it, "
        "and it cannot be compared. Give it to MAX's functions as it is and cut what they return, as in "
        "causal_mask(total, 0)[total - sequence_length:]."
    ),
    r"dims to index into a list": (
        "A size that is always the same, as the head width is, becomes a number by int(...). A length is a symbol "
        "while MAX compiles, and has no number: give it to MAX's functions as it is and cut what they return."
    ),
    r"Invalid approximation method": "F.gelu knows approximate='none', 'tanh' and 'quick'.",
    r"values to unpack": "F.split takes the sizes of the parts, F.split(x, [n, n], axis=-1); F.chunk their number.",
}


def advice_on(message: str) -> str:
    """Return what to write instead, or nothing if the message is not one of these."""
    return " ".join(words for pattern, words in ADVICE.items() if re.search(pattern, message))


def without_internals(message: str) -> str:
    """Return a message in one line; of a graph operation that could not be made, its name and MAX's diagnosis."""
    made = re.match(r"Failed to create op '(\w+?)(?:Op)?':.*?Diagnostics:\s*(.*?)\n", message, re.DOTALL)
    if made:
        diagnosis = re.sub(r"#mosh<ape(\[.*?\])> : !mosh\.ape", r"\1", made[2]).partition(". Insert an explicit")[0]
        message = f"{made[1]}: {diagnosis}."
    return " ".join(message.split())
