"""Step 12, what people write instead: mistakes, each with its sentence, and other right answers."""

SIZE = "top_k = min(top_k, logits.shape[-1])"
UNLESS_ALL = "if top_k >= logits.shape[-1]:\n        return logits"
KTH = "kth_largest = np.partition(logits, -top_k, axis=-1)[:, -top_k, None]"
SORTED = "kth_largest = np.sort(logits, axis=-1)[:, -top_k, None]"
CUT = "return np.where(logits < kth_largest, -np.inf, logits)"
LARGEST = "logits.max(axis=-1, keepdims=True)"
SHIFT = f"shifted = logits - {LARGEST}"
EXPS = "exps = np.exp(shifted / temperature)"
TAIL = "return exps / exps.sum(axis=-1, keepdims=True)"
ARGMAX = "return logits.argmax(axis=-1)"
DRAW = "np.array([rng.choice(len(row), p=row) for row in self.probabilities(logits)], dtype=np.int64)"
LAST = "logits = model(input_ids)[:, -1]"
CHOOSE = "return sampling.choose(logits, rng)"
LOOP = "for _ in range(max_new_tokens):"
VISIBLE = "visible = input_ids[:, -n_positions:]"
NEXT = "generate_next_token(model, visible, sampling, rng)"
APPEND = "input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)"
TEXT = "return input_ids"

