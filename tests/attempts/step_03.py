"""Step 03, what people write instead: mistakes, each with its sentence, and other right answers."""

WIDTH = 15  # of the norm that the claims are about

CENTERED = "centered = x - F.mean(x, axis=-1)\n        "
VARIANCE = "variance = F.mean(centered * centered, axis=-1)\n        "
FORWARD = CENTERED + VARIANCE + "return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"

MISTAKES = {
    "The gain is not applied: multiply by weight.": {" * self.weight": ""},
    "The shift is not applied: add bias.": {" + self.bias": ""},
    "Gain and shift are swapped.": {"* self.weight + self.bias": "* self.bias + self.weight"},
    "eps is not used: without it, a token that hardly varies is blown up.": {"variance + self.eps": "variance"},
    "eps is always 1e-5; use the one that was given.": {"variance + self.eps": "variance + 1e-5"},
    "An eps below 1e-5 is not used; take self.eps as it is.": {"variance + self.eps": "variance + max(self.eps, 1e-5)"},
    "eps is added to the standard deviation; it belongs under the root, next to the variance.": {
        "F.rsqrt(variance + self.eps)": "(1 / (F.sqrt(variance) + self.eps))"
    },
    "eps is added to the quotient; it belongs under the root, next to the variance: parentheses are missing.": {
        "centered * F.rsqrt(variance + self.eps)": "(centered / F.sqrt(variance) + self.eps)"
    },
    "Neither gain nor shift is applied: multiply by weight, then add bias.": {" * self.weight + self.bias": ""},
    "The variance is taken over the tokens; take it over the channels, the last axis.": {
        VARIANCE: VARIANCE.replace("axis=-1", "axis=-2")
    },
    "The mean is taken over the tokens; take it over the channels, the last axis.": {
        CENTERED: CENTERED.replace("axis=-1", "axis=-2")
    },
    **{
        f"The {name} is taken over axis {axis}; take it over the channels, the last axis, -1.": {
            code: code.replace("axis=-1", f"axis={axis}")
        }
        for name, code in (("mean", CENTERED), ("variance", VARIANCE))
        for axis in (0, 1)
    },
    **{
        f"The {name} is one number for all tokens, by axis=None; each token needs its own, over the last axis, -1.": {
            code: code.replace("axis=-1", "axis=None")
        }
        for name, code in (("mean", CENTERED), ("variance", VARIANCE))
    },
    "In a batch, it normalizes over the tokens, axis 1; the channels are the last axis, -1.": {
        FORWARD: FORWARD.replace("axis=-1", "axis=1")
    },
    "The variance is divided by dim - 1; layer normalization divides by dim.": {
        "F.mean(centered * centered, axis=-1)": f"F.mean(centered * centered, axis=-1) * {WIDTH} / ({WIDTH} - 1)"
    },
    "The mean is not subtracted: that is RMS normalization.": {"x - F.mean(x, axis=-1)": "x"},
    "x itself is divided; subtract the mean from it first.": {"return centered *": "return x *"},
    "It multiplies by the square root; divide by it: F.rsqrt.": {"F.rsqrt(variance": "F.sqrt(variance"},
    "The squares are summed; take their mean: F.mean.": {"F.mean(centered *": "F.sum(centered *"},
    "The centered numbers are not squared: the variance is the mean of their squares.": {
        "centered * centered": "centered"
    },
    "The mean is squared; take the mean of the squares: square first, then F.mean.": {
        VARIANCE: VARIANCE.replace("centered * centered, axis=-1)", "centered, axis=-1) ** 2")
    },
    "The variance is the mean of the squares of x; square the centered numbers.": {
        VARIANCE: VARIANCE.replace("centered * centered", "x * x")
    },
    "The bias is multiplied, too; add it after the gain.": {"* self.weight + self.bias": "* (self.weight + self.bias)"},
    "It divides by the variance; divide by its square root.": {
        "F.rsqrt(variance + self.eps)": "(1 / (variance + self.eps))"
    },
    "It normalizes over the tokens; each token must be normalized over its own channels, the last axis.": {
        FORWARD: FORWARD.replace("axis=-1", "axis=-2")
    },
    "The axis is counted from the front, which fits only [batch, seq, dim]; the last axis is -1 for every rank.": {
        FORWARD: FORWARD.replace("axis=-1", "axis=2")
    },
    "The variance is the mean square minus the squared mean, which cancels: near 1,000, float32 keeps no digit of "
    "it. Subtract the mean first, then square.": {
        FORWARD: "mean = F.mean(x, axis=-1)\n        variance = F.mean(x * x, axis=-1) - mean * mean\n"
        "        return (x - mean) * F.rsqrt(variance + self.eps) * self.weight + self.bias"
    },
    "Mean and variance are kept on self; each call needs those of its own x, in plain variables.": {
        FORWARD: "if not hasattr(self, 'mean'):\n"
        "            self.mean = F.mean(x, axis=-1)\n"
        "            self.variance = F.mean((x - self.mean) ** 2, axis=-1)\n"
        "        return (x - self.mean) * F.rsqrt(self.variance + self.eps) * self.weight + self.bias"
    },
    "The shift is added before the gain is applied: x * weight + bias, in this order.": {
        " * self.weight + self.bias": " * self.weight + self.bias * self.weight"
    },
    "weight starts as zeros: a new LayerNorm would return nothing but its bias.": {
        "self.weight = Tensor.ones([dim])": "self.weight = Tensor.zeros([dim])"
    },
    "bias starts as ones; it must start as zeros.": {
        "self.bias = Tensor.zeros([dim])": "self.bias = Tensor.ones([dim])"
    },
}

