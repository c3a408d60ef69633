"""Step 09, what people write instead: mistakes, each with its sentence, and other right answers."""

FIRST = "        hidden_states = pre_norm_residual(hidden_states, self.ln_1, self.attn)\n"
SECOND = "        return pre_norm_residual(hidden_states, self.ln_2, self.mlp)\n"
LN_1 = "self.ln_1 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)"
MLP = "self.mlp = GPT2MLP(config)"
LN_2 = "self.ln_2 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)"


def both(body):
    return {FIRST: "", SECOND: body}


MISTAKES = {
    "The norms are swapped: ln_1 belongs to attn, ln_2 to mlp.": both(
        "        hidden_states = pre_norm_residual(hidden_states, self.ln_2, self.attn)\n"
        "        return pre_norm_residual(hidden_states, self.ln_1, self.mlp)\n"
    ),
    "The feed-forward network comes before attention; it must come after.": both(
        "        hidden_states = pre_norm_residual(hidden_states, self.ln_2, self.mlp)\n"
        "        return pre_norm_residual(hidden_states, self.ln_1, self.attn)\n"
    ),
    "ln_1 is used for both halves; the second has ln_2.": {SECOND: SECOND.replace("ln_2", "ln_1")},
    "ln_2 is used for both halves; the first has ln_1.": {FIRST: FIRST.replace("ln_1", "ln_2")},
    "Both halves start from the block's input; the feed-forward network starts from the first half's output.": both(
        "        return hidden_states + self.attn(self.ln_1(hidden_states)) + self.mlp(self.ln_2(hidden_states))\n"
    ),
    "ln_1 and ln_2 have the default epsilon; take layer_norm_epsilon from the configuration.": {
        LN_1: "self.ln_1 = LayerNorm(config.n_embd)",
        LN_2: "self.ln_2 = LayerNorm(config.n_embd)",
    },
    "The norms come after the sums (post-norm); GPT-2 normalizes before each half.": both(
        "        hidden_states = self.ln_1(hidden_states + self.attn(hidden_states))\n"
        "        return self.ln_2(hidden_states + self.mlp(hidden_states))\n"
    ),
    "Attention is left out, or its output is not used: each half takes the output of the one before it.": {FIRST: ""},
    "In both halves, the input is added again; pre_norm_residual adds it already.": both(
        "        hidden_states = hidden_states + pre_norm_residual(hidden_states, self.ln_1, self.attn)\n"
        "        return hidden_states + pre_norm_residual(hidden_states, self.ln_2, self.mlp)\n"
    ),
    "In the first half, the input is added again; pre_norm_residual adds it already.": {
        FIRST: FIRST.replace("= pre", "= hidden_states + pre")
    },
    "In the second half, the input is added again; pre_norm_residual adds it already.": {
        SECOND: SECOND.replace("return pre", "return hidden_states + pre")
    },
    "The block's input is added to the output again; the two residuals are enough.": {
        FIRST: "        residual = hidden_states\n" + FIRST,
        SECOND: SECOND.replace("return pre", "return residual + pre"),
    },
    "The input is normalized before pre_norm_residual, which does so itself: it is normalized twice.": both(
        "        hidden_states = pre_norm_residual(self.ln_1(hidden_states), self.ln_1, self.attn)\n"
        "        return pre_norm_residual(self.ln_2(hidden_states), self.ln_2, self.mlp)\n"
    ),
    "The first input is normalized before pre_norm_residual, which does so itself.": {
        FIRST: FIRST.replace("(hidden_states,", "(self.ln_1(hidden_states),")
    },
    "The second input is normalized before pre_norm_residual, which does so itself.": {
        SECOND: SECOND.replace("(hidden_states,", "(self.ln_2(hidden_states),")
    },
    "Norm and sublayer are swapped: pre_norm_residual takes the input, the norm, the sublayer.": both(
        "        hidden_states = pre_norm_residual(hidden_states, self.attn, self.ln_1)\n"
        "        return pre_norm_residual(hidden_states, self.mlp, self.ln_2)\n"
    ),
    "In the first half, norm and sublayer are swapped.": {
        FIRST: FIRST.replace("self.ln_1, self.attn", "self.attn, self.ln_1")
    },
    "In the second half, norm and sublayer are swapped.": {
        SECOND: SECOND.replace("self.ln_2, self.mlp", "self.mlp, self.ln_2")
    },
    "The output is normalized; ln_f does that once, after the last block.": {
        SECOND: SECOND.replace(
            "return pre_norm_residual(hidden_states, self.ln_2, self.mlp)",
            "return self.ln_2(pre_norm_residual(hidden_states, self.ln_2, self.mlp))",
        )
    },
    "pre_norm_residual calls its second argument and its third: give it the input, then the norm and the sublayer "
    "themselves, as in (hidden_states, self.ln_1, self.attn).": {
        FIRST: FIRST.replace("self.attn)", "self.attn(hidden_states))")
    },
    "The feed-forward network is left out.": {SECOND: "        return hidden_states\n"},
    "The residual around attention is missing.": {
        FIRST: "        hidden_states = self.attn(self.ln_1(hidden_states))\n"
    },
    "The residual around the feed-forward network is missing.": {
        SECOND: "        return self.mlp(self.ln_2(hidden_states))\n"
    },
    "The second residual is the block's input; it must be the first half's output.": both(
        "        residual = hidden_states\n"
        "        hidden_states = pre_norm_residual(hidden_states, self.ln_1, self.attn)\n"
        "        return residual + self.mlp(self.ln_2(hidden_states))\n"
    ),
    "Attention is skipped for a single token; it looks at itself, and its own value is added.": {
        FIRST: f"        if hidden_states.shape[-2] != 1:\n    {FIRST}"
    },
    "A list of norms and sublayers in self gives every weight a second name, which no checkpoint has; make the list in "
    "forward.": {MLP: f"{MLP}\n        self.halves = [(self.ln_1, self.attn), (self.ln_2, self.mlp)]"},
    "Attention is applied twice.": {FIRST: FIRST + FIRST},
    "The norms are left out.": both(
        "        hidden_states = hidden_states + self.attn(hidden_states)\n"
        "        return hidden_states + self.mlp(hidden_states)\n"
    ),
    "The inner width is always 4 * n_embd; GPT2MLP takes it from the configuration.": {
        "GPT2MLP(config)": "GPT2MLP(4 * config.n_embd, config)"
    },
    "ln_1 has the default epsilon; take layer_norm_epsilon from the configuration.": {
        LN_1: "self.ln_1 = LayerNorm(config.n_embd)"
    },
    "ln_2 has the default epsilon; take layer_norm_epsilon from the configuration.": {
        LN_2: "self.ln_2 = LayerNorm(config.n_embd)"
    },
    "ln_1 and ln_2 are one module; they must be two, each with its own weights.": {LN_2: "self.ln_2 = self.ln_1"},
}

