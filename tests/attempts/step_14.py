"""Step 14, what people write instead: mistakes, each with its sentence, and other right answers."""

ROWS = "mask = causal[total - sequence_length :]"
ADDED = "mask = mask + padding_mask.unsqueeze(1)"
RETURNED = "return mask.unsqueeze(1)"
UPDATED = "keys, values = update_cache(block_cache, key, value, mask.shape[-1])"
ATTENDED = "attn_output = attention._merge_heads(attention._attn(query, keys, values, mask))"
EMBED = "hidden_states = self.transformer.wte(input_ids) + self.transformer.wpe(positions)"
BLOCK_CACHE = "block_cache=block_cache"
PARTIAL = f"attend = partial(cached_attention, block.attn, mask=mask, {BLOCK_CACHE})"
RESIDUAL = "pre_norm_residual(hidden_states, block.ln_1, attend)"
FED = "pre_norm_residual(hidden_states, block.ln_2, block.mlp)"
HEAD = "return self.lm_head(self.transformer.ln_f(hidden_states[:, -1:]))"
LENGTH = "length = min(cached_ids.shape[-1], input_ids.shape[-1] - 1)"
SAME = "same = (cached_ids[:, :length] == input_ids[:, :length]).all(axis=0)"
COUNTED = "return int(same.cumprod().sum())"

NN = "from max.experimental.nn import Module"
IMPORTED = {NN: f"from max.experimental import functional as F\n{NN}"}

