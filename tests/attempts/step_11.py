"""Step 11, what people write instead: mistakes, each with its sentence, and other right answers."""

LOGITS = "return self.lm_head(self.transformer(input_ids))"
HEAD = "Linear(config.n_embd, config.vocab_size, bias=False)"
F = "from max.experimental import functional as F\n\n        "

MISTAKES = {
    "The head is left out: the output is hidden states, not logits.": {LOGITS: "return self.transformer(input_ids)"},
    "A softmax is applied; return the logits themselves.": {
        LOGITS: F + "return F.softmax(self.lm_head(self.transformer(input_ids)))"
    },
    "A log-softmax is applied; return the logits themselves.": {
        LOGITS: F + "return F.logsoftmax(self.lm_head(self.transformer(input_ids)))"
    },
    "Only the last token's logits are returned; return those of every token.": {
        LOGITS: "return self.lm_head(self.transformer(input_ids)[:, -1:])"
    },
    "Only the last token's logits are returned, without the token axis; return those of every token.": {
        LOGITS: "return self.lm_head(self.transformer(input_ids))[:, -1]"
    },
    "ln_f is applied again; step 10 has already done that.": {
        LOGITS: "return self.lm_head(self.transformer.ln_f(self.transformer(input_ids)))"
    },
    "The logits are divided by the square root of n_embd.": {
        LOGITS: "return self.lm_head(self.transformer(input_ids)) / 15**0.5"
    },
    "The logits are negated.": {LOGITS: "return -self.lm_head(self.transformer(input_ids))"},
    "The head gets the embeddings; it must get the transformer's output.": {
        LOGITS: "return self.lm_head(self.transformer.wte(input_ids))"
    },
    "The head gets the token ids; it must get the transformer's output.": {LOGITS: "return self.lm_head(input_ids)"},
    "A GELU is applied to the logits.": {
        LOGITS: F + "return F.gelu(self.lm_head(self.transformer(input_ids)), 'tanh')"
    },
    "The logits are shifted by one place; row i already predicts the token after token i.": {
        LOGITS: F + "logits = self.lm_head(self.transformer(input_ids))\n"
        "        return F.concat([logits[:, 1:], logits[:, :1]], axis=1)"
    },
    "The logits come from wte's weights and not from lm_head, which may have its own: use lm_head.": {
        LOGITS: "return self.transformer(input_ids) @ self.transformer.wte.weight.transpose(0, 1)"
    },
    "The embeddings are stored under a second name, which no checkpoint has; take them from transformer.": {
        HEAD: f"{HEAD}\n        self.wte = self.transformer.wte"
    },
    "The head has a bias.": {HEAD: "Linear(config.n_embd, config.vocab_size)"},
    "The head goes the wrong way; it maps n_embd to vocab_size.": {
        HEAD: "Linear(config.vocab_size, config.n_embd, bias=False)"
    },
    "The head has n_positions outputs; it must have one for every token of the vocabulary.": {
        HEAD: "Linear(config.n_embd, config.n_positions, bias=False)"
    },
}

ALTERNATIVES = {
    "in two lines": {LOGITS: "hidden_states = self.transformer(input_ids)\n        return self.lm_head(hidden_states)"},
    "the forward methods": {LOGITS: "return self.lm_head.forward(self.transformer.forward(input_ids))"},
    "the matrix product": {LOGITS: "return self.transformer(input_ids) @ self.lm_head.weight.T"},
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "nn.Linear": {"self.lm_head = Linear(": "self.lm_head = nn.Linear("},
    "F.linear": {
        "return self.lm_head(self.transformer(input_ids))": (
            "return F.linear(self.transformer(input_ids), self.lm_head.weight)"
        ),
        "from max.experimental.nn import": "from max.experimental import functional as F\n"
        "from max.experimental.nn import",
    },
    "matmul as a method": {
        "return self.lm_head(self.transformer(input_ids))": (
            "return self.transformer(input_ids).matmul(self.lm_head.weight.T)"
        )
    },
    "mT": {
        "return self.lm_head(self.transformer(input_ids))": (
            "return self.transformer(input_ids) @ self.lm_head.weight.mT"
        )
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "both sizes of the head are numbers in __init__": {"Linear(config.n_embd, config.vocab_size": "Linear(15, 37"},
}
