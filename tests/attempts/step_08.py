"""Step 08, what people write instead: mistakes, each with its sentence, and other right answers."""

SUM = "return x + sublayer(norm(x))"

MISTAKES = {
    "The norm comes after the sum (post-norm); GPT-2 normalizes before the sublayer.": {
        SUM: "return norm(x + sublayer(x))"
    },
    "The norm is applied to the sublayer's output; apply it to its input.": {SUM: "return x + norm(sublayer(x))"},
    "The residual is taken from the normalized input; add x itself.": {SUM: "x = norm(x)\n    return x + sublayer(x)"},
    "The residual is norm(x); it must be x itself: x + sublayer(norm(x)).": {SUM: "return norm(x) + sublayer(norm(x))"},
    "The norm is in the wrong place: x itself is the residual, and the sublayer reads norm(x).": {
        SUM: "return norm(x) + sublayer(x)"
    },
    "What norm returns is not used; give it to the sublayer.": {SUM: "norm(x)\n    return x + sublayer(x)"},
    "The input is added twice.": {SUM: "return x + x + sublayer(norm(x))"},
    "There is no residual: add x to the sublayer's output.": {SUM: "return sublayer(norm(x))"},
    "The sublayer gets x itself; normalize it first.": {SUM: "return x + sublayer(x)"},
    "The sublayer is left out.": {SUM: "return x + norm(x)"},
    "The input is subtracted; add it.": {SUM: "return sublayer(norm(x)) - x"},
    "The normalized input is added as well.": {SUM: "return x + norm(x) + sublayer(norm(x))"},
    "x is added to the normalized input; the sublayer reads norm(x) alone.": {SUM: "return x + sublayer(norm(x) + x)"},
    "The sublayer's output is multiplied; add it to x.": {SUM: "return x * sublayer(norm(x))"},
    "sublayer is given norm itself; give it norm(x).": {SUM: "return x + sublayer(norm)(x)"},
    "x is added before the sublayer; add it to the sublayer's output.": {SUM: "return sublayer(norm(x) + x)"},
    "sublayer is given norm itself, and x nowhere; give it norm(x).": {SUM: "return x + sublayer(norm)"},
    "norm is applied twice.": {SUM: "return x + sublayer(norm(norm(x)))"},
    "norm is called twice for one result; keep its output.": {SUM: "norm(x)\n    return x + sublayer(norm(x))"},
    "All texts are flattened into one, where attention would mix them; pass x in its own shape.": {
        SUM: "flat = x.reshape([-1, x.shape[-1]])\n    return (flat + sublayer(norm(flat))).reshape(x.shape)"
    },
    "The sum is halved, as if it were a mean.": {SUM: "return (x + sublayer(norm(x))) / 2"},
}

ALTERNATIVES = {
    "the other order": {SUM: "return sublayer(norm(x)) + x"},
    "in steps": {SUM: "residual = x\n    x = norm(x)\n    x = sublayer(x)\n    return residual + x"},
    "+=": {SUM: "out = sublayer(norm(x))\n    out += x\n    return out"},
    "F.add": {SUM: "from max.experimental import functional as F\n\n    return F.add(x, sublayer(norm(x)))"},
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "add as a method": {"return x + sublayer(norm(x))": "return x.add(sublayer(norm(x)))"},
    "clone": {"return x + sublayer(norm(x))": "return x.clone() + sublayer(norm(x))"},
    "torch.add": {"return x + sublayer(norm(x))": "return torch.add(x, sublayer(norm(x)))"},
}
