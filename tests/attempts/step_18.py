"""Step 18, what people write instead: mistakes, each with its sentence, and other right answers."""

ROOT = "math.sqrt(head_dim)"
MASK = "mask = causal_mask(query.shape[-2], dtype=query.dtype, device=query.device)"
SOFTMAX = "return weights * (grad - F.sum(weights * grad, axis=-1))"
BY_VALUE = "grad_value = weights.T @ grad"
BY_WEIGHTS = "grad_weights = grad @ value.T"
BY_SCORES = "softmax_backward(grad_weights, weights)"
SCALED_BACK = f"grad_scores = {BY_SCORES} / {ROOT}"
BY_QUERY = "grad_query = grad_scores @ key"
BY_KEY = "grad_key = grad_scores.T @ query"
ALL_THREE = "return grad_query, grad_key, grad_value"
MERGED = "grad_attn_output, c_proj_grads = projection_backward(attention.c_proj, grad, attn_output)"
GRADS = "parts = attn_backward(attention._split_heads(grad_attn_output), query, key, value, weights)"
PARTS = "grad_qkv = F.concat([attention._merge_heads(part) for part in parts], axis=-1)"
INPUT = "grad_hidden_states, c_attn_grads = projection_backward(attention.c_attn, grad_qkv, hidden_states)"
RETURN = 'return grad_hidden_states, with_prefix({"c_attn": c_attn_grads, "c_proj": c_proj_grads})'

