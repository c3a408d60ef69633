"""Step 07, what people write instead: mistakes, each with its sentence, and other right answers."""

SPLIT = """\
        tensor = tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])
        return tensor.transpose(-3, -2)"""
MERGE = """\
        tensor = tensor.transpose(-3, -2)
        return tensor.reshape([*tensor.shape[:-2], num_heads * attn_head_size])"""
SCALE = "scores / math.sqrt(int(value.shape[-1]))"
MASK = "        scores = scores + causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)\n"
MASK_CALL = "causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)"
QKV = "query, key, value = F.split(self.c_attn(hidden_states), [self.split_size] * 3, axis=-1)"
HEADS_OF = (
    "        query = self._split_heads(query)\n        key = self._split_heads(key)\n"
    "        value = self._split_heads(value)\n"
)

MISTAKES = {
    "The scores are not scaled: divide query @ key by the square root of head_dim.": {SCALE: "scores"},
    "The scores are divided by the square root of n_embd; it is the square root of head_dim, the width of one head.": {
        SCALE: "scores / math.sqrt(self.embed_dim)"
    },
    "The scores are divided by head_dim itself; it is its square root.": {SCALE: "scores / int(value.shape[-1])"},
    "The scores are multiplied by the square root of head_dim; divide by it.": {
        SCALE: "scores * math.sqrt(int(value.shape[-1]))"
    },
    "There is no causal mask: every token also looks at the tokens after it. Add causal_mask to the scores.": {
        MASK: ""
    },
    "The mask is added after the softmax; add it to the scores, before.": {
        MASK: "",
        "weights = F.softmax(scores)": f"weights = F.softmax(scores) + {MASK_CALL}",
    },
    "The mask is transposed: every token looks at itself and the tokens after it instead of before.": {
        MASK_CALL: MASK_CALL + ".transpose(-2, -1)"
    },
    "The mask is off by one: every token also looks at the one right after it.": {
        MASK_CALL: "causal_mask(query.shape[-2], 1, dtype=query.dtype, device=query.device)[:, :-1]",
    },
    "The mask blocks the token itself, which leaves the first token nothing to look at: 0/0 is NaN.": {
        MASK_CALL: "causal_mask(query.shape[-2] + 1, 0, dtype=query.dtype, device=query.device)[:-1, 1:]",
    },
    "The mask is subtracted, which turns minus infinity into plus infinity; add it.": {
        "scores + causal_mask": "scores - causal_mask"
    },
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        "F.softmax(scores)": "F.softmax(scores, axis=-2)"
    },
    "The softmax runs over the heads; it must run over the keys, the last axis.": {
        "F.softmax(scores)": "F.softmax(scores, axis=1)"
    },
    "The softmax is taken twice.": {"F.softmax(scores)": "F.softmax(F.softmax(scores))"},
    "The scale comes after the softmax; divide the scores, before the mask and the softmax.": {
        SCALE: "scores",
        "F.softmax(scores)": "F.softmax(scores) / math.sqrt(int(value.shape[-1]))",
    },
    "The weights are multiplied with the keys; it is weights @ value.": {
        "return weights @ value": "return weights @ key"
    },
    "The query is used as the key as well: split each of query, key and value.": {
        "key = self._split_heads(key)": "key = self._split_heads(query)",
    },
    "There is no softmax: the masked scores themselves are used as weights.": {"F.softmax(scores)": "scores"},
    "Attention returns the weights; it must return weights @ value.": {"return weights @ value": "return weights"},
    "Query and key are swapped in the scores.": {"query @ key.transpose(-2, -1)": "key @ query.transpose(-2, -1)"},
    "The values are weighted by the transposed weights.": {
        "return weights @ value": "return weights.transpose(-2, -1) @ value"
    },
    "The heads are cut by reshape alone: [batch, head, seq, head_dim] needs reshape to [batch, seq, head, head_dim], "
    "then a transpose.": {
        SPLIT: "        return tensor.reshape([tensor.shape[0], num_heads, tensor.shape[1], attn_head_size])"
    },
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), so that a head's channels lie "
    "together.": {
        SPLIT: "        tensor = tensor.reshape([*tensor.shape[:-1], attn_head_size, num_heads])\n"
        "        return tensor.permute([0, 3, 1, 2])"
    },
    "The heads are split but not brought in front of seq: a transpose is missing.": {
        SPLIT: "        return tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])"
    },
    "The heads are merged without being transposed back: bring seq in front of head before the reshape.": {
        MERGE: "        return tensor.reshape([tensor.shape[0], tensor.shape[2], num_heads * attn_head_size])"
    },
    "What transpose returns is not kept when the heads are merged: tensor = tensor.transpose(-3, -2).": {
        MERGE: MERGE.replace("tensor = tensor.transpose", "tensor.transpose")
    },
    "What reshape returns is not kept when the heads are split: tensor = tensor.reshape(...).": {
        SPLIT: SPLIT.replace("tensor = tensor.reshape", "tensor.reshape")
    },
    "The heads' channels are interleaved when merged: transpose head and seq, not head and channel.": {
        MERGE: "        tensor = tensor.permute([0, 2, 3, 1])\n"
        "        return tensor.reshape([*tensor.shape[:-2], num_heads * attn_head_size])"
    },
    "c_attn's output is taken in the order key, query, value; Hugging Face's order is query, key, value.": {
        "query, key, value = F.split": "key, query, value = F.split"
    },
    "c_attn's output is taken in the order value, key, query; Hugging Face's order is query, key, value.": {
        "query, key, value = F.split": "value, key, query = F.split"
    },
    "c_attn's output is cut head by head into query, key and value; cut it into three thirds first, then each into "
    "heads.": {
        QKV: "joined = self.c_attn(hidden_states)\n"
        "        joined = joined.reshape([joined.shape[0], joined.shape[1], self.num_heads, 3, self.head_dim])\n"
        "        query, key, value = (joined[:, :, :, part].reshape(hidden_states.shape) for part in range(3))"
    },
    "The input is used as query, key and value; project it with c_attn first.": {
        QKV: "query, key, value = hidden_states, hidden_states, hidden_states"
    },
    "The heads are split from the input, before the projection: c_attn must see the whole embedding.": {
        QKV: "query, key, value = F.split(self.c_attn(self._split_heads(hidden_states).reshape(hidden_states.shape)), "
        "[self.split_size] * 3, axis=-1)"
    },
    "12 heads are written into the code; take the number from the configuration.": {
        "self.num_heads = config.n_head": "self.num_heads = 12",
    },
    "Heads and layers are swapped: the number of heads is config.n_head (GPT-2 small has 12 of both).": {
        "self.num_heads = config.n_head": "self.num_heads = config.n_layer",
    },
    "There is one head over the whole width: query, key and value are not split into heads.": {
        HEADS_OF: "        query, key, value = (part.unsqueeze(1) for part in (query, key, value))\n",
        "self._merge_heads(self._attn(query, key, value))": "self._attn(query, key, value).squeeze(1)",
    },
    "c_proj is not applied: the heads are merged but never mixed.": {
        "return self.c_proj(attn_output)": "return attn_output"
    },
    "c_attn has no bias; GPT-2's projections do.": {"3 * self.embed_dim)\n": "3 * self.embed_dim, bias=False)\n"},
    "c_proj has no bias; GPT-2's projections do.": {
        "self.c_proj = Linear(self.embed_dim, self.embed_dim)": "self.c_proj = Linear(self.embed_dim, self.embed_dim, "
        "bias=False)"
    },
    "c_attn makes only one third: query, key and value need 3 * n_embd outputs.": {
        "Linear(self.embed_dim, 3 * self.embed_dim)": "Linear(self.embed_dim, self.embed_dim)"
    },
    "The weights are transposed: Linear already computes x @ weight.T, so no transpose of your own.": {
        "return self.c_proj(attn_output)": "return attn_output @ self.c_proj.weight + self.c_proj.bias"
    },
    "The input is added to the output; the residual connection comes in step 08.": {
        "return self.c_proj(attn_output)": "return self.c_proj(attn_output) + hidden_states"
    },
}

