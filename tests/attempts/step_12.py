"""Step 12, what people write instead: mistakes, each with its sentence, and other right answers."""

DIVIDE = "    logits = logits / temperature\n"
TAIL = "return powers / powers.sum(axis=-1, keepdims=True)"
KTH = "kth_largest = np.sort(logits, axis=-1)[:, -top_k, None]"
LAST = "logits = model(input_ids)[:, -1]"
DRAW = "np.array([rng.choice(len(row), p=row) for row in probabilities])"
SIZE = "if top_k is not None and top_k < logits.shape[-1]:"
ARGMAX = "if temperature == 0 or not do_sample:"
LARGEST = "logits.max(axis=-1, keepdims=True)"
PROBABLE = "next_token_probabilities(logits, temperature=temperature, top_k=top_k)"
NEXT = "generate_next_token(model, visible, temperature, do_sample, top_k=top_k, rng=rng)"
SETTINGS = "settings = (max_new_tokens, temperature, do_sample)"
STREAM = "stream_tokens(model, input_ids, *settings, top_k=top_k, rng=rng, n_positions=n_positions)"
VISIBLE = "visible = input_ids[:, -n_positions:]"
APPEND = "input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)"
GATHER = "np.concatenate([input_ids, *(next_ids[:, None] for next_ids in streamed)], axis=1)"

