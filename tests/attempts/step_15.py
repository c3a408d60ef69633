"""Step 15, what people write instead: mistakes, each with its sentence, and other right answers."""

PASSED = "passed = rows.unsqueeze(-1) >= ends"
PLACES = "rows + F.gather(past - starts, request, axis=0)"
LAST = "F.gather(hidden_states, row_offsets[1:].cast(DType.int64) - 1, axis=0)"
QKV = "query, key, value = attention._qkv(hidden_states)"
STORE = "    cache.store(layer, key, value, row_offsets)\n"
ATTEND = "    attn_output = cache.attend(layer, query, row_offsets, scale=1 / math.sqrt(attention.head_dim))"
PROJECT = "return attention.c_proj(attention._merge_heads(attn_output))"
EMBED = "self.transformer.wte(input_ids) + self.transformer.wpe(positions)"
PARTIAL = "attend = partial(paged_attention, block.attn, cache=cache, layer=layer, row_offsets=row_offsets)"
ATTENDED = "pre_norm_residual(hidden_states, block.ln_1, attend)"
FED = "pre_norm_residual(hidden_states, block.ln_2, block.mlp)"
HEAD = "return self.lm_head(self.transformer.ln_f(last_rows(hidden_states, row_offsets)))"
POSITIONS = "positions = ragged_positions(rows, row_offsets, cache.past)"

MISTAKES = {
    "Positions run on from one request into the next; each request counts from its own start.": {PLACES: "rows"},
    "The tokens in the cache are not counted: a new token's position comes after all of theirs.": {
        PLACES: "rows - F.gather(starts, request, axis=0)"
    },
    "A request's first row is counted with the request before: an end equal to the row is passed, so use >=.": {
        ">= ends": "> ends"
    },
    "A row is compared with the requests' starts, so its own counts as passed: compare with their ends.": {
        PASSED: PASSED.replace("ends", "starts")
    },
    "The requests that a row has passed keep an axis of size 1: F.sum(…, axis=-1).squeeze(-1).": {
        "axis=-1).squeeze(-1)": "axis=-1)"
    },
    "past has a number for each request, and a row needs its own request's: F.gather(past, request, axis=0).": {
        PLACES: "rows - F.gather(starts, request, axis=0) + past"
    },
    "The tokens in the cache are subtracted; add them, since they come before the new ones.": {
        PLACES: "rows - F.gather(starts, request, axis=0) - F.gather(past, request, axis=0)"
    },
    "The requests are counted in int8, which ends at 127, and a server has more; count in int64.": {
        "passed.cast(DType.int64), axis=-1).squeeze(-1)": "passed.cast(DType.int8), axis=-1)"
        ".squeeze(-1).cast(DType.int64)"
    },
    "Every token gets the position of its request's first new token.": {PLACES: "F.gather(past, request, axis=0)"},
    "The signs are swapped: a position is the row minus its request's start, plus its tokens in the cache.": {
        PLACES: "rows + F.gather(starts, request, axis=0) - F.gather(past, request, axis=0)"
    },
    "The row at a request's end is taken, which is the next request's first; the last row is one before.": {
        LAST: "F.gather(hidden_states, F.min(F.stack([row_offsets[1:].cast(DType.int64), "
        "F.broadcast_to(Tensor(hidden_states.shape[0] - 1, dtype=DType.int64, device=row_offsets.device), "
        "row_offsets[1:].shape)]), axis=0).squeeze(0), axis=0)"
    },
    "row_offsets[1:] are the ends, one after each request's last row: subtract 1.": {LAST: LAST.replace(" - 1", "")},
    "The first row of each request is taken; take the last one, which predicts the next token.": {
        LAST: "F.gather(hidden_states, row_offsets[:-1].cast(DType.int64), axis=0)"
    },
    "Only the last row of the whole batch is taken; every request has one.": {LAST: "hidden_states[-1:]"},
    "All rows are returned; take the last one of each request.": {LAST: "hidden_states"},
    "Nothing is stored: keys and values must be in the cache before attention looks for them.": {STORE: ""},
    "Attention comes before the new keys and values are stored, so a token cannot see itself.": {
        f"{STORE}{ATTEND}\n": f"{ATTEND}\n{STORE}"
    },
    "Key and value are swapped in the cache.": {"store(layer, key, value,": "store(layer, value, key,"},
    "The keys are stored as values too.": {"store(layer, key, value,": "store(layer, key, key,"},
    "The query is stored as the key.": {"store(layer, key, value,": "store(layer, query, value,"},
    "Every layer uses layer 0 of the cache and overwrites the keys and values of the one before.": {
        STORE: STORE.replace("layer,", "0,"),
        ATTEND: ATTEND.replace("attend(layer,", "attend(0,"),
    },
    "_qkv returns query, key and value, in this order.": {QKV: QKV.replace("query, key", "key, query")},
    "c_attn's output is cut head by head into query, key and value; cut it into three thirds first, as _qkv does.": {
        QKV: "qkv = attention.c_attn(hidden_states)\n"
        "    qkv = qkv.reshape([qkv.shape[0], attention.num_heads, 3, attention.head_dim]).permute([2, 1, 0, 3])\n"
        "    query, key, value = (qkv[part] for part in range(3))"
    },
    "The cache takes [head, tokens, head_dim], as _qkv returns it; this is [tokens, head, head_dim].": {
        QKV: f"{QKV}\n    query, key, value = (part.transpose(0, 1) for part in (query, key, value))"
    },
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), as _split_heads cuts it.": {
        QKV: "parts = F.split(attention.c_attn(hidden_states), [hidden_states.shape[-1]] * 3, axis=-1)\n"
        "    shape = [hidden_states.shape[0], attention.head_dim, attention.num_heads]\n"
        "    query, key, value = (part.reshape(shape).permute([2, 0, 1]) for part in parts)"
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
    "c_proj is not applied: the heads are joined but never mixed.": {
        PROJECT: "return attention._merge_heads(attn_output)"
    },
    "The heads are not joined: c_proj takes attention._merge_heads(attn_output).": {
        PROJECT: PROJECT.replace("attention._merge_heads(attn_output)", "attn_output")
    },
    "The heads are joined by a reshape, which mixes tokens and heads; _merge_heads brings them side by side.": {
        PROJECT: "return attention.c_proj(attn_output.reshape(hidden_states.shape))"
    },
    "forward counts positions over the whole batch, from 0; ragged_positions knows each request's.": {
        POSITIONS: "positions = rows"
    },
    "The positions are left out.": {EMBED: "self.transformer.wte(input_ids)"},
    "forward runs step 09's blocks, which take the batch for one long text and ignore the cache.": {
        PARTIAL: "pass",
        ATTENDED: "hidden_states",
        FED: "self.transformer.h(hidden_states.unsqueeze(0)).squeeze(0) if layer == 0 else hidden_states",
    },
    "The layer given to the cache is always 0; count the blocks.": {PARTIAL: PARTIAL.replace("layer=layer", "layer=0")},
    "The layers are counted from 1; the cache counts from 0.": {
        "enumerate(self.transformer.h)": "enumerate(self.transformer.h, 1)"
    },
    "The feed-forward network is left out of the blocks.": {FED: "hidden_states"},
    "The residual around attention is left out.": {ATTENDED: "attend(block.ln_1(hidden_states))"},
    "ln_f is left out before the head.": {HEAD: "return self.lm_head(last_rows(hidden_states, row_offsets))"},
    "The head is left out: the output is hidden states, not logits.": {
        HEAD: "return self.transformer.ln_f(last_rows(hidden_states, row_offsets))"
    },
    "forward returns the logits of every token; a server asks for the last one of each request.": {
        HEAD: "return self.lm_head(self.transformer.ln_f(hidden_states))"
    },
    "ragged_positions gets the tokens; it takes rows.": {POSITIONS: POSITIONS.replace("(rows", "(input_ids")},
    "The starts are added; subtract them, since each request counts from its own start.": {
        PLACES: PLACES.replace("past - starts", "past + starts")
    },
    "ln_2 is used for both halves; the first has ln_1.": {ATTENDED: ATTENDED.replace("ln_1", "ln_2")},
    "ln_1 is used for both halves; the second has ln_2.": {FED: FED.replace("ln_2", "ln_1")},
    "The norms are swapped: ln_1 belongs to attn, ln_2 to mlp.": {
        ATTENDED: ATTENDED.replace("ln_1", "ln_2"),
        FED: FED.replace("ln_2", "ln_1"),
    },
}