ALTERNATIVES = {
    "MAX's operation for all of it": {
        FORWARD: "return F.layer_norm(x, gamma=self.weight, beta=self.bias, epsilon=self.eps)"
    },
    "divided by the root": {" * F.rsqrt(variance + self.eps)": " / F.sqrt(variance + self.eps)"},
    "the power of minus one half": {"F.rsqrt(variance + self.eps)": "(variance + self.eps) ** -0.5"},
    "methods of the tensor": {
        FORWARD: "centered = x - x.mean(axis=-1)\n        variance = (centered * centered).mean(axis=-1)\n"
        "        return centered * F.rsqrt(variance + self.eps) * self.weight + self.bias"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
IMPORT = "from max.experimental import functional as F\n"
WRITTEN_OUT = """mean = x.mean(-1)
        variance = ((x - mean) ** 2).mean(-1)
        return (x - mean) / F.sqrt(variance + self.eps) * self.weight + self.bias"""

HABITS = {
    "ones of a number": {"Tensor.ones([dim])": "Tensor.ones(dim)"},
    "zeros of a number": {"Tensor.zeros([dim])": "Tensor.zeros(dim)"},
    "nn.Parameter": {"Tensor.ones([dim])": "nn.Parameter(Tensor.ones([dim]))"},
    "torch.ones": {"Tensor.ones([dim])": "torch.ones(dim)"},
    "layer_norm with a shape": {FORWARD: "return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)"},
    "layer_norm by PyTorch's words": {
        FORWARD: "return F.layer_norm(x, x.shape[-1:], weight=self.weight, bias=self.bias, eps=self.eps)"
    },
    "layer_norm with eps": {FORWARD: "return F.layer_norm(x, self.weight, self.bias, eps=self.eps)"},
    "layer_norm with weight and bias": {
        FORWARD: "return F.layer_norm(x, weight=self.weight, bias=self.bias, eps=self.eps)"
    },
    "mean with a dim": {FORWARD: WRITTEN_OUT.replace("x.mean(-1)", "x.mean(dim=-1, keepdim=True)")},
    "mean with keepdim": {FORWARD: WRITTEN_OUT.replace("x.mean(-1)", "x.mean(-1, keepdim=True)")},
    "var": {
        FORWARD: WRITTEN_OUT.replace("((x - mean) ** 2).mean(-1)", "x.var(-1, unbiased=False, keepdim=True)"),
    },
    "pow": {FORWARD: WRITTEN_OUT.replace("((x - mean) ** 2)", "(x - mean).pow(2)")},
    "torch.sqrt": {FORWARD: WRITTEN_OUT.replace("F.sqrt(", "torch.sqrt(")},
    "sqrt as a method": {FORWARD: WRITTEN_OUT.replace("F.sqrt(variance + self.eps)", "(variance + self.eps).sqrt()")},
    "np.sqrt": {FORWARD: WRITTEN_OUT.replace("F.sqrt(", "np.sqrt("), IMPORT: f"import numpy as np\n{IMPORT}"},
    "math.sqrt": {FORWARD: WRITTEN_OUT.replace("F.sqrt(", "math.sqrt("), IMPORT: f"import math\n\n{IMPORT}"},
    "sqrt without its module": {FORWARD: WRITTEN_OUT.replace("F.sqrt(", "sqrt(")},
    "rsqrt as a method": {
        FORWARD: WRITTEN_OUT.replace("/ F.sqrt(variance + self.eps)", "* (variance + self.eps).rsqrt()"),
    },
    "div and mul": {FORWARD: WRITTEN_OUT.replace("(x - mean) /", "x.sub(mean) /")},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in forward": {
        "F.mean(centered * centered, axis=-1)": f"F.sum(centered * centered, axis=-1) / {WIDTH}"
    },
}
