"""Step 05, what people write instead: mistakes, each with its sentence, and other right answers."""

TABLE = "Embedding(config.vocab_size, dim=config.n_embd)"
LOOK_UP = "return self.wte(input_ids)"

MISTAKES = {
    "Negative ids are let through; they would count from the end of the table.": {"(token_ids < 0) | ": ""},
    "An array without ids has no largest id, so max() itself fails; ask whether any id is outside.": {
        "if outside.size:": "if token_ids.max() >= config.vocab_size or token_ids.min() < 0:"
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
    "The vectors of a text are added up; every token keeps its own.": {
        LOOK_UP: "from max.experimental import functional as F\n\n        return F.sum(self.wte(input_ids), axis=1)"
    },
    "The ids are made int16, which ends at 32,767: larger ones become negative. Look up input_ids as they are.": {
        LOOK_UP: "from max.dtype import DType\n\n        return self.wte(input_ids.cast(DType.int16))"
    },
    'Token 0 is taken for padding, and its row is made zero; in GPT-2, id 0 is a token like any other, "!".': {
        LOOK_UP: "from max.experimental import functional as F\n\n"
        "        return self.wte(input_ids) * F.unsqueeze(input_ids != 0, -1).cast(self.wte.weight.dtype)"
    },
    "The row after each token's is looked up: ids count from 0.": {LOOK_UP: "return self.wte((input_ids + 1) % 37)"},
}

ALTERNATIVES = {
    "F.gather": {
        LOOK_UP: "from max.experimental import functional as F\n\n"
        "        return F.gather(self.wte.weight, input_ids, axis=0)"
    },
    "all tokens in one row": {LOOK_UP: "return self.wte(input_ids.reshape([-1])).reshape([*input_ids.shape, -1])"},
    "dims": {TABLE: "Embedding(config.vocab_size, dims=[config.n_embd])"},
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
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in __init__": {"dim=config.n_embd": "dim=15"},
}