MISTAKES = {
    "The row's sum is missing: a weight grows only at the others' expense. Subtract the sum of weights * grad.": {
        SOFTMAX: "return weights * grad"
    },
    "The sum runs over the queries; it must run over the keys, the last axis.": {
        SOFTMAX: SOFTMAX.replace("axis=-1", "axis=-2")
    },
    "The sum runs over the whole tensor; every row has its own.": {SOFTMAX: SOFTMAX.replace("axis=-1", "axis=None")},
    "The plain mean of grad is subtracted; each grad counts by its weight: F.sum(weights * grad, axis=-1).": {
        SOFTMAX: "return weights * (grad - F.mean(grad, axis=-1))"
    },
    "The sum of grad is subtracted; each grad counts by its weight: F.sum(weights * grad, axis=-1).": {
        SOFTMAX: "return weights * (grad - F.sum(grad, axis=-1))"
    },
    "The mean of weights * grad is subtracted; subtract the sum, since the weights are shares already.": {
        SOFTMAX: SOFTMAX.replace("F.sum", "F.mean")
    },
    "The sum is of weights * weights; it must be of weights * grad.": {
        SOFTMAX: SOFTMAX.replace("F.sum(weights * grad", "F.sum(weights * weights")
    },
    "The difference is not multiplied by the weights, so hidden scores get a gradient, too.": {
        SOFTMAX: "return grad - F.sum(weights * grad, axis=-1)"
    },
    "Only grad is multiplied by the weights; the row's sum must be too: weights * (grad - sum).": {
        SOFTMAX: "return weights * grad - F.sum(weights * grad, axis=-1)"
    },
    "The sign is wrong: the row's sum is what is subtracted.": {
        SOFTMAX: "return weights * (F.sum(weights * grad, axis=-1) - grad)"
    },
    "Only a weight's own score is considered, w (1 - w); every score of the row moves it.": {
        SOFTMAX: "return weights * (1 - weights) * grad"
    },
    "The softmax is taken again; weights is its result already.": {
        SOFTMAX: f"weights = F.softmax(weights)\n    {SOFTMAX}"
    },
    "The gradient of value is weights @ grad; the weights must be transposed, so that a value sums over its queries.": {
        BY_VALUE: "grad_value = weights @ grad"
    },
    "The gradient of value leaves the weights out: every query sends its grad times its weight.": {
        BY_VALUE: "grad_value = (weights > 0).cast(grad.dtype).T @ grad"
    },
    "The scale is missing in the backward pass: the scores were divided by the square root of head_dim; divide "
    "their gradient, too.": {SCALED_BACK: f"grad_scores = {BY_SCORES}"},
    "The scale is missing for query: it belongs to the scores, so query and key both have it.": {
        BY_QUERY: f"{BY_QUERY} * {ROOT}"
    },
    "The scale is missing for key: it belongs to the scores, so query and key both have it.": {
        BY_KEY: f"{BY_KEY} * {ROOT}"
    },
    "The scale is applied twice: dividing the scores' gradient by the square root of head_dim is enough.": {
        SCALED_BACK: SCALED_BACK.replace(ROOT, "head_dim")
    },
    "The gradient of the scores is multiplied by the square root of head_dim; divide by it, as in the forward pass.": {
        SCALED_BACK: SCALED_BACK.replace(" / ", " * ")
    },
    "The scale reaches value too; it belongs to the scores, which come before the weights.": {
        BY_VALUE: f"{BY_VALUE} / {ROOT}"
    },
    "The backward pass skips the softmax: use softmax_backward.": {BY_SCORES: "grad_weights"},
    "softmax_backward is given the weights first; the gradient of the weights comes first.": {
        BY_SCORES: "softmax_backward(weights, grad_weights)"
    },
    "The gradient of the weights is computed from the keys; it must be grad times value, transposed.": {
        BY_WEIGHTS: BY_WEIGHTS.replace("value.", "key.")
    },
    "value is multiplied as it is; the gradient of the weights is grad times value, transposed.": {
        BY_WEIGHTS: "grad_weights = grad @ value"
    },
    "The gradient of the weights is transposed; it has a row for each query, as the weights do: grad @ value.T.": {
        BY_WEIGHTS: "grad_weights = value @ grad.T"
    },
    "The gradient of hidden scores is set to minus infinity, as scores are; it is 0 already.": {
        SCALED_BACK: f'{SCALED_BACK}\n    grad_scores = F.where(weights > 0, grad_scores, -float("inf"))'
    },
    "The gradient of query is computed from the queries; it must be the gradient of the scores times key.": {
        BY_QUERY: "grad_query = grad_scores @ query"
    },
    "The gradient of key is computed from the keys; it must be the gradient of the scores, transposed, times query.": {
        BY_KEY: "grad_key = grad_scores.T @ key"
    },
    "query and key are swapped: the gradient of query is made of the keys, and that of key of the queries.": {
        BY_QUERY: "grad_query = grad_scores @ query",
        BY_KEY: "grad_key = grad_scores.T @ key",
    },
    "The gradient of key is summed over keys; transpose the gradient of the scores, so that a key sums over its "
    "queries.": {BY_KEY: "grad_key = grad_scores @ query"},
    "The gradients of query and key are made with the weights; use the gradient of the scores.": {
        BY_QUERY: "grad_query = weights @ key",
        BY_KEY: "grad_key = weights.T @ query",
    },
    "The gradients of query and key are swapped: they come in the order query, key, value.": {
        ALL_THREE: "return grad_key, grad_query, grad_value"
    },
    "The gradient of value comes first; the order is query, key, value.": {
        ALL_THREE: "return grad_value, grad_query, grad_key"
    },
    "The gradients of key and value are swapped: they come in the order query, key, value.": {
        ALL_THREE: "return grad_query, grad_value, grad_key"
    },
    "The gradients of query and value are swapped: they come in the order query, key, value.": {
        ALL_THREE: "return grad_value, grad_key, grad_query"
    },
    "The gradient of query comes last; the order is query, key, value.": {
        ALL_THREE: "return grad_key, grad_value, grad_query"
    },
    "The backward pass skips c_proj: the heads need the gradient of c_proj's input.": {
        GRADS: GRADS.replace("grad_attn_output", "grad")
    },
    "The gradient of c_proj is made with hidden_states; its input was the merged heads.": {
        MERGED: MERGED.replace("grad, attn_output", "grad, hidden_states")
    },
    "The gradient of c_proj is made with unmerged heads; its input was the merged ones.": {
        MERGED: MERGED.replace("grad, attn_output", "grad, (weights @ value).reshape(attn_output.shape)")
    },
    "projection_backward is given the input of c_proj first; grad comes first.": {
        MERGED: MERGED.replace("grad, attn_output", "attn_output, grad")
    },
    "The gradient is cut into heads by reshape alone: _split_heads transposes too.": {
        GRADS: GRADS.replace("attention._split_heads(grad_attn_output)", "grad_attn_output.reshape(query.shape)")
    },
    "attn_backward is given grad after value; it must come first.": {
        GRADS: "parts = attn_backward(query, key, value, attention._split_heads(grad_attn_output), weights)"
    },
    "attn_backward is given grad unsplit; split it into heads first.": {
        GRADS: GRADS.replace("attention._split_heads(grad_attn_output)", "grad_attn_output")
    },
    "The gradient is merged, as the heads were; going back through a merge splits: _split_heads.": {
        GRADS: GRADS.replace("_split_heads", "_merge_heads")
    },
    "The gradients of the heads are merged without being transposed back: _merge_heads does both.": {
        PARTS: PARTS.replace("attention._merge_heads(part)", "part.reshape(hidden_states.shape)")
    },
    "The parts are joined in the order key, query, value; c_attn makes query, key, value.": {
        PARTS: PARTS.replace("in parts", "in (parts[1], parts[0], parts[2])")
    },
    "The parts are joined in the order value, key, query; c_attn makes query, key, value.": {
        PARTS: PARTS.replace("in parts", "in parts[::-1]")
    },
    "The parts are joined in the order query, value, key; c_attn makes query, key, value.": {
        PARTS: PARTS.replace("in parts", "in (parts[0], parts[2], parts[1])")
    },
    "The parts are joined in the order value, query, key; c_attn makes query, key, value.": {
        PARTS: PARTS.replace("in parts", "in (parts[2], parts[0], parts[1])")
    },
    "The parts are joined in the order key, value, query; c_attn makes query, key, value.": {
        PARTS: PARTS.replace("in parts", "in (parts[1], parts[2], parts[0])")
    },
    "The parts are joined along another axis; join them side by side, along the last: axis=-1.": {
        PARTS: PARTS.replace("axis=-1", "axis=1")
    },
    "The parts are joined before their heads are merged; merge each part first.": {
        PARTS: "grad_qkv = attention._merge_heads(F.concat(parts, axis=-1))"
    },
    "The heads are joined before they are merged, so the channels of query, key and value alternate.": {
        PARTS: "grad_qkv = F.concat(list(parts), axis=-1).transpose(-3, -2)\n"
        "    grad_qkv = grad_qkv.reshape([*hidden_states.shape[:-1], 3 * int(hidden_states.shape[-1])])"
    },
    "The gradient of c_attn is made with the merged heads; its input was hidden_states.": {
        INPUT: INPUT.replace("grad_qkv, hidden_states", "grad_qkv, attn_output")
    },
    "The backward pass skips c_attn: the gradient of the queries is returned as that of the input.": {
        RETURN: RETURN.replace("grad_hidden_states,", "attention._merge_heads(parts[0]),")
    },
    "The gradient of the residual connection is added; the block does that, in step 19.": {
        RETURN: RETURN.replace("grad_hidden_states,", "grad_hidden_states + grad,")
    },
    "The weights' gradients are transposed; they must be [out, in], like the weights.": {
        RETURN: 'for part in (c_attn_grads, c_proj_grads):\n        part["weight"] = part["weight"].T\n    ' + RETURN
    },
    "The gradient of c_attn.bias is summed over the batch only; every token used it, so sum over all tokens.": {
        RETURN: 'c_attn_grads["bias"] = F.sum(grad_qkv, axis=0)\n    ' + RETURN
    },
    "The gradients are divided by the batch size; add them up, since the loss has already divided.": {
        MERGED: MERGED + "\n    c_proj_grads = {name: g / int(grad.shape[0]) for name, g in c_proj_grads.items()}",
        INPUT: INPUT + "\n    c_attn_grads = {name: g / int(grad.shape[0]) for name, g in c_attn_grads.items()}",
    },
    "The gradients of c_proj are missing from the dictionary: all four are returned.": {
        RETURN: 'return grad_hidden_states, with_prefix({"c_attn": c_attn_grads})'
    },
    "The names begin with attn, as in the block; here they are those of the attention itself, c_attn.weight.": {
        RETURN: 'grads = with_prefix({"c_attn": c_attn_grads, "c_proj": c_proj_grads})\n'
        '    return grad_hidden_states, with_prefix({"attn": grads})'
    },
    "Weight and bias are swapped in the dictionary.": {
        RETURN: 'c_attn_grads = {"weight": c_attn_grads["bias"], "bias": c_attn_grads["weight"]}\n    ' + RETURN
    },
    "c_attn and c_proj are swapped in the dictionary.": {
        RETURN: 'return grad_hidden_states, with_prefix({"c_attn": c_proj_grads, "c_proj": c_attn_grads})'
    },
    "The two layers' gradients have the same names, so one hides the other: join them as c_attn and c_proj.": {
        RETURN: "return grad_hidden_states, c_attn_grads | c_proj_grads"
    },
    "The dictionary is returned first; the gradient of hidden_states comes first.": {
        RETURN: 'return with_prefix({"c_attn": c_attn_grads, "c_proj": c_proj_grads}), grad_hidden_states'
    },
    "Only the dictionary is returned; the gradient of hidden_states comes first.": {
        RETURN: RETURN.replace("grad_hidden_states, ", "")
    },
    "The three gradients are added; put them side by side: F.concat(…, axis=-1).": {
        PARTS: "grad_qkv = attention._merge_heads(parts[0] + parts[1] + parts[2])"
    },
    "The parts are joined with their heads unmerged; merge each first: attention._merge_heads(part).": {
        PARTS: "grad_qkv = F.concat(parts, axis=-1)"
    },
}

