"""Step 24, what people write instead: mistakes, each with its sentence, and other right answers."""

FREQUENCIES = "frequencies = [config.rope_theta ** (-2 * i / config.head_dim) for i in range(config.head_dim // 2)]"
FREQS = "freqs = Tensor(frequencies, dtype=DType.float32, device=positions.device)  # [head_dim / 2]"
ANGLES = "return positions.cast(DType.float32).unsqueeze(-1) * freqs"
COS_SIN = "cos, sin = F.cos(angles).unsqueeze(1), F.sin(angles).unsqueeze(1)  # [batch, 1, seq, head_dim / 2]"
HALVES = "first, second = F.chunk(x, 2, axis=-1)  # 2 x [batch, head, seq, head_dim / 2]"
ROTATED = "rotated = [first * cos - second * sin, first * sin + second * cos]"
JOINED = "return F.concat(rotated, axis=-1)"
IMPORT = "from max.dtype import DType\n"
NEIGHBORS = "first, second = x[..., ::2], x[..., 1::2]"
AS_NEIGHBORS = (
    "rotated = [each.unsqueeze(-1) for each in rotated]\n    return F.concat(rotated, axis=-1).reshape(x.shape)"
)


def frequencies(old, new):
    """The list of frequencies, with one part of it changed."""
    return {FREQUENCIES: FREQUENCIES.replace(old, new)}


def rotated(expressions):
    """The point, rotated otherwise."""
    return {ROTATED: f"rotated = [{expressions}]"}


MISTAKES = {
    "The base is always 10000; it must be config.rope_theta.": frequencies("config.rope_theta", "10_000"),
    "The exponent lacks its factor 2: divide i by half of head_dim.": frequencies("-2 * i", "-i"),
    "The exponent counts pairs from 1; the first pair is 0, which turns by 1.": frequencies("-2 * i", "-2 * (i + 1)"),
    "The frequencies grow: the exponent lacks its minus, or positions are divided by them; multiply.": frequencies(
        "-2 * i", "2 * i"
    ),
    "The exponent is rounded down by //; divide by /.": frequencies("/ config.head_dim)", "// config.head_dim)"),
    "The factor 2 is there twice: in range(0, head_dim, 2), i has it already.": frequencies(
        "range(config.head_dim // 2)", "range(0, config.head_dim, 2)"
    ),
    "The angles are computed in float64; make the frequencies, and cast positions, with DType.float32.": {
        FREQS: FREQS.replace("float32", "float64"),
        ANGLES: ANGLES.replace("float32", "float64"),
    },
    "The exponent is divided by the width of the model; divide by head_dim: each head is rotated alone.": frequencies(
        "/ config.head_dim)", "/ config.hidden_size)"
    ),
    "The exponent is divided by hidden_size / num_attention_heads; heads have a width of their own, head_dim.": (
        frequencies("/ config.head_dim)", "/ (config.hidden_size // config.num_attention_heads))")
    ),
    "All pairs have the same frequency; each turns more slowly than the one before.": frequencies("-2 * i", "0 * i"),
    "The frequencies run from low to high; the first pair is the fastest.": {
        FREQS: FREQS.replace("frequencies,", "frequencies[::-1],")
    },
    "There is an angle for every channel; there is one for every pair: head_dim / 2 of them.": frequencies(
        "range(config.head_dim // 2)", "range(config.head_dim)"
    ),
    "The angles are in turns or degrees; sine and cosine take radians, so positions times frequencies is all.": {
        ANGLES: f"{ANGLES} * 0.017453292519943295"
    },
    "Positions are counted from 1; use them as they are passed in.": {
        ANGLES: ANGLES.replace("positions.cast(DType.float32)", "(positions.cast(DType.float32) + 1)")
    },
    "All texts get the positions of the first; each row of the batch has its own.": {
        ANGLES: ANGLES.replace("positions.cast", "(positions * 0 + positions[:1]).cast")
    },
    "The given positions are not used; use them, since a text may begin at a position other than 0.": {
        ANGLES: "places = Tensor.arange(0, positions.shape[-1], out_dim=positions.shape[-1], dtype=DType.float32, "
        "device=positions.device)\n    return (positions.cast(DType.float32) * 0 + places).unsqueeze(-1) * freqs"
    },
    "The positions are rounded to float16, which has no 2049 and no 8191: cast to float32.": {
        ANGLES: ANGLES.replace(".cast(DType.float32)", ".cast(DType.float16).cast(DType.float32)")
    },
    "Positions need a last axis of 1 to meet the frequencies: unsqueeze(-1).": {
        ANGLES: ANGLES.replace("unsqueeze(-1)", "unsqueeze(1)")
    },
    "The positions and frequencies are a product of matrices; multiply each position by each frequency, with *.": {
        ANGLES: ANGLES.replace("* freqs", "@ freqs")
    },
    "The halves are joined along the batch, MAX's axis 0; join them along the last: axis=-1.": {
        JOINED: JOINED.replace(", axis=-1", "")
    },
    "The halves are joined along the tokens; join them along the last axis: axis=-1.": {
        JOINED: JOINED.replace("axis=-1", "axis=-2")
    },
    "The halves are stacked on a new axis; join them along the last: F.concat(…, axis=-1).": {
        JOINED: JOINED.replace("concat", "stack")
    },
    "The batch is cut into halves, MAX's axis 0; cut the channels: axis=-1.": {HALVES: HALVES.replace(", axis=-1", "")},
    "Neighbors are paired, 2 * i and 2 * i + 1, as in the paper; the pairs here are i and i + head_dim / 2.": {
        HALVES: NEIGHBORS,
        JOINED: AS_NEIGHBORS,
    },
    "x is cut into neighbors, but joined as halves: cut x in half, first and second.": {HALVES: NEIGHBORS},
    "x is cut in half, but joined as neighbors: join the two halves.": {JOINED: AS_NEIGHBORS},
    "It rotates the other way: the signs of both sines are swapped.": rotated(
        "first * cos + second * sin, second * cos - first * sin"
    ),
    "The first sine lacks its minus, so lengths change: first * cos - second * sin.": rotated(
        "first * cos + second * sin, first * sin + second * cos"
    ),
    "The second sine has a minus; it must be first * sin + second * cos.": rotated(
        "first * cos - second * sin, second * cos - first * sin"
    ),
    "In the second half, sine and cosine are swapped: it is first * sin + second * cos.": rotated(
        "first * cos - second * sin, first * cos + second * sin"
    ),
    "In the first half, sine and cosine are swapped: it is first * cos - second * sin.": rotated(
        "first * sin - second * cos, first * sin + second * cos"
    ),
    "Sine and cosine are swapped.": {COS_SIN: "sin, cos = F.cos(angles).unsqueeze(1), F.sin(angles).unsqueeze(1)"},
    "The halves of the result are swapped: first * cos - second * sin comes first.": rotated(
        "first * sin + second * cos, first * cos - second * sin"
    ),
    "The halves are multiplied without being swapped: the sine takes the other one of a pair.": rotated(
        "first * cos - first * sin, second * sin + second * cos"
    ),
    "Only the first half is rotated; a rotation changes both channels of a pair.": rotated(
        "first * cos - second * sin, second"
    ),
    "Sine and cosine are added, like a table of positions; they multiply.": rotated("first + cos, second + sin"),
    "The heads are halved, not their channels: cut the last axis.": {
        HALVES: HALVES.replace("axis=-1", "axis=1"),
        JOINED: JOINED.replace("axis=-1", "axis=1"),
        COS_SIN: "cos, sin = (F.concat([part, part], axis=-1).unsqueeze(1) for part in (F.cos(angles), F.sin(angles)))",
    },
    "The axis for the heads is missing: angles are [batch, seq, …], and x has heads between the two.": {
        COS_SIN: "cos, sin = F.cos(angles), F.sin(angles)"
    },
    "The axis for the heads comes after seq; in x, it comes before.": {COS_SIN: COS_SIN.replace("(1)", "(2)")},
    "x is returned unchanged: return the rotated halves, joined.": {JOINED: "return x"},
}