# How the two methods begin in the solution: both numbers may be left out. Their docstrings are part of the text.
SPLIT_BEGINS = '''\
    def _split_heads(
        self, tensor: Tensor, num_heads: int | None = None, attn_head_size: int | None = None
    ) -> Tensor:  # [batch, seq, embd] -> [batch, head, seq, head_dim]
        """Give every head its own slice of the embedding."""
        num_heads, attn_head_size = num_heads or self.num_heads, attn_head_size or self.head_dim
'''
MERGE_BEGINS = '''\
    def _merge_heads(
        self, tensor: Tensor, num_heads: int | None = None, attn_head_size: int | None = None
    ) -> Tensor:  # [batch, head, seq, head_dim] -> [batch, seq, embd]
        """Put the heads side by side again: the inverse of ``_split_heads``."""
        num_heads, attn_head_size = num_heads or self.num_heads, attn_head_size or self.head_dim
'''

# The same where both numbers must be given.
SPLIT_BEGINS_WITH_NUMBERS = '''\
    def _split_heads(
        self, tensor: Tensor, num_heads: int, attn_head_size: int
    ) -> Tensor:  # [batch, seq, embd] -> [batch, head, seq, head_dim]
        """Give every head its own slice of the embedding."""
'''
MERGE_BEGINS_WITH_NUMBERS = '''\
    def _merge_heads(
        self, tensor: Tensor, num_heads: int, attn_head_size: int
    ) -> Tensor:  # [batch, head, seq, head_dim] -> [batch, seq, embd]
        """Put the heads side by side again: the inverse of ``_split_heads``."""
'''

