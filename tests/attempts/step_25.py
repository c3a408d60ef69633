"""Step 25, what people write instead: mistakes, each with its sentence, and other right answers."""

Q = "self.q_proj = Linear(config.hidden_size, self.embed_dim, bias=False)"
K = "self.k_proj = Linear(config.hidden_size, kv_dim, bias=False)"
V = "self.v_proj = Linear(config.hidden_size, kv_dim, bias=False)"
O = "self.o_proj = Linear(self.embed_dim, config.hidden_size, bias=False)"  # noqa: E741
PROJECTED = "query, key, value = self.q_proj(hidden_states), self.k_proj(hidden_states), self.v_proj(hidden_states)"
OF_HEADS = "return self._split_heads(query), self._split_heads(key), self._split_heads(value)"
LINED_UP = "query = query.reshape([batch, self.num_kv_heads, rows, head_dim])"
MASK = "mask = F.broadcast_to(mask, [batch, self.group_size, sequence_length, total]).reshape([batch, 1, rows, total])"
ATTN = "attn_output = self._attn(query, key, value, mask)  # [batch, kv_head, group_size * seq, head_dim]"
JOINED = "return attn_output.reshape([batch, self.num_heads, sequence_length, head_dim])"
GROUPED = f"        {LINED_UP}\n        {MASK}\n        {ATTN}\n        {JOINED}\n"
PARTS = "        query, key, value = self._qkv(hidden_states)\n"
ROTATED = "query, key = rotate(query, angles), rotate(key, angles)"
UPDATED = (
    "keys, values = update_cache(block_cache, key, value, mask.shape[-1])  # 2 x [batch, kv_head, total, head_dim]"
)
ATTENDED = "attn_output = self._merge_heads(self._grouped_attn(query, keys, values, mask))"
RETURNED = "return self.o_proj(attn_output)"


def grouped(*lines):
    """``_grouped_attn`` with other lines."""
    return {GROUPED: "".join(f"        {line}\n" for line in lines)}


def copies(expression):
    """Keys and values copied for every head, by an expression of ``x``."""
    return grouped(
        f"key, value = (({expression}) for x in (key, value))",
        "return self._attn(query, key, value, mask)",
    )


REPEATED = (
    "F.broadcast_to(x.unsqueeze(2), [batch, self.num_kv_heads, self.group_size, x.shape[2], head_dim])"
    ".reshape([batch, self.num_heads, x.shape[2], head_dim])"
)

