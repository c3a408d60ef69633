"""Warm-up 02, what people write instead: mistakes, each with its sentence, and other right answers."""

PROJECT = "return x @ W_query, x @ W_key, x @ W_value"
SCALE = "attention_scores(query, key) / math.sqrt(key.shape[-1])"
WEIGH = "weights = softmax(scaled_scores(query, key))"
GATHER = "return context_vectors(weights, value)"

MISTAKES = {
    "The matrices are transposed: they are [d_in, d_out], so it is x @ W.": {
        PROJECT: "return x @ W_query.T, x @ W_key.T, x @ W_value.T"
    },
    "The order is key, query, value; it must be query, key, value.": {
        PROJECT: "return x @ W_key, x @ W_query, x @ W_value"
    },
    "The order is query, value, key; it must be query, key, value.": {
        PROJECT: "return x @ W_query, x @ W_value, x @ W_key"
    },
    "One matrix makes all three: use W_key for the key and W_value for the value.": {
        PROJECT: "return x @ W_query, x @ W_query, x @ W_query"
    },
    "The value is x itself; project it with W_value.": {PROJECT: "return x @ W_query, x @ W_key, x"},
    "Nothing is projected: query, key and value are all x.": {PROJECT: "return x, x, x"},
    "Each is projected from the one before; all three come from x.": {
        PROJECT: "return x @ W_query, x @ W_query @ W_key, x @ W_query @ W_key @ W_value"
    },
    "x is assumed to have a batch axis, but it may be a single sequence; x @ W works for both.": {
        PROJECT: 'return [np.einsum("bti,io->bto", x, matrix) for matrix in (W_query, W_key, W_value)]'
    },
    "The results are cast to the dtype of x, so with an integer x they lose their fractions. Return what @ gives.": {
        PROJECT: "return [(x @ matrix).astype(x.dtype) for matrix in (W_query, W_key, W_value)]"
    },
    "The scores are divided in place, which fails for integers: write scores / ..., which makes a new array.": {
        f"return {SCALE}": "scores = attention_scores(query, key)\n    scores /= math.sqrt(key.shape[-1])\n"
        "    return scores"
    },
    "The scores are not scaled: divide them by the square root of d_k.": {SCALE: "attention_scores(query, key)"},
    "The scores are divided by d_k itself; divide by its square root.": {
        SCALE: "attention_scores(query, key) / key.shape[-1]"
    },
    "The scores are multiplied by the square root of d_k; divide by it.": {
        SCALE: "attention_scores(query, key) * math.sqrt(key.shape[-1])"
    },
    "The scores are divided by the square root of the first axis, which is the batch; d_k is the last: "
    "key.shape[-1].": {"math.sqrt(key.shape[-1])": "math.sqrt(key.shape[0])"},
    "The scores are divided by the square root of the number of keys; divide by that of their width.": {
        SCALE: "attention_scores(query, key) / math.sqrt(key.shape[-2])"
    },
    "The scale is a constant: take d_k from the shape of the key.": {SCALE: "attention_scores(query, key) / 8"},
    "Query and key are swapped in the scores.": {WEIGH: "weights = softmax(scaled_scores(key, query))"},
    "There is no softmax: the scores themselves are used as weights.": {WEIGH: "weights = scaled_scores(query, key)"},
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        WEIGH: "weights = softmax(scaled_scores(key, query)).swapaxes(-2, -1)"
    },
    "The plain scores are used; scaled_scores divides them by the square root of d_k.": {
        WEIGH: "weights = softmax(attention_scores(query, key))"
    },
    "The scores are scaled twice: scaled_scores divides by the square root of d_k already.": {
        WEIGH: "weights = softmax(scaled_scores(query, key) / math.sqrt(key.shape[-1]))"
    },
    "exp of a large score is infinite, and the row becomes NaN: use softmax, which subtracts each row's largest.": {
        WEIGH: "weights = np.exp(scaled_scores(query, key))\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The largest of all scores is subtracted, and a row far below it becomes 0 / 0: use softmax, which goes row by "
    "row.": {
        WEIGH: "scores = scaled_scores(query, key)\n    weights = np.exp(scores - scores.max())\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The weights are applied to x; apply them to the values.": {GATHER: "return context_vectors(weights, x)"},
    "The weights are applied to the keys; apply them to the values.": {GATHER: "return context_vectors(weights, key)"},
    "The weights are returned; apply them to the values.": {GATHER: "return weights"},
}

ALTERNATIVES = {
    "three from one loop": {PROJECT: "return tuple(x @ matrix for matrix in (W_query, W_key, W_value))"},
    "a list, by einsum": {
        PROJECT: 'return [np.einsum("...i,io->...o", x, matrix) for matrix in (W_query, W_key, W_value)]'
    },
    "one fused multiplication": {
        PROJECT: "return np.split(x @ np.concatenate([W_query, W_key, W_value], axis=-1), 3, axis=-1)"
    },
    "the scale folded into the query": {SCALE: "attention_scores(query * key.shape[-1] ** -0.5, key)"},
    "NumPy's square root": {SCALE: "attention_scores(query, key) / np.sqrt(query.shape[-1])"},
    "scores by hand": {SCALE: "query @ key.swapaxes(-1, -2) * key.shape[-1] ** -0.5"},
    "softmax by hand": {
        WEIGH: "scores = scaled_scores(query, key)\n"
        "    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)",
        GATHER: "return weights @ value",
    },
    "normalized after gathering": {
        WEIGH: "scores = scaled_scores(query, key)\n    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))",
        GATHER: "return weights @ value / weights.sum(axis=-1, keepdims=True)",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "size as a method": {"math.sqrt(key.shape[-1])": "math.sqrt(key.size(-1))"},
    "matmul as a method": {"x @ W_query, x @ W_key": "x.matmul(W_query), x @ W_key"},
    "mm": {"x @ W_query, x @ W_key": "x @ W_query, x.mm(W_key)"},
    "torch.matmul": {"x @ W_query, x @ W_key": "torch.matmul(x, W_query), torch.matmul(x, W_key)"},
    "softmax with a dim": {"softmax(scaled_scores(query, key))": "softmax(scaled_scores(query, key), dim=-1)"},
    "F.softmax": {"softmax(scaled_scores(query, key))": "F.softmax(scaled_scores(query, key), dim=-1)"},
    "torch.softmax": {"softmax(scaled_scores(query, key))": "torch.softmax(scaled_scores(query, key), -1)"},
    "torch.bmm": {"return context_vectors(weights, value)": "return torch.bmm(weights, value)"},
    "torch.sqrt": {"math.sqrt(key.shape[-1])": "torch.sqrt(key.shape[-1])"},
    "F.linear": {"return x @ W_query, x @ W_key": "return F.linear(x, W_query.T), x @ W_key"},
    "pow as a method": {"/ math.sqrt(key.shape[-1])": "/ np.array(key.shape[-1]).pow(0.5)"},
}
