"""Step 14, what people write instead: mistakes, each with its sentence, and other right answers."""

STORE = "cache[:, :, (slice(first, end), sequence_length)] = new"
ROWS = "rows = causal[total - sequence_length :]"
MASKED = "return (rows + padding_mask.unsqueeze(1)).unsqueeze(1)"
SCORES = "scores = query @ keys.transpose(-2, -1)"
SCALED = "scores = scores / math.sqrt(int(query.shape[-1])) + mask"
WEIGHTED = "return F.softmax(scores) @ values"
STORE_KEY = "store(keys, key, past)"
STORE_VALUE = "store(values, value, past)"
ATTEND = "attend(query, keys[:, :, :total], values[:, :, :total], mask)"
EMBED = "hidden_states = transformer.wte(input_ids) + transformer.wpe(position_ids)"
BLOCKS = "for block, (keys, values) in zip(transformer.h, cache, strict=True):"
HEAD = "return self.model.lm_head(transformer.ln_f(hidden_states[:, -1:]))"
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
    "The slots are taken on the axis of the heads; they are axis 2.": {
        STORE: "cache[:, (slice(first, end), sequence_length)] = new"
    },
    "The mask is cut on the wrong side: the new tokens are the last rows of the causal mask, not the first.": {
        ROWS: "rows = causal[:sequence_length]"
    },
    "The mask is that of the new tokens alone; it needs a column for every token in the cache too.": {
        "causal = causal_mask(total, 0,": "causal = causal_mask(sequence_length, 0,",
        ROWS: "rows = causal",
    },
    "New tokens look at the tokens after them: no causal mask, or one row of it for all of them. Each has its own "
    "row.": {ROWS: "rows = causal[total - 1 :]"},
    "The rows are not cut: the causal mask of all tokens has a row for every token, and only the new ones ask.": {
        ROWS: "rows = causal"
    },
    "The padding is not masked: add padding_mask.": {MASKED: "return rows"},
    "The padding mask is subtracted, so that everybody looks at the padding; add it.": {
        MASKED: "return (rows - padding_mask.unsqueeze(1)).unsqueeze(1)"
    },
    "The scores are not scaled: divide query @ keys by the square root of head_dim.": {
        SCALED: "scores = scores + mask"
    },
    "The mask is not added to the scores.": {SCALED: "scores = scores / math.sqrt(int(query.shape[-1]))"},
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        WEIGHTED: "return F.softmax(scores, axis=-2) @ values"
    },
    "Large scores overflow: exp of a score above 88 is infinite in float32, and the row becomes NaN. Subtract the "
    "row's largest score first, or use F.softmax.": {
        WEIGHTED: "powers = F.exp(scores)\n    return powers / F.sum(powers, axis=-1) @ values"
    },
    "The largest score of the whole batch is subtracted; a row that lies 104 below it becomes 0 / 0. Subtract each "
    "row's own largest score.": {
        WEIGHTED: "powers = F.exp(scores - F.max(scores, axis=None))\n"
        "    return powers / F.sum(powers, axis=-1) @ values"
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
        ATTEND: "attend(query, key, value, mask[:, :, :, past:])"
    },
    "All n_positions slots are read; the cache is filled up to total.": {ATTEND: "attend(query, keys, values, mask)"},
    "c_proj is not applied: the heads are merged but never mixed.": {
        "return attention.c_proj(attention._merge_heads(attn_output))": "return attention._merge_heads(attn_output)"
    },
    "The positions are not embedded.": {EMBED: "hidden_states = transformer.wte(input_ids)"},
    "Positions are counted from 0 again: the new tokens' places come in as position_ids.": {
        "from solutions.solution_07": "from solutions.solution_06 import position_ids as places\n"
        "from solutions.solution_07",
        EMBED: "hidden_states = transformer.wte(input_ids) + transformer.wpe("
        "places(input_ids.shape[-1], device=input_ids.device))",
    },
    "All blocks use the first block's keys and values; each has its own.": {
        BLOCKS: "for block, (keys, values) in zip(transformer.h, [cache[0]] * len(cache), strict=True):"
    },
    "Keys and values are swapped: a pair of the cache is (keys, values).": {
        BLOCKS: BLOCKS.replace("(keys, values)", "(values, keys)")
    },
    "The second half of the block, the feed-forward network, is left out.": {
        "hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)": "pass"
    },
    "ln_f is left out.": {HEAD: "return self.model.lm_head(hidden_states[:, -1:])"},
    "The logits of the first new token are returned; return those of the last.": {
        HEAD: "return self.model.lm_head(transformer.ln_f(hidden_states[:, :1]))"
    },
    "The logits of every new token are returned; those of the last are enough, and at a prompt much less work.": {
        HEAD: "return self.model.lm_head(transformer.ln_f(hidden_states))"
    },
    "The cache is declared as TensorType, which a graph can only read; BufferType is what it may write to.": {
        BUFFER_TYPE: "buffer = TensorType(DType.float32, "
    },
    "The cache has one pair; the graph needs one for every block.": {TYPES: "cache: Any = [(buffer, buffer)]"},
    "The batch of the cache is fixed to 1; it is symbolic like that of the tokens.": {
        'buffer = BufferType(DType.float32, ["batch", ': "buffer = BufferType(DType.float32, [1, "
    },
}