# The same where neither can be given.
SPLIT_BEGINS_WITHOUT = """\
    def _split_heads(self, tensor):
        num_heads, attn_head_size = self.num_heads, self.head_dim
"""
MERGE_BEGINS_WITHOUT = """\
    def _merge_heads(self, tensor):
        num_heads, attn_head_size = self.num_heads, self.head_dim
"""

FINITE_MASK = (
    "F.band_part(F.broadcast_to(Tensor({value}, dtype=query.dtype, device=query.device), "
    "[query.shape[-2], query.shape[-2]]), num_lower=None, num_upper=0, exclude=True)"
)

ALTERNATIVES = {
    "F.chunk": {QKV: "query, key, value = F.chunk(self.c_attn(hidden_states), 3, axis=-1)"},
    "slices": {
        QKV: "joined = self.c_attn(hidden_states)\n"
        "        query, key, value = (joined[:, :, at * self.embed_dim : (at + 1) * self.embed_dim] for at in range(3))"
    },
    "axis 2": {"[self.split_size] * 3, axis=-1": "[self.split_size, self.split_size, self.split_size], axis=2"},
    "permute": {
        SPLIT: "        return tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size]).permute([0, 2, 1, 3])",
        MERGE: "        tensor = tensor.permute([0, 2, 1, 3])\n"
        "        return tensor.reshape([tensor.shape[0], tensor.shape[1], self.embed_dim])",
    },
    "transpose(1, 2)": {"return tensor.transpose(-3, -2)": "return tensor.transpose(1, 2)"},
    "one reshape and one permute for all three": {
        QKV: "joined = self.c_attn(hidden_states)\n"
        "        joined = joined.reshape([joined.shape[0], joined.shape[1], 3, self.num_heads, self.head_dim])\n"
        "        joined = joined.permute([2, 0, 3, 1, 4])\n"
        "        query, key, value = joined[0], joined[1], joined[2]",
        HEADS_OF: "",
    },
    "the scale folded into the query": {
        SCALE: "scores",
        "scores = query @ key": "scores = (query * int(value.shape[-1]) ** -0.5) @ key",
    },
    "multiplied by the inverse square root": {SCALE: "scores * self.head_dim**-0.5"},
    "-1e9 as the mask": {MASK_CALL: FINITE_MASK.format(value="-1e9")},
    "-1e5 as the mask": {MASK_CALL: FINITE_MASK.format(value="-1e5")},
    "mask before the scale": {
        "        scores = scores / math.sqrt(int(value.shape[-1]))\n": "",
        "F.softmax(scores)": "F.softmax(scores / math.sqrt(self.head_dim))",
    },
    "softmax with its axis": {"F.softmax(scores)": "F.softmax(scores, axis=-1)"},
    "softmax by hand": {
        "weights = F.softmax(scores)": "powers = F.exp(scores - F.max(scores, axis=-1))\n"
        "        weights = powers / F.sum(powers, axis=-1)"
    },
    "the mask by F.where": {
        MASK: "        mask = causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)\n"
        "        scores = F.where(mask < 0, mask, scores)\n"
    },
    "the source tutorial's signatures": {
        SPLIT_BEGINS: SPLIT_BEGINS_WITH_NUMBERS,
        MERGE_BEGINS: MERGE_BEGINS_WITH_NUMBERS,
        "self._split_heads(query)": "self._split_heads(query, self.num_heads, self.head_dim)",
        "self._split_heads(key)": "self._split_heads(key, self.num_heads, self.head_dim)",
        "self._split_heads(value)": "self._split_heads(value, self.num_heads, self.head_dim)",
        "self._attn(query, key, value))": "self._attn(query, key, value), self.num_heads, self.head_dim)",
    },
    "the module's own heads and nothing else": {
        SPLIT_BEGINS: SPLIT_BEGINS_WITHOUT,
        MERGE_BEGINS: MERGE_BEGINS_WITHOUT,
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "a mask as an index": {
        "scores = scores + causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)": (
            "mask = causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)\n"
            "        scores[mask < 0] = -1e9"
        )
    },
    "nn.Linear": {"self.c_attn = Linear(": "self.c_attn = nn.Linear("},
    "view": {
        "tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])": (
            "tensor.view(*tensor.shape[:-1], num_heads, attn_head_size)"
        )
    },
    "view with a list": {
        "tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])": (
            "tensor.view([*tensor.shape[:-1], num_heads, attn_head_size])"
        )
    },
    "a shape of several arguments": {
        "tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])": (
            "tensor.reshape(*tensor.shape[:-1], num_heads, attn_head_size)"
        )
    },
    "size as a method": {
        "tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])": (
            "tensor.reshape([tensor.size(0), tensor.size(1), num_heads, attn_head_size])"
        )
    },
    "a size and a tuple": {
        "tensor.reshape([*tensor.shape[:-1], num_heads, attn_head_size])": (
            "tensor.reshape(tensor.shape[:-1] + (num_heads, attn_head_size))"
        )
    },
    "permute": {"return tensor.transpose(-3, -2)": "return tensor.permute(0, 2, 1, 3)"},
    "a transpose that orders all axes": {"return tensor.transpose(-3, -2)": "return tensor.transpose(0, 2, 1, 3)"},
    "contiguous": {
        "return tensor.reshape([*tensor.shape[:-2], num_heads * attn_head_size])": (
            "return tensor.contiguous().reshape([*tensor.shape[:-2], num_heads * attn_head_size])"
        )
    },
    "contiguous and view": {
        "return tensor.reshape([*tensor.shape[:-2], num_heads * attn_head_size])": (
            "return tensor.contiguous().view(*tensor.shape[:-2], num_heads * attn_head_size)"
        )
    },
    "softmax with a dim": {"F.softmax(scores)": "F.softmax(scores, dim=-1)"},
    "softmax as a method": {"F.softmax(scores)": "scores.softmax(dim=-1)"},
    "torch.softmax": {"F.softmax(scores)": "torch.softmax(scores, dim=-1)"},
    "softmax without its module": {"F.softmax(scores)": "softmax(scores)"},
    "torch.matmul": {"query @ key.transpose(-2, -1)": "torch.matmul(query, key.transpose(-2, -1))"},
    "matmul as a method": {"return weights @ value": "return weights.matmul(value)"},
    "mT": {"query @ key.transpose(-2, -1)": "query @ key.mT"},
    "sqrt of a size": {"math.sqrt(int(value.shape[-1]))": "math.sqrt(value.size(-1))"},
    "a power of a size": {"math.sqrt(int(value.shape[-1]))": "value.shape[-1] ** 0.5"},
    "chunk as a method": {
        "F.split(self.c_attn(hidden_states), [self.split_size] * 3, axis=-1)": (
            "self.c_attn(hidden_states).chunk(3, dim=-1)"
        )
    },
    "split with a dim": {
        "F.split(self.c_attn(hidden_states), [self.split_size] * 3, axis=-1)": (
            "self.c_attn(hidden_states).split(self.split_size, dim=2)"
        )
    },
    "dropout": {"weights = F.softmax(scores)": "weights = F.dropout(F.softmax(scores), 0.1)"},
    "a mask by masked_fill": {
        "scores = scores + causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)": (
            "mask = causal_mask(query.shape[-2], 0, dtype=query.dtype, device=query.device)\n"
            '        scores = scores.masked_fill(F.broadcast_to(mask < 0, scores.shape), float("-inf"))'
        )
    },
}
