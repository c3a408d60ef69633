"""Warm-up 03, what people write instead: mistakes, each with its sentence, and other right answers."""

MASK = "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))"
WHERE = "scores = np.where(mask, scores, -np.inf)"
UNTRAINED = "    if not training or generator is None:\n        return x\n"
KEPT = "kept = generator.random(x.shape) >= p"
SCALED = "return x * kept / (1 - p)"
WEIGHTS_OF = "weights = attention_weights(query, key, lookback_mask(x.shape[-2]))"
DROP = "    weights = dropout(weights, p, training=training, generator=generator)\n"
GATHER = "return context_vectors(weights, value)"

MISTAKES = {
    "The mask is transposed: every token looks at itself and the tokens after it instead of before.": {
        MASK: MASK.replace("tril", "triu")
    },
    "The mask is upside down: True must stand where a token may look.": {MASK: "~" + MASK},
    "The mask is off by one: every token also looks at the one right after it.": {
        MASK: MASK.replace("bool))", "bool), k=1)")
    },
    "The mask blocks the token itself: the diagonal must be True too.": {MASK: MASK.replace("bool))", "bool), k=-1)")},
    "Nothing is blocked: the mask is True everywhere.": {
        MASK: "np.ones((sequence_length, sequence_length), dtype=bool)"
    },
    "The mask is of floats; make it of bool.": {MASK: "np.tril(np.ones((sequence_length, sequence_length)))"},
    "The mask is ignored.": {WHERE: "pass"},
    "The mask is read the wrong way round: True is where a query may attend.": {
        WHERE: "scores = np.where(mask, -np.inf, scores)"
    },
    "Blocked scores are 0, which still earns weight, exp(0) = 1; make them -inf.": {
        WHERE: "scores = np.where(mask, scores, 0.0)"
    },
    "Blocked scores are +inf; it is -inf that the softmax gives no weight.": {
        WHERE: "scores = np.where(mask, scores, np.inf)"
    },
    "The weights are masked after the softmax, so the rows no longer sum to one; mask the scores, before.": {
        WHERE: "return softmax(scores) * mask"
    },
    "The plain scores are used; scaled_scores divides them by the square root of d_k.": {
        "scores = scaled_scores(query, key)": "scores = query @ np.swapaxes(key, -2, -1)"
    },
    "There is no softmax: the masked scores are returned.": {"return softmax(scores)": "return scores"},
    "Elements are dropped outside training too.": {UNTRAINED: "    generator = generator or np.random.default_rng()\n"},
    "The survivors are not scaled: divide them by 1 - p, or the sum shrinks.": {SCALED: "return x * kept"},
    "The survivors are multiplied by 1 - p; divide by it.": {SCALED: "return x * kept * (1 - p)"},
    "The survivors are divided by p; it is 1 - p, the share that stays.": {SCALED: "return x * kept / p"},
    "Everything is scaled and nothing dropped.": {SCALED: "return x / (1 - p)"},
    "The share that stays is p: it is the share that falls.": {KEPT: KEPT.replace(">=", "<")},
    "Half of the elements fall, whatever p is.": {KEPT: KEPT.replace(">= p", ">= 0.5")},
    "The array that is given is changed in place; make a new one.": {SCALED: "x *= kept\n    return x / (1 - p)"},
    "Whole rows fall together: draw one number for every element.": {
        KEPT: "kept = generator.random((*x.shape[:-1], 1)) >= p"
    },
    "Whole columns fall together: draw one number for every element.": {
        KEPT: "kept = generator.random(x.shape[-1]) >= p"
    },
    "The given generator is not used: a new one is made in every call.": {
        KEPT: "kept = np.random.default_rng().random(x.shape) >= p"
    },
    "A generator with a seed of your own is made in every call; draw from the one that is given.": {
        KEPT: "kept = np.random.default_rng(0).random(x.shape) >= p"
    },
    "A copy of the generator is drawn from, so every call drops the same elements.": {
        KEPT: "import copy\n\n    kept = copy.deepcopy(generator).random(x.shape) >= p"
    },
    "There is no mask: every token also looks at the tokens after it.": {
        WEIGHTS_OF: "weights = attention_weights(query, key)"
    },
    "The length is taken from axis 1, which is d_in where there is no batch; it is x.shape[-2].": {
        WEIGHTS_OF: "weights = attention_weights(query, key, lookback_mask(x.shape[1]))"
    },
    "The mask is transposed here: give lookback_mask(seq) as it is.": {
        WEIGHTS_OF: "weights = attention_weights(query, key, lookback_mask(x.shape[-2]).T)"
    },
    "The weights gather the keys; they must gather the values.": {GATHER: "return context_vectors(weights, key)"},
    "Dropout is missing: the weights are the same in training.": {DROP: ""},
    "Dropout acts on what was gathered; it must act on the weights.": {
        DROP: "",
        GATHER: "return dropout(context_vectors(weights, value), p, training=training, generator=generator)",
    },
    "The weights are dropped and then shared out again, which undoes the scale: the softmax comes first, dropout last.": {
        DROP: DROP
        + "    weights = weights / np.where(weights.sum(-1, keepdims=True) == 0, 1, weights.sum(-1, keepdims=True))\n"
    },
    "Dropout is told that it is always in training; pass training on.": {
        DROP: DROP.replace("training=training, generator=generator", "training=p > 0, generator=generator")
    },
}

