"""Step 14, what people write instead: mistakes, each with its sentence, and other right answers."""

STORE = "cache[:, :, (slice(first, end), sequence_length)] = new"
QUERIES = "queries = keys[total - sequence_length :].unsqueeze(-1)"
HIDDEN = 'mask = F.where(keys > queries, float("-inf"), padding_mask.unsqueeze(1))'
STORE_KEY = "store(keys, key, past)"
STORE_VALUE = "store(values, value, past)"
ATTEND = "attention._attn(query, keys[:, :, :total], values[:, :, :total], mask)"
EMBED = "x = transformer.wte(input_ids) + transformer.wpe(position_ids)"
BLOCKS = "for block, (keys, values) in zip(transformer.h, cache, strict=True):"
HEAD = "return self.model.lm_head(transformer.ln_f(x[:, -1:]))"
BUFFER_TYPE = "buffer = BufferType(DType.float32, "
TYPES = "cache: Any = [(buffer, buffer)] * config.n_layer"

MISTAKES = {
    "The cache is overwritten at its beginning: new keys go behind the past ones, to slots past to past + seq.": {
        STORE: "cache[:, :, :sequence_length] = new"
    },
    "The new keys are written one slot too far: the first free slot is past, counted from 0.": {
        STORE: "cache[:, :, (slice(first + 1, end + 1), sequence_length)] = new"
    },
    "The new keys are written one slot too early, over the last of the past ones.": {
        STORE: "cache[:, :, (slice(first - 1, end - 1), sequence_length)] = new"
    },
    "Nothing is written: the name cache is bound to another tensor. Assign to its slots, so that it changes in "
    "place.": {STORE: "cache = F.concat([cache[:, :, : Dim(past)], new], axis=2)"},
    "Keys and values are rounded to float16 on their way into the cache, which loses digits; store them as they are.": {
        STORE: STORE.replace("= new", "= new.cast(DType.float16).cast(new.dtype)")
    },
    "The slots are taken on the axis of the heads; they are axis 2.": {
        STORE: "cache[:, (slice(first, end), sequence_length)] = new"
    },
    "The queries are taken from the wrong end: the new tokens are the last of all tokens, not the first.": {
        QUERIES: "queries = keys[:sequence_length].unsqueeze(-1)"
    },
    "The mask is that of the new tokens alone; it needs a column for every token in the cache too.": {
        QUERIES: "keys = keys[total - sequence_length :]\n    queries = keys.unsqueeze(-1)"
    },
    "New tokens look at the tokens after them: nothing is hidden, or one row holds for all. Each has its own row.": {
        QUERIES: "queries = keys[total - 1 :].unsqueeze(-1)"
    },
    "There is a row for every token, old and new, and only the new ones ask: take the last seq positions.": {
        QUERIES: "queries = keys.unsqueeze(-1)"
    },
    "A token does not look at itself: hide the keys after the query, not the query's own.": {
        HIDDEN: HIDDEN.replace("keys > queries", "keys >= queries")
    },
    "The past is hidden and the future open: hide the keys after the query, not those before.": {
        HIDDEN: HIDDEN.replace("keys > queries", "keys < queries")
    },
    "The padding is not masked: where a key is not hidden, take padding_mask.": {
        HIDDEN: HIDDEN.replace("padding_mask", "0 * padding_mask")
    },
    "The padding mask has its sign turned, so that everybody looks at the padding; take it as it is.": {
        HIDDEN: HIDDEN.replace("padding_mask", "-padding_mask")
    },
    "The keys are cached before they are split into heads: reshape alone mixes tokens and heads. Store "
    "_split_heads(key).": {
        STORE_KEY: "key = attention._merge_heads(key)\n"
        "    store(keys, key.reshape([key.shape[0], keys.shape[1], key.shape[1], keys.shape[3]]), past)"
    },
    "The values are not stored.": {STORE_VALUE: "pass"},
    "The keys are not stored.": {STORE_KEY: "pass"},
    "The values are stored in the keys' buffer.": {STORE_VALUE: STORE_VALUE.replace("values,", "keys,")},
    "The query is stored as the key.": {STORE_KEY: "store(keys, query, past)"},
    "The cache is read before the new tokens are stored in it: a token looks at itself too.": {
        f"    {STORE_KEY}\n    {STORE_VALUE}\n    attn_output = {ATTEND}\n": (
            f"    attn_output = {ATTEND}\n    {STORE_KEY}\n    {STORE_VALUE}\n"
        )
    },
    "The new tokens look at themselves alone: nothing is read from the cache.": {
        ATTEND: "attention._attn(query, key, value, mask[:, :, :, past:])"
    },
    "All n_positions slots are read; the cache is filled up to total.": {
        ATTEND: "attention._attn(query, keys, values, mask)"
    },
    "The mask is not passed on: _attn takes it as its last argument.": {ATTEND: ATTEND.replace(", mask)", ")")},
    "c_proj is not applied: the heads are merged but never mixed.": {
        "return attention.c_proj(attn_output)": "return attn_output"
    },
    "The positions are counted from the first column, which may be padding; look up position_ids.": {
        EMBED: "new, total = input_ids.shape[-1], padding_mask.shape[-1]\n"
        "        places = Tensor.arange(0, total, out_dim=total, dtype=DType.int64, device=input_ids.device)\n"
        "        x = transformer.wte(input_ids) + transformer.wpe(places[total - new :])"
    },
    "The positions are not embedded.": {EMBED: "x = transformer.wte(input_ids)"},
    "Positions are counted from 0 again: the new tokens' places come in as position_ids.": {
        "from solutions.solution_07": "from solutions.solution_06 import position_ids as places\n"
        "from solutions.solution_07",
        EMBED: "x = transformer.wte(input_ids) + transformer.wpe(places(input_ids.shape[-1], device=input_ids.device))",
    },
    "All blocks use the first block's keys and values; each has its own.": {
        BLOCKS: "for block, (keys, values) in zip(transformer.h, [cache[0]] * len(cache), strict=True):"
    },
    "Keys and values are swapped: a pair of the cache is (keys, values).": {
        BLOCKS: BLOCKS.replace("(keys, values)", "(values, keys)")
    },
    "The second half of the block, the feed-forward network, is left out.": {
        "x = x + block.mlp(block.ln_2(x))": "pass"
    },
    "ln_f is left out.": {HEAD: "return self.model.lm_head(x[:, -1:])"},
    "The logits of the first new token are returned; return those of the last.": {
        HEAD: "return self.model.lm_head(transformer.ln_f(x[:, :1]))"
    },
    "The logits of every new token are returned; those of the last are enough, and at a prompt much less work.": {
        HEAD: "return self.model.lm_head(transformer.ln_f(x))"
    },
    "The cache is declared as TensorType, which a graph can only read; BufferType is what it may write to.": {
        BUFFER_TYPE: "buffer = TensorType(DType.float32, "
    },
    "The cache has another number of pairs than there are blocks; the graph needs one pair for each: n_layer.": {
        TYPES: "cache: Any = [(buffer, buffer)]"
    },
    "The cache is one flat list of buffers; the graph needs a pair of them for every block: (buffer, buffer).": {
        TYPES: "cache: Any = [buffer, buffer] * config.n_layer"
    },
    "CachedModel calls its graph with NumPy arrays, and a compiled module takes tensors: wrap it, on_arrays(compiled, "
    "device).": {"on_arrays(compiled, device)": "compiled"},
    "The batch of the cache is fixed to 1; it must be symbolic, like that of the tokens.": {
        'buffer = BufferType(DType.float32, ["batch", ': "buffer = BufferType(DType.float32, [1, "
    },
}

