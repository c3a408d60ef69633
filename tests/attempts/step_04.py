"""Step 04, what people write instead: mistakes, each with its sentence, and other right answers."""

FC = "        wide = self.c_fc(hidden_states)  # [..., inner]\n"
GELU = 'F.gelu(wide, approximate="tanh")'
FORMULA = "0.5 * wide * (1 + F.tanh(0.7978845608028654 * (wide + 0.044715 * wide**3)))"
PROJ = "return self.c_proj(activated)"

MISTAKES = {
    'The GELU is the exact one; GPT-2 uses its tanh approximation: approximate="tanh".': {GELU: "F.gelu(wide)"},
    "The GELU is the sigmoid approximation; GPT-2 uses the tanh one.": {GELU: 'F.gelu(wide, approximate="quick")'},
    "There is no activation: two linear layers in a row are one linear layer.": {GELU: "wide"},
    "The activation is ReLU; GPT-2's is GELU.": {GELU: "F.relu(wide)"},
    "The activation is SiLU; GPT-2's is GELU.": {GELU: "F.silu(wide)"},
    "The activation is tanh alone; GELU multiplies by the input.": {GELU: "F.tanh(wide)"},
    "The GELU is written out with the square of x in place of its cube.": {GELU: FORMULA.replace("**3", "**2")},
    "The GELU is written out without the cube of x: it adds 0.044715 * x**3 to x.": {
        GELU: FORMULA.replace("(wide + 0.044715 * wide**3)", "wide")
    },
    "The GELU is written out with 2/pi in place of its square root.": {
        GELU: FORMULA.replace("0.7978845608028654", "0.6366197723675814")
    },
    "The GELU is written out with the root of 2, divided by pi; the root is of the quotient, 2 / pi.": {
        GELU: FORMULA.replace("0.7978845608028654", "0.4501581580785531")
    },
    "The GELU is written out with the root of 2 * pi; it must be that of 2 / pi.": {
        GELU: FORMULA.replace("0.7978845608028654", "2.5066282746310002")
    },
    "The GELU is written out with 0.44715; its factor is 0.044715.": {GELU: FORMULA.replace("0.04", "0.4")},
    "The GELU is written out with a root that multiplies x alone; parentheses are missing around the sum.": {
        GELU: FORMULA.replace("(wide + 0.044715 * wide**3)", "wide + 0.044715 * wide**3")
    },
    "The GELU is written out without the input in front: 0.5 * x * (1 + …).": {
        GELU: FORMULA.replace("* wide * (1", "* (1")
    },
    "The activation is applied once more, after c_proj; it belongs between the two layers alone.": {
        PROJ: 'return F.gelu(self.c_proj(activated), approximate="tanh")'
    },
    "The GELU is written out without the 1 that is added to tanh: 0.5 * x * (1 + …).": {
        GELU: FORMULA.replace("(1 + F", "(F")
    },
    "The GELU is written out with (x + 0.044715) * x**3; its factor belongs to the cube: x + 0.044715 * x**3.": {
        GELU: FORMULA.replace("wide + 0.044715 *", "(wide + 0.044715) *")
    },
    "The GELU is written out without its factor 1/2.": {GELU: FORMULA.replace("0.5 * ", "")},
    "For large inputs the GELU is NaN: exp(2u) is infinite, and infinity over infinity is not a number. Use F.tanh or "
    "F.gelu.": {
        GELU: FORMULA.replace(
            "F.tanh(0.7978845608028654 *", "(lambda power: (power - 1) / (power + 1))(F.exp(2 * 0.7978845608028654 *"
        )
        + ")"
    },
    "Three axes are assumed, but [seq, embd] has two; Linear takes any number of axes in front.": {
        FC: "        batch, seq, width = hidden_states.shape\n"
        "        wide = self.c_fc(hidden_states.reshape([batch * seq, width]))\n",
        PROJ: "return self.c_proj(activated).reshape([batch, seq, width])",
    },
    "The activation is applied twice.": {GELU: f'F.gelu({GELU}, approximate="tanh")'},
    "The activation comes after c_proj; it belongs between the two layers.": {
        GELU: "wide",
        PROJ: 'return F.gelu(self.c_proj(activated), approximate="tanh")',
    },
    "The activation comes before c_fc; it belongs between the two layers.": {
        GELU: "wide",
        FC: '        wide = self.c_fc(F.gelu(hidden_states, approximate="tanh"))\n',
    },
    "The input is added to the output; the residual connection comes in step 08.": {
        PROJ: "return hidden_states + self.c_proj(activated)",
    },
    "The inner width is always 4 * n_embd; it must be config.inner_dim.": {
        "Linear(config.n_embd, config.inner_dim)": "Linear(config.n_embd, 4 * config.n_embd)",
        "Linear(config.inner_dim, config.n_embd)": "Linear(4 * config.n_embd, config.n_embd)",
    },
    "n_inner is None for the default width; use inner_dim, which never is.": {
        "Linear(config.n_embd, config.inner_dim)": "Linear(config.n_embd, config.n_inner)",
        "Linear(config.inner_dim, config.n_embd)": "Linear(config.n_inner, config.n_embd)",
    },
    "c_fc has no bias; GPT-2's has.": {
        "Linear(config.n_embd, config.inner_dim)": "Linear(config.n_embd, config.inner_dim, bias=False)"
    },
    "c_proj has no bias; GPT-2's has.": {
        "Linear(config.inner_dim, config.n_embd)": "Linear(config.inner_dim, config.n_embd, bias=False)"
    },
}

