"""Warm-up 07, what people write instead: mistakes, each with its sentence, and other right answers."""

COUNT_ON = "return np.arange(cache.length, total)"
TAKE = "positions = next_positions(cache, key.shape[-2])"
KEYS_IN = "cache.keys[..., positions, :] = key"
VALUES_IN = "cache.values[..., positions, :] = value"
COUNTED = "cache.length += len(positions)"
MASK = "return causal_mask(past + sequence_length)[past:]"
READ_KEYS = "keys = cache.keys[..., : cache.length, :]"
READ_VALUES = "values = cache.values[..., : cache.length, :]"
WEIGH = "weights = attention_weights(query, keys, mask_with_past(sequence_length, past))"
GATHER = "return context_vectors(weights, values)"
SPLIT = "query, key, value = (split_heads(part, cache.n_head) for part in project_fused(x, W_qkv))"
APPEND = "    append(cache, key, value)\n"
MERGE = "merged = merge_heads(attend_to_cache(query, cache))\n    return merged @ W_o"
ALL = "    total = past + sequence_length\n"
MULTIPLY = "return sequence_length * (4 * n_embd**2 + 2 * n_embd * total)"

MISTAKES = {
    "Positions begin at 0 in every call; they must go on from cache.length.": {
        COUNT_ON: "return np.arange(sequence_length)"
    },
    "Positions are one too large: the first free slot is cache.length.": {
        COUNT_ON: "return np.arange(cache.length, total) + 1"
    },
    "Positions are one too small: the first of them belongs to the last token of the past.": {
        COUNT_ON: "return np.arange(cache.length, total) - 1"
    },
    "Positions are counted from the end of the buffer; it is filled from the front.": {
        COUNT_ON: "return np.arange(cache.capacity - sequence_length, cache.capacity)"
    },
    "The positions of the past are returned too; return those of the next tokens alone.": {
        COUNT_ON: "return np.arange(total)"
    },
    "Only the last position is returned; there is one for each of the next tokens.": {
        COUNT_ON: "return np.arange(total - 1, total)"
    },
    "Positions are floats, which cannot index slots; they must be integers.": {
        COUNT_ON: "return np.linspace(cache.length, total - 1, sequence_length)"
    },
    "For no tokens, the positions are floats, since np.array([]) is; use np.arange.": {
        COUNT_ON: "return np.array([cache.length + i for i in range(sequence_length)])"
    },
    "Positions are int8, which ends at 127; a text may be longer.": {
        COUNT_ON: "return np.arange(cache.length, total, dtype=np.int8)"
    },
    "A list is returned; np.arange makes an array of the same numbers.": {
        COUNT_ON: "return list(range(cache.length, total))"
    },
    "A range is returned; np.arange makes an array of the same numbers.": {
        COUNT_ON: "return range(cache.length, total)"
    },
    "A slice is returned; np.arange makes an array of the positions themselves.": {
        COUNT_ON: "return slice(cache.length, total)"
    },
    "Asking for positions already counts the tokens; leave that to append.": {
        COUNT_ON: "cache.length = total\n    return np.arange(total - sequence_length, total)"
    },
    "Every append begins at slot 0 and overwrites the past; begin at the next position.": {
        KEYS_IN: "cache.keys[..., : len(positions), :] = key",
        VALUES_IN: "cache.values[..., : len(positions), :] = value",
    },
    "The tokens are written one slot too early, over the last one of the past.": {
        KEYS_IN: KEYS_IN.replace("positions", "np.maximum(positions - 1, 0)"),
        VALUES_IN: VALUES_IN.replace("positions", "np.maximum(positions - 1, 0)"),
    },
    "The tokens are written one slot too late, which leaves a gap.": {
        KEYS_IN: KEYS_IN.replace("positions", "np.minimum(positions + 1, cache.capacity - 1)"),
        VALUES_IN: VALUES_IN.replace("positions", "np.minimum(positions + 1, cache.capacity - 1)"),
    },
    "The tokens are written in reverse order.": {
        KEYS_IN: KEYS_IN.replace("positions", "positions[::-1]"),
        VALUES_IN: VALUES_IN.replace("positions", "positions[::-1]"),
    },
    "Keys and values are swapped: keys go to cache.keys, values to cache.values.": {
        KEYS_IN: "cache.keys[..., positions, :] = value",
        VALUES_IN: "cache.values[..., positions, :] = key",
    },
    "The keys are written twice: cache.values must get the values.": {VALUES_IN: VALUES_IN.replace("= value", "= key")},
    "The values are not written.": {VALUES_IN: "pass"},
    "Nothing is written: an assignment to a name changes no buffer. Assign to slots of cache.keys and cache.values.": {
        KEYS_IN: "key = np.concatenate([cache.keys[..., : cache.length, :], key], axis=-2)",
        VALUES_IN: "value = np.concatenate([cache.values[..., : cache.length, :], value], axis=-2)",
    },
    "All slots from the first free one on are assigned to; fill only as many as there are new tokens.": {
        KEYS_IN: "cache.keys[..., cache.length :, :] = key",
        VALUES_IN: "cache.values[..., cache.length :, :] = value",
    },
    "The positions index another axis; slots are axis -2: [..., positions, :].": {
        KEYS_IN: "cache.keys[:, positions] = key",
        VALUES_IN: "cache.values[:, positions] = value",
    },
    "len(key) is the size of the batch; the number of tokens is the size of axis -2.": {
        TAKE: "positions = next_positions(cache, len(key))"
    },
    "The tokens are not counted: the next append would overwrite them.": {COUNTED: "pass"},
    "An append counts as one token; count as many as were appended.": {COUNTED: "cache.length += 1"},
    "cache.length is set to the number of new tokens; add them to those before.": {
        COUNTED: "cache.length = len(positions)"
    },
    "The tokens are counted before their slots are taken, which leaves a gap of their length.": {
        TAKE: f"cache.length += key.shape[-2]\n    {TAKE}",
        COUNTED: "pass",
    },
    "A new cache is returned, and the one passed in stays as it was; change that one.": {
        TAKE: f"cache = Cache(cache.keys.copy(), cache.values.copy(), cache.length)\n    {TAKE}",
        COUNTED: f"{COUNTED}\n    return cache",
    },
    "The buffers grow: the new tokens are appended after all slots, free ones too. Write into the free slots.": {
        KEYS_IN: "cache.keys = np.concatenate([cache.keys, key], axis=-2)",
        VALUES_IN: "cache.values = np.concatenate([cache.values, value], axis=-2)",
    },
    "The buffers are replaced by what was filled and what is new, so no free slots are left; write into the free "
    "slots.": {
        KEYS_IN: "cache.keys = np.concatenate([cache.keys[..., : cache.length, :], key], axis=-2)",
        VALUES_IN: "cache.values = np.concatenate([cache.values[..., : cache.length, :], value], axis=-2)",
    },
    "The buffers are pushed to the left and the new tokens written at their end; fill them from the front, and move "
    "nothing.": {
        KEYS_IN: "cache.keys = np.concatenate([cache.keys, key], axis=-2)[..., len(positions) :, :]",
        VALUES_IN: "cache.values = np.concatenate([cache.values, value], axis=-2)[..., len(positions) :, :]",
    },
    "Tokens that do not fit are silently dropped; next_positions refuses them.": {
        TAKE: "positions = np.arange(cache.length, min(cache.length + key.shape[-2], cache.capacity))",
        KEYS_IN: "cache.keys[..., positions, :] = key[..., : len(positions), :]",
        VALUES_IN: "cache.values[..., positions, :] = value[..., : len(positions), :]",
    },
    "The cache is changed before the tokens are refused; ask for the positions first.": {
        TAKE: "cache.keys[..., -key.shape[-2] :, :] = key\n    positions = next_positions(cache, key.shape[-2])"
    },
    "The mask has the first rows of all tokens' mask, which hide the past; the new tokens have the last rows.": {
        MASK: "return causal_mask(past + sequence_length)[:sequence_length]"
    },
    "The mask covers the new tokens alone; it needs a column for each token of the past, too.": {
        MASK: "return causal_mask(sequence_length)"
    },
    "The past is hidden: its columns must be True, in front of the square mask of the new tokens.": {
        MASK: "return np.pad(causal_mask(sequence_length), ((0, 0), (past, 0)))"
    },
    "The columns of the past come after those of the new tokens; the past comes first.": {
        MASK: "return np.pad(causal_mask(sequence_length), ((0, 0), (0, past)), constant_values=True)"
    },
    "Nothing is hidden: a new token also looks at the new ones after it.": {
        MASK: "return np.ones((sequence_length, past + sequence_length), dtype=bool)"
    },
    "The mask is off by one: a new token also looks at the one right after it.": {
        MASK: "return np.tri(sequence_length, past + sequence_length, past + 1, dtype=bool)"
    },
    "The mask hides a token from itself.": {
        MASK: "return np.tri(sequence_length, past + sequence_length, past - 1, dtype=bool)"
    },
    "Positions are counted in int8 for the mask, which ends at 127; the past may be longer.": {
        MASK: "positions = np.arange(past + sequence_length).astype(np.int8)\n"
        "    return positions <= positions[past:, None]"
    },
    "Every token has a row; only the new ones need one.": {MASK: "return causal_mask(past + sequence_length)"},
    "The mask is cut along its columns: keep the last rows, and all columns.": {
        MASK: "return causal_mask(past + sequence_length)[:, past:]"
    },
    "The mask is transposed: its rows are the queries.": {MASK: "return causal_mask(past + sequence_length)[past:].T"},
    "The mask is inverted: it must be True where a token may look.": {
        MASK: "return ~causal_mask(past + sequence_length)[past:]"
    },
    "The mask holds numbers to add; it must be boolean, True where a token may look.": {
        MASK: "return np.where(causal_mask(past + sequence_length)[past:], 0.0, -np.inf)"
    },
    "The whole buffer is read as if it were full; only the first cache.length slots hold tokens.": {
        READ_KEYS: "keys = cache.keys",
        READ_VALUES: "values = cache.values",
        WEIGH: WEIGH.replace("past))", "cache.capacity - sequence_length))"),
    },
    "The free slots are read, and nothing is masked.": {
        READ_KEYS: "keys = cache.keys",
        READ_VALUES: "values = cache.values",
        WEIGH: "weights = attention_weights(query, keys)",
    },
    "There is no mask: a new token also looks at the new ones after it.": {
        WEIGH: "weights = attention_weights(query, keys)"
    },
    "The past is cache.length minus the new tokens, which are in the cache already.": {
        WEIGH: WEIGH.replace("past))", "cache.length))")
    },
    "The arguments of mask_with_past are swapped: the new tokens come first, then the past.": {
        WEIGH: WEIGH.replace("sequence_length, past", "past, sequence_length")
    },
    "The past is forgotten: only the new tokens are read.": {
        READ_KEYS: READ_KEYS.replace(": cache", "past : cache"),
        READ_VALUES: READ_VALUES.replace(": cache", "past : cache"),
        WEIGH: WEIGH.replace("past))", "0))"),
    },
    "The new tokens are not read: a token looks at itself too.": {
        READ_KEYS: READ_KEYS.replace("cache.length", "past"),
        READ_VALUES: READ_VALUES.replace("cache.length", "past"),
        WEIGH: "weights = attention_weights(query, keys)",
    },
    "Every new token looks at the last one alone.": {
        READ_KEYS: READ_KEYS.replace(": cache.length", "cache.length - 1 : cache.length"),
        READ_VALUES: READ_VALUES.replace(": cache.length", "cache.length - 1 : cache.length"),
        WEIGH: "weights = attention_weights(query, keys)",
    },
    "Keys and values are swapped: the query is compared with the keys, and the values are gathered.": {
        READ_KEYS: "values = cache.keys[..., : cache.length, :]",
        READ_VALUES: "keys = cache.values[..., : cache.length, :]",
    },
    "The weights are applied to the keys; apply them to the values.": {GATHER: "return context_vectors(weights, keys)"},
    "The scores are not scaled: divide by the square root of head_dim, as attention_weights does.": {
        WEIGH: WEIGH.replace("query,", "query * query.shape[-1] ** 0.5,")
    },
    "The scores are scaled twice: attention_weights divides by the square root of head_dim already.": {
        WEIGH: WEIGH.replace("query,", "query / query.shape[-1] ** 0.5,")
    },
    "exp of a large score is infinite, and the row becomes NaN: use attention_weights, whose softmax subtracts the "
    "row's largest score.": {
        WEIGH: "scores = query @ np.swapaxes(keys, -2, -1) / query.shape[-1] ** 0.5\n"
        "    weights = np.exp(np.where(mask_with_past(sequence_length, past), scores, -np.inf))\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "A hidden score can be the row's largest, which makes the visible ones 0 / 0: mask the scores, then find the "
    "largest.": {
        WEIGH: "scores = query @ np.swapaxes(keys, -2, -1) / query.shape[-1] ** 0.5\n"
        "    weights = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask_with_past(sequence_length, past)\n"
        "    weights = weights / weights.sum(axis=-1, keepdims=True)"
    },
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        WEIGH: "powers = np.exp(query @ np.swapaxes(keys, -2, -1) / query.shape[-1] ** 0.5)\n"
        "    powers = powers * mask_with_past(sequence_length, past)\n"
        "    weights = powers / np.maximum(powers.sum(axis=-2, keepdims=True), 1e-300)"
    },
    "Attending counts the tokens again; only append counts.": {WEIGH: f"{WEIGH}\n    cache.length += sequence_length"},
    "The slots are freed after reading: the cache must keep them for later tokens.": {
        WEIGH: f"{WEIGH}\n    cache.length = past"
    },
    "The new tokens attend before they are appended: their own keys and values are missing.": {
        f"{APPEND}    {MERGE}": "    found = attend_to_cache(query, cache)\n    append(cache, key, value)\n"
        "    return merge_heads(found) @ W_o"
    },
    "Nothing is appended: the keys and values of the new tokens are lost.": {APPEND: ""},
    "append returns nothing: it changes the cache in place, so keep using that one.": {
        APPEND: "    cache = append(cache, key, value)\n"
    },
    "The queries are cached in place of the keys: append(cache, key, value).": {
        APPEND: "    append(cache, query, value)\n"
    },
    "Keys and values are swapped in the call to append.": {APPEND: "    append(cache, value, key)\n"},
    "The tokens are appended twice.": {APPEND: APPEND * 2},
    "The cache is not read: the new tokens attend among themselves.": {
        MERGE: "weights = attention_weights(query, key, causal_mask(x.shape[-2]))\n"
        "    return merge_heads(context_vectors(weights, value)) @ W_o"
    },
    "Every call begins with a new cache; use the one passed in.": {
        APPEND: "    cache = Cache(np.zeros_like(cache.keys), np.zeros_like(cache.values))\n"
        "    append(cache, key, value)\n"
    },
    "The number of heads is hard-coded; use cache.n_head.": {SPLIT: SPLIT.replace("cache.n_head", "3")},
    "The heads are cut by reshape alone; split_heads also brings head in front of seq.": {
        SPLIT: "shape = (len(x), cache.n_head, x.shape[1], -1)\n"
        "    query, key, value = (part.reshape(shape) for part in project_fused(x, W_qkv))"
    },
    "Key and value are appended before they are split into heads.": {
        SPLIT: "query, key, value = project_fused(x, W_qkv)\n    query = split_heads(query, cache.n_head)"
    },
    "The heads are merged without being transposed back: merge_heads brings seq in front of head first.": {
        MERGE: "return attend_to_cache(query, cache).reshape(x.shape) @ W_o"
    },
    "The new tokens attend by a softmax that does not subtract the row's largest score, and exp of a large one is "
    "infinite: use attend_to_cache.": {
        MERGE: "keys, values = cache.keys[..., : cache.length, :], cache.values[..., : cache.length, :]\n"
        "    scores = query @ np.swapaxes(keys, -2, -1) / query.shape[-1] ** 0.5\n"
        "    weights = np.exp(scores) * mask_with_past(x.shape[-2], cache.length - x.shape[-2])\n"
        "    return merge_heads(weights @ values / weights.sum(axis=-1, keepdims=True)) @ W_o"
    },
    "W_o is applied before the heads are merged, to the channels of one head; merge first.": {
        MERGE: "return merge_heads(attend_to_cache(query, cache) @ W_o)"
    },
    "W_o is not applied: the heads lie side by side but are never mixed.": {
        MERGE: "return merge_heads(attend_to_cache(query, cache))"
    },
    "W_o is transposed: multiply by it as it is.": {MERGE: MERGE + ".T"},
    "The input is added to the output; the residual connection comes in step 08.": {
        MERGE: "return x + merge_heads(attend_to_cache(query, cache)) @ W_o"
    },
    "The multiplications by W_o are not counted: n_embd² more per new token.": {
        MULTIPLY: MULTIPLY.replace("4 *", "3 *")
    },
    "W_qkv is counted as one matrix of [embd, embd]; it is [embd, 3 * embd].": {
        MULTIPLY: MULTIPLY.replace("4 *", "2 *")
    },
    "Old tokens are counted as if they were projected again; the cache has their keys and values.": {
        MULTIPLY: "return total * 4 * n_embd**2 + sequence_length * 2 * n_embd * total"
    },
    "Only the scores are counted; weighting the values takes as many multiplications again.": {
        MULTIPLY: MULTIPLY.replace("2 * n_embd *", "n_embd *")
    },
    "The past is not counted: every new token is compared with it.": {ALL: "    total = sequence_length\n"},
    "The new tokens are not counted among those that are compared: a token looks at itself too.": {
        ALL: "    total = past\n"
    },
    "Every call is counted as one token; multiply by sequence_length.": {
        MULTIPLY: "return 4 * n_embd**2 + 2 * n_embd * total"
    },
    "Hidden pairs are left out; their scores are computed too, before the mask hides them.": {
        MULTIPLY: "seen = sequence_length * past + sequence_length * (sequence_length + 1) // 2\n"
        "    return sequence_length * 4 * n_embd**2 + 2 * n_embd * seen"
    },
    "The number of new tokens is missing from one term: each takes 2 n_embd for each token, old or new.": {
        MULTIPLY: "return sequence_length * 4 * n_embd**2 + 2 * n_embd * total"
    },
    "The number of new tokens is missing from one term: each takes 4 n_embd² for the matrices.": {
        MULTIPLY: "return 4 * n_embd**2 + sequence_length * 2 * n_embd * total"
    },
    "n_embd is missing from one term: a score takes n_embd multiplications, and so does a weighted value.": {
        MULTIPLY: MULTIPLY.replace("2 * n_embd *", "2 *")
    },
    "n_embd is not squared: W_qkv and W_o have 4 n_embd² numbers.": {MULTIPLY: MULTIPLY.replace("n_embd**2", "n_embd")},
    "Additions are counted too; count multiplications alone.": {MULTIPLY: MULTIPLY.replace("return", "return 2 *")},
    "The count is a float; it must be an integer.": {MULTIPLY: MULTIPLY.replace("return", "return 1.0 *")},
}