MISTAKES = {
    "Key-value head 0 serves query heads 0, 4 and 8, as if copied in turn; the heads of a group are neighbors.": copies(
        "F.concat([x] * self.group_size, axis=1)"
    ),
    "Keys are copied as neighbors, values in turn; copy both as neighbors, so that they serve the same group.": {
        **grouped(
            f"key = [{REPEATED} for x in [key]][0]",
            "value = F.concat([value] * self.group_size, axis=1)",
            "return self._attn(query, key, value, mask)",
        ),
    },
    "All query heads look at the first key-value head.": copies("x[:, :1]"),
    "Query heads 0, 4 and 8 line up for key-value head 0; the heads of a group are neighbors.": {
        LINED_UP: "query = query.reshape([batch, self.group_size, self.num_kv_heads, sequence_length, head_dim])\n"
        "        query = query.transpose(1, 2).reshape([batch, self.num_kv_heads, rows, head_dim])"
    },
    "The queries of a group line up token by token, and the outputs come back head by head; both go head by head.": {
        LINED_UP: "query = query.reshape([batch, self.num_kv_heads, self.group_size, sequence_length, head_dim])\n"
        "        query = query.transpose(2, 3).reshape([batch, self.num_kv_heads, rows, head_dim])"
    },
    "The queries of a group line up token by token; the mask's rows come head by head, and so must theirs.": {
        LINED_UP: "query = query.reshape([batch, self.num_kv_heads, self.group_size, sequence_length, head_dim])\n"
        "        query = query.transpose(2, 3).reshape([batch, self.num_kv_heads, rows, head_dim])",
        JOINED: "shape = [batch, self.num_kv_heads, sequence_length, self.group_size, head_dim]\n"
        "        attn_output = attn_output.reshape(shape).transpose(2, 3)\n        " + JOINED,
    },
    "The queries go token by token through all heads; each head's are together already, so a reshape lines them up.": {
        LINED_UP: LINED_UP.replace("query.reshape", "query.transpose(1, 2).reshape")
    },
    "The group has an axis of its own, which keys and mask lack; line up its queries as more tokens of one head.": {
        LINED_UP: LINED_UP.replace("rows", "self.group_size, sequence_length")
    },
    "Only the first head of each group attends; every head does.": grouped(
        "query = query.reshape([batch, self.num_kv_heads, self.group_size, sequence_length, head_dim])[:, :, 0]",
        "attn_output = self._attn(query, key, value, mask)",
        f"return [{REPEATED} for x in [attn_output]][0]",
    ),
    "The group has an axis of its own, and keys broadcast along it: MAX cannot compile that. Line up or copy.": grouped(
        "query = query.reshape([batch, self.num_kv_heads, self.group_size, sequence_length, head_dim])",
        "key, value, mask = key.unsqueeze(2), value.unsqueeze(2), mask.unsqueeze(2)",
        "attn_output = self._attn(query, key, value, mask)",
        JOINED,
    ),
    "The heads of a group are still lined up: reshape to [batch, head, seq, head_dim].": {JOINED: "return attn_output"},
    "Heads and tokens are mixed at the end: in each group, head comes before seq.": {
        JOINED: "shape = [batch, self.num_kv_heads, sequence_length, self.group_size, head_dim]\n"
        "        attn_output = attn_output.reshape(shape).transpose(2, 3)\n        " + JOINED
    },
    "The mask's rows are repeated one by one; the queries line up head by head, so all rows come again and again.": {
        MASK: "mask = F.broadcast_to(mask.unsqueeze(3), [batch, 1, sequence_length, self.group_size, total])\n"
        "        mask = mask.reshape([batch, 1, rows, total])"
    },
    "The mask is not passed on: _attn takes it as its last argument.": {
        ATTN: "attn_output = self._attn(query, key, value)"
    },
    "0 is passed as the mask, so every token also looks at the tokens after it.": {
        ATTN: "attn_output = self._attn(query, key, value, mask * 0)"
    },
    "The mask of the first text is used for all.": {MASK: MASK.replace("to(mask,", "to(mask[:1],")},
    "Key and value are swapped in _attn; it takes query, key, value.": {
        ATTN: ATTN.replace("query, key, value", "query, value, key")
    },
    "q_proj has a bias; Llama's projections have none: bias=False.": {Q: Q.replace(", bias=False", "")},
    "k_proj has a bias; Llama's projections have none: bias=False.": {K: K.replace(", bias=False", "")},
    "v_proj has a bias; Llama's projections have none: bias=False.": {V: V.replace(", bias=False", "")},
    "o_proj has a bias; Llama's projections have none: bias=False.": {O: O.replace(", bias=False", "")},
    "k_proj and v_proj make as many heads as q_proj; keys and values have fewer: kv_dim.": {
        K: K.replace("kv_dim", "self.embed_dim"),
        V: V.replace("kv_dim", "self.embed_dim"),
    },
    "The heads together are assumed to be as wide as the model; q_proj makes embed_dim, and o_proj takes it.": {
        Q: Q.replace("self.embed_dim", "config.hidden_size"),
        O: O.replace("self.embed_dim", "config.hidden_size"),
    },
    "k_proj and v_proj are swapped.": {
        PROJECTED: PROJECTED.replace("k_proj", "_").replace("v_proj", "k_proj").replace("self._(", "self.v_proj(")
    },
    "The value is made by k_proj; make it with v_proj.": {PROJECTED: PROJECTED.replace("self.v_proj", "self.k_proj")},
    "The key is made by v_proj; make it with k_proj.": {PROJECTED: PROJECTED.replace("self.k_proj", "self.v_proj")},
    "The key is cut from the query; make it with k_proj.": {
        PROJECTED: f"{PROJECTED}\n        key = query[..., : self.num_kv_heads * self.head_dim]"
    },
    "Query, key and value are not split into heads.": {OF_HEADS: "return query, key, value"},
    "Only the query is split into heads; split key and value, too.": {
        OF_HEADS: "return self._split_heads(query), key, value"
    },
    "Nothing is rotated: without it, attention cannot tell positions apart.": {f"        {ROTATED}\n": ""},
    "Only the key is rotated; the score needs both.": {ROTATED: "key = rotate(key, angles)"},
    "The value is rotated, too; values are only passed on, so they have no position.": {
        ROTATED: f"{ROTATED}\n        value = rotate(value, angles)"
    },
    "The query is rotated twice.": {ROTATED: f"{ROTATED}\n        query = rotate(query, angles)"},
    "The key is rotated twice.": {ROTATED: f"{ROTATED}\n        key = rotate(key, angles)"},
    "The keys from the cache are rotated again; they were rotated before they were stored.": {
        ATTENDED: f"keys = rotate(keys, angles)\n        {ATTENDED}"
    },
    "The key in the cache is not rotated: rotate query and key first, then store the key; the score needs both.": {
        f"        {ROTATED}\n        {UPDATED}\n": f"        {UPDATED}\n        {ROTATED}\n"
    },
    "Keys and values are swapped: _qkv returns query, key, value.": {PARTS: PARTS.replace("key, value", "value, key")},
    "There are as many keys and values as new tokens; take those of all mask.shape[-1] tokens, from update_cache.": {
        UPDATED: UPDATED.replace("mask.shape[-1]", "hidden_states.shape[1]")
    },
    "Only the values come from the cache; take the keys that update_cache returns, too.": {
        ATTENDED: ATTENDED.replace("keys", "key")
    },
    "Only the keys come from the cache; take the values that update_cache returns, too.": {
        ATTENDED: ATTENDED.replace("values", "value")
    },
    "_attn wants a key-value head for every query head; here several share one: _grouped_attn.": {
        ATTENDED: ATTENDED.replace("_grouped_attn", "_attn")
    },
    "Keys and values are swapped on their way into the cache.": {
        UPDATED: UPDATED.replace("key, value,", "value, key,")
    },
    "Keys and values are swapped on their way out of the cache.": {
        UPDATED: UPDATED.replace("keys, values =", "values, keys =")
    },
    "The query is stored as the key.": {
        UPDATED: UPDATED.replace("key, value,", "query[:, : self.num_kv_heads], value,")
    },
    "The new tokens look at themselves alone: nothing is read from the cache.": {
        ATTENDED: "mask = mask[:, :, :, mask.shape[-1] - hidden_states.shape[-2] :]\n"
        "        attn_output = self._merge_heads(self._grouped_attn(query, key, value, mask))"
    },
    "o_proj is not applied: the heads are merged but never mixed.": {RETURNED: "return attn_output"},
    "The heads are not merged before o_proj: call _merge_heads on what _grouped_attn returns.": {
        ATTENDED: "attn_output = self._grouped_attn(query, keys, values, mask)"
    },
    "The heads are joined by a reshape, which mixes them with the tokens; call _merge_heads.": {
        ATTENDED: "attn_output = self._grouped_attn(query, keys, values, mask)\n"
        "        attn_output = attn_output.reshape([*hidden_states.shape[:-1], self.embed_dim])"
    },
    "The input is added to the output; the residual connection comes around the module.": {
        RETURNED: f"{RETURNED} + hidden_states"
    },
    "The mask has rows for one query head alone; stack it group_size times, once for each head of a group.": {
        MASK: "pass"
    },
    "The mask is stacked too often; it must be group_size times, once for each query head of a group.": {
        MASK: MASK.replace("self.group_size", "self.num_kv_heads")
    },
    "The mask is stacked num_kv_heads times; it must be group_size times, once for each query head of a group.": {
        MASK: "mask = F.concat([mask] * self.num_kv_heads, axis=2)"
    },
    "The mask's copies have an axis of their own; they must be rows below each other: [batch, 1, rows, total].": {
        MASK: MASK.replace(".reshape([batch, 1, rows, total])", "")
    },
}

