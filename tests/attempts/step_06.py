"""Step 06, what people write instead: mistakes, each with its sentence, and other right answers."""

COUNT = "return Tensor.arange(num_tokens, end, out_dim=sequence_length, dtype=DType.int64, device=device)"
TABLE = "Embedding(config.n_positions, dim=config.n_embd)"

MISTAKES = {
    "Positions count from 1; they count from 0.": {COUNT: COUNT.replace("num_tokens, end", "num_tokens + 1, end + 1")},
    "The earlier tokens are forgotten: positions start at num_tokens.": {
        COUNT: COUNT.replace("num_tokens, end", "0, Dim(sequence_length)")
    },
    "Positions are counted backward.": {
        COUNT: "return (num_tokens + sequence_length - 1) - Tensor.arange(0, Dim(sequence_length), "
        "out_dim=sequence_length, dtype=DType.int64, device=device)"
    },
    "Positions are int32; token ids and positions are int64 here.": {"dtype=DType.int64": "dtype=DType.int32"},
    "The device that is asked for is not used; give it to Tensor.arange.": {
        COUNT: COUNT.replace(", device=device", "")
    },
    "Every position is the same: count with arange.": {
        COUNT: "return Tensor.full([sequence_length], num_tokens, dtype=DType.int64, device=device)"
    },
    "The table has vocab_size rows; positions need n_positions.": {
        TABLE: "Embedding(config.vocab_size, dim=config.n_embd)"
    },
    "The table has its sides swapped: n_positions rows of n_embd numbers.": {
        TABLE: "Embedding(config.n_embd, dim=config.n_positions)"
    },
    "The first rows of the table are returned whatever the positions are; look them up.": {
        "return self.wpe(positions)": "return self.wpe.weight[: positions.shape[0]]"
    },
}

ALTERNATIVES = {
    "from 0, then shifted": {
        COUNT: "return Tensor.arange(0, Dim(sequence_length), out_dim=sequence_length, dtype=DType.int64, "
        "device=device) + num_tokens"
    },
    "F.arange": {
        COUNT: "from max.experimental import functional as F\n\n"
        "    return F.arange(num_tokens, end, 1, sequence_length, dtype=DType.int64, device=device)"
    },
    "F.gather": {
        "return self.wpe(positions)": "from max.experimental import functional as F\n\n"
        "        return F.gather(self.wpe.weight, positions, axis=0)"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "Embedding with two numbers": {
        "Embedding(config.n_positions, dim=config.n_embd)": "Embedding(config.n_positions, config.n_embd)",
    },
    "nn.Embedding": {
        "Embedding(config.n_positions, dim=config.n_embd)": "nn.Embedding(config.n_positions, config.n_embd)",
    },
    "torch.arange": {"Tensor.arange(num_tokens": "torch.arange(num_tokens"},
    "long as a method": {
        "Tensor.arange(num_tokens, end, out_dim=sequence_length, dtype=DType.int64, device=device)": (
            "Tensor.arange(num_tokens, end, out_dim=sequence_length, dtype=DType.int32, device=device).long()"
        )
    },
    "to a dtype": {
        "Tensor.arange(num_tokens, end, out_dim=sequence_length, dtype=DType.int64, device=device)": (
            "Tensor.arange(num_tokens, end, out_dim=sequence_length, dtype=DType.int32, device=device).to(DType.int64)"
        )
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "both sizes are numbers in __init__": {"Embedding(config.n_positions, dim=config.n_embd)": "Embedding(13, dim=15)"},
}
