"""The texts of NumPy's error messages: what people who know PyTorch or MAX meant, and what to write instead."""

from __future__ import annotations

import re

ADVICE = {
    r"unexpected keyword argument '(dim|dims)'": "NumPy's word for it is axis.",
    r"unexpected keyword argument 'keepdim'": "NumPy's word for it is keepdims.",
    r"no attribute 'masked_fill_?'": "NumPy has np.where(condition, there, elsewhere).",
    r"no attribute 'tri[ul]'": "These are functions in NumPy: np.tril(x), np.triu(x).",
    r"as a data type|sub-type of ndarray|view\(\) takes": (
        "NumPy's view gives the same bytes another type; another shape is reshape(2, 3)."
    ),
    r"no attribute 'permute'": "NumPy's transpose orders all axes: x.transpose(0, 2, 1, 3).",
    r"axes don't match array": "NumPy's transpose takes the order of all axes; np.swapaxes(x, 1, 2) swaps two.",
    r"no attribute 'unsqueeze'": "x[:, None] adds an axis.",
    r"no attribute 'cat'": "NumPy's word for it is concatenate.",
    r"no attribute 'softmax'": "NumPy has no softmax; take yours of warm-up 01, or exp and a sum.",
    r"no attribute '(exp|sqrt|matmul)'": "This is a function in NumPy: np.exp(x), np.sqrt(x), a @ b.",
    r"no attribute 'pow'": "A power is x**2.",
    r"no attribute '(to|float|double|long)'": "NumPy's word for it is astype: x.astype(np.float32).",
    r"read-only": (
        "This changes the array that came in, which belongs to the caller. Make a new one: x = x * 2, not x *= 2; "
        "np.where(condition, 0, x), not x[condition] = 0."
    ),
}


def advice_on(message: str) -> str:
    """Return what to write instead, or nothing if the message is not one of these."""
    return " ".join(words for pattern, words in ADVICE.items() if re.search(pattern, message))
