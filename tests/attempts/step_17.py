"""Step 17, what people write instead: mistakes, each with its sentence, and other right answers."""

SUM = "return F.sum(rows_of(x), axis=0).squeeze(0)"
BY_X = "grad_x = grad @ weight"
BY_WEIGHT = "grad_weight = rows_of(grad).T @ rows_of(x)"
LINEAR = "return grad_x, grad_weight, sum_over_rows(grad)"
DU = "du = factor * (1 + 3 * cubic * x * x)"
DERIVATIVE = "derivative = 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * du"
GELU = "return grad * derivative"
RSTD = "rstd = F.rsqrt(F.mean(centered * centered, axis=-1) + eps)"
WEIGHTED = "grad_normalized = grad * weight"
MEAN = "F.mean(grad_normalized, axis=-1)"
ALONG = "normalized * F.mean(grad_normalized * normalized, axis=-1)"
STRETCH = f"stretch = {ALONG}"
NORM_X = f"grad_x = rstd * (grad_normalized - {MEAN} - stretch)"
NORM = "return grad_x, sum_over_rows(grad * normalized), sum_over_rows(grad)"
SCATTER = "return F.scatter_nd_add(table, rows_of(grad), indices.reshape([-1, 1]))"

MISTAKES = {
    "Only the batch is added up, so every position has its own row; add up the positions, too.": {
        SUM: "return F.sum(x, axis=0).squeeze(0)"
    },
    "Only the positions are added up, so every sequence has its own row; add up the batch, too.": {
        SUM: "return F.sum(x, axis=-2).squeeze(-2)"
    },
    "Only the batch is added up, axis 0 of x; rows_of makes one axis of all tokens.": {SUM: "return F.sum(x, axis=0)"},
    "The channels are added up, and the tokens are left; add up the tokens: axis=0 of rows_of(x).": {
        SUM: "return F.sum(rows_of(x)).squeeze(-1)"
    },
    "The axis that was added up is still there, with size 1; reshape to [channels].": {
        SUM: "return F.sum(rows_of(x), axis=0)"
    },
    "The channels are added up too, which leaves one number; each channel has a sum of its own.": {
        SUM: "return F.sum(x, axis=None).reshape([])"
    },
    "The mean over the tokens is taken; add them up: F.sum.": {SUM: SUM.replace("F.sum", "F.mean")},
    "The sum is divided by the number of sequences; add up, without a mean.": {
        SUM: SUM + " / x.shape[0]",
    },
    "The weight is transposed; forward multiplies by weight.T, and backward by the weight itself: grad @ weight.": {
        BY_X: "grad_x = grad @ weight.T"
    },
    "The gradient of weight is transposed, [in, out], as Hugging Face's Conv1D has it; Linear keeps [out, in].": {
        BY_WEIGHT: "grad_weight = rows_of(x).T @ rows_of(grad)"
    },
    "Every sequence has its own gradient of weight; there is one weight, so make rows of all tokens first.": {
        BY_WEIGHT: "grad_weight = grad.T @ x"
    },
    "The gradient of weight is averaged over the tokens; add them up: only the loss takes a mean.": {
        BY_WEIGHT: BY_WEIGHT + " / int(rows_of(x).shape[0])"
    },
    "The gradient of bias is averaged over the tokens; add them up: only the loss takes a mean.": {
        LINEAR: "return grad_x, grad_weight, sum_over_rows(grad) / int(rows_of(grad).shape[0])"
    },
    "The gradient of bias is added up over the batch only; add up the sequence too: sum_over_rows.": {
        LINEAR: "return grad_x, grad_weight, F.sum(grad, axis=0).squeeze(0)"
    },
    "The gradient of bias is grad as it is; all tokens share one bias, so add them up: sum_over_rows.": {
        LINEAR: "return grad_x, grad_weight, grad"
    },
    "The gradient of bias is the sum of x; the bias is added after the weight, so it is the sum of grad.": {
        LINEAR: "return grad_x, grad_weight, sum_over_rows(x)"
    },
    "The gradient of bias comes back through the weight; the bias is added after it, so it is the sum of grad.": {
        LINEAR: "return grad_x, grad_weight, sum_over_rows(grad_x)"
    },
    "The gradient of bias is missing: return those of x, weight and bias.": {LINEAR: "return grad_x, grad_weight"},
    "The gradients of x and weight are swapped: the order is x, weight, bias.": {
        LINEAR: "return grad_weight, grad_x, sum_over_rows(grad)"
    },
    "The sign is wrong: a gradient points where the loss grows; going against it is the optimizer's job.": {
        LINEAR: "return -grad_x, -grad_weight, -sum_over_rows(grad)"
    },
    "This is the derivative of the exact GELU; GPT-2 uses the tanh GELU.": {
        DERIVATIVE: "derivative = 0.5 * (1 + F.erf(x / math.sqrt(2))) "
        "+ x * F.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)"
    },
    "The product rule's second part is missing: tanh changes with x too.": {
        DERIVATIVE: "derivative = 0.5 * (1 + tanh)"
    },
    "The product rule's first part is missing: 0.5 (1 + tanh), the derivative of x times the other factor.": {
        DERIVATIVE: "derivative = 0.5 * x * (1 - tanh * tanh) * du"
    },
    "The derivative of x^3 is 3 x^2; the 3 is missing.": {DU: DU.replace("3 * ", "")},
    "The derivative of x^3 is 3 x^2; this has x^3.": {DU: DU.replace("x * x", "x * x * x")},
    "0.044715 is missing from the derivative of u: it multiplies x^3, so it multiplies 3 x^2.": {
        DU: DU.replace("3 * cubic", "3")
    },
    "The cubic part is missing from the derivative of u.": {DU: "du = factor"},
    "The factor sqrt(2 / pi) is missing from the derivative of u.": {DU: "du = 1 + 3 * cubic * x * x"},
    "The inner derivative is missing: the chain rule multiplies by the derivative of u.": {
        DERIVATIVE: DERIVATIVE.removesuffix(" * du")
    },
    "The derivative of tanh is 1 - tanh^2; this has 1 - tanh.": {
        DERIVATIVE: DERIVATIVE.replace("1 - tanh * tanh", "1 - tanh")
    },
    "The derivative of tanh is 1 - tanh^2; this has 1 + tanh^2.": {
        DERIVATIVE: DERIVATIVE.replace("1 - tanh * tanh", "1 + tanh * tanh")
    },
    "x is missing from the second part, 0.5 x (1 - tanh^2) times the derivative of u.": {
        DERIVATIVE: DERIVATIVE.replace("0.5 * x *", "0.5 *")
    },
    "0.5 is missing from the second part, 0.5 x (1 - tanh^2) times the derivative of u.": {
        DERIVATIVE: DERIVATIVE.replace("0.5 * x *", "x *")
    },
    "0.5 is missing from the first part, 0.5 (1 + tanh).": {
        DERIVATIVE: DERIVATIVE.replace("0.5 * (1 + tanh)", "(1 + tanh)")
    },
    "This is the slope of GELU; the chain rule multiplies it by grad.": {GELU: "return derivative"},
    "grad is multiplied by GELU itself; multiply it by its derivative.": {
        GELU: 'return grad * F.gelu(x, approximate="tanh")'
    },
    "This is the gradient of ReLU, which passes grad where x is positive; GELU has a slope everywhere.": {
        GELU: "return F.where(x > 0, grad, 0.0)"
    },
    "This is the derivative of the quick GELU, x times the sigmoid of 1.702 x; GPT-2 uses the tanh GELU.": {
        DERIVATIVE: "quick = F.sigmoid(1.702 * x)\n    derivative = quick + 1.702 * x * quick * (1 - quick)"
    },
    "The mean of grad * weight is not subtracted: the token's mean moves with each channel.": {
        NORM_X: NORM_X.replace(f" - {MEAN}", "")
    },
    "The part along the normalized token is not subtracted: the token's variance moves with each channel.": {
        NORM_X: NORM_X.replace(" - stretch", "")
    },
    "Both means are missing: the token's mean and its variance move with each channel.": {
        NORM_X: "grad_x = rstd * grad_normalized"
    },
    "The variance is the mean square minus the squared mean, so float32 loses the digits of a token far from 0.": {
        RSTD: "mean = F.mean(x, axis=-1)\n    rstd = F.rsqrt(F.mean(x * x, axis=-1) - mean * mean + eps)"
    },
    "eps is missing from rstd, so a token that hardly varies gets a huge gradient.": {RSTD: RSTD.replace(" + eps", "")},
    "eps is added to the root; add it to the variance, under the root.": {
        RSTD: "rstd = 1 / (F.sqrt(F.mean(centered * centered, axis=-1)) + eps)"
    },
    "eps is a constant here; take the one passed in.": {RSTD: RSTD.replace("eps", "1e-5")},
    "The weight is missing from the gradient of x: start from grad * weight.": {WEIGHTED: "grad_normalized = grad"},
    "The weight is missing from the mean that is subtracted: take the mean of grad * weight.": {
        NORM_X: NORM_X.replace(MEAN, "F.mean(grad, axis=-1)")
    },
    "The weight is missing from the part along the normalized token: start from grad * weight there too.": {
        STRETCH: STRETCH.replace("grad_normalized * normalized", "grad * normalized")
    },
    "grad is divided by the weight; multiply: the weight comes after the normalization.": {
        WEIGHTED: "grad_normalized = grad / weight"
    },
    "The gradient of x is not multiplied by rstd, 1 over the standard deviation.": {
        NORM_X: f"grad_x = grad_normalized - {MEAN} - stretch"
    },
    "Only the part along the normalized token is multiplied by rstd; multiply all three: rstd * (...).": {
        NORM_X: f"grad_x = grad_normalized - {MEAN} - stretch * rstd"
    },
    "Only grad * weight is multiplied by rstd; what is subtracted from it must be, too: rstd * (...).": {
        NORM_X: f"grad_x = rstd * grad_normalized - {MEAN} - stretch"
    },
    "The gradient of x is multiplied by the standard deviation; divide by it: times rstd.": {
        NORM_X: NORM_X.replace("rstd * (", "1 / rstd * (")
    },
    "rstd is there twice; multiply the gradient of x by it once.": {
        NORM_X: NORM_X.replace("rstd * (", "rstd * rstd * (")
    },
    "The part along the normalized token is added; subtract it.": {NORM_X: NORM_X.replace("- stretch", "+ stretch")},
    "The mean of the product is subtracted as it is; multiply it by normalized first.": {
        STRETCH: STRETCH.replace("normalized * F.mean", "F.mean")
    },
    "The mean of grad * weight alone multiplies normalized; take the mean of grad * weight * normalized.": {
        STRETCH: STRETCH.replace("grad_normalized * normalized", "grad_normalized")
    },
    "The part along the token is made of centered; make it of normalized, both times.": {
        STRETCH: "stretch = centered * F.mean(grad_normalized * centered, axis=-1)"
    },
    "The part along normalized is divided by its squared length; divide by the number of channels: F.mean.": {
        STRETCH: f"{STRETCH.replace('F.mean', 'F.sum')} / F.sum(normalized * normalized, axis=-1)"
    },
    "The sum of the product is taken, not its mean: everything along the token counts once per channel.": {
        STRETCH: STRETCH.replace("F.mean", "F.sum")
    },
    "The sum of grad * weight is subtracted; subtract its mean.": {NORM_X: NORM_X.replace("F.mean", "F.sum")},
    "The means run over the tokens; they must run over the channels of one token, the last axis.": {
        STRETCH: STRETCH.replace("axis=-1", "axis=-2"),
        NORM_X: NORM_X.replace("axis=-1", "axis=-2"),
    },
    "The variance is divided by dim - 1; divide it by dim: F.mean.": {
        RSTD: "rstd = F.rsqrt(F.sum(centered * centered, axis=-1) / (x.shape[-1] - 1) + eps)"
    },
    "The gradient of weight is made with x; the weight multiplied the normalized token.": {
        NORM: NORM.replace("grad * normalized", "grad * x")
    },
    "The gradient of weight is made with the centered token; the weight multiplied the normalized one.": {
        NORM: NORM.replace("grad * normalized", "grad * centered")
    },
    "The gradient of weight contains the weight; it must be grad times normalized, added up.": {
        NORM: NORM.replace("grad * normalized", "grad_normalized * normalized")
    },
    "The gradients of weight and bias both contain the weight; make them of grad alone.": {
        NORM: NORM.replace("grad * normalized", "grad_normalized * normalized").replace(
            "sum_over_rows(grad)", "sum_over_rows(grad_normalized)"
        )
    },
    "The gradient of weight is not added up; all tokens share one weight: sum_over_rows.": {
        NORM: NORM.replace("sum_over_rows(grad * normalized)", "grad * normalized")
    },
    "The gradient of bias contains the weight; the bias is added after it, so it is the sum of grad.": {
        NORM: NORM.replace("sum_over_rows(grad)", "sum_over_rows(grad_normalized)")
    },
    "The gradients of weight and bias are swapped: the order is x, weight, bias.": {
        NORM: "return grad_x, sum_over_rows(grad), sum_over_rows(grad * normalized)"
    },
    "The last token that looked a row up overwrites the others; add them: F.scatter_nd_add.": {
        SCATTER: SCATTER.replace("scatter_nd_add", "scatter_nd")
    },
    "Of the tokens that looked a row up, only the largest gradient is kept; add them: F.scatter_nd_add.": {
        SCATTER: SCATTER.replace("scatter_nd_add", "scatter_nd_max")
    },
    "Each row is averaged over the tokens that looked it up; add their gradients: F.scatter_nd_add.": {
        SCATTER: """\
counts = F.scatter_nd_add(table, Tensor.ones_like(rows_of(grad)), indices.reshape([-1, 1]))
    return F.scatter_nd_add(table, rows_of(grad), indices.reshape([-1, 1])) / F.max(counts, 1.0)"""
    },
    "The table is divided by the number of tokens; add them up: only the loss takes a mean.": {
        SCATTER: SCATTER + " / rows_of(grad).shape[0]"
    },
    "Only the first sequence is added; add the tokens of all.": {
        SCATTER: "return F.scatter_nd_add(table, rows_of(grad[:1]), indices[:1].reshape([-1, 1]))"
    },
    "grad and the ids are flattened in different orders; every row of grad must meet its own id.": {
        SCATTER: SCATTER.replace("rows_of(grad)", "rows_of(grad.transpose(0, 1))")
    },
    "The table is transposed; it has a row for each token of the vocabulary, [vocab, embd].": {SCATTER: SCATTER + ".T"},
    "The gradients are subtracted; going against a gradient is the optimizer's job.": {
        SCATTER: SCATTER.replace("rows_of(grad)", "-rows_of(grad)")
    },
    "In int16, ids above 32,767 turn negative; leave the ids as they are.": {
        SCATTER: "from max.dtype import DType\n\n    "
        + SCATTER.replace("indices.", "indices.cast(DType.int16).cast(DType.int64).")
    },
    "Rows and indices are swapped: F.scatter_nd_add takes table, rows, indices.": {
        SCATTER: "return F.scatter_nd_add(table, indices.reshape([-1, 1]), rows_of(grad))"
    },
}