MISTAKES = {
    "The temperature changes nothing: divide the logits by it, before the softmax.": {EXPS: "exps = np.exp(shifted)"},
    "The logits are multiplied by the temperature; divide them.": {EXPS: EXPS.replace(" / ", " * ")},
    "The logits are divided first, and a tiny temperature makes them infinite: subtract each row's maximum, then "
    "divide.": {SHIFT: f"logits = logits / temperature\n    {SHIFT}", EXPS: "exps = np.exp(shifted)"},
    "The logits stay in float32, in which a tiny temperature is 0; leave the line that makes them float64.": {
        "logits = logits.astype(np.float64)": "pass"
    },
    "The temperature is applied after the softmax; divide the logits by it, before.": {
        EXPS: "exps = np.exp(shifted)",
        TAIL: f"{TAIL} / temperature",
    },
    "The softmax overflows: subtract each row's largest logit before taking the exponential.": {
        SHIFT: "shifted = logits"
    },
    "The softmax divides 0 by 0 if all logits lie far below 0: subtract each row's largest, even if it is negative.": {
        LARGEST: "np.maximum(logits.max(axis=-1, keepdims=True), 0)"
    },
    "The batch's largest logit is subtracted; subtract each row's own, or exp turns the other rows into zeros.": {
        LARGEST: "logits.max()"
    },
    "The largest logit and the sum of each row must stay a column, [batch, 1], beside [batch, vocab]: keepdims=True.": {
        LARGEST: "logits.max(axis=-1)"
    },
    "The k-th largest logits must be a column, [batch, 1], beside [batch, vocab]: [:, -top_k, None].": {
        KTH: KTH.replace(", None]", "]")
    },
    "The largest logit of every token is subtracted, over the rows; take that of every row, over the tokens.": {
        LARGEST: "logits.max(axis=0, keepdims=True)"
    },
    "The smallest logit of every row is subtracted, so that exp overflows; subtract the largest.": {
        LARGEST: "logits.min(axis=-1, keepdims=True)"
    },
    "A softmax takes powers of e, by np.exp; these are powers of 2.": {EXPS: "exps = 2.0 ** (shifted / temperature)"},
    "The softmax runs over the rows; it must run over the tokens, the last axis.": {
        TAIL: "return exps / exps.sum(axis=0, keepdims=True)"
    },
    "The softmax runs over the whole batch; every row must add up to 1 on its own.": {TAIL: "return exps / exps.sum()"},
    "The exponentials are not divided by their sum: the rows do not add up to 1.": {TAIL: "return exps"},
    "top_k is not used.": {CUT: "return logits"},
    "top_k keeps one token too many.": {SIZE: UNLESS_ALL, KTH: KTH.replace("-top_k", "-top_k - 1")},
    "top_k keeps one token too few: the k-th largest itself stays, so drop only what is below it, < and not <=.": {
        SIZE: UNLESS_ALL,
        "logits < kth_largest": "logits <= kth_largest",
    },
    "top_k keeps one token too few, even when k is the whole vocabulary: drop what is below the k-th largest, < and "
    "not <=.": {"logits < kth_largest": "logits <= kth_largest"},
    "top_k keeps only the most likely token, whatever k is: the k largest are sorted upward, so the k-th largest is "
    "the first of them.": {KTH: "kth_largest = np.sort(logits, axis=-1)[:, -top_k:][:, -1:]"},
    "np.sort and np.partition are ascending: the k-th largest is at -top_k, counted from the end.": {
        SIZE: UNLESS_ALL,
        KTH: SORTED.replace("-top_k", "top_k"),
    },
    "np.partition puts only the place that it is given in order, so give it the place that is read, -top_k.": {
        KTH: KTH.replace("(logits, -top_k", "(logits, top_k")
    },
    "The k-th largest is at -top_k, counted from the end: [:, -top_k, None].": {
        KTH: KTH.replace("[:, -top_k", "[:, top_k")
    },
    "np.partition and the place in it count from the start; the k-th largest is at -top_k, counted from the end.": {
        KTH: KTH.replace("-top_k", "top_k")
    },
    "A top_k above the size of the vocabulary raises IndexError; it must keep every token.": {
        SIZE: "pass",
        KTH: SORTED,
    },
    "A top_k above the size of the vocabulary has no k-th largest logit; it must keep every token.": {SIZE: "pass"},
    "top_k compares with places instead of logits: argsort says where the logits are, sort what they are.": {
        SIZE: UNLESS_ALL,
        KTH: SORTED.replace("np.sort", "np.argsort"),
    },
    "Of tokens that tie with the k-th, only some stay; all of them must: drop what is below the k-th largest logit.": {
        f"{KTH}  # [batch, 1]\n    {CUT}": "logits, order = logits.copy(), logits.argsort(axis=-1)\n"
        "    np.put_along_axis(logits, order[:, :-top_k], -np.inf, axis=-1)\n"
        "    return logits"
    },
    "top_k takes the k-th largest logit of the whole batch; each row has its own.": {
        KTH: "kth_largest = np.sort(logits, axis=None)[-top_k]"
    },
    "top_k keeps the least likely tokens; it must keep the most likely.": {
        "logits < kth_largest": "logits > np.sort(logits, axis=-1)[:, top_k - 1, None]"
    },
    "np.where takes the first value where the condition holds: top_k drops the tokens that are to stay.": {
        "-np.inf, logits)": "logits, -np.inf)"
    },
    "keep_top_k returns the k largest logits alone; keep the others' places, with minus infinity: [batch, vocab].": {
        CUT: "return np.sort(logits, axis=-1)[:, -top_k:]"
    },
    "keep_top_k returns which tokens stay; return the logits, with minus infinity for the others: np.where.": {
        CUT: "return logits >= kth_largest"
    },
    "The tokens outside top_k get the logit 0, which is not small; give them minus infinity.": {
        "-np.inf, logits": "0.0, logits"
    },
    "The tokens outside top_k get the logit -100, which is not small: GPT-2's own are often below it. Give them "
    "minus infinity.": {"-np.inf, logits": "-100.0, logits"},
    "The tokens outside top_k get a logit only 100 below the largest, so they are still drawn now and then; give them "
    "minus infinity.": {"-np.inf, logits": f"{LARGEST} - 100.0, logits"},
    "The tokens outside top_k get -10000 before the division, and a high temperature brings them back; give them minus "
    "infinity.": {"-np.inf, logits": "-1e4, logits"},
    "Minus infinity is written into the caller's logits; return new ones, as np.where does.": {
        CUT: "logits[logits < kth_largest] = -np.inf\n    return logits"
    },
    "The tokens are a column, [batch, 1]; one token for every row is [batch].": {
        ARGMAX: "return logits.argmax(axis=-1, keepdims=True)",
        DRAW: f"{DRAW}[:, None]",
    },
    "In int16, ids above 32,767 turn negative; leave the tokens' type as it is, or take int64.": {
        ARGMAX: f"{ARGMAX}.astype(np.int16)",
        "dtype=np.int64": "dtype=np.int16",
    },
    "argmax runs over the whole batch; axis=-1 finds one token for each row.": {ARGMAX: "return logits.argmax()"},
    "argmax runs over the rows; it must run over the tokens, the last axis: axis=-1.": {
        ARGMAX: ARGMAX.replace("-1", "0")
    },
    "self.probabilities divides by the temperature, which is 0 here: take the argmax of the logits.": {
        ARGMAX: ARGMAX.replace("logits", "self.probabilities(logits)")
    },
    "Temperature 0 takes the least likely token.": {ARGMAX: "return logits.argmin(axis=-1)"},
    "Every row gets the first row's token.": {ARGMAX: "return np.repeat(logits[:1].argmax(axis=-1), len(logits))"},
    "Temperature 0 still samples, and divides by zero.": {"if self.temperature == 0:": "if False:"},
    "Sampling always takes the most likely token.": {DRAW: "self.probabilities(logits).argmax(axis=-1)"},
    "Only the first row gets a token; draw one for every row.": {
        DRAW: "rng.choice(logits.shape[-1], p=self.probabilities(logits)[0], size=1)"
    },
    "One of the probabilities is drawn; draw a token: rng.choice(len(row), p=row).": {
        DRAW: DRAW.replace("len(row), p=row", "row").replace(", dtype=np.int64", "")
    },
    "Tokens are drawn evenly, whatever their probabilities.": {"rng.choice(len(row), p=row)": "rng.choice(len(row))"},
    "Probabilities are divided by uniform numbers, so likely tokens come too often; divide by exponential ones: "
    "rng.exponential.": {DRAW: "(self.probabilities(logits) / rng.random(logits.shape)).argmax(axis=-1)"},
    "Probabilities are multiplied by uniform numbers, so likely tokens come too often; draw with rng.choice.": {
        DRAW: "(self.probabilities(logits) * rng.random(logits.shape)).argmax(axis=-1)"
    },
    "Tokens are drawn from the plain softmax of the logits; self.probabilities applies temperature and top_k.": {
        "self.probabilities(logits)]": "Sampling().probabilities(logits)]"
    },
    "One draw is used for every row; each row must have a draw of its own.": {
        DRAW: "np.array([rng.choice(logits.shape[-1], p=self.probabilities(logits)[0])] * len(logits))"
    },
    "rng.choice draws from one row of probabilities; call it for each row.": {
        DRAW: "rng.choice(logits.shape[-1], size=len(logits), p=self.probabilities(logits))"
    },
    "Every row is drawn with the first row's probabilities; each row has its own.": {
        DRAW: "np.array([rng.choice(logits.shape[-1], p=self.probabilities(logits)[0]) for _ in logits])"
    },
    "rng is not used, so the same seed gives different text.": {"rng.choice(": "np.random.default_rng().choice("},
    "The drawn tokens are a list; make an array of them: np.array(...).": {
        DRAW: "[rng.choice(len(row), p=row) for row in self.probabilities(logits)]"
    },
    "The token after the first one is predicted; take the logits of the last position.": {
        LAST: LAST.replace("[:, -1]", "[:, 0]")
    },
    "The second-to-last position is taken; the last is -1.": {LAST: LAST.replace("[:, -1]", "[:, -2]")},
    "squeeze takes the batch axis too where there is one prompt; take the last position: [:, -1].": {
        LAST: "logits = model(input_ids)[:, -1:].squeeze()"
    },
    "[-1] is the last row of the batch; [:, -1] is the last position of every row.": {
        LAST: LAST.replace("[:, -1]", "[-1]")
    },
    "The position is counted from the length of the text, but the model may return only its last one: take -1.": {
        LAST: LAST.replace("[:, -1]", "[:, input_ids.shape[1] - 1]")
    },
    "generate_next_token chooses greedily; sampling.choose says how to choose.": {
        CHOOSE: "return logits.argmax(axis=-1)"
    },
    "generate_next_token chooses with its own settings; use the sampling it was given.": {
        CHOOSE: CHOOSE.replace("sampling", "Sampling()")
    },
    "The temperature is applied twice: here and in sampling.probabilities. Leave it to sampling.": {
        CHOOSE: "return sampling.choose(logits / sampling.temperature if sampling.temperature else logits, rng)"
    },
    "generate_next_token draws with its own generator, so the same seed gives different text; draw with rng.": {
        CHOOSE: "return sampling.choose(logits, default_rng())"
    },
    "A new generator is made for every token, so each gets the same random number; draw with rng.": {
        CHOOSE: "return sampling.choose(logits, default_rng(0))"
    },
    "The token is a column, [batch, 1]; one token for every row is [batch].": {CHOOSE: f"{CHOOSE}[:, None]"},
    "This is the token of the first row; return those of all rows.": {CHOOSE: f"{CHOOSE}[0]"},
    "The logits are returned; choose a token by them: sampling.choose(logits, rng).": {CHOOSE: "return logits"},
    "generate_tokens chooses with its own settings; pass on the sampling it was given.": {
        NEXT: NEXT.replace("sampling", "Sampling()")
    },
    "top_k is not passed on to generate_next_token.": {
        NEXT: NEXT.replace("sampling", "Sampling(sampling.temperature)")
    },
    "generate_tokens draws with default_rng(0), so every seed gives the same text; pass on rng.": {
        NEXT: NEXT.replace("rng", "default_rng(0)")
    },
    "generate_tokens draws with a new generator, so the same seed gives different text; pass on rng.": {
        NEXT: NEXT.replace("rng", "default_rng()")
    },
    "rng is not passed on to generate_next_token, which draws with it.": {NEXT: NEXT.replace(", rng", "")},
    "The new token is not appended, so the text stays as it was.": {APPEND: "pass"},
    "The new tokens are appended as a row of the batch; append them as a column: next_ids[:, None] and axis=1.": {
        APPEND: "input_ids = np.concatenate([input_ids, next_ids[None]], axis=0)"
    },
    "The new token is put in front; append it at the end.": {
        APPEND: "input_ids = np.concatenate([next_ids[:, None], input_ids], axis=1)"
    },
    "np.append makes one axis of everything; append the new tokens as a column, by np.concatenate and axis=1.": {
        APPEND: "input_ids = np.append(input_ids, next_ids)"
    },
    "The batch is flattened into one axis; append the new tokens as a column, axis=1.": {
        APPEND: APPEND.replace("axis=1", "axis=None")
    },
    "The context does not slide: the model sees at most the last n_positions tokens, [:, -n_positions:].": {
        VISIBLE: "visible = input_ids"
    },
    "[:, :-n_positions] leaves out the last tokens; [:, -n_positions:] keeps them.": {
        VISIBLE: VISIBLE.replace("-n_positions:", ":-n_positions")
    },
    "A full context keeps its first tokens; it must keep the last.": {
        VISIBLE: VISIBLE.replace("-n_positions:", ":n_positions")
    },
    "The text itself is cut to the last n_positions tokens; cut only what the model sees.": {
        VISIBLE: "visible = input_ids = input_ids[:, -n_positions:]"
    },
    "The model sees the last token alone, and forgets what came before.": {
        VISIBLE: VISIBLE.replace("-n_positions:", "-1:")
    },
    "Generation ends when the context is full; drop the oldest token from what the model sees, and go on.": {
        LOOP: "for _ in range(min(max_new_tokens, n_positions - input_ids.shape[1])):"
    },
    "Generation ends at <|endoftext|>, token 50256; go on until there are max_new_tokens more.": {
        APPEND: f"{APPEND}\n        if 50256 in next_ids:\n            break"
    },
    "Generation ends when every row's token is <|endoftext|>, 50256; go on until there are max_new_tokens more.": {
        APPEND: f"{APPEND}\n        if (next_ids == 50256).all():\n            break"
    },
    "The prompt is missing from the text.": {TEXT: "return input_ids[:, input_ids.shape[1] - max_new_tokens :]"},
    "One token too few is generated.": {LOOP: "for _ in range(max_new_tokens - 1):"},
    "n_positions tokens are generated; generate max_new_tokens.": {LOOP: "for _ in range(n_positions):"},
    "The text is returned in the first turn of the loop; return it after the loop.": {f"    {TEXT}": f"        {TEXT}"},
    "The loop counts from the prompt's length, but max_new_tokens are new ones: count from 0.": {
        LOOP: "for _ in range(input_ids.shape[1], max_new_tokens):"
    },
    "One token too many is generated.": {LOOP: "for _ in range(max_new_tokens + 1):"},
    "max_new_tokens is not used: it says how many tokens to generate.": {LOOP: "for _ in range(10):"},
    "The last token alone is returned; return the prompt and all new tokens.": {TEXT: "return next_ids"},
}