MISTAKES = {
    "An empty prompt is let through: the model has no last token to continue.": {
        "if input_ids.shape[-1] == 0:": "if False:"
    },
    "A negative temperature is let through: it would make the least likely token the likeliest.": {
        "if temperature < 0:": "if False:"
    },
    "top_k = 0 is let through: it leaves no token to choose from.": {
        "if top_k is not None and top_k < 1:": "if False:"
    },
    "Temperature 0 is refused; it means the most likely token.": {"if temperature < 0:": "if temperature <= 0:"},
    "The temperature is not used: divide the logits by it.": {DIVIDE: ""},
    "The logits are multiplied by the temperature; divide them.": {DIVIDE: "    logits = logits * temperature\n"},
    "The temperature is applied after the softmax; divide the logits by it, before.": {
        DIVIDE: "",
        TAIL: "return powers / powers.sum(axis=-1, keepdims=True) / temperature",
    },
    "The softmax overflows: subtract the largest logit before taking the exponential.": {
        "np.exp(logits - logits.max(axis=-1, keepdims=True))": "np.exp(np.minimum(logits, 700)) "
    },
    "The largest logit of the whole batch is subtracted; take that of every row, or exp makes zeros of the others.": {
        LARGEST: "logits.max()"
    },
    "The softmax runs over the rows; it runs over the tokens, the last axis.": {
        "powers.sum(axis=-1, keepdims=True)": "powers.sum(axis=0, keepdims=True)"
    },
    "The softmax shares one probability among the whole batch; every row adds up to 1 by itself.": {
        "powers.sum(axis=-1, keepdims=True)": "powers.sum()"
    },
    "The powers are not divided by their sum: the rows do not add up to 1.": {TAIL: "return powers"},
    "top_k is not used.": {"logits = np.where(logits < kth_largest, -np.inf, logits)": "pass"},
    "top_k keeps one token too many.": {"-top_k, None]": "-top_k - 1, None]"},
    "top_k keeps one token too few: the k-th largest itself stays, so out is what is below it, < and not <=.": {
        "logits < kth_largest": "logits <= kth_largest"
    },
    "top_k keeps one token too few, even when k is the whole vocabulary: drop what is below the k-th largest, < and "
    "not <=.": {
        SIZE: "if top_k is not None:",
        KTH: KTH.replace("-top_k", "-min(top_k, logits.shape[-1])"),
        "logits < kth_largest": "logits <= kth_largest",
    },
    "A top_k above the size of the vocabulary is an IndexError; it keeps every token.": {SIZE: "if top_k is not None:"},
    "top_k compares with places instead of logits: argsort says where the logits are, sort what they are.": {
        KTH: KTH.replace("np.sort", "np.argsort")
    },
    "top_k takes the k-th largest logit of the whole batch; it is another one in each row.": {
        KTH: "kth_largest = np.sort(logits, axis=None)[-top_k]"
    },
    "top_k keeps the least likely tokens; it keeps the most likely.": {
        "logits < kth_largest": "logits > np.sort(logits, axis=-1)[:, top_k - 1, None]"
    },
    "The tokens outside top_k get the logit 0, which is no small one; they get minus infinity.": {
        "-np.inf, logits": "0.0, logits"
    },
    "The probabilities left by top_k are not shared out: they must add up to 1 again.": {
        TAIL: "return powers / np.exp(whole - whole.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)",
        DIVIDE: DIVIDE + "    whole = logits\n",
    },
    "The tokens are a column, [batch, 1]; one token for every row is [batch].": {
        "logits.argmax(axis=-1)": "logits.argmax(axis=-1, keepdims=True)",
        DRAW: f"{DRAW}[:, None]",
    },
    "The token after the first one is predicted; take the logits of the last place.": {
        LAST: "logits = model(input_ids)[:, 0]"
    },
    "The last but one place is taken; the last is -1.": {LAST: "logits = model(input_ids)[:, -2]"},
    "Greedy takes the least likely token.": {"logits.argmax(axis=-1)": "logits.argmin(axis=-1)"},
    "Every row gets the first row's token.": {
        "return logits.argmax(axis=-1)": "return np.repeat(logits[:1].argmax(axis=-1), len(logits))",
    },
    "do_sample=False still samples.": {ARGMAX: "if temperature == 0:"},
    "Temperature 0 still samples, and divides by zero.": {ARGMAX: "if not do_sample:"},
    "Greedy needs both temperature 0 and do_sample=False; each alone is enough: or, not and.": {
        ARGMAX: "if temperature == 0 and not do_sample:"
    },
    "Sampling always takes the most likely token.": {DRAW: "probabilities.argmax(axis=-1)"},
    "Tokens are drawn evenly, whatever their probabilities.": {"rng.choice(len(row), p=row)": "rng.choice(len(row))"},
    "One draw is used for every row; each row is drawn for itself.": {
        DRAW: "np.array([rng.choice(len(probabilities[0]), p=probabilities[0])] * len(probabilities))"
    },
    "rng is not used, so that the same seed gives different text.": {"rng.choice(": "np.random.default_rng().choice("},
    "The drawn tokens are a list; make an array of them: np.array(...).": {
        DRAW: DRAW.removeprefix("np.array(").removesuffix(")")
    },
    "stream_tokens does not pass rng on, so that the same seed gives different text.": {
        NEXT: NEXT.replace(", rng=rng", "")
    },
    "stream_tokens does not pass top_k on.": {NEXT: NEXT.replace(", top_k=top_k", "")},
    "stream_tokens does not pass do_sample on.": {NEXT: NEXT.replace(", do_sample", "")},
    "stream_tokens does not pass temperature on.": {
        NEXT: NEXT.replace("temperature, do_sample", "do_sample=do_sample")
    },
    "stream_tokens gives generate_next_token temperature and do_sample in the wrong order.": {
        NEXT: NEXT.replace("temperature, do_sample", "do_sample, temperature")
    },
    "generate_tokens does not pass rng on, so that the same seed gives different text.": {
        STREAM: STREAM.replace(", rng=rng", "")
    },
    "top_k is not given to next_token_probabilities.": {PROBABLE: PROBABLE.replace(", top_k=top_k", "")},
    "temperature is not given to next_token_probabilities.": {
        PROBABLE: PROBABLE.replace("temperature=temperature, ", "")
    },
    "generate_tokens passes neither temperature nor do_sample on: *settings has both.": {
        STREAM: STREAM.replace("*settings", "max_new_tokens")
    },
    "generate_tokens does not pass temperature on.": {
        STREAM: STREAM.replace("*settings", "max_new_tokens, do_sample=do_sample")
    },
    "generate_tokens does not pass top_k on.": {STREAM: STREAM.replace(", top_k=top_k", "")},
    "generate_tokens does not pass n_positions on.": {STREAM: STREAM.replace(", n_positions=n_positions", "")},
    "generate_tokens does not pass do_sample on.": {SETTINGS: SETTINGS.replace(", do_sample", "")},
    "The settings are swapped: they are max_new_tokens, temperature, do_sample.": {
        SETTINGS: "settings = (max_new_tokens, do_sample, temperature)"
    },
    "The new token is not appended, so that the model never sees it.": {APPEND: "pass"},
    "The new token is put in front; it goes to the end.": {
        APPEND: "input_ids = np.concatenate([next_ids[:, None], input_ids], axis=1)"
    },
    "The context does not slide: the model sees at most the last n_positions tokens.": {VISIBLE: "visible = input_ids"},
    "A full context keeps its first tokens; it keeps the last.": {VISIBLE: "visible = input_ids[:, :n_positions]"},
    "A prompt that is longer than n_positions is shown whole; the model sees at most the last n_positions tokens.": {
        VISIBLE: "visible = input_ids",
        APPEND: f"{APPEND}[:, -n_positions:]",
    },
    "The model sees the last token alone, and forgets what came before.": {VISIBLE: "visible = input_ids[:, -1:]"},
    "The prompt is missing from what comes back.": {
        GATHER: "np.concatenate([input_ids[:, :0], *(next_ids[:, None] for next_ids in streamed)], axis=1)"
    },
    "The whole text is yielded every time; yield the new token of every row.": {
        "        yield next_ids\n": "",
        APPEND: f"{APPEND}\n        yield input_ids",
    },
    "One token too many is generated.": {"for _ in range(max_new_tokens):": "for _ in range(max_new_tokens + 1):"},
    "The tokens are gathered before they are yielded; yield each as soon as it is known.": {
        "        yield next_ids\n": "        tokens.append(next_ids)\n",
        "    for _ in range(max_new_tokens):": "    tokens = []\n    for _ in range(max_new_tokens):",
        f"        {APPEND}\n": f"        {APPEND}\n    yield from tokens\n",
    },
}

