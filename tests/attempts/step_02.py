"""Step 02, what people write instead: mistakes, each with its sentence, and other right answers."""

SHAPE = "[Dim(sequence_length), Dim(sequence_length) + num_tokens]"
BAND = "F.band_part(mask, num_lower=None, num_upper=num_tokens, exclude=True)"
COMPARED = """size = Dim(sequence_length) + num_tokens
    columns = Tensor.arange(0, size, out_dim=size, dtype=DType.int64, device=device)
    return F.where(columns > columns[num_tokens:].reshape([sequence_length, 1]), mask, F.zeros_like(mask))"""

MISTAKES = {
    "Nothing is blocked: the mask is zero everywhere.": {'float("-inf")': "0.0"},
    "Zeros are multiplied with infinity, or infinity is taken from infinity, which gives NaN; broadcast minus "
    "infinity, then let band_part put zeros into it.": {
        'float("-inf")': "1.0",
        BAND: BAND + ' * float("-inf")',
    },
    "Everything is blocked, so the softmax has nothing to share the weight among: keep only what is right of the "
    "diagonal.": {BAND: "mask"},
    "The past is blocked and the future is open: band_part keeps the wrong part; exclude=True keeps what is outside "
    "the band.": {", exclude=True)": ", exclude=False)"},
    "The mask is transposed: it blocks what is left of the diagonal, not what is right of it.": {
        "num_lower=None, num_upper=num_tokens": "num_lower=0, num_upper=None"
    },
    "num_lower and num_upper are swapped, which blocks what is left of the diagonal: all is kept below it, num_tokens "
    "above.": {"num_lower=None, num_upper=num_tokens": "num_lower=num_tokens, num_upper=None"},
    "A mask made before is returned again, whatever num_tokens, dtype and device are: make one in every call.": {
        f"    return {BAND}": f"    mask = {BAND}\n    return kept.setdefault(int(sequence_length), mask)",
        "*, dtype: DType, device: Device\n": "*, dtype: DType, device: Device, kept: dict = {}\n",
    },
    "Every token also sees the one right after it: the diagonal is off by one.": {
        "num_upper=num_tokens": "num_upper=num_tokens + 1"
    },
    "Every token sees itself alone: the past is blocked too, so num_lower must be None, which is all of it.": {
        "num_lower=None": "num_lower=0"
    },
    "No token sees itself: the diagonal is blocked too.": {
        BAND: "F.band_part(F.broadcast_to(mask[:1, :1], [Dim(sequence_length) + 1, Dim(sequence_length) + num_tokens "
        "+ 1]), "
        "num_lower=None, num_upper=num_tokens, exclude=True)[:-1, 1:]"
    },
    "The earlier tokens are not counted: row i stands at position num_tokens + i, so the band is num_tokens wider.": {
        "num_upper=num_tokens": "num_upper=0"
    },
    "The columns of the earlier tokens are on the right; earlier tokens come first, so theirs are on the left.": {
        BAND: "F.concat([F.band_part(mask[:, :sequence_length], num_lower=None, num_upper=0, exclude=True), "
        "F.zeros_like(mask[:, sequence_length:])], axis=-1)"
    },
    "The mask is square: there are num_tokens columns more than rows.": {
        SHAPE: "[Dim(sequence_length), Dim(sequence_length)]"
    },
    "Rows and columns are swapped in the shape: it is [seq, seq + num_tokens].": {
        SHAPE: "[Dim(sequence_length) + num_tokens, Dim(sequence_length)]"
    },
    "Blocked tokens still get weight: the mask is added to the scores, so it needs 0 and minus infinity, not 1 and 0 "
    "or -1.": {'float("-inf")': "-1.0"},
    "Blocked tokens still get weight where their score is 100 larger: use minus infinity, or the lowest number of "
    "the dtype.": {'float("-inf")': "-100.0"},
    "The mask is not made where the scores are: give it device=device.": {", device=device)": ")"},
    "Plus infinity instead of minus: what should be blocked wins the softmax.": {'float("-inf")': 'float("inf")'},
    "Rows and columns are counted in MAX's default float type, which is bfloat16 on a GPU and has no 257; count with "
    "dtype=DType.int64.": {f"return {BAND}": COMPARED.replace(", dtype=DType.int64", "")},
    "The dtype that was asked for is ignored: the mask is always float32.": {"dtype=dtype": "dtype=DType.float32"},
}

ALTERNATIVES = {
    "-1e9": {'float("-inf")': "-1e9"},
    "-1e5": {'float("-inf")': "-1e5"},
    "-1e4": {'float("-inf")': "-1e4"},
    "the lowest float32": {'float("-inf")': "-3.4e38"},
    "Tensor.full": {
        '    mask = Tensor(float("-inf"), dtype=dtype, device=device)\n': "",
        f"F.broadcast_to(mask, {SHAPE})": f'F.broadcast_to(Tensor.full([1, 1], float("-inf"), dtype=dtype, '
        f"device=device), {SHAPE})",
    },
    "positions compared": {
        f"return {BAND}": "size = Dim(sequence_length) + num_tokens\n"
        "    ones = F.broadcast_to(Tensor(1.0, dtype=dtype, device=device), [Dim(sequence_length), size])\n"
        "    past = F.band_part(ones, num_lower=None, num_upper=num_tokens)\n"
        "    return F.where(past > 0, past - 1, mask)"
    },
    "columns and rows counted": {f"return {BAND}": COMPARED},
    "infinity times the band": {
        'float("-inf")': "1.0",
        f"return {BAND}": f"return -1e9 * {BAND}",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "expand": {
        "F.broadcast_to(mask, [Dim(sequence_length), Dim(sequence_length) + num_tokens])": (
            "mask.expand(Dim(sequence_length), Dim(sequence_length) + num_tokens)"
        )
    },
    "a shape of several arguments": {
        "F.broadcast_to(mask, [Dim(sequence_length), Dim(sequence_length) + num_tokens])": (
            "mask.broadcast_to(Dim(sequence_length), Dim(sequence_length) + num_tokens)"
        )
    },
    "triu as a method": {
        "F.band_part(mask, num_lower=None, num_upper=num_tokens, exclude=True)": "mask.triu(num_tokens + 1)",
    },
    "triu with a diagonal": {
        "F.band_part(mask, num_lower=None, num_upper=num_tokens, "
        "exclude=True)": "F.triu(mask, diagonal=num_tokens + 1)",
    },
    "torch.triu": {
        "F.band_part(mask, num_lower=None, num_upper=num_tokens, exclude=True)": (
            "torch.triu(mask, diagonal=1 + num_tokens)"
        ),
    },
    "torch.full": {
        """    mask = Tensor(float("-inf"), dtype=dtype, device=device)
    mask = F.broadcast_to(mask, [Dim(sequence_length), Dim(sequence_length) + num_tokens])
""": """    shape = [Dim(sequence_length), Dim(sequence_length) + num_tokens]
    mask = torch.full(shape, float("-inf"), dtype=dtype, device=device)
"""
    },
    "torch.tensor": {"Tensor(float(": "torch.tensor(float("},
}
