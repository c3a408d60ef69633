"""Step 05, what people write instead: mistakes, each with its sentence, and other right answers."""

OUTSIDE = "token_ids[(token_ids < 0) | (token_ids >= config.vocab_size)]"
TABLE = "Embedding(config.vocab_size, dim=config.n_embd)"
LOOK_UP = "return self.wte(input_ids)"

MISTAKES = {
    "vocab_size itself is let through; the last id is vocab_size - 1.": {">= config.vocab_size": "> config.vocab_size"},
    "Negative ids are let through; they would count from the end of the table.": {"(token_ids < 0) | ": ""},
    "Ids above the vocabulary are let through.": {" | (token_ids >= config.vocab_size)": ""},
    "Nothing is refused: raise a ValueError when there is an id outside.": {"if outside.size:": "if False:"},
    "The last id of the vocabulary is refused.": {">= config.vocab_size": ">= config.vocab_size - 1"},
    "Id 0 is refused, which is a token like any other.": {"(token_ids < 0)": "(token_ids <= 0)"},
    "The message does not say which id it was.": {"token id {outside[0]} is": "a token id is"},
    "An array without ids has no largest id, so max() itself fails; ask whether any id is outside.": {
        "if outside.size:": "if token_ids.max() >= config.vocab_size or token_ids.min() < 0:"
    },
    "The ids are turned into int32, in which 2**32 + 3 is 3; compare them as they are.": {
        f"outside = {OUTSIDE}": f"token_ids = token_ids.astype(np.int32)\n    outside = {OUTSIDE}"
    },
    "The ids are compared with n_positions; it is vocab_size.": {
        ">= config.vocab_size": ">= config.n_positions",
    },
    "The table has its sides swapped: vocab_size rows of n_embd numbers.": {
        TABLE: "Embedding(config.n_embd, dim=config.vocab_size)"
    },
    "The table has n_positions rows; tokens need vocab_size.": {
        TABLE: "Embedding(config.n_positions, dim=config.n_embd)"
    },
    "The rows are scaled by the square root of n_embd, as in the first transformer; GPT-2 does not.": {
        LOOK_UP: "return self.wte(input_ids) * 15**0.5"
    },
    "The whole table is returned; look up the rows of input_ids.": {LOOK_UP: "return self.wte.weight"},
    "The row after each token's is looked up: ids count from 0.": {LOOK_UP: "return self.wte((input_ids + 1) % 37)"},
}

ALTERNATIVES = {
    "F.gather": {
        LOOK_UP: "from max.experimental import functional as F\n\n"
        "        return F.gather(self.wte.weight, input_ids, axis=0)"
    },
    "dims": {TABLE: "Embedding(config.vocab_size, dims=[config.n_embd])"},
    "asked with any": {
        f"    outside = {OUTSIDE}\n": "",
        "if outside.size:": "for token_id in token_ids.reshape(-1)[(token_ids.reshape(-1) < 0) + "
        "(token_ids.reshape(-1) >= config.vocab_size)]:",
        "{outside[0]}": "{token_id}",
    },
    "the last bad id": {"{outside[0]}": "{outside[-1]}"},
    "np.logical_or": {OUTSIDE: "token_ids[np.logical_or(token_ids < 0, token_ids > config.vocab_size - 1)]"},
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "Embedding with two numbers": {
        "Embedding(config.vocab_size, dim=config.n_embd)": "Embedding(config.vocab_size, config.n_embd)",
    },
    "nn.Embedding": {"Embedding(config.vocab_size, dim=": "nn.Embedding(config.vocab_size, dim="},
    "Embedding by PyTorch's words": {
        "Embedding(config.vocab_size, dim=config.n_embd)": (
            "Embedding(num_embeddings=config.vocab_size, embedding_dim=config.n_embd)"
        )
    },
    "embedding_dim": {
        "Embedding(config.vocab_size, dim=config.n_embd)": "Embedding(config.vocab_size, embedding_dim=config.n_embd)",
    },
    "numel": {"if outside.size:": "if outside.numel():"},
    "size as a method": {"if outside.size:": "if outside.size(0):"},
    "an assertion": {
        """    if outside.size:
        raise ValueError(f"token id {outside[0]} is not in the vocabulary of vocab_size = {config.vocab_size} tokens")
""": """    first = outside[0] if outside.size else 0
    assert not outside.size, f"token id {first} is not below vocab_size = {config.vocab_size}"
"""
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "both sizes are numbers in __init__": {"Embedding(config.vocab_size, dim=config.n_embd)": "Embedding(37, dim=15)"},
}