MISTAKES = {
    "The mask is cut on the wrong side: the new tokens are the last rows of the causal mask, not the first.": {
        ROWS: "mask = causal[:sequence_length]"
    },
    "The mask covers the new tokens alone; it needs a column for every token in the cache, too.": {
        "causal = causal_mask(total,": "causal = causal_mask(sequence_length,",
        ROWS: "mask = causal",
    },
    "New tokens look at later ones: there is no causal mask, or one row of it for all. Each needs its own row.": {
        ROWS: "mask = causal[total - 1 :]"
    },
    "The rows are not cut: the causal mask has a row for every token, but only the new ones are queries.": {
        ROWS: "mask = causal"
    },
    "The rows begin at sequence_length - 1; the new tokens have the last ones, from total - sequence_length on.": {
        ROWS: "mask = causal[sequence_length - 1 :]"
    },
    "The padding is not masked: add padding_mask.": {ADDED: "mask = mask.unsqueeze(0)"},
    "The new axis of padding_mask comes last; its columns are the tokens, so put the axis of the rows before them: "
    "unsqueeze(1).": {ADDED: "mask = mask + padding_mask.unsqueeze(-1)"},
    "The padding mask is subtracted, so every token looks at the padding; add it.": {
        ADDED: "mask = mask - padding_mask.unsqueeze(1)"
    },
    "The axis of the heads is missing: return mask.unsqueeze(1).": {RETURNED: "return mask"},
    "The keys are cached before they are split into heads: reshape alone mixes tokens and heads. _qkv splits them.": {
        UPDATED: "key = attention._merge_heads(key).reshape(key.shape)\n    " + UPDATED
    },
    "Keys and values are rounded to float16 on their way into the cache, which loses digits; store them as they are.": {
        UPDATED: "key, value = (new.cast(DType.float16).cast(new.dtype) for new in (key, value))\n    " + UPDATED
    },
    "The keys are stored as values too.": {UPDATED: UPDATED.replace("key, value", "key, key")},
    "Key and value are swapped on their way into the cache: update_cache takes the key first.": {
        UPDATED: UPDATED.replace("key, value, ", "value, key, ")
    },
    "The query is stored as the key.": {UPDATED: UPDATED.replace("key, value, ", "query, value, ")},
    "There are too few keys and values: attend to those that update_cache returns, given the number of all tokens, old "
    "and new (the mask's last axis).": {UPDATED: UPDATED.replace("mask.shape[-1]", "hidden_states.shape[-2]")},
    "The cache is read before the new tokens are stored in it: a token looks at itself too. Use what update_cache "
    "returns.": {
        f"{UPDATED}  # 2 x [batch, head, total, head_dim]\n    {ATTENDED}\n": (
            "keys, values = (buffer[:, :, : mask.shape[-1]] for buffer in block_cache)\n"
            f"    {ATTENDED}\n    update_cache(block_cache, key, value, mask.shape[-1])\n"
        )
    },
    "Nothing is stored: update_cache writes keys and values of the new tokens into the cache.": {
        UPDATED: "keys, values = (buffer[:, :, : mask.shape[-1]] for buffer in block_cache)"
    },
    "The new tokens look at themselves alone: attend to what update_cache returns, old and new.": {
        ATTENDED: "mask = mask[:, :, :, mask.shape[-1] - key.shape[-2] :]\n    "
        + ATTENDED.replace("keys, values", "key, value")
    },
    "All n_positions slots are read, but only the first total are filled.": {
        ATTENDED: ATTENDED.replace("keys, values", "*block_cache")
    },
    "The mask is not passed on: _attn takes it as its last argument.": {ATTENDED: ATTENDED.replace(", mask)", ")")},
    "c_proj is not applied: the heads are merged but never mixed.": {
        "return attention.c_proj(attn_output)": "return attn_output"
    },
    "The heads are not merged before c_proj: attention._merge_heads.": {
        ATTENDED: "attn_output = attention._attn(query, keys, values, mask)"
    },
    "The positions are counted from the first column, which may be padding; look up positions.": {
        EMBED: "new, total = input_ids.shape[-1], padding_mask.shape[-1]\n"
        "        places = Tensor.arange(0, total, out_dim=total, dtype=DType.int64, device=input_ids.device)\n"
        "        hidden_states = self.transformer.wte(input_ids) + self.transformer.wpe(places[total - new :])"
    },
    "The positions are not embedded.": {EMBED: "hidden_states = self.transformer.wte(input_ids)"},
    "Positions are counted from 0 again; the new tokens' are passed in as positions.": {
        "from solutions.solution_07": "from solutions.solution_06 import position_ids\nfrom solutions.solution_07",
        EMBED: "places = position_ids(input_ids.shape[-1], device=input_ids.device)\n        "
        + EMBED.replace("(positions)", "(places)"),
    },
    "All blocks use the first block's keys and values; each has its own.": {BLOCK_CACHE: "block_cache=cache[0]"},
    "Keys and values are swapped: a pair of the cache is (keys, values).": {
        BLOCK_CACHE: "block_cache=block_cache[::-1]"
    },
    "The residual around attention is left out.": {RESIDUAL: "attend(block.ln_1(hidden_states))"},
    "ln_2 is used for both halves; the first has ln_1.": {RESIDUAL: RESIDUAL.replace("ln_1", "ln_2")},
    "ln_1 is used for both halves; the second has ln_2.": {FED: FED.replace("ln_2", "ln_1")},
    "The norms are swapped: ln_1 belongs to attn, ln_2 to mlp.": {
        RESIDUAL: RESIDUAL.replace("ln_1", "ln_2"),
        FED: FED.replace("ln_2", "ln_1"),
    },
    "The second half of the block, the feed-forward network, is left out.": {FED: "hidden_states"},
    "The blocks run as in step 10, which takes the new tokens for a whole text and ignores the cache.": {
        PARTIAL: "attend = block.attn"
    },
    "ln_f is left out.": {HEAD: "return self.lm_head(hidden_states[:, -1:])"},
    "[:, -1] drops the axis of the tokens; [:, -1:] keeps it.": {HEAD: HEAD.replace("[:, -1:]", "[:, -1]")},
    "The logits of the first new token are returned; return those of the last.": {
        HEAD: HEAD.replace("[:, -1:]", "[:, :1]")
    },
    "The logits of every new token are returned; those of the last are enough, and at a prompt much less work.": {
        HEAD: HEAD.replace("[:, -1:]", "")
    },
    "The last token is counted, too, if it is in the cache, so nothing runs, and there are no logits.": {
        LENGTH: LENGTH.replace(" - 1)", ")")
    },
    "Columns that agree after the first that differs are counted, too; their keys and values depend on it.": {
        COUNTED: "return int(same.sum())"
    },
    "A column counts if one row has the same token; it must be the same in all rows: all, not any.": {
        SAME: SAME.replace(".all(", ".any(")
    },
    "Only the first row is compared; a token of another row may differ.": {
        SAME: "same = cached_ids[0, :length] == input_ids[0, :length]"
    },
    "The tokens are not compared: a text of the same length may be a different one.": {COUNTED: "return length"},
    "One token that differs drops the whole cache; everything before it can stay.": {
        COUNTED: "return length if same.all() else 0"
    },
    "The first column that differs is counted too; it has to run.": {
        COUNTED: "return min(int(same.cumprod().sum()) + 1, length)"
    },
    "argmin finds the first column that differs, and 0 where none does: then all of them can stay.": {
        COUNTED: "return int(same.argmin()) if length else 0"
    },
    "A token too many runs: the last one alone has to, even where the text has grown.": {
        COUNTED: "return int(same[:-1].cumprod().sum())"
    },
    "It counts the rows that agree as a whole; count columns: all(axis=0).": {SAME: SAME.replace("axis=0", "axis=1")},
    "Each block is given the cache of all blocks; give it its own pair, block_cache.": {
        BLOCK_CACHE: "block_cache=cache"
    },
    "The mask is multiplied by the padding's, and 0 times infinity is NaN; add padding_mask.": {
        ADDED: ADDED.replace("mask + ", "mask * ")
    },
    "Query and key are stored; store key and value.": {UPDATED: UPDATED.replace("key, value, ", "query, key, ")},
    "The new axis of padding_mask comes first; its rows are the batch, so put the axis of the mask's rows after them: "
    "unsqueeze(1).": {ADDED: "mask = mask + padding_mask.unsqueeze(0)"},
    "padding_mask has no axis for the mask's rows; unsqueeze(1) makes it [batch, 1, total].": {
        ADDED: "mask = mask + padding_mask"
    },
    "Only the keys come from the cache; take the values that update_cache returns, too.": {
        ATTENDED: ATTENDED.replace("values", "value")
    },
}

