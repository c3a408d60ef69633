"""Warm-up 08, what people write instead: mistakes, each with its sentence, and other right answers."""

FRESH = "        shift = np.zeros(x.shape)\n"
MOVE = "        shift[place] = h\n"
QUOTIENT = "(f(x + shift) - f(x - shift)) / (2 * h)"
WALK = """\
    gradient = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        shift = np.zeros(x.shape)
        shift[place] = h
        gradient[place] = (f(x + shift) - f(x - shift)) / (2 * h)
    return gradient
"""
ONE_HOT = "one_hot = labels[..., None] == np.arange(logits.shape[-1])"
LOSS = "return (softmax(logits) - one_hot) / labels.size"
BOTH = "return grad @ np.swapaxes(right, -2, -1), np.swapaxes(left, -2, -1) @ grad"
BY_LEFT, BY_RIGHT = "grad @ np.swapaxes(right, -2, -1)", "np.swapaxes(left, -2, -1) @ grad"
MEAN = "mean = (weights * grad).sum(axis=-1, keepdims=True)"
BEYOND = "return weights * (grad - mean)"
GATHERED = "grad_weights, grad_value = matmul_backward(grad, weights, value)"
SCORES = "grad_scores = softmax_backward(grad_weights, weights) / math.sqrt(key.shape[-1])"
PRODUCT = "grad_query, grad_key_t = matmul_backward(grad_scores, query, np.swapaxes(key, -2, -1))"
RETURN = "return grad_query, np.swapaxes(grad_key_t, -2, -1), grad_value"