ALTERNATIVES = {
    "added to the length": {COUNT_ON: "return cache.length + np.arange(sequence_length)"},
    "cut out of all positions": {COUNT_ON: "return np.arange(cache.capacity)[cache.length : total]"},
    "a slice of the buffers": {
        f"{TAKE}\n    {KEYS_IN}\n    {VALUES_IN}\n    {COUNTED}": "past, total = cache.length, cache.length + "
        "key.shape[-2]\n"
        "    next_positions(cache, key.shape[-2])\n"
        "    cache.keys[:, :, past:total] = key\n"
        "    cache.values[:, :, past:total] = value\n"
        "    cache.length = total"
    },
    "the end of the positions": {COUNTED: "cache.length = positions[-1] + 1"},
    "token by token": {
        f"{KEYS_IN}\n    {VALUES_IN}\n    {COUNTED}": "for at, slot in enumerate(positions):\n"
        "        cache.keys[:, :, slot], cache.values[:, :, slot] = key[:, :, at], value[:, :, at]\n"
        "        cache.length += 1"
    },
    "np.put_along_axis": {
        KEYS_IN: "np.put_along_axis(cache.keys, positions[:, None] + np.zeros(key.shape, int), key, axis=-2)"
    },
    "joined, and as long as before": {
        KEYS_IN: "past, total = positions[0], positions[-1] + 1\n"
        "    cache.keys = np.concatenate([cache.keys[..., :past, :], key, cache.keys[..., total:, :]], axis=-2)",
    },
    "copied, then written": {
        KEYS_IN: f"cache.keys = cache.keys.copy()\n    {KEYS_IN}",
        VALUES_IN: f"cache.values = cache.values.copy()\n    {VALUES_IN}",
    },
    "the free slots cleared": {COUNTED: f"{COUNTED}\n    cache.keys[..., cache.length :, :] = 0"},
    "the cache returned as well": {COUNTED: f"{COUNTED}\n    return cache"},
    "positions compared": {
        MASK: "return np.arange(past + sequence_length) <= past + np.arange(sequence_length)[:, None]"
    },
    "np.tri": {MASK: "return np.tri(sequence_length, past + sequence_length, past, dtype=bool)"},
    "True for the past, beside the square mask": {
        MASK: "seen = np.ones((sequence_length, past), dtype=bool)\n"
        "    return np.concatenate([seen, causal_mask(sequence_length)], axis=-1)"
    },
    "the whole buffer under a wider mask": {
        READ_KEYS: "keys, values = cache.keys, cache.values",
        f"    {READ_VALUES}\n": "",
        WEIGH: "seen = np.pad(mask_with_past(sequence_length, past), ((0, 0), (0, cache.capacity - cache.length)))\n"
        "    weights = attention_weights(query, keys, seen)",
    },
    "one query after the other, without a mask": {
        f"{READ_KEYS}\n    {READ_VALUES}\n    {WEIGH}\n    {GATHER}": "found = []\n"
        "    for at in range(sequence_length):\n"
        "        keys, values = (buffer[:, :, : past + at + 1] for buffer in (cache.keys, cache.values))\n"
        "        weights = attention_weights(query[:, :, at : at + 1], keys)\n"
        "        found.append(context_vectors(weights, values))\n"
        "    return np.concatenate(found, axis=-2)"
    },
    "everything by hand": {
        WEIGH: "scores = np.einsum('bhqd,bhkd->bhqk', query, keys) / np.sqrt(query.shape[-1])\n"
        "    scores = np.where(np.tri(*scores.shape[-2:], past, dtype=bool), scores, -1e9)\n"
        "    weights = np.exp(scores - scores.max(-1, keepdims=True))\n"
        "    weights = weights / weights.sum(-1, keepdims=True)",
        GATHER: "return weights @ values",
    },
    "projected in three": {
        SPLIT: "query, key, value = (split_heads(x @ W, cache.n_head) for W in np.split(W_qkv, 3, axis=-1))"
    },
    "the heads of all three at once": {
        SPLIT: "query, key, value = np.split(split_heads(x @ W_qkv, 3 * cache.n_head), 3, axis=1)"
    },
    "counted part by part": {
        MULTIPLY: "projections = sequence_length * (n_embd * 3 * n_embd + n_embd * n_embd)\n"
        "    return projections + 2 * sequence_length * total * n_embd"
    },
}

