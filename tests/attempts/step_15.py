"""Step 15, what people write instead: mistakes, each with its sentence, and other right answers."""

PASSED = "passed = rows.unsqueeze(-1) >= ends"
PLACES = "rows - F.gather(starts, request, axis=0) + F.gather(lengths, request, axis=0)"
LAST = "F.gather(hidden_states, row_offsets[1:].cast(DType.int64) - 1, axis=0)"
HEADS = "qkv = qkv.reshape([qkv.shape[0], 3 * attention.num_heads, attention.head_dim])"
SPLIT = "query, key, value = F.split(qkv, [attention.num_heads] * 3, axis=1)"
STORE = "    cache.store(layer, key, value, row_offsets)\n"
ATTEND = "    attn_output = cache.attend(layer, query, row_offsets, scale=1 / math.sqrt(attention.head_dim))\n"
PROJECT = "return attention.c_proj(attn_output)"
ATTENDED = "x = x + paged_attention(block.attn, block.ln_1(x), row_offsets, cache, layer)"
FED = "x = x + block.mlp(block.ln_2(x))"
HEAD = "return self.lm_head(transformer.ln_f(last_rows(x, row_offsets)))"
POSITIONS = "positions = ragged_positions(tokens, row_offsets, cache.lengths)"

MISTAKES = {
    "Positions run on from one request into the next; every request begins at 0.": {PLACES: "rows"},
    "What the cache holds is not counted: a new token's place comes after that of all earlier ones.": {
        PLACES: "rows - F.gather(starts, request, axis=0)"
    },
    "The first row of a request counts to the request before: a row has passed an end that is equal to it.": {
        ">= ends": "> ends"
    },
    "The requests are counted in int8, which ends at 127, and a server has more; count in int64.": {
        "passed.cast(DType.int64), axis=-1).squeeze(-1)": "passed.cast(DType.int8), axis=-1)"
        ".squeeze(-1).cast(DType.int64)"
    },
    "Every token gets the same place, that of its request's first new token.": {
        PLACES: "F.gather(lengths, request, axis=0)"
    },
    "The signs are swapped: a place is the row minus the start of its request, plus what the cache holds of it.": {
        PLACES: "rows + F.gather(starts, request, axis=0) - F.gather(lengths, request, axis=0)"
    },
    "The row at a request's end is taken, which is the next request's first; the last row is one before.": {
        LAST: "F.gather(hidden_states, F.min(F.stack([row_offsets[1:].cast(DType.int64), "
        "F.broadcast_to(Tensor(hidden_states.shape[0] - 1, dtype=DType.int64, device=row_offsets.device), "
        "row_offsets[1:].shape)]), axis=0).squeeze(0), axis=0)"
    },
    "The first row of each request is taken; take the last one, which predicts the next token.": {
        LAST: "F.gather(hidden_states, row_offsets[:-1].cast(DType.int64), axis=0)"
    },
    "The last row of the whole batch alone is taken; every request has one.": {LAST: "hidden_states[-1:]"},
    "All rows are returned; take the last one of each request.": {LAST: "hidden_states"},
    "Nothing is stored: keys and values must be in the cache before attention looks for them.": {STORE: ""},
    "Attention comes before the new keys and values are stored, so a token cannot see itself.": {
        STORE + ATTEND: ATTEND + STORE
    },
    "Key and value are swapped in the cache.": {"store(layer, key, value,": "store(layer, value, key,"},
    "The keys are stored as values too.": {"store(layer, key, value,": "store(layer, key, key,"},
    "The query is stored as the key.": {"store(layer, key, value,": "store(layer, query, value,"},
    "Every layer uses layer 0 of the cache and overwrites what the one before has stored.": {
        STORE: STORE.replace("layer,", "0,"),
        ATTEND: ATTEND.replace("attend(layer,", "attend(0,"),
    },
    "c_attn's output is taken in the order key, query, value; Hugging Face's order is query, key, value.": {
        SPLIT: SPLIT.replace("query, key", "key, query")
    },
    "c_attn's output is cut head by head into query, key and value; cut it into three thirds first, then each into "
    "heads.": {
        HEADS: "qkv = qkv.reshape([qkv.shape[0], attention.num_heads, 3, attention.head_dim])",
        SPLIT: "query, key, value = (qkv[:, :, part] for part in range(3))",
    },
    "The cache keeps [tokens, head, head_dim]: no transpose brings head in front here, as step 07's _split_heads "
    "does.": {SPLIT: f"{SPLIT}\n    query, key, value = (part.transpose(0, 1) for part in (query, key, value))"},
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), so that a head's channels lie "
    "together.": {
        HEADS: "qkv = qkv.reshape([qkv.shape[0], 3, attention.head_dim, attention.num_heads]).transpose(2, 3)\n"
        "    qkv = qkv.reshape([qkv.shape[0], 3 * attention.num_heads, attention.head_dim])"
    },
    "The scores are multiplied by the square root of head_dim: scale is 1 over it.": {
        "scale=1 / math.sqrt(": "scale=math.sqrt("
    },
    "The scores are not scaled: scale is 1 over the square root of head_dim.": {
        "scale=1 / math.sqrt(attention.head_dim)": "scale=1.0"
    },
    "The scores are scaled by n_embd; scale them by head_dim, the width of one head.": {
        "math.sqrt(attention.head_dim)": "math.sqrt(attention.embed_dim)"
    },
    "The scores are divided by head_dim itself; divide by its square root.": {
        "1 / math.sqrt(attention.head_dim)": "1 / attention.head_dim"
    },
    "c_proj is not applied: the heads are joined but never mixed.": {PROJECT: "return attn_output"},
    "The model is kept as a whole, which puts another name in front of every weight; take its two parts.": {
        "self.transformer, self.lm_head = model.transformer, model.lm_head": "self.model, self.transformer, "
        "self.lm_head = model, model.transformer, model.lm_head"
    },
    "forward counts positions over the whole batch, from 0; ragged_positions knows each request's.": {
        POSITIONS: "positions = position_ids(tokens.shape[0], device=tokens.device)"
    },
    "The positions are left out.": {"transformer.wte(tokens) + transformer.wpe(positions)": "transformer.wte(tokens)"},
    "forward runs step 09's blocks, to which the batch is one long text, and leaves the cache out.": {
        "for layer, block in enumerate(transformer.h):\n"
        f"            {ATTENDED}\n            {FED}": "x = transformer.h(x.unsqueeze(0)).squeeze(0)"
    },
    "The layer given to the cache is always 0; count the blocks.": {ATTENDED: ATTENDED.replace("layer)", "0)")},
    "The layers are counted from 1; the cache counts from 0.": {
        "enumerate(transformer.h)": "enumerate(transformer.h, 1)"
    },
    "The feed-forward network is left out of the blocks.": {f"            {FED}\n": ""},
    "The residual around attention is left out.": {ATTENDED: ATTENDED.replace("x = x + ", "x = ")},
    "ln_f is left out before the head.": {
        HEAD: HEAD.replace("transformer.ln_f(last_rows(x, row_offsets))", "last_rows(x, row_offsets)")
    },
    "The head is left out: what comes out is hidden states, not logits.": {
        HEAD: "return transformer.ln_f(last_rows(x, row_offsets))"
    },
    "forward returns the logits of every token; a server asks for the last one of each request.": {
        HEAD: "return self.lm_head(transformer.ln_f(x))"
    },
}