ALTERNATIVES = {
    "two gathers": {PLACES: "rows - F.gather(starts, request, axis=0) + F.gather(past, request, axis=0)"},
    "the request by starts": {
        PASSED: "passed = rows.unsqueeze(-1) >= starts",
        "axis=-1).squeeze(-1)": "axis=-1).squeeze(-1) - 1",
    },
    "the head before the last rows": {
        HEAD: "return last_rows(self.lm_head(self.transformer.ln_f(hidden_states)), row_offsets)"
    },
    "chunk": {
        QKV: "query, key, value = map(attention._split_heads, F.chunk(attention.c_attn(hidden_states), 3, axis=-1))"
    },
    "an axis for the three": {
        QKV: "qkv = attention.c_attn(hidden_states)\n"
        "    qkv = qkv.reshape([qkv.shape[0], 3, attention.num_heads, attention.head_dim])\n"
        "    query, key, value = (qkv[:, part].transpose(0, 1) for part in range(3))"
    },
    "heads joined by hand": {
        PROJECT: "attn_output = attn_output.transpose(0, 1).reshape(hidden_states.shape)\n"
        "    return attention.c_proj(attn_output)"
    },
    "the residuals by hand": {
        PARTIAL: "inputs = {'cache': cache, 'layer': layer, 'row_offsets': row_offsets}\n"
        "            attended = paged_attention(block.attn, block.ln_1(hidden_states), **inputs)",
        ATTENDED: "hidden_states + attended",
        FED: "hidden_states + block.mlp(block.ln_2(hidden_states))",
    },
    "the width of a head from the shape": {"math.sqrt(attention.head_dim)": "math.sqrt(int(query.shape[-1]))"},
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
    "a tensor as an index": {PLACES: "rows - starts[request] + past[request]"},
    "gather by PyTorch's order": {PLACES: PLACES.replace("request, axis=0", "0, request")},
    "gather with a dim": {PLACES: PLACES.replace("request, axis=0", "dim=0, indices=request")},
    "rows by a tensor as an index": {
        "return F.gather(hidden_states, row_offsets[1:].cast(DType.int64) - 1, axis=0)": (
            "return hidden_states[row_offsets[1:] - 1]"
        )
    },
    "view": {
        PROJECT: "return attention.c_proj(attn_output.transpose(0, 1).view(-1, attention.embed_dim))",
    },
    "flatten": {PROJECT: "return attention.c_proj(attn_output.transpose(0, 1).flatten(1))"},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the scale is a number in paged_attention": {"1 / math.sqrt(attention.head_dim)": "1 / math.sqrt(5)"},
    "the width of the embedding is a number in paged_attention": {
        PROJECT: "return attention.c_proj(attn_output.transpose(0, 1).reshape([-1, 15]))"
    },
}