ALTERNATIVES = {
    "the axes added up one after the other": {
        SUM: "while x.rank > 1:\n        x = F.sum(x, axis=0).squeeze(0)\n    return x"
    },
    "sum as a method, and reshape": {SUM: "return rows_of(x).sum(axis=0).reshape([x.shape[-1]])"},
    "the rows turned into columns": {SUM: "return F.sum(rows_of(x).T).squeeze(-1)"},
    "the rows first": {BY_X: "grad_x = (rows_of(grad) @ weight).reshape(x.shape)"},
    "matmul as a function": {BY_X: "grad_x = F.matmul(grad, weight)"},
    "the transpose of the transposed product": {BY_WEIGHT: "grad_weight = (rows_of(x).T @ rows_of(grad)).T"},
    "permute for the transpose": {BY_WEIGHT: BY_WEIGHT.replace(".T", ".permute([1, 0])")},
    "transpose by two axes": {BY_WEIGHT: BY_WEIGHT.replace(".T", ".transpose(0, 1)")},
    "the sum of outer products": {
        BY_WEIGHT: "products = rows_of(grad).unsqueeze(-1) * rows_of(x).unsqueeze(-2)\n"
        "    grad_weight = F.sum(products, axis=0).reshape(weight.shape)"
    },
    "the gradient of bias as a product with ones": {
        LINEAR: "ones = Tensor.ones_like(rows_of(x)[:, :1])\n"
        "    return grad_x, grad_weight, (ones.T @ rows_of(grad)).reshape([grad.shape[-1]])"
    },
    "a list of gradients": {LINEAR: "return [grad_x, grad_weight, sum_over_rows(grad)]"},
    "the whole derivative at once": {
        f"    {DU}\n": "",
        DERIVATIVE: "derivative = 0.5 * (1 + tanh + x * (1 - tanh**2) * factor * (1 + 3 * cubic * x**2))",
    },
    "GELU as x times a sigmoid": {
        DERIVATIVE: "gate = F.sigmoid(2 * u)\n    derivative = gate + 2 * x * gate * (1 - gate) * du"
    },
    "the gate of GELU": {DERIVATIVE: "gate = 0.5 * (1 + tanh)\n    derivative = gate + 2 * x * gate * (1 - gate) * du"},
    "grad times each part": {
        DERIVATIVE: "through_x = grad * 0.5 * (1 + tanh)",
        GELU: "return through_x + grad * 0.5 * x * (1 - tanh * tanh) * du",
    },
    "the mean subtracted first": {
        WEIGHTED: f"{WEIGHTED}\n    grad_normalized = grad_normalized - {MEAN}",
        NORM_X: NORM_X.replace(f" - {MEAN}", ""),
    },
    "sums and the number of channels": {
        NORM_X: "dim = int(x.shape[-1])\n"
        "    along = normalized * F.sum(grad_normalized * normalized, axis=-1)\n"
        "    grad_x = rstd / dim * (dim * grad_normalized - F.sum(grad_normalized, axis=-1) - along)",
    },
    "through the variance and the mean, one by one": {
        NORM_X: "grad_variance = -0.5 * rstd * rstd * rstd * F.mean(grad_normalized * centered, axis=-1)\n"
        "    grad_centered = rstd * grad_normalized + 2 * centered * grad_variance\n"
        "    grad_x = grad_centered - F.mean(grad_centered, axis=-1)",
    },
    "one over the root": {RSTD: "rstd = 1 / F.sqrt(F.mean(centered**2, axis=-1) + eps)"},
    "the gradients of weight and bias from one row each": {
        NORM: "ones = Tensor.ones_like(rows_of(x)[:, :1]).T\n"
        "    sums = ones @ rows_of(grad * normalized), ones @ rows_of(grad)\n"
        "    return grad_x, sums[0].squeeze(0), sums[1].squeeze(0)"
    },
    "ids with an axis more": {SCATTER: "return F.scatter_nd_add(table, grad, indices.unsqueeze(-1))"},
    "a product with one-hot rows": {
        SCATTER: "vocab = Tensor.arange(num_embeddings, dtype=indices.dtype, device=indices.device)\n"
        "    one_hot = (indices.reshape([-1, 1]) == vocab).cast(grad.dtype)\n"
        "    return one_hot.T @ rows_of(grad)"
    },
}

