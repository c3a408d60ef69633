"""Warm-up 03, what people write instead: mistakes, each with its sentence, and other right answers."""

MASK = "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))"
WHERE = "scores = np.where(mask, scores, -np.inf)"
SOFTMAX = "return softmax(scores)"
WEIGHTS_OF = "weights = attention_weights(query, key, causal_mask(x.shape[-2]))"
GATHER = "return context_vectors(weights, value)"

MISTAKES = {
    "The mask is transposed: every token looks at itself and the tokens after it instead of before.": {
        MASK: MASK.replace("tril", "triu")
    },
    "The mask is inverted: it must be True where a token may look.": {MASK: "~" + MASK},
    "The mask is off by one: every token also looks at the one right after it.": {
        MASK: MASK.replace("bool))", "bool), k=1)")
    },
    "The mask blocks the token itself: the diagonal must be True too.": {MASK: MASK.replace("bool))", "bool), k=-1)")},
    "Nothing is blocked: the mask is True everywhere.": {
        MASK: "np.ones((sequence_length, sequence_length), dtype=bool)"
    },
    "The mask is of floats; it must be boolean.": {MASK: "np.tril(np.ones((sequence_length, sequence_length)))"},
    "Positions are counted in int8, which ends at 127; a text may be longer.": {
        MASK: "np.arange(sequence_length).astype(np.int8) <= np.arange(sequence_length).astype(np.int8)[:, None]"
    },
    "The mask is ignored.": {WHERE: "pass"},
    "The mask is read the wrong way around: True means that a query may attend.": {
        WHERE: "scores = np.where(mask, -np.inf, scores)"
    },
    "Blocked scores are 0, which still earns weight, exp(0) = 1; make them -inf.": {
        WHERE: "scores = np.where(mask, scores, 0.0)"
    },
    "Blocked scores are -100, which is large beside a real score of -900; make them -inf.": {
        WHERE: "scores = np.where(mask, scores, -100.0)"
    },
    "-100 is added to blocked scores, but one that leads by more stays the largest; make them -inf.": {
        WHERE: "scores = scores + np.where(mask, 0.0, -100.0)"
    },
    "exp of a large score is infinite, and the row becomes NaN: use softmax, which subtracts each row's largest.": {
        SOFTMAX: "weights = np.exp(scores)\n    return weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The largest of all scores is subtracted, and a row far below it becomes 0 / 0: use softmax, which goes row by "
    "row.": {
        SOFTMAX: "weights = np.exp(scores - scores.max())\n    return weights / weights.sum(axis=-1, keepdims=True)"
    },
    "A hidden score can be the row's largest, which makes the visible ones 0 / 0: mask the scores, then find the "
    "largest.": {
        "scores = scaled_scores(query, key)": "scores = scaled_scores(query, key)\n"
        "    scores = scores - scores.max(axis=-1, keepdims=True)",
        SOFTMAX: "weights = np.exp(scores)\n    return weights / weights.sum(axis=-1, keepdims=True)",
    },
    "Blocked scores are +inf; they must be -inf, to which the softmax gives no weight.": {
        WHERE: "scores = np.where(mask, scores, np.inf)"
    },
    "The weights are masked after the softmax, so the rows no longer sum to one; mask the scores, before.": {
        WHERE: "return softmax(scores) * mask"
    },
    "The plain scores are used; scaled_scores divides them by the square root of d_k.": {
        "scores = scaled_scores(query, key)": "scores = query @ np.swapaxes(key, -2, -1)"
    },
    "There is no softmax: the masked scores are returned.": {"return softmax(scores)": "return scores"},
    "There is no mask: every token also looks at the tokens after it.": {
        WEIGHTS_OF: "weights = attention_weights(query, key)"
    },
    "The length is taken from axis 1, which is d_in where there is no batch; it is x.shape[-2].": {
        WEIGHTS_OF: "weights = attention_weights(query, key, causal_mask(x.shape[1]))"
    },
    "The mask is transposed here: pass causal_mask(seq) as it is.": {
        WEIGHTS_OF: "weights = attention_weights(query, key, causal_mask(x.shape[-2]).T)"
    },
    "The causal weights are computed without subtracting the row's largest score, and exp of a large one is infinite: "
    "use attention_weights.": {
        WEIGHTS_OF: "weights = np.exp(scaled_scores(query, key)) * causal_mask(x.shape[-2])\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The weights are applied to the keys; apply them to the values.": {GATHER: "return context_vectors(weights, key)"},
}

ALTERNATIVES = {
    "positions compared": {MASK: "np.arange(sequence_length) <= np.arange(sequence_length)[:, None]"},
    "the upper triangle turned over": {MASK: "~np.triu(np.ones((sequence_length, sequence_length), dtype=bool), k=1)"},
    "np.tri": {MASK: "np.tri(sequence_length, dtype=bool)"},
    "-1e9": {WHERE: "scores = np.where(mask, scores, -1e9)"},
    "filled in place": {WHERE: "scores[..., ~mask] = -np.inf"},
    "a mask to add": {WHERE: "scores = scores + np.where(mask, 0.0, -np.inf)"},
    "None made a mask of True": {
        "    if mask is not None:\n        scores = np.where(mask, scores, -np.inf)\n": "    mask = "
        "np.ones(scores.shape[-2:], dtype=bool) if mask is None else mask\n"
        "    scores = np.where(mask, scores, -np.inf)\n"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "masked_fill": {"np.where(mask, scores, -np.inf)": "scores.masked_fill(~mask, -np.inf)"},
    "torch.tril and torch.ones": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "torch.tril(torch.ones(sequence_length, sequence_length, dtype=bool))"
        )
    },
    "a shape of several arguments": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "np.tril(np.ones(sequence_length, sequence_length)).astype(bool)"
        )
    },
    "tril as a method": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "np.ones((sequence_length, sequence_length), dtype=bool).tril()"
        )
    },
    "bool as a method": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "np.tril(np.ones((sequence_length, sequence_length))).bool()"
        )
    },
    "triu with a diagonal": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "~np.triu(np.ones((sequence_length, sequence_length), dtype=bool), diagonal=1)"
        )
    },
    "size as a method": {"causal_mask(x.shape[-2])": "causal_mask(x.size(-2))"},
    "softmax with a dim": {"return softmax(scores)": "return softmax(scores, dim=-1)"},
    "F.softmax": {"return softmax(scores)": "return F.softmax(scores, dim=-1)"},
    "a mask of another rank as an index": {
        "scores = np.where(mask, scores, -np.inf)": "scores[~mask] = -np.inf",
    },
}