ALTERNATIVES = {
    "inverse of the cumulative sum": {
        DRAW: "(rng.random((len(logits), 1)) > self.probabilities(logits).cumsum(axis=-1)).sum(axis=-1)"
    },
    "the Gumbel trick": {
        DRAW: "(np.log(np.maximum(self.probabilities(logits), 1e-300)) + rng.gumbel(size=logits.shape)).argmax(axis=-1)"
    },
    "np.sort": {KTH: SORTED},
    "a copy that is cut": {
        CUT: "kept = logits.copy()\n    kept[logits < kth_largest] = -np.inf\n    return kept",
    },
    "the whole exponent in one line": {f"{SHIFT}\n    {EXPS}": f"exps = np.exp((logits - {LARGEST}) / temperature)"},
    "float32 probabilities": {TAIL: "return (exps / exps.sum(axis=-1, keepdims=True)).astype(np.float32)"},
    "a finite mask": {"-np.inf, logits": "-1e9, logits"},
    "a log-softmax": {
        f"{EXPS}\n    {TAIL}": "scaled = shifted / temperature\n    "
        "log_sum = np.log(np.exp(scaled).sum(axis=-1, keepdims=True))\n"
        "    return np.exp(scaled - log_sum)"
    },
    "the k-th largest as a column by [:, -top_k][:, None]": {
        KTH: SORTED.replace("[:, -top_k, None]", "[:, -top_k][:, None]")
    },
    "no cut where k is the whole vocabulary": {SIZE: UNLESS_ALL},
    "in place, on the softmax's own copy": {SHIFT: f"logits -= {LARGEST}", EXPS: EXPS.replace("shifted", "logits")},
    "exponential numbers raced": {
        DRAW: "(self.probabilities(logits) / rng.exponential(size=logits.shape)).argmax(axis=-1)"
    },
    "multinomial": {DRAW: "rng.multinomial(1, self.probabilities(logits)).argmax(axis=-1)"},
    "the type of ids left to NumPy": {", dtype=np.int64)": ")"},
    "ids in int32": {ARGMAX: f"{ARGMAX}.astype(np.int32)", "dtype=np.int64": "dtype=np.int32"},
    "np.append": {APPEND: "input_ids = np.append(input_ids, next_ids[:, None], axis=1)"},
    "np.column_stack": {APPEND: "input_ids = np.column_stack([input_ids, next_ids])"},
    "room for the whole text from the start": {
        f"{LOOP}\n        {VISIBLE}": "seq = input_ids.shape[1]\n"
        "    input_ids = np.pad(input_ids, [(0, 0), (0, max_new_tokens)])\n"
        "    for end in range(seq, seq + max_new_tokens):\n"
        "        visible = input_ids[:, max(0, end - n_positions) : end]",
        APPEND: "input_ids[:, end] = next_ids",
    },
    "the source tutorial's own softmax": {
        f"{LAST}  # [batch, vocab]": "logits = model(input_ids)[:, -1, :]",
        CHOOSE: "if sampling.temperature == 0:\n        return logits.argmax(axis=-1)\n"
        "    logits = logits.astype(np.float64) / sampling.temperature\n"
        "    if sampling.top_k is not None:\n"
        "        values = np.sort(logits, axis=-1)[:, -min(sampling.top_k, logits.shape[-1]) :]\n"
        "        logits = np.where(logits < values[:, :1], -np.inf, logits)\n"
        "    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
        "    rows = exps / exps.sum(axis=-1, keepdims=True)\n"
        "    return np.array([rng.choice(len(row), p=row) for row in rows])",
    },
    "the source tutorial's settings, one by one": {
        "    model: LogitsFunction, input_ids: np.ndarray, sampling: Sampling, rng: Generator\n": (
            "    model, input_ids, temperature=1.0, *, top_k=None, rng=None\n"
        ),
        CHOOSE: "return Sampling(temperature, top_k).choose(logits, rng)",
        "    sampling: Sampling,\n    *,\n    n_positions: int,\n    rng: Generator | None = None,\n": (
            "    temperature=1.0,\n    *,\n    top_k=None,\n    rng=None,\n    n_positions=1024,\n"
        ),
        NEXT: "generate_next_token(model, visible, temperature, top_k=top_k, rng=rng)",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "max with a dim": {LARGEST: "logits.max(dim=-1, keepdim=True)"},
    "sum with a dim": {"exps.sum(axis=-1, keepdims=True)": "exps.sum(dim=-1, keepdim=True)"},
    "exp as a method": {EXPS: "exps = (shifted / temperature).exp()"},
    "torch.exp": {"exps = np.exp(": "exps = torch.exp("},
    "masked_fill": {
        "np.where(logits < kth_largest, -np.inf, logits)": "logits.masked_fill(logits < kth_largest, -np.inf)",
    },
    "sort with a dim": {KTH: SORTED.replace("axis=-1", "dim=-1")},
    "topk": {KTH: "kth_largest = torch.topk(logits, top_k)[0][:, -1:]"},
    "argmax with a dim": {"logits.argmax(axis=-1)": "logits.argmax(dim=-1)"},
    "torch.argmax": {"logits.argmax(axis=-1)": "torch.argmax(logits, dim=-1)"},
    "torch.cat": {APPEND: "input_ids = torch.cat([input_ids, next_ids[:, None]], dim=1)"},
    "np.cat": {APPEND: "input_ids = np.cat([input_ids, next_ids[:, None]], dim=1)"},
    "unsqueeze": {APPEND: "input_ids = np.concatenate([input_ids, next_ids.unsqueeze(1)], axis=1)"},
    "dividing in place": {
        EXPS: "shifted.div_(temperature)\n    exps = np.exp(shifted)",
    },
}
