"""Step 10, what people write instead: mistakes, each with its sentence, and other right answers."""

CHECK = "        check_length(sequence_length, self.config)\n"
POSITIONS = "        positions = position_ids(sequence_length, device=input_ids.device)\n"
EMBED = "hidden_states = self.wte(input_ids) + self.wpe(positions)"
BLOCKS = "        hidden_states = self.h(hidden_states)\n"
NORM = "return self.ln_f(hidden_states)"
STACK = "Sequential(*(GPT2Block(config) for _ in range(config.n_layer)))"
LN_F = "LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)"

MISTAKES = {
    "The positions are forgotten: add wpe of the positions.": {EMBED: "hidden_states = self.wte(input_ids)"},
    "h is a Sequential of one list; give it the blocks themselves: Sequential(*blocks).": {
        "Sequential(*(GPT2Block(config) for _ in range(config.n_layer)))": (
            "Sequential([GPT2Block(config) for _ in range(config.n_layer)])"
        )
    },
    "h is a Sequential of one generator; give it the blocks themselves, with a star: Sequential(*blocks).": {
        STACK: "Sequential(GPT2Block(config) for _ in range(config.n_layer))"
    },
    "The positions are all n_positions; count those of this text: sequence_length.": {
        "position_ids(sequence_length": "position_ids(self.config.n_positions"
    },
    "There are as many positions as texts in the batch; count those of one text: sequence_length.": {
        "position_ids(sequence_length": "position_ids(input_ids.shape[0]"
    },
    "wpe gets the length; give it the positions.": {"self.wpe(positions)": "self.wpe(sequence_length)"},
    "Only the positions are embedded: add wte of the tokens.": {
        EMBED: "hidden_states = self.wpe(positions) + self.wte(input_ids) * 0.0"
    },
    "Positions count from 1; they must count from 0.": {"self.wpe(positions)": "self.wpe((positions + 1) % 13)"},
    "Every token is embedded at position 0.": {"self.wpe(positions)": "self.wpe(positions * 0)"},
    "The token ids are used as positions.": {"self.wpe(positions)": "self.wpe(input_ids % 13)"},
    "wpe gets the token ids, many of which are beyond its last row; give it the positions.": {
        "self.wpe(positions)": "self.wpe(input_ids)"
    },
    "The positions are added to the token ids, which makes them other tokens; add the outputs of wte and wpe.": {
        EMBED: "hidden_states = self.wte(input_ids + positions)"
    },
    "The length is not checked before the lookup; keep the given call to check_length.": {CHECK: ""},
    "The two embeddings are multiplied; add them.": {
        "self.wte(input_ids) + self.wpe": "self.wte(input_ids) * self.wpe"
    },
    "The token embeddings are scaled by the square root of n_embd; GPT-2 does not.": {
        "self.wte(input_ids) +": "self.wte(input_ids) * 15**0.5 +"
    },
    "A list of the blocks in self gives every weight a second name, which no checkpoint has; keep them in h alone.": {
        STACK: f"{STACK}\n        self.blocks = list(self.h)"
    },
    "ln_f is left out: normalize after the last block.": {NORM: "return hidden_states"},
    "ln_f comes before the blocks; it must come after the last one.": {
        BLOCKS: "        hidden_states = self.h(self.ln_f(hidden_states))\n",
        NORM: "return hidden_states",
    },
    "ln_f is applied before the blocks as well; GPT-2 normalizes the embeddings inside the first block.": {
        BLOCKS: "        hidden_states = self.h(self.ln_f(hidden_states))\n"
    },
    "ln_f is applied after every block; once after the last is enough.": {
        BLOCKS: "        for block in self.h:\n            hidden_states = self.ln_f(block(hidden_states))\n",
        NORM: "return hidden_states",
    },
    "The blocks are left out.": {BLOCKS: ""},
    "The last block is left out.": {
        BLOCKS: "        for block in self.h[:-1]:\n            hidden_states = block(hidden_states)\n"
    },
    "The blocks run in reverse.": {
        BLOCKS: "        for block in self.h[::-1]:\n            hidden_states = block(hidden_states)\n"
    },
    "Every block gets the embeddings; each must get the output of the one before it.": {
        BLOCKS: "        embedded = hidden_states\n        for block in self.h:\n"
        "            hidden_states = block(embedded)\n"
    },
    "The first block runs every time; each layer has its own.": {
        BLOCKS: "        for _ in self.h:\n            hidden_states = self.h[0](hidden_states)\n"
    },
    "wte and wpe are swapped: the tokens have the table of step 05, the positions that of step 06.": {
        "self.wte = GPT2Embeddings(config)": "self.wte = GPT2PositionEmbeddings(config)",
        "self.wpe = GPT2PositionEmbeddings(config)": "self.wpe = GPT2Embeddings(config)",
    },
    "There are too few blocks; there must be n_layer.": {"range(config.n_layer)": "range(config.n_layer - 1)"},
    "There are too many blocks; there must be n_layer.": {"range(config.n_layer)": "range(config.n_layer + 1)"},
    "position_ids gets the tokens; it takes their number, sequence_length.": {
        "position_ids(sequence_length": "position_ids(input_ids"
    },
    "ln_f is applied twice.": {NORM: "return self.ln_f(self.ln_f(hidden_states))"},
    "One block is made and used n_layer times; make a new one for each layer.": {
        STACK: "Sequential(*[GPT2Block(config)] * config.n_layer)"
    },
    "There is only one block: h holds n_layer of them, each with its own weights.": {
        STACK: "GPT2Block(config)",
        BLOCKS: "        for _ in range(self.config.n_layer):\n            hidden_states = self.h(hidden_states)\n",
    },
    "ln_f has the default epsilon; take layer_norm_epsilon from the configuration.": {LN_F: "LayerNorm(config.n_embd)"},
    "The position table is added once more after the blocks.": {
        NORM: "return self.ln_f(hidden_states + self.wpe(positions))"
    },
}

