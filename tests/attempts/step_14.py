"""Step 14, what people write instead: mistakes, each with its sentence, and other right answers."""

BUFFERS = "return [(buffer(), buffer()) for _ in range(config.n_layer)]"
STORE = "cache[:, :, (slice(first, end), sequence_length)] = new"
ROWS = "rows = causal[total - sequence_length :]"
MASKED = "return rows + padding_mask.unsqueeze(1).unsqueeze(1)"
SCORES = "scores = query @ keys.transpose(-2, -1)"
SCALED = "scores = scores / math.sqrt(int(query.shape[-1])) + mask"
WEIGHTED = "return F.softmax(scores) @ values"
STORE_KEY = "store(keys, attention._split_heads(key), past)"
STORE_VALUE = "store(values, attention._split_heads(value), past)"
ATTEND = "attend(attention._split_heads(query), keys[:, :, :total], values[:, :, :total], mask)"
EMBED = "hidden_states = transformer.wte(input_ids) + transformer.wpe(position_ids)"
BLOCKS = "for block, (keys, values) in zip(transformer.h, cache, strict=True):"
HEAD = "return self.model.lm_head(transformer.ln_f(hidden_states[:, -1:]))"
SAME = "same = (input_ids[:, :both] == self.cached_ids[:, :both]).all(axis=0)"
PAST = "past = both if same.all() else int(same.argmin())"
NOT_THE_LAST = "return min(past, input_ids.shape[-1] - 1)"
POSITIONS = "position_ids = np.maximum(is_token.cumsum(axis=-1) - 1, 0)"
BLOCKED = "padding_mask = np.where(is_token, 0, -1e9).astype(np.float32)"
RUN = "logits = self.graph(np.maximum(input_ids, 0)[:, past:], position_ids[:, past:], padding_mask, self.cache)"
REMEMBER = "self.cached_ids = input_ids.copy()"
BUFFER_TYPE = "buffer = BufferType(DType.float32, "
TYPES = "cache: Any = [(buffer, buffer)] * config.n_layer"

