"""Warm-up 05, what people write instead: mistakes, each with its sentence, and other right answers."""

from itertools import permutations

OTHER_ORDERS = list(permutations(("query", "key", "value")))[1:]

FUSE = "np.concatenate([W_query, W_key, W_value], axis=-1)"
CUT = """\
    query, key, value = np.split(x @ W_qkv, 3, axis=-1)
    return query, key, value"""
SPLIT = "query, key, value = (split_heads(part, n_head) for part in project_fused(x, W_qkv))"
WEIGH = "weights = attention_weights(query, key, mask)"
MERGE = "merged = merge_heads(context_vectors(weights, value))"
MIX = "return merged @ W_o"
COUNT = "weights = 4 * n_embd**2"
BIASES = "biases = 4 * n_embd if bias else 0"
RETURN = "return weights + biases"

MISTAKES = {
    "The matrices lie one under the other; lay them side by side, along the last axis.": {
        FUSE: FUSE.replace("axis=-1", "axis=0")
    },
    "The matrices are stacked along a new axis; join them along the last one.": {
        FUSE: "np.stack([W_query, W_key, W_value])"
    },
    **{
        f"The matrices lie in the order {', '.join(order)}; it must be query, key, value.": {
            FUSE: FUSE.replace("W_query, W_key, W_value", ", ".join(f"W_{name}" for name in order))
        }
        for order in OTHER_ORDERS
    },
    "The matrices are interleaved column by column; each must stay in one piece.": {
        FUSE: "np.stack([W_query, W_key, W_value], axis=-1).reshape(len(W_query), -1)"
    },
    "The matrices are added; they must lie side by side.": {FUSE: "W_query + W_key + W_value"},
    **{
        f"The parts are taken in the order {', '.join(order)}; it must be query, key, value.": {
            CUT: CUT.replace("query, key, value =", f"{', '.join(order)} =")
        }
        for order in OTHER_ORDERS
    },
    "Every third channel is taken; query, key and value are three blocks of neighbors.": {
        CUT: "    joined = x @ W_qkv\n    return joined[..., ::3], joined[..., 1::3], joined[..., 2::3]"
    },
    "The tokens are cut into three; cut the channels, the last axis.": {
        CUT: "    query, key, value = np.array_split(x @ W_qkv, 3, axis=-2)\n    return query, key, value"
    },
    "The channels are assumed to be axis 2, which a sequence without a batch lacks; they are the last axis.": {
        CUT: CUT.replace("axis=-1", "axis=2")
    },
    "The product is not cut: return query, key and value separately.": {
        CUT: "    joined = x @ W_qkv\n    return joined"
    },
    "The whole width is one head: query, key and value are not split into heads.": {
        SPLIT: "query, key, value = (split_heads(part, 1) for part in project_fused(x, W_qkv))"
    },
    "The number of heads is hard-coded; use n_head.": {
        SPLIT: "query, key, value = (split_heads(part, 3) for part in project_fused(x, W_qkv))"
    },
    "The heads are cut by reshape alone; split_heads also brings head in front of seq.": {
        SPLIT: "shape = (x.shape[0], n_head, x.shape[1], -1)\n"
        "    if x.shape[-1] % n_head:\n        split_heads(x, n_head)\n"
        "    query, key, value = (part.reshape(shape) for part in project_fused(x, W_qkv))"
    },
    "W_qkv is taken head by head, each with its query, key and value; cut it into three thirds first, then each into "
    "heads.": {
        SPLIT: "query, key, value = np.split(split_heads(x @ W_qkv, n_head), 3, axis=-1)\n    split_heads(x, n_head)"
    },
    "The heads are split before the projection: W_qkv must see the whole width.": {
        SPLIT: "mixed = split_heads(x, n_head).reshape(x.shape)\n"
        "    query, key, value = (split_heads(part, n_head) for part in project_fused(mixed, W_qkv))"
    },
    "Uneven heads end in a NumPy error; call split_heads, whose ValueError names both numbers.": {
        SPLIT: "query, key, value = (\n"
        "        np.swapaxes(part.reshape(*x.shape[:-1], n_head, x.shape[-1] // n_head), -3, -2)\n"
        "        for part in project_fused(x, W_qkv)\n    )"
    },
    "Query and key are swapped in the scores.": {WEIGH: "weights = attention_weights(key, query, mask)"},
    "The mask is ignored: give it to attention_weights.": {WEIGH: "weights = attention_weights(query, key)"},
    "The mask is read the wrong way around: True means that a token may attend.": {
        WEIGH: "weights = attention_weights(query, key, None if mask is None else ~mask)"
    },
    "The mask is transposed: its rows are the queries.": {
        WEIGH: "weights = attention_weights(query, key, None if mask is None else mask.T)"
    },
    "The mask is always the causal one; use the one that is given, or none.": {
        WEIGH: "weights = attention_weights(query, key, np.tri(x.shape[-2], dtype=bool))"
    },
    "A given mask is replaced by the causal one; use it as it is.": {
        WEIGH: "weights = attention_weights(query, key, None if mask is None else np.tri(len(mask), dtype=bool))"
    },
    "The scores are divided by the square root of n_embd; divide by that of head_dim, the width of one head.": {
        WEIGH: "weights = attention_weights(query / n_head**0.5, key, mask)"
    },
    "The scores are scaled twice: attention_weights divides by the square root of head_dim already.": {
        WEIGH: "weights = attention_weights(query / query.shape[-1] ** 0.5, key, mask)"
    },
    "exp of a large score is infinite, and the row becomes NaN: use attention_weights, whose softmax subtracts the "
    "row's largest score.": {
        WEIGH: "scores = query @ key.mT / key.shape[-1] ** 0.5\n"
        "    weights = np.exp(scores if mask is None else np.where(mask, scores, -np.inf))\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The largest of all scores is subtracted, and a row far below it becomes 0 / 0: use attention_weights, which goes "
    "row by row.": {
        WEIGH: "scores = query @ key.mT / key.shape[-1] ** 0.5\n"
        "    scores = scores if mask is None else np.where(mask, scores, -np.inf)\n"
        "    weights = np.exp(scores - scores.max())\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The weights are applied to the keys; apply them to the values.": {MERGE: MERGE.replace("value", "key")},
    "The heads are merged without being transposed back: merge_heads brings seq in front of head first.": {
        MERGE: "merged = context_vectors(weights, value).reshape(x.shape)"
    },
    "W_o is not applied: the heads lie side by side but are never mixed.": {MIX: "return merged"},
    "W_o is transposed: it is merged @ W_o.": {MIX: "return merged @ W_o.T"},
    "The output gets the dtype of x, so with an integer x it loses its fractions. Return what @ gives.": {
        MIX: "out = np.empty_like(x)\n    out[...] = merged @ W_o\n    return out"
    },
    "The input is added to the output; the residual connection comes in step 08.": {MIX: "return x + merged @ W_o"},
    "The output projection is not counted: W_o has n_embd² more.": {COUNT: COUNT.replace("4", "3")},
    "W_qkv is counted as one matrix of [embd, embd]; it is [embd, 3 * embd].": {COUNT: COUNT.replace("4", "2")},
    "The biases are counted where there are none.": {BIASES: "biases = 4 * n_embd"},
    "The biases are left out: there is one for each column of W_qkv and of W_o.": {RETURN: "return weights"},
    "The bias of the output projection is not counted: it has n_embd.": {BIASES: BIASES.replace("4", "3")},
    "A bias is counted for each number of W_qkv and W_o; there is one for each column.": {
        RETURN: "return weights + weights if bias else weights"
    },
    "The count is a float; it must be an integer.": {RETURN: "return float(weights + biases)"},
}

ALTERNATIVES = {
    "hstack": {FUSE: "np.hstack([W_query, W_key, W_value])"},
    "three slices": {
        CUT: "    joined, width = x @ W_qkv, x.shape[-1]\n"
        "    return joined[..., :width], joined[..., width : 2 * width], joined[..., 2 * width :]"
    },
    "three multiplications": {
        CUT: "    width = x.shape[-1]\n    return [x @ W_qkv[:, at : at + width] for at in range(0, 3 * width, width)]"
    },
    "a new axis for query, key and value": {
        CUT: "    joined = (x @ W_qkv).reshape(*x.shape[:-1], 3, x.shape[-1])\n"
        "    return tuple(np.moveaxis(joined, -2, 0))"
    },
    "head by head": {
        f"{SPLIT}\n    {WEIGH}  # [..., head, seq, seq]\n    {MERGE}": "heads = zip(*(np.moveaxis(split_heads(part, "
        "n_head), -3, 0) for part in project_fused(x, W_qkv)))\n"
        "    found = [context_vectors(attention_weights(query, key, mask), value) for query, key, value in heads]\n"
        "    merged = np.concatenate(found, axis=-1)"
    },
    "everything by hand": {
        SPLIT: "if x.shape[-1] % n_head:\n"
        "        raise ValueError(f'{n_head} heads cannot share {x.shape[-1]} channels')\n"
        "    batch, seq, width = x.shape\n"
        "    parts = (x @ W_qkv).reshape(batch, seq, 3, n_head, width // n_head)\n"
        "    query, key, value = parts.transpose(2, 0, 3, 1, 4)",
        WEIGH: "scores = query @ key.mT / np.sqrt(width // n_head)\n"
        "    scores = scores if mask is None else np.where(mask, scores, -1e9)\n"
        "    weights = np.exp(scores - scores.max(-1, keepdims=True))\n"
        "    weights = weights / weights.sum(-1, keepdims=True)",
        MERGE: "merged = (weights @ value).transpose(0, 2, 1, 3).reshape(batch, seq, width)",
    },
    "W_o cut for the heads, their outputs summed": {
        MERGE: "mixed = context_vectors(weights, value) @ W_o.reshape(n_head, -1, W_o.shape[-1])",
        MIX: "return mixed.sum(axis=-3)",
    },
    "einsum": {MIX: 'return np.einsum("btc,co->bto", merged, W_o)'},
    "counted matrix by matrix": {
        COUNT: "weights = n_embd * 3 * n_embd + n_embd * n_embd",
        BIASES: "biases = 3 * n_embd + n_embd if bias else 0",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "np.cat": {
        "np.concatenate([W_query, W_key, W_value], axis=-1)": "np.cat([W_query, W_key, W_value], dim=-1)",
    },
    "torch.cat": {
        "np.concatenate([W_query, W_key, W_value], axis=-1)": "torch.cat([W_query, W_key, W_value], dim=-1)",
    },
    "concatenate with a dim": {
        "np.concatenate([W_query, W_key, W_value], axis=-1)": "np.concatenate([W_query, W_key, W_value], dim=-1)",
    },
    "chunk as a method": {"np.split(x @ W_qkv, 3, axis=-1)": "(x @ W_qkv).chunk(3, dim=-1)"},
    "np.chunk": {"np.split(x @ W_qkv, 3, axis=-1)": "np.chunk(x @ W_qkv, 3, dim=-1)"},
    "split with a dim": {"np.split(x @ W_qkv, 3, axis=-1)": "np.split(x @ W_qkv, 3, dim=-1)"},
    "torch.chunk": {"np.split(x @ W_qkv, 3, axis=-1)": "torch.chunk(x @ W_qkv, 3, dim=-1)"},
    "matmul as a method": {"return merged @ W_o": "return merged.matmul(W_o)"},
    "torch.matmul": {"return merged @ W_o": "return torch.matmul(merged, W_o)"},
    "contiguous": {"return merged @ W_o": "return merged.contiguous() @ W_o"},
}
