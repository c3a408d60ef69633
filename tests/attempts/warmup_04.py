"""Warm-up 04, what people write instead: mistakes, each with its sentence, and other right answers."""

SHARE = "return n_embd // n_head"
SPLIT = """\
    heads = x.reshape(*x.shape[:-1], n_head, width)  # [..., seq, head, head_dim]
    return np.swapaxes(heads, -3, -2)"""
MERGE = """\
    x = np.swapaxes(heads, -3, -2)  # [..., seq, head, head_dim]
    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])"""

MISTAKES = {
    "head_dim is a float; use integer division, //.": {SHARE: "return n_embd / n_head"},
    "head_dim is always 64; it must follow n_embd and n_head.": {SHARE: "return 64"},
    "The heads are cut by reshape alone: [batch, head, seq, head_dim] needs reshape to [batch, seq, head, head_dim], "
    "then a transpose.": {SPLIT: "    return x.reshape(*x.shape[:-2], n_head, x.shape[-2], width)"},
    "The embedding is cut into (head_dim, head); it must be (head, head_dim), so that a head's channels lie "
    "together.": {SPLIT: "    heads = x.reshape(*x.shape[:-1], width, n_head)\n    return np.moveaxis(heads, -1, -3)"},
    "The heads are split but not brought in front of seq: a transpose is missing.": {
        SPLIT: "    return x.reshape(*x.shape[:-1], n_head, width)"
    },
    "seq has ended up last: swap head with seq, not with head_dim.": {
        SPLIT: "    heads = x.reshape(*x.shape[:-1], n_head, width)\n    return np.moveaxis(heads, -3, -1)"
    },
    "head is in front of the batch: it belongs between batch and seq.": {
        SPLIT: "    return np.stack(np.split(x, n_head, axis=-1))"
    },
    "The head's width is computed here, so uneven heads end in a NumPy error; call head_dim instead.": {
        "width = head_dim(x.shape[-1], n_head)": "width = x.shape[-1] // n_head"
    },
    "The heads come in reverse order; head 0 takes the first channels.": {
        SPLIT: SPLIT.replace("(heads, -3, -2)", "(heads[..., ::-1, :], -3, -2)")
    },
    "A batch axis is assumed; without one, axes 1 and 2 are different ones. Count the axes from the end.": {
        SPLIT: "    heads = x.reshape(*x.shape[:-1], n_head, width)\n    return np.swapaxes(heads, 1, 2)"
    },
    "The heads are merged without being transposed back: bring seq in front of head before the reshape.": {
        MERGE: "    return heads.reshape(*heads.shape[:-3], heads.shape[-2], heads.shape[-3] * heads.shape[-1])"
    },
    "The heads' channels are interleaved when merged: transpose head and seq, not head and channel.": {
        MERGE: "    x = np.moveaxis(heads, -3, -1)\n    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])"
    },
    "The heads are transposed back but still apart: join the last two axes into one.": {
        MERGE: "    return np.swapaxes(heads, -3, -2)"
    },
    "The heads are summed; they must lie side by side.": {MERGE: "    return heads.sum(axis=-3)"},
    "The heads are averaged; they must lie side by side.": {MERGE: "    return heads.mean(axis=-3)"},
}

ALTERNATIVES = {
    "divmod": {SHARE: "return divmod(n_embd, n_head)[0]"},
    "the last width guessed by reshape": {
        "x.reshape(*x.shape[:-1], n_head, width)": "x.reshape((*x.shape[:-1], n_head, -1))"
    },
    "moveaxis": {
        SPLIT: "    return np.moveaxis(x.reshape(*x.shape[:-1], n_head, width), -2, -3)",
        MERGE: "    x = np.moveaxis(heads, -3, -2)\n    return x.reshape((*x.shape[:-2], -1))",
    },
    "slices stacked and joined": {
        SPLIT: "    return np.stack([x[..., at * width : (at + 1) * width] for at in range(n_head)], axis=-3)",
        MERGE: "    return np.concatenate([heads[..., head, :, :] for head in range(heads.shape[-3])], axis=-1)",
    },
    "np.split": {SPLIT: "    return np.stack(np.split(x, n_head, axis=-1), axis=-3)"},
    "einsum": {
        SPLIT: '    return np.einsum("...shd->...hsd", x.reshape(*x.shape[:-1], n_head, width))',
        MERGE: '    x = np.einsum("...hsd->...shd", heads)\n'
        "    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])",
    },
    "a batch added and taken away": {
        SPLIT: "    flat = x.reshape(-1, x.shape[-2], n_head, width).transpose(0, 2, 1, 3)\n"
        "    return flat.reshape(*x.shape[:-2], n_head, x.shape[-2], width)"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "view": {"x.reshape(*x.shape[:-1], n_head, width)": "x.view(*x.shape[:-1], n_head, width)"},
    "size as a method": {"head_dim(x.shape[-1], n_head)": "head_dim(x.size(-1), n_head)"},
    "a transpose that names two axes": {"np.swapaxes(heads, -3, -2)\n\n": "heads.transpose(-3, -2)\n\n"},
    "np.transpose that names two axes": {"x = np.swapaxes(heads, -3, -2)": "x = np.transpose(heads, (-3, -2))"},
    "torch.swapaxes": {"x = np.swapaxes(heads, -3, -2)": "x = torch.swapaxes(heads, -3, -2)"},
    "swapdims": {"x = np.swapaxes(heads, -3, -2)": "x = heads.swapdims(-3, -2)"},
    "contiguous": {"x = np.swapaxes(heads, -3, -2)": "x = np.swapaxes(heads, -3, -2).contiguous()"},
    "flatten from an axis on": {
        "return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])": "return x.flatten(-2)",
    },
}