MISTAKES = {
    "All blocks share one pair of buffers: a list times a number repeats the same two tensors. Make new ones for "
    "each.": {BUFFERS: "return [(buffer(), buffer())] * config.n_layer"},
    "Keys and values of a block share one buffer; the values overwrite the keys.": {
        BUFFERS: "return [(both, both) for both in (buffer() for _ in range(config.n_layer))]"
    },
    "There is one pair of buffers; every block needs its own.": {BUFFERS: "return [(buffer(), buffer())]"},
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
        MASKED: "return rows - padding_mask.unsqueeze(1).unsqueeze(1)"
    },
    "The scores are not scaled: divide query @ keys by the square root of head_dim.": {
        SCALED: "scores = scores + mask"
    },
    "The mask is not added to the scores.": {SCALED: "scores = scores / math.sqrt(int(query.shape[-1]))"},
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        WEIGHTED: "return F.softmax(scores, axis=-2) @ values"
    },
    "The keys are cached before they are split into heads: reshape alone mixes tokens and heads. Store "
    "_split_heads(key).": {
        STORE_KEY: "store(keys, key.reshape([key.shape[0], attention.num_heads, key.shape[1], attention.head_dim]), "
        "past)"
    },
    "The values are not stored.": {STORE_VALUE: "pass"},
    "The keys are not stored.": {STORE_KEY: "pass"},
    "The values are stored in the keys' buffer.": {STORE_VALUE: STORE_VALUE.replace("values,", "keys,")},
    "The query is stored as the key.": {STORE_KEY: "store(keys, attention._split_heads(query), past)"},
    "The cache is read before the new tokens are stored in it: a token looks at itself too.": {
        f"    {STORE_KEY}\n    {STORE_VALUE}\n    attn_output = {ATTEND}\n": (
            f"    attn_output = {ATTEND}\n    {STORE_KEY}\n    {STORE_VALUE}\n"
        )
    },
    "The new tokens look at themselves alone: nothing is read from the cache.": {
        ATTEND: "attend(attention._split_heads(query), attention._split_heads(key), attention._split_heads(value), "
        "mask[:, :, :, past:])"
    },
    "All n_positions slots are read; the cache is filled up to total.": {
        ATTEND: "attend(attention._split_heads(query), keys, values, mask)"
    },
    "c_proj is not applied: the heads are merged but never mixed.": {
        "return attention.c_proj(attention._merge_heads(attn_output))": "return attention._merge_heads(attn_output)"
    },
    "The positions are not embedded.": {EMBED: "hidden_states = transformer.wte(input_ids)"},
    "Positions are counted from 0 again: the new tokens' places come in as position_ids.": {
        "import check_length": "import check_length, position_ids as places",
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
    "A stale cache is used: the cached tokens are not compared, so another prompt gets the keys of the one before.": {
        SAME: "same = np.ones(both, bool)"
    },
    "Equal tokens are counted wherever they are; after the first that differs, every key differs too.": {
        PAST: "past = int(same.sum())"
    },
    "Only the first row is compared; the tokens of all rows must be equal.": {
        SAME: "same = input_ids[0, :both] == self.cached_ids[0, :both]"
    },
    "One equal row is enough for a column to count as cached; all rows must agree.": {".all(axis=0)": ".any(axis=0)"},
    "The last token counts as cached: when the same text comes again nothing is left to run, and there are no "
    "logits.": {NOT_THE_LAST: "return past"},
    "Nothing ever counts as cached: all tokens run again.": {PAST: "past = 0"},
    "Everything runs again each time: remember the ids, and show the graph the tokens from past on alone.": {
        REMEMBER: "pass"
    },
    "The caller's array itself is remembered; when the caller changes it, it seems to be cached. Keep a copy.": {
        REMEMBER: "self.cached_ids = input_ids"
    },
    "The new tokens alone are remembered, not those before them.": {
        REMEMBER: "self.cached_ids = input_ids[:, past:].copy()"
    },
    "Positions start at 0 again for the new tokens; they go on where the tokens in the cache ended.": {
        "position_ids[:, past:], padding_mask": "position_ids[:, : input_ids.shape[-1] - past], padding_mask"
    },
    "Positions count the padding too; a row's first token is at position 0.": {
        POSITIONS: "position_ids = np.arange(input_ids.shape[-1])[None].repeat(len(input_ids), axis=0)"
    },
    "The positions are one too high: the first token is at position 0.": {
        POSITIONS: "position_ids = is_token.cumsum(axis=-1)"
    },
    "The padding has position -1, which is no row of wpe; give it any valid position, such as 0.": {
        POSITIONS: "position_ids = is_token.cumsum(axis=-1) - 1"
    },
    "Padding is masked with minus infinity: its own rows can look at nothing, and 0/0 spreads from there.": {
        BLOCKED: "padding_mask = np.where(is_token, 0, -np.inf).astype(np.float32)"
    },
    "The padding mask is too weak: exp(-1) still leaves the padding a third of a token's weight; make it -1e9.": {
        BLOCKED: "padding_mask = np.where(is_token, 0, -1).astype(np.float32)"
    },
    "The tokens are masked and the padding is not: the conditions of np.where are swapped.": {
        BLOCKED: "padding_mask = np.where(is_token, -1e9, 0).astype(np.float32)"
    },
    "The mask is of the new tokens alone; it is of all tokens, old and new.": {
        RUN: RUN.replace("padding_mask,", "padding_mask[:, past:],")
    },
    "Padding is shown as token -1, which is no row of the table; show any token in its place.": {
        RUN: RUN.replace("np.maximum(input_ids, 0)[:, past:]", "input_ids[:, past:]")
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
    "Tensor.zeros": {
        "return Tensor.from_dlpack(np.zeros(shape, "
        "np.float32)).to(device)": "return Tensor.zeros(shape, dtype=DType.float32, device=device)"
    },
    "a loop that appends": {
        BUFFERS: "cache = []\n    for _ in range(config.n_layer):\n        cache.append((buffer(), buffer()))\n"
        "    return cache"
    },
    "buffers of uninitialized memory": {"np.zeros(shape, np.float32)": "np.full(shape, np.nan, np.float32)"},
    "F.buffer_store_slice": {
        STORE: "F.buffer_store_slice(cache, new, (slice(None), slice(None), (slice(first, end), sequence_length)))"
    },
    "an ellipsis": {STORE: "cache[..., (slice(first, end), sequence_length), :] = new"},
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
        ATTEND: "attend(\n        attention._split_heads(query),\n"
        "        F.concat([keys[:, :, :past], attention._split_heads(key)], axis=2),\n"
        "        F.concat([values[:, :, :past], attention._split_heads(value)], axis=2),\n        mask,\n    )"
    },
    "the residuals written out": {
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_1, attention)\n"
        "            hidden_states = pre_norm_residual(hidden_states, block.ln_2, block.mlp)\n": (
            "            hidden_states = hidden_states + attention(block.ln_1(hidden_states))\n"
            "            hidden_states = hidden_states + block.mlp(block.ln_2(hidden_states))\n"
        )
    },
    "a running product": {PAST: "past = int(same.cumprod().sum())"},
    "a loop over the columns": {
        PAST: "past = 0\n        while past < both and same[past]:\n            past += 1",
    },
    "padding by np.clip": {POSITIONS: "position_ids = np.clip(is_token.cumsum(axis=-1) - 1, 0, None)"},
    "-1e5 as the mask": {BLOCKED: "padding_mask = np.where(is_token, 0.0, -1e5).astype(np.float32)"},
    "-1e4 as the mask": {BLOCKED: "padding_mask = np.where(is_token, 0, -1e4).astype(np.float32)"},
    "-100 as the mask": {BLOCKED: "padding_mask = np.where(is_token, 0, -100).astype(np.float32)"},
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
        "padding_mask.unsqueeze(1).unsqueeze(1)": "padding_mask.unsqueeze(dim=1).unsqueeze(dim=1)"
    },
    "a negative symbol": {"causal[total - sequence_length :]": "causal[-sequence_length:]"},
    "the mask as step 02 promises it": {
        "    causal = causal_mask(total, 0, dtype=dtype, device=device)\n"
        "    rows = causal[total - sequence_length :]\n": (
            "    rows = causal_mask(sequence_length, total - sequence_length, dtype=dtype, device=device)\n"
        )
    },
    "a store with a plain slice": {
        "cache[:, :, (slice(first, end), sequence_length)] = new": "cache[:, :, past : past + sequence_length] = new",
    },
    "min with a dim": {".all(axis=0)": ".all(dim=0)"},
    "cumsum with a dim": {"is_token.cumsum(axis=-1)": "is_token.cumsum(dim=-1)"},
    "long as a method": {
        "np.maximum(is_token.cumsum(axis=-1) - 1, 0)": "np.maximum(is_token.cumsum(axis=-1) - 1, 0).long()",
    },
    "masked_fill": {
        "np.where(is_token, 0, -1e9).astype(np.float32)": (
            "np.zeros(is_token.shape, np.float32).masked_fill(~is_token, -1e9)"
        )
    },
    "clone": {
        "self.cached_ids = input_ids.copy()\n        return logits": (
            "self.cached_ids = input_ids.clone()\n        return logits"
        )
    },
    "replacing the padding in place": {
        "        logits = self.graph(np.maximum(input_ids, 0)[:, past:]": (
            "        real_ids = input_ids\n        real_ids[real_ids == PADDING] = 0\n"
            "        logits = self.graph(real_ids[:, past:]"
        )
    },
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the scale is a number in attend": {"math.sqrt(int(query.shape[-1]))": "math.sqrt(5)"},
}