MISTAKES = {
    "The difference is taken to one side only, which is far less exact: it is f(x + shift) - f(x - shift).": {
        QUOTIENT: "(f(x + shift) - f(x)) / h"
    },
    "The difference is divided by h; its two ends lie 2 h apart.": {QUOTIENT: "(f(x + shift) - f(x - shift)) / h"},
    "/ 2 * h divides by 2 and then multiplies by h; write / (2 * h).": {
        QUOTIENT: "(f(x + shift) - f(x - shift)) / 2 * h"
    },
    "The difference is not divided by 2 h.": {QUOTIENT: "f(x + shift) - f(x - shift)"},
    "The difference has the wrong sign: f(x - shift) is what is subtracted.": {
        QUOTIENT: "(f(x - shift) - f(x + shift)) / (2 * h)"
    },
    "All numbers of x are moved at once; move one, and leave the others where they are.": {
        FRESH + MOVE: "        shift = np.full(x.shape, h)\n"
    },
    "Numbers that were moved stay moved; begin every place with zeros.": {
        "    for place in np.ndindex(x.shape):\n" + FRESH: (
            "    shift = np.zeros(x.shape)\n    for place in np.ndindex(x.shape):\n"
        )
    },
    "Whole rows of x are moved at once; np.ndindex(x.shape) walks over every single number.": {
        "np.ndindex(x.shape)": "range(len(x))"
    },
    "range(x.size) counts single numbers, and x[3] is a row of them; np.ndindex(x.shape) walks over places.": {
        "np.ndindex(x.shape)": "range(x.size)"
    },
    "x itself is moved and moved back, which rounding does not undo, and it belongs to the caller; move a copy.": {
        FRESH + MOVE: "        x[place] += h\n",
        QUOTIENT: "f(x)\n        x[place] -= 2 * h\n"
        "        gradient[place] = (gradient[place] - f(x)) / (2 * h)\n        x[place] += h",
    },
    "x itself is moved and stays so; move a copy.": {
        FRESH + MOVE: "        x[place] += h\n",
        QUOTIENT: "f(x)\n        x[place] -= 2 * h\n        gradient[place] = (gradient[place] - f(x)) / (2 * h)",
    },
    "np.copy keeps the order of a transposed x, whose ravel() is then another copy: nothing moves. Walk over places by "
    "np.ndindex(x.shape).": {
        WALK: """\
    gradient = np.empty(x.shape)
    for at in range(x.size):
        up, down = np.copy(x), np.copy(x)
        up.ravel()[at] += h
        down.ravel()[at] -= h
        gradient.flat[at] = (f(up) - f(down)) / (2 * h)
    return gradient
"""
    },
    "An h of your own is used; take the one that is given.": {FRESH: "        shift, h = np.zeros(x.shape), 1e-4\n"},
    "It is the gradient of the sum of all losses; divide by the number of rows.": {
        LOSS: "return softmax(logits) - one_hot"
    },
    "It is divided by the length of the first axis; batch and seq together count the rows, labels.size.": {
        LOSS: "return (softmax(logits) - one_hot) / len(labels)"
    },
    "It is divided by the number of logits; the loss is a mean over rows, labels.size.": {
        LOSS: "return (softmax(logits) - one_hot) / logits.size"
    },
    "Only y is divided by the number of rows; put p - y in parentheses.": {
        LOSS: "return softmax(logits) - one_hot / labels.size"
    },
    "1 is subtracted from the logit of the label, before the softmax; subtract it from the probability.": {
        LOSS: "return softmax(logits - one_hot) / labels.size"
    },
    "The sign is wrong: it is p - y, not y - p.": {LOSS: "return (one_hot - softmax(logits)) / labels.size"},
    "The labels are not subtracted: it is p - y.": {LOSS: "return softmax(logits) / labels.size"},
    "There is no softmax: y is subtracted from probabilities, not from logits.": {
        LOSS: "return (logits - one_hot) / labels.size"
    },
    "The labels are subtracted as numbers; subtract 1 at the label and 0 elsewhere.": {
        ONE_HOT: "one_hot = labels[..., None]"
    },
    "1 is subtracted in the columns of all labels, in every row; a row has one label.": {
        ONE_HOT: "one_hot = np.isin(np.arange(logits.shape[-1]), labels)"
    },
    "The rows are picked by np.arange(len(labels)), which needs one axis of rows; compare labels[..., None] with all "
    "classes.": {
        ONE_HOT: "gradient = softmax(logits)\n    gradient[np.arange(len(labels)), labels] -= 1",
        LOSS: "return gradient / labels.size",
    },
    "exp of a large logit is infinite; softmax subtracts the largest of the row first.": {
        LOSS: "powers = np.exp(logits)\n"
        "    return (powers / powers.sum(axis=-1, keepdims=True) - one_hot) / labels.size"
    },
    "It stops at the probabilities: -y / p is their gradient; the logits' gradient is p - y.": {
        LOSS: "return -one_hot / softmax(logits) / labels.size"
    },
    "The caller's logits are changed in place; make a new array.": {
        LOSS: "logits -= logits.max(axis=-1, keepdims=True)\n    return (softmax(logits) - one_hot) / labels.size"
    },
    "The two gradients are swapped: the one of left comes first.": {BOTH: f"return {BY_RIGHT}, {BY_LEFT}"},
    "Only the gradient of left is returned; the right factor has one too.": {BOTH: f"return {BY_LEFT}"},
    "right is multiplied as it is; swap its last two axes, so that the shapes fit.": {BY_LEFT: "grad @ right"},
    "left is multiplied as it is; swap its last two axes, so that the shapes fit.": {BY_RIGHT: "left @ grad"},
    "All axes of right are reversed, the batch too; swap only the last two.": {BY_LEFT: "grad @ right.T"},
    "All axes of left are reversed, the batch too; swap only the last two.": {BY_RIGHT: "left.T @ grad"},
    "The gradient of right is transposed: it is left, with its axes swapped, times grad.": {
        BY_RIGHT: "np.swapaxes(grad, -2, -1) @ left"
    },
    "The gradient of right is summed over the batch; here every product has a right factor of its own.": {
        BY_RIGHT: f"({BY_RIGHT}).sum(axis=tuple(range(grad.ndim - 2)))"
    },
    "The row's sum is missing: a weight grows only at the others' expense. Subtract the sum of weights * grad.": {
        BEYOND: "return weights * grad"
    },
    "The sum runs over the queries; it must run over the keys, the last axis.": {MEAN: MEAN.replace("-1", "-2")},
    "The sum runs over the whole array; every row has its own.": {MEAN: "mean = (weights * grad).sum()"},
    "The row's sum has lost its axis: keepdims=True keeps it.": {MEAN: "mean = (weights * grad).sum(axis=-1)"},
    "The plain mean of grad is subtracted; each grad counts by its weight: (weights * grad).sum(...).": {
        MEAN: "mean = grad.mean(axis=-1, keepdims=True)"
    },
    "The sum of grad is subtracted; each grad counts by its weight: (weights * grad).sum(...).": {
        MEAN: "mean = grad.sum(axis=-1, keepdims=True)"
    },
    "grad - mean is not multiplied by the weights, so hidden scores get a gradient too.": {
        BEYOND: "return grad - mean"
    },
    "Only grad is multiplied by the weights; the row's sum must be too: weights * (grad - mean).": {
        BEYOND: "return weights * grad - mean"
    },
    "The sign is wrong: the row's sum is what is subtracted.": {BEYOND: "return weights * (mean - grad)"},
    "Only a weight's own score is considered, w (1 - w); every score of the row moves it.": {
        BEYOND: "return weights * (1 - weights) * grad"
    },
    "The softmax is taken again; weights is its result already.": {MEAN: f"weights = softmax(weights)\n    {MEAN}"},
    "The scale is missing: the scores were divided by the square root of d_k, so their gradient is too.": {
        SCORES: "grad_scores = softmax_backward(grad_weights, weights)"
    },
    "The scale is missing for query: it belongs to the scores, so query and key both have it.": {
        RETURN: RETURN.replace("grad_query", "grad_query * math.sqrt(key.shape[-1])")
    },
    "The scale is missing for key: it belongs to the scores, so query and key both have it.": {
        RETURN: RETURN.replace(
            "np.swapaxes(grad_key_t, -2, -1)", "np.swapaxes(grad_key_t, -2, -1) * math.sqrt(key.shape[-1])"
        )
    },
    "The scale reaches value too; it belongs to the scores, which come before the weights.": {
        RETURN: RETURN.replace("grad_value", "grad_value / math.sqrt(key.shape[-1])")
    },
    "The scores' gradient is multiplied by the square root of d_k; divide by it, as going forward.": {
        SCORES: SCORES.replace(" / ", " * ")
    },
    "The scores' gradient is divided by d_k; divide by its square root.": {
        SCORES: SCORES.replace("math.sqrt(key.shape[-1])", "key.shape[-1]")
    },
    "The scale is taken from the width of value; take it from that of key, d_k.": {
        SCORES: SCORES.replace("key.shape", "value.shape")
    },
    "The scale is taken from the number of tokens; take it from the width of key, the last axis.": {
        SCORES: SCORES.replace("key.shape[-1]", "key.shape[-2]")
    },
    "The backward pass skips the softmax: use softmax_backward.": {
        SCORES: SCORES.replace("softmax_backward(grad_weights, weights)", "grad_weights")
    },
    "The weights' gradient is multiplied by the weights, and the row's sum is missing: use softmax_backward.": {
        SCORES: SCORES.replace("softmax_backward(grad_weights, weights)", "weights * grad_weights")
    },
    "The weights are computed anew without the mask; use those that are given.": {
        GATHERED: "weights = softmax(query @ np.swapaxes(key, -2, -1) / math.sqrt(key.shape[-1]))\n    " + GATHERED
    },
    "The gradient of hidden scores is set to -inf, as scores are; it is 0 already.": {
        SCORES: SCORES + "\n    grad_scores = np.where(np.tri(key.shape[-2], dtype=bool), grad_scores, -np.inf)"
    },
    "The scores' gradient is masked on the wrong side: row i belongs to the query, and keeps columns 0 to i.": {
        SCORES: SCORES + "\n    grad_scores = np.triu(grad_scores)"
    },
    "The gradient of value is weights @ grad; the weights must be transposed, so that a value sums over its queries.": {
        RETURN: RETURN.replace("grad_value", "weights @ grad")
    },
    "The gradient of value leaves the weights out: every query sends its grad times its weight.": {
        RETURN: RETURN.replace("grad_value", "np.swapaxes(weights > 0, -2, -1) @ grad")
    },
    "The gradient of query is computed from the queries; it must be the scores' gradient times key.": {
        RETURN: RETURN.replace("grad_query", "grad_scores @ query")
    },
    "The gradient of key is computed from the keys; it must be the scores' gradient, transposed, times query.": {
        RETURN: RETURN.replace("np.swapaxes(grad_key_t, -2, -1)", "np.swapaxes(grad_scores, -2, -1) @ key")
    },
    "The gradient of key is summed over keys; transpose the scores' gradient, so that a key sums over its queries.": {
        RETURN: RETURN.replace("np.swapaxes(grad_key_t, -2, -1)", "grad_scores @ query")
    },
    "The gradient of key is still transposed: swap its last two axes back.": {
        RETURN: RETURN.replace("np.swapaxes(grad_key_t, -2, -1)", "grad_key_t")
    },
    "The gradients of query and key are made with the weights; use the gradient of the scores.": {
        PRODUCT: PRODUCT.replace("grad_scores", "weights")
    },
    ".T reverses all axes of the weights or of the scores' gradient, the batch too; swap only the last two.": {
        RETURN: RETURN.replace("np.swapaxes(grad_key_t, -2, -1)", "grad_scores.T @ query")
    },
    "matmul_backward is given key as it is; the scores are query times key with its last two axes swapped.": {
        PRODUCT: PRODUCT.replace("np.swapaxes(key, -2, -1)", "key"),
        RETURN: "return grad_query, grad_key_t, grad_value",
    },
    "softmax_backward is given grad; give it the gradient of the weights.": {
        SCORES: SCORES.replace("(grad_weights, weights)", "(grad, weights)")
    },
    "The factors are swapped: the output is weights @ value.": {
        GATHERED: "grad_value, grad_weights = matmul_backward(grad, value, weights)"
    },
    "The gradients of query and key are swapped: they come in the order query, key, value.": {
        RETURN: "return np.swapaxes(grad_key_t, -2, -1), grad_query, grad_value"
    },
    "The gradient of value comes first; the order is query, key, value.": {
        RETURN: "return grad_value, grad_query, np.swapaxes(grad_key_t, -2, -1)"
    },
}

