"""Step 05, what people write instead: mistakes, each with its sentence, and other right answers."""

TABLE = "self.weight = Tensor.zeros([config.vocab_size, config.n_embd])"
LOOK_UP = "return F.gather(self.weight, input_ids, axis=0)"
ROWS = "F.gather(self.weight, input_ids, axis=0)"
MODULES = "from max.experimental.nn import Module\n"
AS_WTE = {
    MODULES: "from max.experimental.nn import Embedding, Module\n",
    TABLE: "self.wte = Embedding(config.vocab_size, dim=config.n_embd)",
    LOOK_UP: "return self.wte(input_ids)",
}

MISTAKES = {
    "Negative ids are let through; they would count from the end of the table.": {"(input_ids < 0) | ": ""},
    "An empty array has no largest id, so max() itself fails; ask whether any id is outside.": {
        "if outside.size:": "if input_ids.max() >= config.vocab_size or input_ids.min() < 0:"
    },
    "The table has its sides swapped: vocab_size rows of n_embd numbers.": {
        TABLE: "self.weight = Tensor.zeros([config.n_embd, config.vocab_size])"
    },
    "The table has n_positions rows; tokens need vocab_size.": {
        TABLE: "self.weight = Tensor.zeros([config.n_positions, config.n_embd])"
    },
    "The rows are scaled by the square root of n_embd, as in the first transformer; GPT-2 does not.": {
        LOOK_UP: f"return {ROWS} * 15**0.5"
    },
    "The whole table is returned; look up the rows of input_ids.": {LOOK_UP: "return self.weight"},
    "The vectors of a text are summed; every token keeps its own.": {LOOK_UP: f"return F.sum({ROWS}, axis=1)"},
    "The ids are cast to int16, which ends at 32,767: larger ones become negative. Look up input_ids as they are.": {
        LOOK_UP: "from max.dtype import DType\n\n"
        "        return F.gather(self.weight, input_ids.cast(DType.int16), axis=0)"
    },
    'Token 0 is taken for padding, and its row is made zero; in GPT-2, id 0 is a token like any other, "!".': {
        LOOK_UP: f"return {ROWS} * F.unsqueeze(input_ids != 0, -1).cast(self.weight.dtype)"
    },
    "The row after each token's is looked up: ids count from 0.": {
        LOOK_UP: f"return {ROWS.replace('input_ids', '(input_ids + 1) % 37')}"
    },
    "The lookup goes along axis 1, inside each row; an id names a row, so the axis is 0.": {
        LOOK_UP: f"return {ROWS.replace('axis=0', 'axis=1')}"
    },
}

ALTERNATIVES = {
    "the source tutorial's table": AS_WTE,
    "the source tutorial's table, with dims": AS_WTE
    | {TABLE: "self.wte = Embedding(config.vocab_size, dims=[config.n_embd])"},
    "all tokens in one row": {
        LOOK_UP: f"return {ROWS.replace('input_ids', 'input_ids.reshape([-1])')}.reshape([*input_ids.shape, -1])"
    },
    "random numbers": {
        MODULES: f"from max.experimental import random\n{MODULES}",
        TABLE: "self.weight = random.normal([config.vocab_size, config.n_embd], std=0.02)",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "Embedding with two numbers": AS_WTE | {TABLE: "self.wte = Embedding(config.vocab_size, config.n_embd)"},
    "nn.Embedding": AS_WTE | {TABLE: "self.wte = nn.Embedding(config.vocab_size, dim=config.n_embd)"},
    "Embedding by PyTorch's words": AS_WTE
    | {TABLE: "self.wte = Embedding(num_embeddings=config.vocab_size, embedding_dim=config.n_embd)"},
    "embedding_dim": AS_WTE | {TABLE: "self.wte = Embedding(config.vocab_size, embedding_dim=config.n_embd)"},
    "nn.Parameter": {TABLE: "self.weight = nn.Parameter(Tensor.zeros([config.vocab_size, config.n_embd]))"},
    "torch.zeros": {TABLE: "self.weight = torch.zeros(config.vocab_size, config.n_embd)"},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in __init__": {TABLE: "self.weight = Tensor.zeros([config.vocab_size, 15])"},
}