ALTERNATIVES = {
    "F.buffer_store_slice": {
        STORE: "F.buffer_store_slice(cache, new, (slice(None), slice(None), (slice(first, end), sequence_length)))"
    },
    "an ellipsis": {STORE: "cache[..., (slice(first, end), sequence_length), :] = new"},
    "padding_mask with both axes": {
        HIDDEN: HIDDEN.replace(".unsqueeze(1)", ".unsqueeze(1).unsqueeze(1)"),
        "return mask.unsqueeze(1)": "return mask",
    },
    "the last rows of step 02's mask": {
        "from solutions.solution_06": "from solutions.solution_02 import causal_mask\nfrom solutions.solution_06",
        QUERIES: "causal = causal_mask(total, dtype=padding_mask.dtype, device=padding_mask.device)",
        HIDDEN: "mask = causal[total - sequence_length :] + padding_mask.unsqueeze(1)",
    },
    "the masks added": {
        HIDDEN: "hidden = -1e9 * (keys > queries).cast(padding_mask.dtype)\n"
        "    mask = hidden + padding_mask.unsqueeze(1)"
    },
    "the old slots and the new keys, joined": {
        ATTEND: "attention._attn(\n        query,\n        F.concat([keys[:, :, :past], key], axis=2),\n"
        "        F.concat([values[:, :, :past], value], axis=2),\n        mask,\n    )"
    },
    "the residuals by step 08": {
        "from solutions.solution_11": "from solutions.solution_08 import pre_norm_residual\nfrom solutions.solution_11",
        "x = x + cached_attention(block.attn, block.ln_1(x), keys, values, mask)": "x = pre_norm_residual(\n"
        "                x, block.ln_1, lambda x: cached_attention(block.attn, x, keys, values, mask)\n"
        "            )",
        "x = x + block.mlp(block.ln_2(x))": "x = pre_norm_residual(x, block.ln_2, block.mlp)",
    },
    "a graph for the prompt and one for a token": {
        "compiled = CachedGPT2(model).compile(ids, ids, mask, cache)\n": (
            "prompt: Any = CachedGPT2(model).compile(ids, ids, mask, cache)\n"
            '    one = TensorType(DType.int64, ["batch", 1], ref)\n'
            "    token: Any = CachedGPT2(model).compile(one, one, mask, cache)\n\n"
            "    def compiled(ids: Tensor, *others: Any) -> Tensor:\n"
            "        return (token if int(ids.shape[1]) == 1 else prompt)(ids, *others)\n\n"
        )
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "unsqueeze with a dim": {"padding_mask.unsqueeze(1)": "padding_mask.unsqueeze(dim=1)"},
    "a negative symbol": {"keys[total - sequence_length :]": "keys[-sequence_length:]"},
    "a store with a plain slice": {
        "cache[:, :, (slice(first, end), sequence_length)] = new": "cache[:, :, past : past + sequence_length] = new",
    },
}
