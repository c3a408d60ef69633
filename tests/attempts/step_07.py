"""Step 07, what people write instead: mistakes, each with its sentence, and other right answers."""

from itertools import permutations

SPLIT = """\
        x = x.reshape([*x.shape[:-1], self.num_heads, self.head_dim])  # [..., seq, head, head_dim]
        return x.transpose(-3, -2)"""
MERGE = """\
        x = x.transpose(-3, -2)  # [..., seq, head, head_dim]
        return x.reshape([*x.shape[:-2], self.embed_dim])"""
CUT = "x.reshape([*x.shape[:-1], self.num_heads, self.head_dim])"
JOINED = "return x.reshape([*x.shape[:-2], self.embed_dim])"
SPLIT_QKV = "F.split(qkv, [self.embed_dim] * 3, axis=-1)"
QKV = f"query, key, value = {SPLIT_QKV}  # 3 x [..., seq, embd]"
OF_HEADS = "return self._split_heads(query), self._split_heads(key), self._split_heads(value)"
SCALE = " / math.sqrt(self.head_dim)"
SCORES = f"        scores = query @ key.T{SCALE}  # [..., seq, total]; .T swaps the last two axes\n"
SOFTMAX = "return F.softmax(scores + mask, axis=-1)"
OWN_MASK = "causal_mask(query.shape[-2], dtype=query.dtype, device=query.device)"
WEIGHTS = "self._attention_weights(query, key, mask)"
WEIGHTED = f"return {WEIGHTS} @ value"
SIZED_MASK = "causal_mask(hidden_states.shape[-2],"
MASK_CALL = f"{SIZED_MASK} dtype=hidden_states.dtype, device=hidden_states.device)"
ATTEND = "self._attn(query, key, value, mask)"
MERGED = f"self._merge_heads({ATTEND})"

FINITE_MASK = (
    "F.band_part(F.broadcast_to(Tensor({value}, dtype=hidden_states.dtype, device=hidden_states.device), "
    "[hidden_states.shape[-2]] * 2), num_lower=None, num_upper=0, exclude=True)"
)


def larger(mask: str) -> str:
    """A mask of one more token, to be cut."""
    return mask.replace("-2]", "-2] + 1")


TWO_METHODS = """\
    def _qkv(
        self, hidden_states: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:  # [..., seq, embd] -> 3 x [..., head, seq, head_dim]
        \"""Return the query, the key and the value of every token, split into heads.\"""
        # Make all three with c_attn, cut them apart, and split each into heads. (3 lines)
        qkv = self.c_attn(hidden_states)  # [..., seq, 3 * embd]
        query, key, value = F.split(qkv, [self.embed_dim] * 3, axis=-1)  # 3 x [..., seq, embd]
        return self._split_heads(query), self._split_heads(key), self._split_heads(value)

    def _attention_weights(
        self, query: Tensor, key: Tensor, mask: Tensor
    ) -> Tensor:  # [..., seq, head_dim], [..., total, head_dim], [..., seq, total] -> [..., seq, total]
        \"""Return how much every query takes from every key; total is seq, unless earlier tokens are cached.\"""
        # Scale the scores, mask them, and turn them into weights. (2 lines)
        scores = query @ key.T / math.sqrt(self.head_dim)  # [..., seq, total]; .T swaps the last two axes
        return F.softmax(scores + mask, axis=-1)

"""

#: As one would write it without _qkv and _attention_weights.
ALL_IN_TWO = {
    TWO_METHODS: "",
    WEIGHTED: f"{SCORES.strip()}\n        weights = F.softmax(scores + mask)\n        return weights @ value",
    "query, key, value = self._qkv(hidden_states)": (
        f"qkv = self.c_attn(hidden_states)\n        {QKV}\n"
        "        query, key, value = map(self._split_heads, (query, key, value))"
    ),
}