ALTERNATIVES = {
    "the products subtracted": {
        SOFTMAX: "products = weights * grad\n    return products - weights * products.sum(axis=-1)"
    },
    "the sum as a product of matrices": {
        SOFTMAX: "sums = (weights * grad) @ F.broadcast_to(Tensor([1.0]), [weights.shape[-1], 1])\n"
        "    return weights * (grad - sums)"
    },
    "the row's sum from what was gathered": {
        BY_SCORES: "weights * (grad_weights - F.sum(grad * (weights @ value), axis=-1))"
    },
    "the scale before the softmax": {
        BY_WEIGHTS: f"{BY_WEIGHTS} / {ROOT}",
        SCALED_BACK: f"grad_scores = {BY_SCORES}",
    },
    "the scale on query and key": {
        SCALED_BACK: f"grad_scores = {BY_SCORES}",
        ALL_THREE: f"return grad_query / {ROOT}, grad_key / {ROOT}, grad_value",
    },
    "the mask once more": {
        SCALED_BACK: f"{SCALED_BACK}\n    {MASK}\n    grad_scores = F.where(mask < 0, 0.0, grad_scores)"
    },
    "transpose by two axes": {
        BY_VALUE: "grad_value = weights.transpose(-2, -1) @ grad",
        BY_KEY: "grad_key = grad_scores.transpose(2, 3) @ query",
    },
    "multiplied by the inverse square root": {SCALED_BACK: f"grad_scores = {BY_SCORES} * head_dim**-0.5"},
    "permute": {BY_KEY: "grad_key = grad_scores.permute([0, 1, 3, 2]) @ query"},
    "projection_backward written out": {
        MERGED: "grad_attn_output = grad @ attention.c_proj.weight\n"
        "    rows = grad.reshape([-1, grad.shape[-1]])\n"
        "    weight = rows.T @ attn_output.reshape([-1, attn_output.shape[-1]])\n"
        '    c_proj_grads = {"weight": weight, "bias": F.sum(rows, axis=0).squeeze(0)}'
    },
    "the heads split and merged by hand": {
        GRADS: "sizes = [*grad_attn_output.shape[:-1], attention.num_heads, attention.head_dim]\n"
        "    parts = attn_backward(grad_attn_output.reshape(sizes).transpose(1, 2), query, key, value, weights)",
        PARTS: "parts = [part.transpose(1, 2).reshape(hidden_states.shape) for part in parts]\n"
        "    grad_qkv = F.concat(parts, axis=2)",
    },
    "the parts stacked": {
        PARTS: "grad_qkv = F.stack([attention._merge_heads(part) for part in parts], axis=-2)\n"
        "    grad_qkv = grad_qkv.reshape([*hidden_states.shape[:-1], 3 * int(hidden_states.shape[-1])])"
    },
    "zeros for the bias of the keys": {
        RETURN: 'by_query, by_key, by_value = F.chunk(c_attn_grads["bias"], 3, axis=0)\n'
        '    c_attn_grads["bias"] = F.concat([by_query, 0 * by_key, by_value], axis=0)\n    ' + RETURN
    },
    "names written out": {
        RETURN: 'names = {"c_proj.weight": c_proj_grads["weight"], "c_proj.bias": c_proj_grads["bias"]}\n'
        '    names |= {"c_attn.weight": c_attn_grads["weight"], "c_attn.bias": c_attn_grads["bias"]}\n'
        "    return grad_hidden_states, names"
    },
}