ALTERNATIVES = {
    "powers by exp, of a count of pairs": {
        FREQUENCIES: "half = config.head_dim // 2",
        FREQS: "pairs = Tensor.arange(0, half, dtype=DType.float32, device=positions.device)\n"
        "    freqs = F.exp(pairs * (-math.log(config.rope_theta) / half))",
        IMPORT: f"import math\n\n{IMPORT}",
    },
    "a count by twos, and one over the power": {
        FREQUENCIES: "evens = range(0, config.head_dim, 2)",
        FREQS: "frequencies = [1 / config.rope_theta ** (even / config.head_dim) for even in evens]\n"
        "    freqs = Tensor(frequencies, dtype=DType.float32, device=positions.device)",
    },
    "a power of a tensor": {
        FREQUENCIES: "pairs = Tensor.arange(0, config.head_dim, 2, dtype=DType.float32, device=positions.device)",
        FREQS: "freqs = config.rope_theta ** (pairs / -config.head_dim)",
    },
    "NumPy": {
        FREQUENCIES: "pairs = np.arange(config.head_dim // 2)",
        FREQS: "frequencies = (config.rope_theta ** (-2 * pairs / config.head_dim)).astype(np.float32)\n"
        "    freqs = Tensor.from_dlpack(frequencies).to(positions.device)",
        IMPORT: f"import numpy as np\n{IMPORT}",
    },
    "Hugging Face's rotate_half": {
        COS_SIN: "angles = F.concat([angles, angles], axis=-1).unsqueeze(1)  # [batch, 1, seq, head_dim]",
        ROTATED: "other = F.concat([-second, first], axis=-1)",
        JOINED: "return x * F.cos(angles) + other * F.sin(angles)",
    },
    "slices": {
        HALVES: "half = int(x.shape[-1]) // 2\n    first, second = x[..., :half], x[..., half:]",
    },
    "split": {HALVES: "first, second = F.split(x, [int(x.shape[-1]) // 2] * 2, axis=-1)"},
    "the axis first": {COS_SIN: "angles = angles.unsqueeze(1)\n    cos, sin = F.cos(angles), F.sin(angles)"},
    "an axis by None": {ANGLES: "return positions.cast(DType.float32)[:, :, None] * freqs"},
    "a reshape into pairs of halves": {
        HALVES: "halves = x.reshape([*x.shape[:-1], 2, -1])\n    first, second = halves[..., 0, :], halves[..., 1, :]",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "cos as a method": {COS_SIN: "cos, sin = angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)"},
    "torch.cos": {COS_SIN: "cos, sin = torch.cos(angles).unsqueeze(1), torch.sin(angles).unsqueeze(1)"},
    "torch.cat": {JOINED: "return torch.cat(rotated, dim=-1)"},
    "cat": {JOINED: "return F.cat(rotated, dim=-1)"},
    "chunk as a method": {HALVES: "first, second = x.chunk(2, dim=-1)"},
    "float": {ANGLES: ANGLES.replace(".cast(DType.float32)", ".float()")},
    "torch.tensor": {FREQS: "freqs = torch.tensor(frequencies)"},
}