ALTERNATIVES = {
    "a loop over the blocks": {
        BLOCKS: "        for block in self.h:\n            hidden_states = block(hidden_states)\n"
    },
    "ModuleList": {
        STACK: "ModuleList([GPT2Block(config) for _ in range(config.n_layer)])",
        "import Module, Sequential": "import Module\nfrom max.experimental.nn.sequential import ModuleList",
        BLOCKS: "        for block in self.h:\n            hidden_states = block(hidden_states)\n",
    },
    "an Embedding for each table": {
        "import Module, Sequential": "import Embedding, Module, Sequential",
        "GPT2Embeddings(config)": "Embedding(config.vocab_size, dim=config.n_embd)",
        "GPT2PositionEmbeddings(config)": "Embedding(config.n_positions, dim=config.n_embd)",
    },
    "arange": {
        POSITIONS: "        from max.dtype import DType\n\n"
        "        positions = Tensor.arange(0, sequence_length, out_dim=sequence_length, "
        "dtype=DType.int64, device=input_ids.device)\n"
    },
    "the rows of the table": {
        POSITIONS: "",
        "self.wpe(positions)": "self.wpe(position_ids(input_ids.shape[1], device=input_ids.device)).unsqueeze(0)",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "nn.ModuleList": {
        "Sequential(*(GPT2Block(config) for _ in range(config.n_layer)))": (
            "nn.ModuleList([GPT2Block(config) for _ in range(config.n_layer)])"
        )
    },
    "size as a method": {"positions = position_ids(sequence_length,": "positions = position_ids(input_ids.size(-1),"},
    "LayerNorm with two numbers": {
        "LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)": (
            "LayerNorm(config.n_embd, config.layer_norm_epsilon)"
        )
    },
    "nn.LayerNorm": {"self.ln_f = LayerNorm(": "self.ln_f = nn.LayerNorm("},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the number of blocks is a number in __init__": {"range(config.n_layer)": "range(4)"},
    "the width of ln_f is a number in __init__": {"LayerNorm(config.n_embd": "LayerNorm(15"},
}