ALTERNATIVES = {
    "copies, as in Hugging Face's repeat_kv": {**copies(REPEATED)},
    "a group after the other": {
        **grouped(
            "parts = [",
            "    self._attn(query[:, at * self.group_size : (at + 1) * self.group_size], key[:, at : at + 1], "
            "value[:, at : at + 1], mask)",
            "    for at in range(self.num_kv_heads)",
            "]",
            "return F.concat(parts, axis=1)",
        ),
    },
    "each on a line": {
        f"        {PROJECTED}\n        {OF_HEADS}": "        query = self._split_heads(self.q_proj(hidden_states))\n"
        "        key = self._split_heads(self.k_proj(hidden_states))\n"
        "        value = self._split_heads(self.v_proj(hidden_states))\n"
        "        return query, key, value"
    },
    "a list of all three": {
        f"        {PROJECTED}\n        {OF_HEADS}": "        projections = self.q_proj, self.k_proj, self.v_proj\n"
        "        return [self._split_heads(projection(hidden_states)) for projection in projections]"
    },
    "by hand, into the cache": {
        UPDATED: "update_cache(block_cache, key, value, mask.shape[-1])\n"
        "        keys, values = (part[:, :, : mask.shape[-1]] for part in block_cache)"
    },
    "the arguments in the order of earlier skeletons": {
        "mask: Tensor, block_cache: BlockCache": "block_cache: BlockCache, mask: Tensor"
    },
    "sizes of the config": {K: K.replace("kv_dim", "config.num_key_value_heads * config.head_dim")},
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "nn.Linear": {Q: Q.replace("Linear(", "nn.Linear(")},
    "Linear by PyTorch's words": {
        O: "self.o_proj = Linear(in_features=self.embed_dim, out_features=config.hidden_size, bias=False)"
    },
    "view": {LINED_UP: LINED_UP.replace("query.reshape([", "query.view(").replace("head_dim])", "head_dim)")},
    "a shape of several arguments": {LINED_UP: LINED_UP.replace("([", "(").replace("])", ")")},
    "expand": {MASK: MASK.replace("F.broadcast_to(mask, [", "mask.expand(").replace("total])", "total)", 1)},
}

#: Numbers of the recorded configuration, written into the code: only another configuration shows them.
FIXED = {
    "the group is a number": {MASK: MASK.replace("self.group_size", "3")},
    "the key-value heads are a number": {LINED_UP: LINED_UP.replace("self.num_kv_heads", "4")},
}