#: What people bring along from PyTorch, Hugging Face or Python; the check shows the line to write instead.
HABITS = {
    "torch.arange": {"np.arange(cache.length, total)": "torch.arange(cache.length, total)"},
    "size as a method": {"next_positions(cache, key.shape[-2])": "next_positions(cache, key.size(-2))"},
    "torch.cat": {
        KEYS_IN: "past, total = positions[0], positions[-1] + 1\n"
        "    cache.keys = torch.cat([cache.keys[..., :past, :], key, cache.keys[..., total:, :]], dim=-2)",
    },
    "np.cat": {
        VALUES_IN: "past, total = positions[0], positions[-1] + 1\n"
        "    cache.values = np.cat([cache.values[..., :past, :], value, cache.values[..., total:, :]], dim=-2)",
    },
    "index_copy_, as in a static cache": {KEYS_IN: "cache.keys.index_copy_(2, positions, key)"},
    "copy_ into a slice": {VALUES_IN: "cache.values[..., positions, :].copy_(value)"},
    "numel": {"cache.length += len(positions)": "cache.length += positions.numel()"},
    "a cache that is a dict": {
        "keys = cache.keys[..., : cache.length, :]": 'keys = cache["keys"][..., : cache.length, :]'
    },
    "a cache that is a pair": {
        "    keys = cache.keys[..., : cache.length, :]\n    values = cache.values[..., : cache.length, :]\n": (
            "    keys, values = cache\n    keys, values = keys[..., : cache.length, :], values[..., : cache.length, "
            ":]\n"
        )
    },
    "the length by a method": {"keys = cache.keys[..., : cache.length, :]": "keys = cache.keys[..., : len(cache), :]"},
    "torch.tril with a diagonal": {
        "return causal_mask(past + sequence_length)[past:]": (
            "return np.tril(np.ones((sequence_length, past + sequence_length), dtype=bool), diagonal=past)"
        )
    },
    "bool as a method": {
        "return causal_mask(past + sequence_length)[past:]": (
            "return np.tril(np.ones((sequence_length, past + sequence_length)), k=past).bool()"
        )
    },
    "a softmax with a dim": {
        "weights = attention_weights(query, keys, mask_with_past(sequence_length, past))": (
            "weights = attention_weights(query, keys, mask_with_past(sequence_length, past), dim=-1)"
        )
    },
    "matmul as a method": {"return context_vectors(weights, values)": "return weights.matmul(values)"},
}

#: Numbers of the claims, written into the code: only a text that is drawn anew shows them.
FIXED = {
    "two rows of a batch are appended": {KEYS_IN: "cache.keys[:2, :, positions] = key[:2]"},
}