#: What people bring along from PyTorch or NumPy; the check shows the line to write instead.
HABITS = {
    "sum over two axes by dim": {SUM: "return x.sum(dim=(0, 1))"},
    "sum over two axes by axis": {SUM: "return x.sum(axis=(0, 1))"},
    "sum over two axes by position": {SUM: "return x.sum((0, 1))"},
    "F.sum over two axes": {SUM: "return F.sum(x, axis=(0, 1))"},
    "torch.sum over two axes": {SUM: "return torch.sum(x, dim=(0, 1))"},
    "np.sum over two axes": {SUM: "return np.sum(x, axis=(0, 1))"},
    "sum of a view": {SUM: "return x.view(-1, x.shape[-1]).sum(dim=0).reshape([x.shape[-1]])"},
    "mm": {BY_X: "grad_x = grad.matmul(weight)"},
    "torch.matmul": {BY_X: "grad_x = torch.matmul(grad, weight)"},
    "t": {BY_WEIGHT: "grad_weight = rows_of(grad).t() @ rows_of(x)"},
    "mT": {BY_WEIGHT: "grad_weight = rows_of(grad).mT @ rows_of(x)"},
    "views, and t": {BY_WEIGHT: "grad_weight = grad.view(-1, grad.size(-1)).t() @ x.view(-1, x.size(-1))"},
    "reshape with two numbers": {
        BY_WEIGHT: "grad_weight = grad.reshape(-1, grad.shape[-1]).T @ x.reshape(-1, x.shape[-1])"
    },
    "flatten": {BY_WEIGHT: "grad_weight = rows_of(grad).T @ x.flatten(0, -2)"},
    "einsum": {BY_WEIGHT: 'grad_weight = torch.einsum("bto,bti->oi", grad, x)'},
    "einsum of F": {BY_WEIGHT: 'grad_weight = F.einsum("...o,...i->oi", grad, x)'},
    "torch.outer": {BY_WEIGHT: "grad_weight = torch.outer(grad, x)"},
    "a bias summed by dim": {LINEAR: "return grad_x, grad_weight, grad.sum(dim=(0, 1))"},
    "squares by pow": {DU: "du = factor * (1 + 3 * cubic * x.pow(2))"},
    "squares by square": {DERIVATIVE: DERIVATIVE.replace("tanh * tanh", "tanh.square()")},
    "squares by torch.square": {DERIVATIVE: DERIVATIVE.replace("tanh * tanh", "torch.square(tanh)")},
    "squares by np.square": {DERIVATIVE: DERIVATIVE.replace("tanh * tanh", "np.square(tanh)")},
    "mul as a method": {GELU: "return grad.mul(derivative)"},
    "mean with dim and keepdim": {
        STRETCH: "stretch = normalized * (grad_normalized * normalized).mean(dim=-1, keepdim=True)"
    },
    "mean with keepdim": {NORM_X: NORM_X.replace(MEAN, "grad_normalized.mean(-1, keepdim=True)")},
    "np.mean": {NORM_X: NORM_X.replace(MEAN, "np.mean(grad_normalized, axis=-1, keepdims=True)")},
    "a gain summed over two axes": {NORM: "return grad_x, (grad * normalized).sum((0, 1)), grad.sum((0, 1))"},
    "index_add_": {SCATTER: "return table.index_add_(0, indices.reshape([-1]), rows_of(grad))"},
    "index_add_ of views": {
        SCATTER: "table.index_add_(0, indices.view(-1), grad.view(-1, grad.size(-1)))\n    return table"
    },
    "np.add.at": {SCATTER: "np.add.at(table, indices, grad)\n    return table"},
    "table[indices] += grad": {SCATTER: "table[indices] += grad\n    return table"},
    "scatter_add_": {SCATTER: "return table.scatter_add_(0, indices.reshape([-1, 1]), rows_of(grad))"},
    "ids and grad as they are": {SCATTER: "return F.scatter_nd_add(table, grad, indices)"},
    "ids as they are": {SCATTER: "return F.scatter_nd_add(table, rows_of(grad), indices)"},
    "grad as it is": {SCATTER: "return F.scatter_nd_add(table, grad, indices.reshape([-1, 1]))"},
    "grad as it is, and flat ids": {SCATTER: "return F.scatter_nd_add(table, grad, indices.reshape([-1]))"},
}
