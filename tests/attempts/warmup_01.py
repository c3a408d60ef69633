"""Warm-up 01, what people write instead: mistakes, each with its sentence, and other right answers."""

SCORES = "return query @ np.swapaxes(key, -2, -1)"
SHIFTED = "shifted = scores - scores.max(axis=-1, keepdims=True)"
EXPS = "exps = np.exp(shifted)"
QUOTIENT = "return exps / exps.sum(axis=-1, keepdims=True)"
CONTEXT = "return weights @ value"
WEIGHTS = "weights = softmax(attention_scores(x, x))"

MISTAKES = {
    "The keys are compared with themselves: the query is not used.": {SCORES: SCORES.replace("query @", "key @")},
    "Query and key are swapped: the queries are the rows of the scores, the keys their columns.": {
        SCORES: "return key @ np.swapaxes(query, -2, -1)"
    },
    "The scores are divided by the square root of the width; that comes in warm-up 02.": {
        SCORES: f"{SCORES} / np.sqrt(key.shape[-1])"
    },
    "The scores are cosines: the lengths of the vectors are divided out. A dot product keeps them.": {
        SCORES: f"{SCORES} / (np.linalg.norm(query, axis=-1)[..., None] * np.linalg.norm(key, axis=-1)[..., None, :])"
    },
    "The scores are squared distances; a dot product is large where two vectors agree.": {
        SCORES: "return ((query[..., :, None, :] - key[..., None, :, :]) ** 2).sum(axis=-1)"
    },
    "Every axis of key is reversed, the batch too; swap only the last two.": {
        SCORES: "return query @ key.T",
    },
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        SHIFTED: SHIFTED.replace("-1", "-2"),
        QUOTIENT: QUOTIENT.replace("-1", "-2"),
    },
    "The softmax runs over the whole array; every row must sum to 1 on its own.": {
        SHIFTED: "shifted = scores - scores.max()",
        QUOTIENT: "return exps / exps.sum()",
    },
    "The array's largest score is subtracted; subtract each row's own, or exp turns the other rows into zeros.": {
        SHIFTED: "shifted = scores - scores.max()",
    },
    "The row's mean is subtracted, and exp of a score far above it is infinite; subtract the row's largest.": {
        SHIFTED: SHIFTED.replace("max", "mean")
    },
    "The row's smallest score is subtracted, and exp of one far above it is infinite; subtract the row's largest.": {
        SHIFTED: SHIFTED.replace("max", "min")
    },
    "exp of a large score is infinite: subtract the row's largest score first.": {EXPS: "exps = np.exp(scores)"},
    "The scores are divided by their sum without exp, which lets a weight be negative.": {EXPS: "exps = scores"},
    "exp is taken, but the result is not divided by the row's sum.": {QUOTIENT: "return exps"},
    "The row's sum has lost its axis, so it divides along the wrong one: keepdims=True keeps it.": {
        QUOTIENT: "return exps / exps.sum(axis=-1)"
    },
    "A row's largest score is raised to -3,000, so a row far below that becomes 0 / 0: subtract it as it is.": {
        SHIFTED: "shifted = scores - np.maximum(scores.max(axis=-1, keepdims=True), -3000)"
    },
    "A score of -inf is replaced by -100, which is large beside a real score of -1000; leave it -inf.": {
        SHIFTED: f"scores = np.where(scores == -np.inf, -100.0, scores)\n    {SHIFTED}",
    },
    "The weights get the scores' dtype, so integer scores lose all fractions; return what the division gives.": {
        QUOTIENT: "weights = np.zeros_like(scores)\n    weights[...] = exps / exps.sum(axis=-1, keepdims=True)\n"
        "    return weights"
    },
    "The caller's scores are changed in place; make a new array.": {
        SHIFTED: "scores -= scores.max(axis=-1, keepdims=True)",
        EXPS: "exps = np.exp(scores)",
    },
    "The weights are transposed: row i of the weights belongs to query i.": {
        CONTEXT: "return np.swapaxes(weights, -2, -1) @ value"
    },
    "The weights are ignored: the context is the plain mean of the values.": {
        CONTEXT: "return (weights > -1) / weights.shape[-1] @ value"
    },
    "The weighted values are not summed: every query needs one vector, not one for each key.": {
        CONTEXT: "return weights[..., None] * value[..., None, :, :]"
    },
    "There is no softmax: the scores themselves are used as weights.": {
        "softmax(attention_scores(x, x))": "attention_scores(x, x)"
    },
    "exp of a large score is infinite, and the row becomes NaN: use softmax, which subtracts each row's largest.": {
        WEIGHTS: "weights = np.exp(attention_scores(x, x))\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)",
    },
    "The largest of all scores is subtracted, and a row far below it becomes 0 / 0: use softmax, which goes row by "
    "row.": {
        WEIGHTS: "scores = attention_scores(x, x)\n    weights = np.exp(scores - scores.max())\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)",
    },
    "The weights are returned; apply them to the vectors of x.": {
        "return context_vectors(weights, x)": "return weights"
    },
    "The input is added to the output; the residual connection comes in step 08.": {
        "return context_vectors(weights, x)": "return x + context_vectors(weights, x)"
    },
}

