"""Step 06, what people write instead: mistakes, each with its sentence, and other right answers."""

COUNT = "return Tensor.arange(Dim(sequence_length), dtype=DType.int64, device=device)"
TABLE = "self.weight = Tensor.zeros([config.n_positions, config.n_embd])"
LOOK_UP = "return F.gather(self.weight, positions, axis=0)"
MODULES = "from max.experimental.nn import Module\n"
AS_WPE = {
    MODULES: "from max.experimental.nn import Embedding, Module\n",
    TABLE: "self.wpe = Embedding(config.n_positions, dim=config.n_embd)",
    LOOK_UP: "return self.wpe(positions)",
}

MISTAKES = {
    "Positions count from 1; they must count from 0.": {COUNT: f"{COUNT} + 1"},
    "Positions are counted backward.": {COUNT: COUNT.replace("return", "return (sequence_length - 1) -")},
    "Positions are int32; token ids and positions are int64 here.": {"dtype=DType.int64": "dtype=DType.int32"},
    "Positions are counted in int8, which ends at 127; count in int64, since a cast afterward comes too late.": {
        COUNT: COUNT.replace("int64", "int8") + ".cast(DType.int64)"
    },
    "Positions are counted in uint8, which ends at 255; count in int64, since a cast afterward comes too late.": {
        COUNT: COUNT.replace("int64", "uint8") + ".cast(DType.int64)"
    },
    "The requested device is not used; pass it to Tensor.arange.": {COUNT: COUNT.replace(", device=device", "")},
    "Every position is the same: count with arange.": {
        COUNT: "return Tensor.full([sequence_length], 0, dtype=DType.int64, device=device)"
    },
    "The table has vocab_size rows; positions need n_positions.": {
        TABLE: "self.weight = Tensor.zeros([config.vocab_size, config.n_embd])"
    },
    "The table has its sides swapped: n_positions rows of n_embd numbers.": {
        TABLE: "self.weight = Tensor.zeros([config.n_embd, config.n_positions])"
    },
    "The first rows of the table are returned whatever the positions are; look them up.": {
        LOOK_UP: "return self.weight[: positions.shape[0]]"
    },
}

ALTERNATIVES = {
    "a start and an end": {COUNT: COUNT.replace("(Dim", "(0, Dim")},
    "how many there are, said twice": {COUNT: COUNT.replace(", dtype", ", out_dim=sequence_length, dtype")},
    "after earlier tokens, too": {
        "sequence_length: DimLike, *": "sequence_length: DimLike, num_tokens: int = 0, *",
        COUNT: f"{COUNT} + num_tokens",
    },
    "F.arange": {COUNT: "return F.arange(0, sequence_length, 1, sequence_length, dtype=DType.int64, device=device)"},
    "the source tutorial's table": AS_WPE,
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "Embedding with two numbers": AS_WPE | {TABLE: "self.wpe = Embedding(config.n_positions, config.n_embd)"},
    "nn.Embedding": AS_WPE | {TABLE: "self.wpe = nn.Embedding(config.n_positions, config.n_embd)"},
    "torch.arange": {"return Tensor.arange": "return torch.arange"},
    "long as a method": {COUNT: COUNT.replace("int64", "int32") + ".long()"},
    "to a dtype": {COUNT: COUNT.replace("int64", "int32") + ".to(DType.int64)"},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the width is a number in __init__": {TABLE: "self.weight = Tensor.zeros([config.n_positions, 15])"},
}
