"""The functions of step 21 on NumPy arrays: what each is given is copied, and what it writes is returned.

``library`` calls a C function of ``library.mojo`` by its name; an array stands for its address.
"""

import numpy as np

SPARE = 8  # numbers around an output, which no kernel may touch
UNTOUCHED = np.float32(-1234.5)


def online_softmax(library, scores, row_max, row_sum):
    """Return the weights of the scores [n], the maximum, the row's sum, and the factor."""
    weights, running = floats(scores), floats([row_max, row_sum, np.nan])
    library.online_softmax(weights, len(weights), running)
    return weights, *running


def attend_block(library, query, keys, values, row_max, row_sum, output):
    """Return the output [d] after a block of keys and values [n, d], the maximum, and the row's sum.

    Between two rows of keys, and of values, lie numbers that are none of theirs.
    """
    running, result = floats([row_max, row_sum]), floats(output)
    sizes = (*keys.shape, keys.shape[1] + SPARE)
    library.attend_block(floats(query), apart(keys), apart(values), *sizes, running, result)
    return result, *running


def attend_tile(library, queries, keys, values, position, start):
    """Return the outputs [rows, d] of the queries [rows, d] from a position on; keys and values are [any, d]."""
    rows, d = queries.shape
    result = np.full((rows, d + SPARE), UNTOUCHED)
    sizes = (rows, len(keys), position, start, d)
    library.attend_tile(floats(queries), floats(keys), floats(values), *sizes, result, d + SPARE)
    refuse_outside(result[:, d:], "attend_tile")
    return result[:, :d].copy()


def causal_attention(library, query, key, value, starts):
    """Return the output [batch, seq, head * d] of queries [batch, head, seq, d]; others are [batch, head, total, d]."""
    batch, heads, seq, d = query.shape
    result = np.full(batch * seq * heads * d + SPARE, UNTOUCHED)
    starts = np.array(starts, np.int32)
    sizes = (batch, heads, seq, key.shape[2], d)
    library.causal_attention(floats(query), floats(key), floats(value), starts, *sizes, result)
    refuse_outside(result[-SPARE:], "causal_attention")
    output = result[:-SPARE].reshape(batch, seq, heads * d)
    unwritten = int((output == UNTOUCHED).any(-1).sum())
    if unwritten:  # tasks may have written the other rows at the same time, with another result each time
        raise IndexError(f"causal_attention writes nothing for {unwritten} of {batch * seq} tokens")
    return output.copy()


def refuse_outside(spare, name):
    """Raise an error if a function has written to numbers beside its output."""
    if (spare != UNTOUCHED).any():
        raise IndexError(f"{name} writes to numbers that are not its own, beside its output")


def apart(rows):
    """Return a copy of rows [n, d] in float32, with NaN between one and the next: [n, d + SPARE]."""
    return np.pad(floats(rows), ((0, 0), (0, SPARE)), constant_values=np.nan)


def floats(numbers):
    """Return a copy in float32, one number after the other."""
    return np.array(numbers, np.float32, order="C")


#: The functions of the step; each is given the library before what it is called with.
FUNCTIONS = (online_softmax, attend_block, attend_tile, causal_attention)
