"""Step 11, the language-model head: what is claimed, and the mistakes that can be named."""

import numpy as np
import pytest
from max.dtype import DType
from max.experimental.tensor import Tensor

from checker.claims import about, equal, require
from checker.claims.modules import build, compiled, run

CASES = ("", "single_", "full_")


@pytest.fixture
def model(step, config, reference):
    """The model with Hugging Face's weights."""
    return build(step.MaxGPT2LMHeadModel, config, weights=reference.weights)


@about("__init__")
def test_parts(model, config):
    """transformer and lm_head are there by the names of a checkpoint, and the head has no bias."""
    require(getattr(model, "config", None) is config, "self.config, which was given, is gone.")
    require(not isinstance(model.lm_head.bias, Tensor), "lm_head has a bias; a checkpoint has none for it: bias=False.")


@about("forward")
def test_forward(model, reference):
    """The logits are Hugging Face's: [batch, seq] -> [batch, seq, vocab]."""
    equal(run(model, reference["input"]), reference["output"], ("batch", "token", "vocab"), what="forward(input_ids)")


@about("forward")
def test_one_token_and_a_full_context(model, reference):
    """One token alone is right, and so is a full context of n_positions tokens."""
    for case in CASES[1:]:
        equal(run(model, reference[f"{case}input"]), reference[f"{case}output"], what=f"forward of {case[:-1]} input")


@about("forward")
def test_the_most_likely_token(model, reference):
    """The most likely next token is the same as Hugging Face's at every place."""
    best = np.from_dlpack(run(model, reference["full_input"])).argmax(axis=-1)
    wanted = reference["full_output"].argmax(axis=-1)
    require(
        best.shape == wanted.shape and bool((best == wanted).all()),
        "Another token comes out as the most likely one.",
        best,
    )


@pytest.mark.compiled
@about("compiled")
def test_compiled(model, reference, device):
    """One graph with symbolic batch and length returns the same logits."""
    graph = compiled(model, ["batch", "seq"], device=device, dtype=DType.int64)
    for case in CASES:
        equal(graph(reference[f"{case}input"]), reference[f"{case}output"], what=f"the compiled model on {device}")


LOGITS = "return self.lm_head(self.transformer(input_ids))"
HEAD = "Linear(config.n_embd, config.vocab_size, bias=False)"
F = "from max.experimental import functional as F\n\n        "

MISTAKES = {
    "The head is left out: what comes out is hidden states, not logits.": {
        LOGITS: "return self.transformer(input_ids)"
    },
    "A softmax is applied; return the logits themselves.": {
        LOGITS: F + "return F.softmax(self.lm_head(self.transformer(input_ids)))"
    },
    "A log-softmax is applied; return the logits themselves.": {
        LOGITS: F + "return F.logsoftmax(self.lm_head(self.transformer(input_ids)))"
    },
    "Only the last token's logits are returned; return those of every token.": {
        LOGITS: "return self.lm_head(self.transformer(input_ids)[:, -1:])"
    },
    "ln_f is applied again; step 10 has done so.": {
        LOGITS: "return self.lm_head(self.transformer.ln_f(self.transformer(input_ids)))"
    },
    "The logits are divided by the square root of n_embd.": {
        LOGITS: "return self.lm_head(self.transformer(input_ids)) / 15**0.5"
    },
    "The logits are negated.": {LOGITS: "return -self.lm_head(self.transformer(input_ids))"},
    "The head gets the embeddings; it gets what the transformer returns.": {
        LOGITS: "return self.lm_head(self.transformer.wte(input_ids))"
    },
    "A GELU is applied to the logits.": {
        LOGITS: F + "return F.gelu(self.lm_head(self.transformer(input_ids)), 'tanh')"
    },
    "The logits are shifted by one place: row i is what follows token i, as it comes.": {
        LOGITS: F
        + "logits = self.lm_head(self.transformer(input_ids))\n        return F.concat([logits[:, 1:], logits[:, :1]], axis=1)"
    },
    "The head has a bias; a checkpoint has none for it: bias=False.": {
        HEAD: "Linear(config.n_embd, config.vocab_size)"
    },
    "The head goes the wrong way: from n_embd to vocab_size.": {
        HEAD: "Linear(config.vocab_size, config.n_embd, bias=False)"
    },
    "The head has n_positions outputs; it has one for every token of the vocabulary.": {
        HEAD: "Linear(config.n_embd, config.n_positions, bias=False)"
    },
}

ALTERNATIVES = {
    "in two lines": {LOGITS: "hidden_states = self.transformer(input_ids)\n        return self.lm_head(hidden_states)"},
    "the forward methods": {LOGITS: "return self.lm_head.forward(self.transformer.forward(input_ids))"},
    "the matrix product": {LOGITS: "return self.transformer(input_ids) @ self.lm_head.weight.T"},
    "the embeddings themselves": {LOGITS: "return self.transformer(input_ids) @ self.transformer.wte.weight.T"},
}
