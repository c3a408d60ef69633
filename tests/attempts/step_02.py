"""Step 02, what people write instead: mistakes, each with its sentence, and other right answers."""

SIGNATURE = "sequence_length: DimLike, *,"
SHAPE = "[sequence_length, sequence_length]"
FULL = f'mask = Tensor.full({SHAPE}, float("-inf"), dtype=dtype, device=device)'
BAND = "F.band_part(mask, num_lower=None, num_upper=0, exclude=True)"
COMPARED = """columns = Tensor.arange(sequence_length, dtype=DType.int64, device=device)
    return F.where(columns > columns.unsqueeze(-1), mask, F.zeros_like(mask))"""

MISTAKES = {
    "Nothing is blocked: the mask is zero everywhere.": {'float("-inf")': "0.0"},
    "Zeros are multiplied by infinity, or infinity is subtracted from infinity, which gives NaN; fill the square "
    "with minus infinity, then let band_part put zeros into it.": {
        'float("-inf")': "1.0",
        BAND: BAND + ' * float("-inf")',
    },
    "Everything is blocked, so no column can get any weight: keep only what is right of the diagonal.": {BAND: "mask"},
    "The past is blocked and the future is open: band_part keeps the wrong part; exclude=True keeps what is outside "
    "the band.": {", exclude=True)": ", exclude=False)"},
    "The mask is transposed: it blocks what is left of the diagonal, not what is right of it.": {
        "num_lower=None, num_upper=0": "num_lower=0, num_upper=None"
    },
    "An earlier mask is returned again, whatever the dtype and device: make one in every call.": {
        f"    return {BAND}": f"    mask = {BAND}\n    return kept.setdefault(str(sequence_length), mask)",
        "device: Device) ->": "device: Device, kept: dict = {}) ->",
    },
    "Every token also sees the one right after it: the diagonal is off by one.": {"num_upper=0": "num_upper=1"},
    "num_lower takes a number, or None for all diagonals below the main one: num_lower=None.": {
        "num_lower=None": "num_lower=sequence_length"
    },
    "The length is a symbol while MAX compiles, and so is one less, but num_lower takes a number: None keeps all "
    "diagonals below.": {"num_lower=None": "num_lower=sequence_length - 1"},
    "Every token sees only itself, since the past is blocked, too: num_lower must be None, which keeps all of it.": {
        "num_lower=None": "num_lower=0"
    },
    "No token sees itself: the diagonal is blocked too.": {
        SHAPE: "[Dim(sequence_length) + 1] * 2",
        "DimLike\n": "Dim, DimLike\n",
        BAND: f"{BAND}[:-1, 1:]",
    },
    "The mask has one column more than rows: it is [seq, seq].": {
        SHAPE: "[sequence_length, Dim(sequence_length) + 1]",
        "DimLike\n": "Dim, DimLike\n",
    },
    "Blocked tokens still get weight: the mask is added to the scores, so it needs 0 and minus infinity, not 1 and 0 "
    "or -1.": {'float("-inf")': "-1.0"},
    "Blocked tokens still get weight if their score is 100 larger: use minus infinity, or the lowest number of the "
    "dtype.": {'float("-inf")': "-100.0"},
    "The mask is not on the scores' device: pass device=device.": {", device=device)": ")"},
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
    "F.broadcast_to": {
        FULL: f'mask = Tensor(float("-inf"), dtype=dtype, device=device)\n    mask = F.broadcast_to(mask, {SHAPE})'
    },
    "the source tutorial's signature": {
        SIGNATURE: "sequence_length: DimLike, num_tokens: int, *,",
        "DimLike\n": "Dim, DimLike\n",
        SHAPE: "[Dim(sequence_length), Dim(sequence_length) + num_tokens]",
        "num_upper=0": "num_upper=num_tokens",
    },
    "a band of ones": {
        f"return {BAND}": f"ones = Tensor.ones({SHAPE}, dtype=dtype, device=device)\n"
        "    past = F.band_part(ones, num_lower=None, num_upper=0)\n"
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
        FULL: 'mask = Tensor(float("-inf"), dtype=dtype, device=device).expand(sequence_length, sequence_length)'
    },
    "a shape of several arguments": {
        FULL: 'mask = Tensor(float("-inf"), dtype=dtype, device=device)\n'
        "    mask = mask.broadcast_to(sequence_length, sequence_length)"
    },
    "triu as a method": {BAND: "mask.triu(1)"},
    "triu with a diagonal": {BAND: "F.triu(mask, diagonal=1)"},
    "torch.triu": {BAND: "torch.triu(mask, diagonal=1)"},
    "torch.full": {FULL: f'shape = {SHAPE}\n    mask = torch.full(shape, float("-inf"), dtype=dtype, device=device)'},
    "torch.tensor": {
        FULL: 'mask = torch.tensor(float("-inf"), dtype=dtype, device=device)\n'
        f"    mask = F.broadcast_to(mask, {SHAPE})"
    },
}