#: What people bring along from PyTorch; the check shows the line to write instead.
HABITS = {
    "sqrt of a size": {SCALED_BACK: SCALED_BACK.replace(ROOT, "math.sqrt(query.size(-1))")},
    "torch.matmul": {BY_WEIGHTS: "grad_weights = torch.matmul(grad, value.transpose(-2, -1))"},
    "sum with dim and keepdim": {SOFTMAX: "return weights * (grad - (weights * grad).sum(dim=-1, keepdim=True))"},
    "sum with keepdim": {SOFTMAX: "return weights * (grad - (weights * grad).sum(-1, keepdim=True))"},
    "torch.sum": {SOFTMAX: "return weights * (grad - torch.sum(weights * grad, dim=-1, keepdim=True))"},
    "mul as a method": {SOFTMAX: "return weights.mul(grad - F.sum(weights * grad, axis=-1))"},
    "mT of the weights": {BY_VALUE: "grad_value = weights.mT @ grad"},
    "torch.einsum": {BY_VALUE: 'grad_value = torch.einsum("bhqk,bhqd->bhkd", weights, grad)'},
    "einsum for the weights": {BY_WEIGHTS: 'grad_weights = F.einsum("bhqd,bhkd->bhqk", grad, value)'},
    "einsum for the query": {BY_QUERY: 'grad_query = torch.einsum("bhqk,bhkd->bhqd", grad_scores, key)'},
    "matmul as a method": {BY_QUERY: "grad_query = grad_scores.matmul(key)"},
    "masked_fill of the gradient": {
        SCALED_BACK: f"{SCALED_BACK}\n    {MASK}\n    grad_scores = grad_scores.masked_fill(mask < 0, 0.0)"
    },
    "transpose, contiguous and view": {
        PARTS: "batch, seq, width = hidden_states.shape\n"
        "    parts = [part.transpose(1, 2).contiguous().view(batch, seq, width) for part in parts]\n"
        "    grad_qkv = F.concat(parts, axis=-1)"
    },
    "view and transpose": {
        GRADS: "batch, seq, _ = hidden_states.shape\n"
        "    grad = grad_attn_output.view(batch, seq, attention.num_heads, attention.head_dim).transpose(1, 2)\n"
        "    parts = attn_backward(grad, query, key, value, weights)"
    },
    "torch.cat": {PARTS: PARTS.replace("F.concat", "torch.cat").replace("axis=", "dim=")},
    "F.cat": {PARTS: PARTS.replace("F.concat", "F.cat").replace("axis=", "dim=")},
    "chunk as a method": {
        GRADS: "query, key, value = [\n"
        "        attention._split_heads(part) for part in attention.c_attn(hidden_states).chunk(3, dim=2)\n    ]\n"
        f"    {GRADS}"
    },
}