ALTERNATIVES = {
    "inverse of the cumulative sum": {
        DRAW: "(rng.random((len(probabilities), 1)) > probabilities.cumsum(axis=-1)).sum(axis=-1)"
    },
    "the Gumbel trick": {
        DRAW: "(np.log(np.maximum(probabilities, 1e-300)) + rng.gumbel(size=probabilities.shape)).argmax(axis=-1)"
    },
    "np.partition": {KTH: "kth_largest = np.partition(logits, -top_k, axis=-1)[:, -top_k, None]"},
    "the largest subtracted first": {
        DIVIDE: "    logits = (logits - logits.max(axis=-1, keepdims=True)) / temperature\n"
    },
    "the visible tokens kept, and no more": {APPEND: APPEND.replace("[input_ids,", "[visible,")},
    "the k-th largest as a column by [:, -top_k][:, None]": {
        KTH: KTH.replace("[:, -top_k, None]", "[:, -top_k][:, None]")
    },
    "no more of the vocabulary than there is": {
        f"    {SIZE}\n": "    if top_k is not None:\n        top_k = min(top_k, logits.shape[-1])\n"
    },
    "multinomial": {DRAW: "rng.multinomial(1, probabilities).argmax(axis=-1)"},
    "a loop that appends": {
        GATHER: "np.concatenate([input_ids, np.stack(list(streamed), axis=1).reshape(len(input_ids), -1)], axis=1) if "
        "max_new_tokens else input_ids"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "size as a method": {"if input_ids.shape[-1] == 0:": "if input_ids.size(-1) == 0:"},
    "an assertion": {
        """    if temperature < 0:
        raise ValueError(f"temperature = {temperature} is negative; give 0 for the most likely token, or more")
""": """    assert temperature >= 0, f"temperature = {temperature} is negative"
"""
    },
    "max with a dim": {
        "logits.max(axis=-1, keepdims=True)": "logits.max(dim=-1, keepdim=True)",
    },
    "sum with a dim": {
        "powers.sum(axis=-1, keepdims=True)": "powers.sum(dim=-1, keepdim=True)",
    },
    "exp as a method": {
        "np.exp(logits - logits.max(axis=-1, keepdims=True))": "(logits - logits.max(axis=-1, keepdims=True)).exp()",
    },
    "torch.exp": {"powers = np.exp(": "powers = torch.exp("},
    "masked_fill": {
        "np.where(logits < kth_largest, -np.inf, logits)": "logits.masked_fill(logits < kth_largest, -np.inf)",
    },
    "sort with a dim": {"np.sort(logits, axis=-1)": "np.sort(logits, dim=-1)"},
    "argmax with a dim": {"logits.argmax(axis=-1)": "logits.argmax(dim=-1)"},
    "torch.argmax": {"logits.argmax(axis=-1)": "torch.argmax(logits, dim=-1)"},
    "torch.cat": {
        "input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)": (
            "input_ids = torch.cat([input_ids, next_ids[:, None]], dim=1)"
        )
    },
    "np.cat": {
        "input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)": (
            "input_ids = np.cat([input_ids, next_ids[:, None]], dim=1)"
        )
    },
    "unsqueeze": {
        "input_ids = np.concatenate([input_ids, next_ids[:, None]], axis=1)": (
            "input_ids = np.concatenate([input_ids, next_ids.unsqueeze(1)], axis=1)"
        )
    },
    "dividing in place": {"logits = logits / temperature": "logits.div_(temperature)"},
}