ALTERNATIVES = {
    "one gather": {PLACES: "rows + F.gather(lengths - starts, request, axis=0)"},
    "the request by starts": {
        PASSED: "passed = rows.unsqueeze(-1) >= starts",
        "axis=-1).squeeze(-1)": "axis=-1).squeeze(-1) - 1",
    },
    "the head before the last rows": {HEAD: "return last_rows(self.lm_head(transformer.ln_f(x)), row_offsets)"},
    "chunk": {SPLIT: "query, key, value = F.chunk(qkv, 3, axis=1)"},
    "an axis for the three": {
        HEADS: "qkv = qkv.reshape([qkv.shape[0], 3, attention.num_heads, attention.head_dim])",
        SPLIT: "query, key, value = (qkv[:, part] for part in range(3))",
    },
    "three parts, each cut into heads": {
        HEADS: "",
        SPLIT: "parts = F.split(qkv, [hidden_states.shape[-1]] * 3, axis=-1)\n"
        "    heads = [hidden_states.shape[0], attention.num_heads, attention.head_dim]\n"
        "    query, key, value = (part.reshape(heads) for part in parts)",
    },
    "step 07's heads, turned back": {
        HEADS: "",
        SPLIT: "parts = F.split(qkv, [hidden_states.shape[-1]] * 3, axis=-1)\n"
        "    query, key, value = (attention._split_heads(part).transpose(-3, -2) for part in parts)",
    },
    "the residuals by step 08": {
        "from solutions.solution_11": "from solutions.solution_08 import pre_norm_residual\nfrom solutions.solution_11",
        ATTENDED: "attend = partial(paged_attention, block.attn, row_offsets=row_offsets, cache=cache, layer=layer)\n"
        "            x = pre_norm_residual(x, block.ln_1, attend)",
        FED: "x = pre_norm_residual(x, block.ln_2, block.mlp)",
        "import math\n": "import math\nfrom functools import partial\n",
    },
    "the width of a head from the shape": {"math.sqrt(attention.head_dim)": "math.sqrt(int(query.shape[-1]))"},
    "a model of its own parts": {
        "        model = MaxGPT2LMHeadModel(config)\n": "        from max.experimental.nn import Linear\n\n"
        "        from solutions.solution_10 import GPT2Model\n\n",
        "self.transformer, self.lm_head = model.transformer, model.lm_head": "self.transformer = GPT2Model(config)\n"
        "        self.lm_head = Linear(config.n_embd, config.vocab_size, bias=False)",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "a sum over booleans": {
        "request = F.sum(passed.cast(DType.int64), "
        "axis=-1).squeeze(-1)": "request = F.sum(passed, axis=-1).squeeze(-1)",
    },
    "sum with a dim": {
        "F.sum(passed.cast(DType.int64), axis=-1).squeeze(-1)": "passed.cast(DType.int64).sum(dim=-1).squeeze(-1)",
    },
    "long as a method": {"F.sum(passed.cast(DType.int64), axis=-1)": "F.sum(passed.long(), axis=-1)"},
    "unsqueeze with a dim": {"rows.unsqueeze(-1) >= ends": "rows.unsqueeze(dim=-1) >= ends"},
    "a tensor as an index": {PLACES: "rows - starts[request] + lengths[request]"},
    "gather by PyTorch's order": {PLACES: PLACES.replace("request, axis=0", "0, request")},
    "gather with a dim": {PLACES: PLACES.replace("request, axis=0", "dim=0, indices=request")},
    "rows by a tensor as an index": {
        "return F.gather(hidden_states, row_offsets[1:].cast(DType.int64) - 1, axis=0)": (
            "return hidden_states[row_offsets[1:] - 1]"
        )
    },
    "view": {HEADS: "qkv = qkv.view(qkv.shape[0], 3 * attention.num_heads, attention.head_dim)"},
    "chunk as a method": {SPLIT: "query, key, value = qkv.chunk(3, dim=1)"},
    "flatten": {
        "attn_output.reshape(hidden_states.shape)": "attn_output.flatten(1)",
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the scale is a number in paged_attention": {"1 / math.sqrt(attention.head_dim)": "1 / math.sqrt(5)"},
    "the width of the heads is a number in paged_attention": {
        "3 * attention.num_heads, attention.head_dim])": "9, 5])"
    },
}