ALTERNATIVES = {
    "einsum": {
        SCORES: 'return np.einsum("...qc,...kc->...qk", query, key)',
        CONTEXT: 'return np.einsum("...qk,...kc->...qc", weights, value)',
    },
    "matmul and moveaxis": {SCORES: "return np.matmul(query, np.moveaxis(key, -1, -2))"},
    "the matrix transpose": {SCORES: "return query @ key.mT"},
    "products summed": {
        SCORES: "return (query[..., :, None, :] * key[..., None, :, :]).sum(axis=-1)",
        CONTEXT: "return (weights[..., None] * value[..., None, :, :]).sum(axis=-2)",
    },
    "axes put back by hand": {
        SHIFTED: "shifted = scores - np.max(scores, axis=-1)[..., np.newaxis]",
        QUOTIENT: "return exps / np.sum(exps, -1)[..., np.newaxis]",
    },
    "a finite floor under the largest score": {
        SHIFTED: "shifted = scores - np.maximum(scores.max(axis=-1, keepdims=True), -1e300)"
    },
    "word by word": {
        "    weights = softmax(attention_scores(x, x))\n    return context_vectors(weights, x)": "    rows = [\n"
        "        context_vectors(softmax(attention_scores(x[..., at : at + 1, :], x)), x) for at in "
        "range(x.shape[-2])\n    ]\n"
        "    return np.concatenate(rows, axis=-2)"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "max by PyTorch's dim": {"scores.max(axis=-1, keepdims=True)": "scores.max(dim=-1, keepdim=True)"},
    "PyTorch's keepdim": {"scores.max(axis=-1, keepdims=True)": "scores.max(axis=-1, keepdim=True)"},
    "sum by PyTorch's dim": {"exps.sum(axis=-1, keepdims=True)": "exps.sum(dim=-1, keepdim=True)"},
    "exp as a method": {EXPS: "exps = shifted.exp()"},
    "a transpose that names two axes": {"np.swapaxes(key, -2, -1)": "key.transpose(-2, -1)"},
    "torch.matmul": {"return weights @ value": "return torch.matmul(weights, value)"},
    "torch.exp": {"exps = np.exp(": "exps = torch.exp("},
    "exp without its module": {"exps = np.exp(": "exps = exp("},
    "torch.softmax": {"softmax(attention_scores(x, x))": "torch.softmax(attention_scores(x, x), dim=-1)"},
    "np.softmax": {"softmax(attention_scores(x, x))": "np.softmax(attention_scores(x, x), axis=-1)"},
    "softmax as a method": {"softmax(attention_scores(x, x))": "attention_scores(x, x).softmax(dim=-1)"},
    "the softmax of one's own with a dim": {
        "softmax(attention_scores(x, x))": "softmax(attention_scores(x, x), dim=-1)",
    },
    "subtracting in place": {
        SHIFTED: "scores -= scores.max(axis=-1, keepdims=True)",
        EXPS: "exps = np.exp(scores)",
    },
}