ALTERNATIVES = {
    "padding_mask with both axes": {
        ADDED: "mask = mask + padding_mask.unsqueeze(1).unsqueeze(1)",
        RETURNED: "return mask",
    },
    "the masks added first": {
        ROWS: "mask = causal + padding_mask.unsqueeze(1)",
        ADDED: "mask = mask[:, total - sequence_length :]",
    },
    "the mask by F.where": IMPORTED | {ADDED: "mask = F.where(mask < 0, mask, padding_mask.unsqueeze(1))"},
    "the old slots and the new keys, joined": IMPORTED
    | {
        ATTENDED: "past = mask.shape[-1] - key.shape[-2]\n"
        "    keys, values = (\n"
        "        F.concat([buffer[:, :, :past], new], axis=2)\n"
        "        for buffer, new in zip(block_cache, (key, value), strict=True)\n"
        f"    )\n    {ATTENDED}"
    },
    "query, key and value by hand": IMPORTED
    | {
        "query, key, value = attention._qkv(hidden_states)": "qkv = attention.c_attn(hidden_states)\n"
        "    query, key, value = map(attention._split_heads, F.chunk(qkv, 3, axis=-1))"
    },
    "the residuals by hand": {
        PARTIAL: "normed = block.ln_1(hidden_states)\n"
        "            attended = cached_attention(block.attn, normed, mask=mask, block_cache=block_cache)",
        RESIDUAL: "hidden_states + attended",
        FED: "hidden_states + block.mlp(block.ln_2(hidden_states))",
    },
    "a loop over the columns": {
        f"{LENGTH}\n    {SAME}  # [length]\n    {COUNTED}": "past = 0\n"
        "    for one, other in zip(cached_ids.T, input_ids.T[:-1], strict=False):\n"
        "        if (one != other).any():\n"
        "            break\n"
        "        past += 1\n"
        "    return past"
    },
    "the first column that differs": {
        COUNTED: "differing = np.flatnonzero(~same)\n    return int(differing[0]) if len(differing) else length"
    },
    "an integer of NumPy's": {COUNTED: "return same.cumprod().sum()"},
    "a graph for the prompt and one for a token": {
        "compiled = CachedGPT2(model).compile(ids, ids, padding_mask, cache_type(model.config, device))\n": (
            "cache = cache_type(model.config, device)\n"
            "    prompt = CachedGPT2(model).compile(ids, ids, padding_mask, cache)\n"
            '    one = TensorType(DType.int64, ["batch", 1], DeviceRef.from_device(device))\n'
            "    token = CachedGPT2(model).compile(one, one, padding_mask, cache)\n\n"
            "    def compiled(ids: Tensor, *others: Tensor) -> Tensor:\n"
            "        return (token if int(ids.shape[1]) == 1 else prompt)(ids, *others)\n\n"
        )
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "unsqueeze with a dim": {"padding_mask.unsqueeze(1)": "padding_mask.unsqueeze(dim=1)"},
    "all with a dim": {SAME: SAME.replace("axis=0", "dim=0")},
    "cumprod with a dim": {COUNTED: "return int(same.cumprod(dim=0).sum())"},
    "long as a method": {COUNTED: "return int(same.long().cumprod(0).sum())"},
}