ALTERNATIVES = {
    "a copy is moved": {
        WALK: """\
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        gradient[place] = (f(up) - f(down)) / (2 * h)
    return gradient
"""
    },
    "x itself, put back to the last bit": {
        WALK: """\
    gradient = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        before = x[place]
        x[place] = before + h
        gradient[place] = f(x)
        x[place] = before - h
        gradient[place] -= f(x)
        x[place] = before
    return gradient / (2 * h)
"""
    },
    "one copy, moved and moved back": {
        WALK: """\
    gradient, x = np.empty(x.shape), x.copy()
    for place in np.ndindex(x.shape):
        before = x[place]
        x[place] = before + h
        above = f(x)
        x[place] = before - h
        gradient[place] = (above - f(x)) / (2 * h)
        x[place] = before
    return gradient
"""
    },
    "rows of a unit matrix": {
        WALK: """\
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([f(x + one) - f(x - one) for one in steps]).reshape(x.shape) / (2 * h)
"""
    },
    "flat places": {
        WALK: """\
    gradient = np.zeros(x.size)
    for place in range(x.size):
        shift = np.zeros(x.size)
        shift[place] = h
        shift = shift.reshape(x.shape)
        gradient[place] = (f(x + shift) - f(x - shift)) / 2 / h
    return gradient.reshape(x.shape)
"""
    },
    "rows of a unit matrix for labels": {ONE_HOT: "one_hot = np.eye(logits.shape[-1])[labels]"},
    "1 subtracted at the labels": {
        ONE_HOT: "gradient, at = softmax(logits), labels[..., None]\n"
        "    np.put_along_axis(gradient, at, np.take_along_axis(gradient, at, -1) - 1, -1)",
        LOSS: "return gradient / labels.size",
    },
    "1 subtracted in rows laid out flat": {
        ONE_HOT: "gradient = softmax(logits).reshape(-1, logits.shape[-1])\n"
        "    gradient[np.arange(labels.size), labels.ravel()] -= 1",
        LOSS: "return gradient.reshape(logits.shape) / labels.size",
    },
    "a softmax of its own": {
        LOSS: "powers = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
        "    return (powers / powers.sum(axis=-1, keepdims=True) - one_hot) / np.prod(labels.shape)"
    },
    "einsum": {
        BOTH: 'return np.einsum("...nm,...km->...nk", grad, right), np.einsum("...nk,...nm->...km", left, grad)'
    },
    "the matrix transpose": {BOTH: "return grad @ right.mT, left.mT @ grad"},
    "the transpose of what is transposed": {
        BOTH: "return grad @ np.moveaxis(right, -1, -2), np.swapaxes(np.swapaxes(grad, -1, -2) @ left, -1, -2)"
    },
    "the products subtracted": {
        MEAN: "products = weights * grad",
        BEYOND: "return products - weights * products.sum(axis=-1, keepdims=True)",
    },
    "the whole Jacobian": {
        MEAN: "slopes = weights[..., None] * (np.eye(weights.shape[-1]) - weights[..., None, :])",
        BEYOND: "return (slopes * grad[..., None]).sum(axis=-2)",
    },
    "a sum by einsum": {MEAN: 'mean = np.einsum("...k,...k->...", weights, grad)[..., None]'},
    "four products": {
        GATHERED: "grad_weights, grad_value = grad @ value.mT, weights.mT @ grad",
        PRODUCT: "grad_query, grad_key = grad_scores @ key, grad_scores.mT @ query",
        RETURN: "return grad_query, grad_key, grad_value",
    },
    "key on the left": {
        PRODUCT: "grad_key, grad_query = matmul_backward(\n"
        "        np.swapaxes(grad_scores, -2, -1), key, np.swapaxes(query, -2, -1)\n    )",
        RETURN: "return np.swapaxes(grad_query, -2, -1), grad_key, grad_value",
    },
    "the scale on query and key": {
        SCORES: "grad_scores, scale = softmax_backward(grad_weights, weights), 1 / math.sqrt(key.shape[-1])",
        RETURN: "return grad_query * scale, np.swapaxes(grad_key_t, -2, -1) * scale, grad_value",
    },
    "the mask once more": {SCORES: SCORES + "\n    grad_scores = np.tril(grad_scores)"},
    "the row's sum from what was gathered": {
        SCORES: "mean = (grad * (weights @ value)).sum(axis=-1, keepdims=True)\n"
        "    grad_scores = weights * (grad_weights - mean) / math.sqrt(key.shape[-1])"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "zeros_like of torch": {"shift = np.zeros(x.shape)": "shift = torch.zeros_like(x)"},
    "zeros of several arguments": {"shift = np.zeros(x.shape)": "shift = np.zeros(*x.shape)"},
    "F.one_hot": {ONE_HOT: "one_hot = F.one_hot(labels, logits.shape[-1])"},
    "F.one_hot with num_classes": {ONE_HOT: "one_hot = F.one_hot(labels, num_classes=logits.shape[-1])"},
    "a comparison with torch.arange": {ONE_HOT: "one_hot = labels.unsqueeze(-1) == torch.arange(logits.shape[-1])"},
    "F.softmax": {"(softmax(logits) - one_hot)": "(F.softmax(logits, dim=-1) - one_hot)"},
    "softmax as a method": {"(softmax(logits) - one_hot)": "(logits.softmax(-1) - one_hot)"},
    "float as a method": {"- one_hot)": "- one_hot.float())"},
    "numel": {"/ labels.size": "/ labels.numel()"},
    "subtracting in place": {
        f"    {LOSS}": "    logits -= logits.max(axis=-1, keepdims=True)\n"
        "    return (softmax(logits) - one_hot) / labels.size"
    },
    "a transpose that names two axes": {BOTH: "return grad @ right.transpose(-2, -1), left.transpose(-2, -1) @ grad"},
    "the transpose of a batch, on the right": {BY_LEFT: "grad @ right.T"},
    "the transpose of a batch, on the left": {BY_RIGHT: "left.T @ grad"},
    "torch.bmm": {BY_LEFT: "torch.bmm(grad, np.swapaxes(right, -2, -1))"},
    "torch.einsum": {BY_RIGHT: 'torch.einsum("...nk,...nm->...km", left, grad)'},
    "sum by PyTorch's dim": {MEAN: "mean = (weights * grad).sum(dim=-1, keepdim=True)"},
    "torch.sum": {MEAN: "mean = torch.sum(weights * grad, dim=-1)[..., None]"},
    "mul as a method": {BEYOND: "return weights.mul(grad - mean)"},
    "grad centered in place": {f"    {BEYOND}": "    grad -= mean\n    return weights * grad"},
    "sqrt as a method": {"math.sqrt(key.shape[-1])": "np.float64(key.shape[-1]).sqrt()"},
    "size as a method": {"math.sqrt(key.shape[-1])": "math.sqrt(key.size(-1))"},
}

#: Sizes of the recorded numbers, written into the code; other numbers find them out.
FIXED = {
    "the width of a key is a number": {SCORES: SCORES.replace("key.shape[-1]", "5")},
}
