"""Count in the code of the variants what newer models change in the sizes of GPT-2 small."""

import math
from functools import cache
from typing import Any

from max.driver import CPU
from max.experimental import functional as F

from tools.modern import GIVEN, STEPS, VARIANTS, load


def _config(*names: str, **sizes: int) -> Any:
    """Return GPT-2 small's configuration, with what variants add to it."""
    return load(*names)["01"].GPT2Config(**sizes)


#: The number of key and value heads where they are shared.
KV_HEADS: int = _config("grouped_query").n_kv_head


@cache
def parameters(*names: str) -> int:
    """Return the parameters of GPT-2 small with some variants applied; the head is tied and adds none."""
    with F.lazy():
        model = load(*names)["11"].MaxGPT2LMHeadModel(_config(*names))
    return sum(
        math.prod(int(size) for size in weight.shape) for name, weight in model.parameters if name != "lm_head.weight"
    )


def change(*names: str) -> str:
    """Return how many more or fewer parameters that is than GPT-2 small has: ``-786,432``."""
    difference = parameters(*names) - parameters()
    return f"{difference:+,}".replace("-", "\N{MINUS SIGN}") if difference else "0"


def cache_bytes(*names: str) -> int:
    """Return bytes of the keys and values of one token in all layers."""
    pairs = load(*names)[GIVEN].empty_cache(_config(*names, n_positions=1), 1, device=CPU())
    return sum(4 * math.prod(int(size) for size in buffer.shape) for pair in pairs for buffer in pair)


def untouched() -> str:
    """Return the steps of the model that no variant edits: ``02, 05 and 08``."""
    edited = {step for by_step in VARIANTS.values() for step in by_step}
    *most, last = [step for step in STEPS if step not in edited and step <= "11"]
    return f"{', '.join(most)} and {last}"