MISTAKES = {
    "The scores are not scaled: divide query @ key.T by the square root of head_dim.": {SCALE: ""},
    "The scores are divided by the square root of n_embd; divide by that of head_dim, the width of one head.": {
        SCALE: " / math.sqrt(self.embed_dim)"
    },
    "The scores are divided by head_dim itself; divide by its square root.": {SCALE: " / self.head_dim"},
    "The root of head_dim is cut to an integer: use math.sqrt, not math.isqrt.": {
        SCALE: SCALE.replace("sqrt", "isqrt")
    },
    "The scores are multiplied by the square root of head_dim; divide by it.": {SCALE: " * math.sqrt(self.head_dim)"},
    "The scores are divided by the square root of the sequence length; divide by that of head_dim.": {
        SCALE: " / math.sqrt(int(query.shape[-2]))"
    },
    "The mask is as wide as there are heads: axis 1 of query is head, axis 2 is seq; take query.shape[-2].": {
        SOFTMAX: SOFTMAX.replace("mask", OWN_MASK.replace("-2", "1"))
    },
    "The future gets the weight 0 after the softmax, so a row's weights do not add up to 1; add the mask to the "
    "scores, before the softmax.": {SOFTMAX: "return F.band_part(F.softmax(scores), num_lower=None, num_upper=0)"},
    "The given mask is not used: add it, instead of a mask made here.": {SOFTMAX: SOFTMAX.replace("mask", OWN_MASK)},
    "There is no causal mask: every token also looks at the tokens after it. Add the mask to the scores.": {
        SOFTMAX: "return F.softmax(scores)"
    },
    "The mask is added to the root that the scores are divided by; add it to the quotient.": {
        SCALE: f" / ({SCALE[3:]} + mask)",
        SOFTMAX: SOFTMAX.replace(" + mask", ""),
    },
    "The mask is added after the softmax; add it to the scores, before.": {SOFTMAX: "return F.softmax(scores) + mask"},
    "A hidden score can be the row's largest, which makes the visible ones 0 / 0: add the mask first.": {
        SOFTMAX: "scores = scores - F.max(scores, axis=-1) + mask\n"
        "        return F.exp(scores) / F.sum(F.exp(scores), axis=-1)"
    },
    "The mask is transposed: every token looks at itself and the tokens after it instead of before.": {
        SOFTMAX: SOFTMAX.replace("mask", f"{OWN_MASK}.T")
    },
    "The mask is off by one: every token also looks at the one right after it.": {
        SOFTMAX: SOFTMAX.replace("mask", f"{larger(OWN_MASK)}[1:, :-1]")
    },
    "The mask blocks the token itself, which leaves the first token nothing to look at: 0/0 is NaN.": {
        SOFTMAX: SOFTMAX.replace("mask", f"{larger(OWN_MASK)}[:-1, 1:]")
    },
    "The mask is subtracted, which turns minus infinity into plus infinity; add it.": {
        SOFTMAX: "return F.softmax(scores - mask)"
    },
    "The scores are multiplied by the mask, which zeroes the visible ones; add the mask.": {
        SOFTMAX: "return F.softmax(scores * mask)"
    },
    "The softmax runs over the queries; it must run over the keys, the last axis.": {
        SOFTMAX: "return F.softmax(scores + mask, axis=-2)"
    },
    "The softmax runs over the heads; it must run over the keys, the last axis.": {
        SOFTMAX: "return F.softmax(scores + mask, axis=1)"
    },
    "The softmax is taken twice.": {SOFTMAX: "return F.softmax(F.softmax(scores + mask))"},
    "The scale comes after the softmax; divide the scores, before the mask and the softmax.": {
        SCALE: "",
        SOFTMAX: f"{SOFTMAX}{SCALE}",
    },
    "The weights are applied to the keys; return weights @ value.": {WEIGHTED: f"return {WEIGHTS} @ key"},
    "The operands are in the wrong order: it is weights @ value, since every query weights all values.": {
        WEIGHTED: f"return value @ {WEIGHTS}"
    },
    "value is transposed; its tokens are in their axis already: weights @ value.": {
        WEIGHTED: f"return {WEIGHTS} @ value.T"
    },
    "The query is used as the key as well: split each of query, key and value.": {
        OF_HEADS: OF_HEADS.replace("key", "query"),
    },
    "Large scores overflow: exp of a score above 88 is infinite in float32, and the row becomes NaN. Subtract the "
    "row's largest score first, or use F.softmax.": {
        SOFTMAX: "weights = F.exp(scores + mask)\n        return weights / F.sum(weights, axis=-1)"
    },
    "The largest score of the whole batch is subtracted; a row that lies 104 below it becomes 0 / 0. Subtract each "
    "row's own largest score.": {
        SOFTMAX: "scores = scores + mask\n        weights = F.exp(scores - F.max(scores, axis=None))\n"
        "        return weights / F.sum(weights, axis=-1)"
    },
    "The mask is -100, so a later token still gets weight where its score is 100 larger: use minus infinity.": {
        SOFTMAX: "return F.softmax(scores + F.where(mask < 0, -100.0, mask))"
    },
    "There is no softmax: the masked scores themselves are used as weights.": {SOFTMAX: "return scores + mask"},
    "Attention returns the weights; it must return weights @ value.": {WEIGHTED: f"return {WEIGHTS}"},
    "Query and key are swapped in the scores.": {"query @ key.T": "key @ query.T"},
    "The values are weighted by the transposed weights.": {WEIGHTED: f"return {WEIGHTS}.T @ value"},
    "The heads are cut by reshape alone: [batch, head, seq, head_dim] needs reshape to [batch, seq, head, head_dim], "
    "then a transpose.": {SPLIT: "        return x.reshape([x.shape[0], self.num_heads, x.shape[1], self.head_dim])"},
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), so that a head's channels lie "
    "together.": {
        SPLIT: "        x = x.reshape([*x.shape[:-1], self.head_dim, self.num_heads])\n"
        "        return x.permute([0, 3, 1, 2])"
    },
    "The last axis is cut into (head_dim, head); cut it into (head, head_dim).": {
        CUT: CUT.replace("self.num_heads, self.head_dim", "self.head_dim, self.num_heads")
    },
    "The heads are split but not brought in front of seq: a transpose is missing.": {SPLIT: f"        return {CUT}"},
    "The heads are merged without being transposed back: bring seq in front of head before the reshape.": {
        MERGE: "        return x.reshape([x.shape[0], x.shape[2], self.embed_dim])"
    },
    "Merging joins the wrong axes: bring seq back in front of head first, x = x.transpose(-3, -2).": {
        MERGE: MERGE.replace("x = x.transpose", "x.transpose")
    },
    "The heads are merged without a transpose: bring seq in front of head first, x = x.transpose(-3, -2).": {
        MERGE: f"        {JOINED}"
    },
    "The sizes are read before the transpose, while head still stands in front of seq: transpose x first, then read "
    "x.shape.": {MERGE: "        return x.transpose(-3, -2).reshape([*x.shape[:-2], self.embed_dim])"},
    **{
        f"The merged axis is {width} wide; it must be embed_dim wide.": {JOINED: JOINED.replace("embed_dim", width)}
        for width in ("head_dim", "num_heads")
    },
    "The sizes in front include the head: leave out the last two, x.shape[:-2].": {
        JOINED: JOINED.replace(":-2", ":-1")
    },
    "Splitting swaps head and head_dim; it must swap seq and head: x.transpose(-3, -2).": {
        SPLIT: SPLIT.replace("x.transpose(-3, -2)", "x.T")
    },
    "Splitting swaps seq and head_dim; it must swap seq and head: x.transpose(-3, -2).": {
        SPLIT: SPLIT.replace("-3, -2", "-3, -1")
    },
    "Merging swaps seq and head_dim; it must swap head and seq: x.transpose(-3, -2).": {
        MERGE: MERGE.replace("x.transpose(-3, -2)", "x.T")
    },
    "Merging swaps head and head_dim; it must swap head and seq: x.transpose(-3, -2).": {
        MERGE: MERGE.replace("-3, -2", "-3, -1")
    },
    "Splitting leaves the last axis whole: cut it into (head, head_dim) first, x = x.reshape(...).": {
        SPLIT: SPLIT.replace("x = x.reshape", "x.reshape")
    },
    "The heads' channels are interleaved when merged: transpose head and seq, not head and channel.": {
        MERGE: f"        x = x.permute([0, 2, 3, 1])\n        {JOINED}"
    },
    **{
        f"c_attn's output is taken in the order {', '.join(order)}; Hugging Face's order is query, key, value.": {
            QKV: f"{', '.join(order)} = {SPLIT_QKV}"
        }
        for order in list(permutations(("query", "key", "value")))[1:]
    },
    "c_attn's output is cut head by head into query, key and value; cut it into three thirds first, then each into "
    "heads.": {
        QKV: "qkv = qkv.reshape([*qkv.shape[:2], self.num_heads, 3, self.head_dim])\n"
        "        query, key, value = (qkv[:, :, :, part].reshape(hidden_states.shape) for part in range(3))"
    },
    "The input is used as query, key and value; project it with c_attn first.": {
        QKV: "query, key, value = hidden_states, hidden_states, hidden_states"
    },
    "forward attends with its input; take query, key and value from _qkv.": {
        "= self._qkv(hidden_states)": "= hidden_states, hidden_states, hidden_states"
    },
    "forward attends with its input, split into heads; take query, key and value from _qkv.": {
        "= self._qkv(hidden_states)": "= [self._split_heads(hidden_states)] * 3"
    },
    "The heads are split from the input, before the projection: c_attn must see the whole embedding.": {
        "self.c_attn(hidden_states)": "self.c_attn(self._split_heads(hidden_states).reshape(hidden_states.shape))"
    },
    "Query, key and value are not split into heads: call _split_heads on each.": {OF_HEADS: "return query, key, value"},
    **{
        f"The {part} is not split into heads: call _split_heads on it, too.": {
            OF_HEADS: OF_HEADS.replace(f"self._split_heads({part})", part)
        }
        for part in ("query", "key", "value")
    },
    **{
        f"Only the {part} is split into heads: call _split_heads on the other two, too.": {
            OF_HEADS: "return "
            + ", ".join(f"self._split_heads({name})" if name == part else name for name in ("query", "key", "value"))
        }
        for part in ("query", "key", "value")
    },
    "12 heads are hard-coded, or n_layer is taken for n_head: GPT-2 small has 12 of both.": {
        "= config.n_head\n": "= 12\n"
    },
    "There is one head over the whole width: query, key and value are not split into heads.": {
        OF_HEADS: "return query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)",
        MERGED: f"{ATTEND}.squeeze(1)",
    },
    "c_proj is not applied: the heads are merged but never mixed.": {
        "return self.c_proj(attn_output)": "return attn_output"
    },
    "The heads are not merged before c_proj: call _merge_heads on what _attn returns.": {MERGED: ATTEND},
    "The first call's mask is kept, but another length needs another mask: make it in every call.": {
        f"mask = {MASK_CALL}": f"if not hasattr(self, 'mask'):\n            self.mask = {MASK_CALL}\n"
        "        mask = self.mask"
    },
    **{
        f"_attn is given {', '.join(order)}; it takes query, key, value.": {
            ATTEND: ATTEND.replace("query, key, value", ", ".join(order))
        }
        for order in list(permutations(("query", "key", "value")))[1:]
    },
    "The mask is not passed on: _attn takes it as its last argument.": {ATTEND: ATTEND.replace(", mask", "")},
    "0 is passed as the mask, so every token also looks at the tokens after it; pass the causal mask.": {
        ATTEND: ATTEND.replace("mask", "0")
    },
    "The mask that is passed is not [seq, seq]: causal_mask needs hidden_states.shape[-2].": {
        SIZED_MASK: SIZED_MASK.replace("-2", "-1")
    },
    "The mask that is passed is transposed: every token looks at itself and the tokens after it instead of before.": {
        MASK_CALL: f"{MASK_CALL}.T"
    },
    "The mask that is passed is off by one: every token also looks at the one right after it.": {
        MASK_CALL: f"{larger(MASK_CALL)}[1:, :-1]"
    },
    "The mask that is passed blocks the token itself, which leaves the first token nothing to look at: 0/0 is NaN.": {
        MASK_CALL: f"{larger(MASK_CALL)}[:-1, 1:]"
    },
    "The mask that is passed is -100, so a token still gets weight if its score is 100 larger: use minus infinity.": {
        MASK_CALL: FINITE_MASK.format(value="-100.0")
    },
    "The mask compares positions in int8, which ends at 127, so a longer text has wrong ones; count in int64.": {
        f"mask = {MASK_CALL}": "from max.dtype import DType\n\n"
        "        at = Tensor.arange(hidden_states.shape[-2], dtype=DType.int8, device=hidden_states.device)\n"
        f"        mask = F.where(at > at.unsqueeze(-1), {MASK_CALL}.min(), 0.0)"
    },
    "The mask is made for 128 tokens, and GPT-2 reads up to 1024; make it as long as the text.": {
        MASK_CALL: MASK_CALL.replace("hidden_states.shape[-2],", "128,")
        + "[: hidden_states.shape[-2], : hidden_states.shape[-2]]"
    },
    "c_attn has no bias; GPT-2's projections do.": {"3 * self.embed_dim)\n": "3 * self.embed_dim, bias=False)\n"},
    "c_proj has no bias; GPT-2's projections do.": {
        "self.c_proj = Linear(self.embed_dim, self.embed_dim)": "self.c_proj = Linear(self.embed_dim, self.embed_dim, "
        "bias=False)"
    },
    "c_attn is stored under a second name, which gives its weights names that no checkpoint has; store it once.": {
        "3 * self.embed_dim)\n": "3 * self.embed_dim)\n        self.qkv = self.c_attn\n"
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

#: Which numbers become infinite depends on the processor: on how far up its exp is finite.
OVERFLOWS = [sentence for sentence in MISTAKES if "Large scores overflow" in sentence]

ALTERNATIVES = {
    "F.chunk": {QKV: "query, key, value = F.chunk(qkv, 3, axis=-1)"},
    "slices": {
        QKV: "width = self.embed_dim\n"
        "        query, key, value = (qkv[:, :, part * width : (part + 1) * width] for part in range(3))"
    },
    "one size, axis 2": {"[self.embed_dim] * 3, axis=-1": "self.embed_dim, axis=2"},
    "a list of all three": {OF_HEADS: "return [self._split_heads(part) for part in (query, key, value)]"},
    "permute": {
        SPLIT: f"        return {CUT}.permute([0, 2, 1, 3])",
        MERGE: "        x = x.permute([0, 2, 1, 3])\n"
        "        return x.reshape([x.shape[0], x.shape[1], self.num_heads * self.head_dim])",
    },
    "transpose(1, 2)": {"return x.transpose(-3, -2)": "return x.transpose(1, 2)"},
    "one reshape and one permute for all three": {
        QKV: "qkv = qkv.reshape([*qkv.shape[:2], 3, self.num_heads, self.head_dim]).permute([2, 0, 3, 1, 4])",
        OF_HEADS: "return qkv[0], qkv[1], qkv[2]",
    },
    "the axes named in transpose": {"key.T": "key.transpose(-2, -1)"},
    "the scale folded into the query": {
        SCALE: "",
        "scores = query @ key": "scores = (query * int(query.shape[-1]) ** -0.5) @ key",
    },
    "multiplied by the inverse square root": {SCALE: " * self.head_dim**-0.5"},
    "-1e9 as the mask": {MASK_CALL: FINITE_MASK.format(value="-1e9")},
    "-1e5 as the mask": {MASK_CALL: FINITE_MASK.format(value="-1e5")},
    "mask before the scale": {SCALE: " + mask", SOFTMAX: "return F.softmax(scores / math.sqrt(self.head_dim))"},
    "softmax without its axis": {SOFTMAX: "return F.softmax(scores + mask)"},
    "softmax by hand": {
        SOFTMAX: "scores = scores + mask\n        weights = F.exp(scores - F.max(scores, axis=-1))\n"
        "        return weights / F.sum(weights, axis=-1)"
    },
    "the mask by F.where": {SOFTMAX: "return F.softmax(F.where(mask < 0, mask, scores))"},
    "an optional mask": {
        "value: Tensor, mask: Tensor\n": "value: Tensor, mask: Tensor | None = None\n",
        WEIGHTED: f"mask = {OWN_MASK} if mask is None else mask\n        {WEIGHTED}",
        ATTEND: ATTEND.replace(", mask", ""),
    },
    "a mask after 0 earlier tokens": {SIZED_MASK: f"{SIZED_MASK} 0,"},
    "all in forward and _attn": ALL_IN_TWO,
    "the source tutorial's signatures": {
        **ALL_IN_TWO,
        "def _split_heads(self, x: Tensor)": "def _split_heads(self, x: Tensor, num_heads: int, attn_head_size: int)",
        "def _merge_heads(self, x: Tensor)": "def _merge_heads(self, x: Tensor, num_heads: int, attn_head_size: int)",
        "self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor": (
            "self, query: Tensor, key: Tensor, value: Tensor"
        ),
        SPLIT: SPLIT.replace("self.num_heads, self.head_dim", "num_heads, attn_head_size"),
        JOINED: JOINED.replace("self.embed_dim", "num_heads * attn_head_size"),
        SCALE: " / math.sqrt(int(value.shape[-1]))",
        "scores + mask": f"scores + {OWN_MASK}",
        f"        mask = {MASK_CALL}\n": "        sizes = self.num_heads, self.head_dim\n",
        "map(self._split_heads, (query, key, value))": "(\n"
        "            self._split_heads(part, *sizes) for part in (query, key, value)\n        )",
        MERGED: f"{MERGED.replace(', mask', '')[:-1]}, *sizes)",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "a mask as an index": {SOFTMAX: "scores[mask < 0] = -1e9\n        return F.softmax(scores)"},
    "nn.Linear": {"self.c_attn = Linear(": "self.c_attn = nn.Linear("},
    "view": {CUT: ("x.view(*x.shape[:-1], self.num_heads, self.head_dim)")},
    "view with a list": {CUT: ("x.view([*x.shape[:-1], self.num_heads, self.head_dim])")},
    "a shape of several arguments": {CUT: ("x.reshape(*x.shape[:-1], self.num_heads, self.head_dim)")},
    "size as a method": {CUT: ("x.reshape([x.size(0), x.size(1), self.num_heads, self.head_dim])")},
    "a size and a tuple": {CUT: ("x.reshape(x.shape[:-1] + (self.num_heads, self.head_dim))")},
    "permute": {"return x.transpose(-3, -2)": "return x.permute(0, 2, 1, 3)"},
    "a transpose that orders all axes": {"return x.transpose(-3, -2)": "return x.transpose(0, 2, 1, 3)"},
    "contiguous": {JOINED: ("return x.contiguous().reshape([*x.shape[:-2], self.embed_dim])")},
    "contiguous and view": {JOINED: ("return x.contiguous().view(*x.shape[:-2], self.embed_dim)")},
    "softmax with a dim": {SOFTMAX: "return F.softmax(scores + mask, dim=-1)"},
    "softmax as a method": {SOFTMAX: "return (scores + mask).softmax(dim=-1)"},
    "torch.softmax": {SOFTMAX: "return torch.softmax(scores + mask, dim=-1)"},
    "softmax without its module": {SOFTMAX: "return softmax(scores + mask)"},
    "torch.matmul": {"query @ key.T": "torch.matmul(query, key.transpose(-2, -1))"},
    "matmul as a method": {WEIGHTED: f"return {WEIGHTS}.matmul(value)"},
    "mT": {"query @ key.T": "query @ key.mT"},
    "sqrt of a size": {"math.sqrt(self.head_dim)": "math.sqrt(query.size(-1))"},
    "a power of a size": {"math.sqrt(self.head_dim)": "query.shape[-1] ** 0.5"},
    "chunk as a method": {SPLIT_QKV: "qkv.chunk(3, dim=-1)"},
    "split with a dim": {SPLIT_QKV: "qkv.split(self.embed_dim, dim=2)"},
    "dropout": {SOFTMAX: "return F.dropout(F.softmax(scores + mask), 0.1)"},
    "a mask by masked_fill": {
        SOFTMAX: 'scores = scores.masked_fill(F.broadcast_to(mask < 0, scores.shape), float("-inf"))\n'
        "        return F.softmax(scores)"
    },
}
