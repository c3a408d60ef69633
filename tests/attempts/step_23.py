"""Step 23, what people write instead: mistakes, each with its sentence, and other right answers."""

WIDTH = 36  # of the norm that the claims are about

MEAN = "mean_square = F.mean(x * x, axis=-1)  # [..., 1]"
NORMED = "return x * F.rsqrt(mean_square + eps) * weight"
LAYERS = """\
        self.gate_proj = Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = Linear(config.intermediate_size, config.hidden_size, bias=False)
"""
GATE = "gate = F.silu(self.gate_proj(hidden_states))  # [..., intermediate_size]"
UP = "up = self.up_proj(hidden_states)  # [..., intermediate_size]"
DOWN = "return self.down_proj(gate * up)"
OPERATION = "return F.rms_norm(x, weight, eps)"
RMS_IS = {f"    {MEAN}\n    {NORMED}": f"    {OPERATION}"}


def norm_by(expression):
    """The norm with other lines in place of both."""
    return {f"    {MEAN}\n    {NORMED}": f"    {expression}"}


def layer(name, old, new):
    """One of the three layers, changed."""
    line = next(line for line in LAYERS.splitlines() if f"self.{name} " in line)
    return {line: line.replace(old, new)}


MISTAKES = {
    "The mean is subtracted, as in a layer norm; an RMS norm divides x as it is.": norm_by(
        "x = x - F.mean(x, axis=-1)\n    return x * F.rsqrt(F.mean(x * x, axis=-1) + eps) * weight"
    ),
    "It divides by the standard deviation, which is measured from the mean; take the mean of x's own squares.": {
        MEAN: "mean_square = F.mean((x - F.mean(x, axis=-1)) ** 2, axis=-1)"
    },
    "The mean is taken of the channels; take it of their squares.": {MEAN: "mean_square = F.mean(x, axis=-1) ** 2"},
    "The channels are not squared: take the mean of x * x.": {MEAN: MEAN.replace("x * x", "x")},
    "The mean is over the tokens; take it over the last axis, each token's channels: axis=-1.": {
        MEAN: MEAN.replace("axis=-1", "axis=1")
    },
    "The squares are summed; divide the sum by the number of channels, as F.mean does.": {
        MEAN: MEAN.replace("F.mean", "F.sum")
    },
    "The sum of squares is divided by dim - 1; an RMS norm divides by dim.": {
        MEAN: f"mean_square = F.mean(x * x, axis=-1) * {WIDTH} / ({WIDTH} - 1)"
    },
    "The mean of the magnitudes is squared; square each channel first, then take the mean.": {
        MEAN: "mean_square = F.mean(F.abs(x), axis=-1) ** 2"
    },
    "It divides by the mean square; divide by its root.": {
        NORMED: "return x / (mean_square + eps) * weight",
    },
    "It multiplies by the root of the mean square; divide by it.": {NORMED: NORMED.replace("rsqrt", "sqrt")},
    "eps is added to the root; it belongs under it, next to the mean square.": {
        NORMED: "return x / (F.sqrt(mean_square) + eps) * weight"
    },
    "eps is not used: without it, a tiny token is blown up.": {NORMED: NORMED.replace(" + eps", "")},
    "eps is always 1e-6; use the one passed in.": {NORMED: NORMED.replace("+ eps", "+ 1e-6")},
    "eps is always 1e-5; use the one passed in.": {NORMED: NORMED.replace("+ eps", "+ 1e-5")},
    "An eps below 1e-6 is not used; take eps as it is.": {NORMED: NORMED.replace("+ eps", "+ max(eps, 1e-6)")},
    "The weight is not applied: multiply by weight.": {NORMED: NORMED.replace(" * weight", "")},
    "It multiplies by 1 + weight; that is Gemma's norm, whose weights lie around 0.": {
        NORMED: NORMED.replace("* weight", "* (1 + weight)")
    },
    "The weight is added; multiply by it.": {NORMED: NORMED.replace("* weight", "+ weight")},
    "It normalizes over the tokens; each token must be normalized over its own channels, the last axis.": {
        MEAN: MEAN.replace("axis=-1", "axis=-2")
    },
    "The axis is counted from the front, which fits only [batch, seq, dim]; the last axis is -1 for every rank.": {
        MEAN: MEAN.replace("axis=-1", "axis=2")
    },
    "gate_proj and up_proj are swapped: SiLU belongs to gate_proj's output.": {
        GATE: GATE.replace("gate_proj", "up_proj"),
        UP: UP.replace("up_proj", "gate_proj"),
    },
    "The gate is a GELU; Llama's is SiLU.": {GATE: GATE.replace("silu", "gelu")},
    "The gate is the tanh GELU of GPT-2; Llama's is SiLU.": {
        GATE: GATE.replace("F.silu(self.gate_proj(hidden_states))", "F.gelu(self.gate_proj(hidden_states), 'tanh')")
    },
    "The gate is a sigmoid, as in the first gated layers; Llama's is SiLU, x * sigmoid(x).": {
        GATE: GATE.replace("silu", "sigmoid")
    },
    "The gate is a ReLU; Llama's is SiLU.": {GATE: GATE.replace("silu", "relu")},
    "There is no SiLU: two linear layers are multiplied as they are.": {
        GATE: "gate = self.gate_proj(hidden_states)",
    },
    "SiLU comes after the product; apply it to gate_proj's output alone.": {
        GATE: "gate = self.gate_proj(hidden_states)",
        DOWN: "return self.down_proj(F.silu(gate * up))",
    },
    "SiLU is applied to the product, too; apply it to gate_proj's output alone.": {
        DOWN: DOWN.replace("gate * up", "F.silu(gate * up)")
    },
    "SiLU is applied to down_proj's output, too; apply it to gate_proj's output alone.": {
        DOWN: "return F.silu(self.down_proj(gate * up))"
    },
    "SiLU is applied to both; up_proj's output stays as it is.": {UP: "up = F.silu(self.up_proj(hidden_states))"},
    "The gate is added; multiply by it.": {DOWN: DOWN.replace("gate *", "gate +")},
    "up_proj is not used: multiply its output by the gate.": {DOWN: "return self.down_proj(gate)"},
    "The input is added to the output; the residual connection comes around the module.": {
        DOWN: "return hidden_states + self.down_proj(gate * up)"
    },
    "For large inputs, SiLU is NaN: exp(x) is infinite, and infinity over infinity is not a number. Use F.silu, or "
    "x * F.sigmoid(x).": {
        GATE: "gate = self.gate_proj(hidden_states)\n        gate = gate * F.exp(gate) / (1 + F.exp(gate))"
    },
    "Three axes are assumed, but [seq, hidden_size] has two; Linear takes any number of axes in front.": {
        GATE: f"batch, seq, width = hidden_states.shape\n        {GATE}",
        DOWN: "return self.down_proj(gate * up).reshape([batch, seq, width])",
    },
    "gate_proj has a bias; Llama's projections have none: bias=False.": layer("gate_proj", ", bias=False", ""),
    "up_proj has a bias; Llama's projections have none: bias=False.": layer("up_proj", ", bias=False", ""),
    "down_proj has a bias; Llama's projections have none: bias=False.": layer("down_proj", ", bias=False", ""),
    "No layer has bias=False; Llama's projections have no biases.": {LAYERS: LAYERS.replace(", bias=False", "")},
    "The inner width is 4 * hidden_size, as in GPT-2; it must be intermediate_size.": {
        LAYERS: LAYERS.replace("config.intermediate_size", "4 * config.hidden_size")
    },
    "down_proj has the widths of up_proj; it maps intermediate_size back to hidden_size.": layer(
        "down_proj", "config.intermediate_size, config.hidden_size", "config.hidden_size, config.intermediate_size"
    ),
    "The mean is over the whole tensor; take it over the last axis, each token's channels: axis=-1.": {
        MEAN: MEAN.replace("axis=-1", "axis=None")
    },
    "gate_proj is used twice; the gate multiplies up_proj's output.": {UP: UP.replace("up_proj", "gate_proj")},
    "up_proj is used twice; the gate is SiLU of gate_proj's output.": {GATE: GATE.replace("gate_proj", "up_proj")},
}