ALTERNATIVES = {
    "positions compared": {MASK: "np.arange(sequence_length) <= np.arange(sequence_length)[:, None]"},
    "the upper triangle turned over": {MASK: "~np.triu(np.ones((sequence_length, sequence_length), dtype=bool), k=1)"},
    "np.tri": {MASK: "np.tri(sequence_length, dtype=bool)"},
    "-1e9": {WHERE: "scores = np.where(mask, scores, -1e9)"},
    "filled in place": {WHERE: "scores[..., ~mask] = -np.inf"},
    "a mask to add": {WHERE: "scores = scores + np.where(mask, 0.0, -np.inf)"},
    "None made a mask of True": {
        "    if mask is not None:\n        scores = np.where(mask, scores, -np.inf)\n": "    mask = np.ones(scores.shape[-2:], dtype=bool) if mask is None else mask\n"
        "    scores = np.where(mask, scores, -np.inf)\n"
    },
    "those below 1 - p kept": {KEPT: "kept = generator.random(x.shape) < 1 - p"},
    "a coin for every element": {KEPT: "kept = generator.binomial(1, 1 - p, size=x.shape)"},
    "choice": {KEPT: "kept = generator.choice([False, True], size=x.shape, p=[p, 1 - p])"},
    "np.where": {SCALED: "return np.where(kept, x / (1 - p), 0.0)"},
    "asked in the order of the sentence": {
        f"{UNTRAINED}    {KEPT}\n    {SCALED}\n": "    if training:\n        kept = generator.random(x.shape) >= p\n"
        "        return x * kept / (1 - p)\n    return x\n"
    },
    "dropout only where it is training": {
        DROP: "    if training:\n        weights = dropout(weights, p, training=True, generator=generator)\n"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "masked_fill": {"np.where(mask, scores, -np.inf)": "scores.masked_fill(~mask, -np.inf)"},
    "torch.tril and torch.ones": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "torch.tril(torch.ones(sequence_length, sequence_length, dtype=bool))"
        )
    },
    "a shape of several arguments": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "np.tril(np.ones(sequence_length, sequence_length)).astype(bool)"
        )
    },
    "tril as a method": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "np.ones((sequence_length, sequence_length), dtype=bool).tril()"
        )
    },
    "bool as a method": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "np.tril(np.ones((sequence_length, sequence_length))).bool()"
        )
    },
    "triu with a diagonal": {
        "np.tril(np.ones((sequence_length, sequence_length), dtype=bool))": (
            "~np.triu(np.ones((sequence_length, sequence_length), dtype=bool), diagonal=1)"
        )
    },
    "thinning in place": {
        "return x * kept / (1 - p)": "x *= kept\n    return x / (1 - p)",
    },
    "float as a method": {"generator.random(x.shape) >= p": "(generator.random(x.shape) >= p).float()"},
    "size as a method": {"lookback_mask(x.shape[-2])": "lookback_mask(x.size(-2))"},
    "softmax with a dim": {"return softmax(scores)": "return softmax(scores, dim=-1)"},
    "F.softmax": {"return softmax(scores)": "return F.softmax(scores, dim=-1)"},
    "a mask of another rank as an index": {
        "scores = np.where(mask, scores, -np.inf)": "scores[~mask] = -np.inf",
    },
}