ALTERNATIVES = {
    "F.buffer_store_slice": {
        STORE: "F.buffer_store_slice(cache, new, (slice(None), slice(None), (slice(first, end), sequence_length)))"
    },
    "an ellipsis": {STORE: "cache[..., (slice(first, end), sequence_length), :] = new"},
    "padding_mask with both axes": {MASKED: "return rows + padding_mask.unsqueeze(1).unsqueeze(1)"},
    "the masks added first": {
        ROWS: "masks = causal + padding_mask.unsqueeze(1).unsqueeze(1)",
        MASKED: "return masks[:, :, total - sequence_length :]",
    },
    "the mask by F.where": {
        MASKED: "mask = padding_mask.unsqueeze(1).unsqueeze(1)\n    return F.where(rows < 0, rows, mask)"
    },
    "the scale folded into the query": {
        SCORES: "scores = (query * int(query.shape[-1]) ** -0.5) @ keys.transpose(-2, -1)",
        SCALED: "scores = scores + mask",
    },
    "the mask before the scale": {SCALED: "scores = (scores + mask) / math.sqrt(int(query.shape[-1]))"},
    "the softmax with its axis": {WEIGHTED: "weights = F.softmax(scores, axis=-1)\n    return weights @ values"},
    "the old slots and the new keys, joined": {
        ATTEND: "attend(\n        query,\n        F.concat([keys[:, :, :past], key], axis=2),\n"
        "        F.concat([values[:, :, :past], value], axis=2),\n        mask,\n    )"
    },
    "the residuals written out": {
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_1, attention)\n"
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)\n": (
            "            hidden_states = hidden_states + attention(block.ln_1(hidden_states))\n"
            "            hidden_states = hidden_states + block.mlp(block.ln_2(hidden_states))\n"
        )
    },
    "a graph for the prompt and one for a token": {
        "compiled: Any = CachedGPT2(model).compile(ids, ids, mask, cache)\n": (
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
    "softmax with a dim": {"F.softmax(scores) @ values": "F.softmax(scores, dim=-1) @ values"},
    "softmax as a method": {"F.softmax(scores) @ values": "scores.softmax(-1) @ values"},
    "sqrt of a size": {"math.sqrt(int(query.shape[-1]))": "math.sqrt(query.size(-1))"},
    "a power of a size": {"math.sqrt(int(query.shape[-1]))": "query.shape[-1] ** 0.5"},
    "torch.matmul": {"query @ keys.transpose(-2, -1)": "torch.matmul(query, keys.transpose(-2, -1))"},
    "permute": {
        "query @ keys.transpose(-2, -1)": "query @ keys.permute(0, 1, 3, 2)",
    },
    "unsqueeze with a dim": {
        "padding_mask.unsqueeze(1)).unsqueeze(1)": "padding_mask.unsqueeze(dim=1)).unsqueeze(dim=1)"
    },
    "a negative symbol": {"causal[total - sequence_length :]": "causal[-sequence_length:]"},
    "the mask as step 02 promises it": {
        f"    {ROWS}\n": (
            "    dtype, device = padding_mask.dtype, padding_mask.device\n"
            "    rows = causal_mask(sequence_length, total - sequence_length, dtype=dtype, device=device)\n"
        )
    },
    "a store with a plain slice": {
        "cache[:, :, (slice(first, end), sequence_length)] = new": "cache[:, :, past : past + sequence_length] = new",
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the scale is a number in attend": {"math.sqrt(int(query.shape[-1]))": "math.sqrt(5)"},
}