#: Which numbers become infinite depends on the processor: on how far up its exp is finite.
OVERFLOWS = [sentence for sentence in MISTAKES if "SiLU is NaN" in sentence]

ALTERNATIVES = {
    "MAX's operation": RMS_IS,
    "divided by the root": {NORMED: "return x / F.sqrt(mean_square + eps) * weight"},
    "the power of minus one half": {NORMED: "return weight * (x * (mean_square + eps) ** -0.5)"},
    "the square, and methods of the tensor": {MEAN: "mean_square = (x**2).mean(axis=-1)"},
    "x * sigmoid(x)": {
        GATE: "gate = self.gate_proj(hidden_states)\n        gate = gate * F.sigmoid(gate)",
    },
    "SiLU by hand": {GATE: "gate = self.gate_proj(hidden_states)\n        gate = gate / (1 + F.exp(-gate))"},
    "the tensor that came in, under its name": {
        UP: "hidden_states = gate * self.up_proj(hidden_states)",
        DOWN: "return self.down_proj(hidden_states)",
    },
    "one line": {
        f"        {GATE}\n        {UP}\n        {DOWN}": "        return self.down_proj("
        "F.silu(self.gate_proj(hidden_states)) * self.up_proj(hidden_states))"
    },
    "sizes by name": layer(
        "gate_proj",
        "config.hidden_size, config.intermediate_size",
        "in_dim=config.hidden_size, out_dim=config.intermediate_size",
    ),
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "pow and a mean with a dim": {MEAN: "mean_square = x.pow(2).mean(-1, keepdim=True)"},
    "torch.mean": {MEAN: "mean_square = torch.mean(x * x, dim=-1, keepdim=True)"},
    "torch.rsqrt": {NORMED: NORMED.replace("F.rsqrt", "torch.rsqrt")},
    "rsqrt as a method": {NORMED: "return x * (mean_square + eps).rsqrt() * weight"},
    "rms_norm with a shape": norm_by("return F.rms_norm(x, x.shape[-1:], weight, eps=eps)"),
    "rms_norm with eps": norm_by("return F.rms_norm(x, weight, eps=eps)"),
    "nn.Linear": {"self.gate_proj = Linear(": "self.gate_proj = nn.Linear("},
    "silu as a method": {GATE: "gate = self.gate_proj(hidden_states).silu()"},
    "nn.functional.silu": {GATE: GATE.replace("F.silu", "nn.functional.silu")},
    "torch.sigmoid": {GATE: "gate = self.gate_proj(hidden_states)\n        gate = gate * torch.sigmoid(gate)"},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in rms_norm": {MEAN: f"mean_square = F.sum(x * x, axis=-1) / {WIDTH}"},
    "the width is a number in __init__": layer("gate_proj", "config.hidden_size", f"{WIDTH}"),
}