#: Which numbers become infinite depends on the processor: on how far up its exp is finite.
OVERFLOWS = [sentence for sentence in MISTAKES if "exp(2u) is infinite" in sentence]

ALTERNATIVES = {
    "one line": {
        FC: "",
        f"        activated = {GELU}\n": "",
        PROJ: "return self.c_proj(F.gelu(self.c_fc(hidden_states), 'tanh'))",
    },
    "the formula": {GELU: FORMULA},
    "the formula by products": {
        GELU: "wide * 0.5 * (F.tanh((wide * wide * 0.044715 + 1) * wide * 0.7978845608028654) + 1)"
    },
    "the source tutorial's signature": {
        "self, config: GPT2Config": "self, intermediate_size: int, config: GPT2Config",
        "Linear(config.n_embd, config.inner_dim)": "Linear(config.n_embd, intermediate_size)",
        "Linear(config.inner_dim, config.n_embd)": "Linear(intermediate_size, config.n_embd)",
    },
    "keyword arguments": {
        "Linear(config.n_embd, config.inner_dim)": "Linear(in_dim=config.n_embd, out_dim=config.inner_dim, bias=True)"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
BY_FORMULA = """wide
        h = wide
        inner = 0.7978845608028654 * (h + 0.044715 * h**3)
        activated = 0.5 * h * (1 + F.tanh(inner))"""

HABITS = {
    "nn.Linear": {"self.c_fc = Linear(": "self.c_fc = nn.Linear("},
    "gelu_new": {
        GELU: "F.gelu_new(wide)",
    },
    "approximate=True": {'approximate="tanh"': "approximate=True"},
    "gelu as a method": {
        GELU: 'wide.gelu(approximate="tanh")',
    },
    "nn.functional": {"F.gelu(wide": "nn.functional.gelu(wide"},
    "torch.tanh": {
        GELU: BY_FORMULA.replace("F.tanh(", "torch.tanh("),
    },
    "tanh as a method": {
        GELU: BY_FORMULA.replace("F.tanh(inner)", "inner.tanh()"),
    },
    "pow as a method": {
        GELU: BY_FORMULA.replace("h**3", "h.pow(3)"),
    },
    "F.linear": {
        PROJ: "return F.linear(activated, self.c_proj.weight, self.c_proj.bias)",
    },
    "F.dropout": {PROJ: "return F.dropout(self.c_proj(activated), 0.1)"},
    "Linear by PyTorch's words": {
        "Linear(config.n_embd, config.inner_dim)": "Linear(in_features=config.n_embd, out_features=config.inner_dim)",
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in __init__": {"Linear(config.n_embd, config.inner_dim)": "Linear(15, config.inner_dim)"},
}