ALTERNATIVES = {
    "residuals written out": both(
        "        residual = hidden_states\n        hidden_states = self.attn(self.ln_1(hidden_states)) + residual\n"
        "        return hidden_states + self.mlp(self.ln_2(hidden_states))\n"
    ),
    "the source tutorial's arguments": {MLP: "self.mlp = GPT2MLP(config.inner_dim, config)"},
    "one expression": both(
        "        return pre_norm_residual(pre_norm_residual(hidden_states, self.ln_1, self.attn), self.ln_2, "
        "self.mlp)\n"
    ),
    "a loop": both(
        "        for norm, sublayer in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):\n"
        "            hidden_states = pre_norm_residual(hidden_states, norm, sublayer)\n        return hidden_states\n"
    ),
    "the forward methods": {
        FIRST: "        hidden_states = pre_norm_residual(hidden_states, self.ln_1.forward, self.attn.forward)\n"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "nn.LayerNorm": {"self.ln_1 = LayerNorm(": "self.ln_1 = nn.LayerNorm("},
    "LayerNorm with two numbers": {
        "self.ln_1 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)": (
            "self.ln_1 = LayerNorm(config.n_embd, config.layer_norm_epsilon)"
        )
    },
    "LayerNorm with epsilon": {
        "self.ln_1 = LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)": (
            "self.ln_1 = LayerNorm(config.n_embd, epsilon=config.layer_norm_epsilon)"
        )
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in __init__": {"self.ln_1 = LayerNorm(config.n_embd": "self.ln_1 = LayerNorm(15"},
}
