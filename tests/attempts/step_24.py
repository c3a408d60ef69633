"""Step 24, what people write instead: mistakes, each with its sentence, and other right answers."""

SPEEDS = "speeds = [config.rope_theta ** (-2 * i / config.head_dim) for i in range(config.head_dim // 2)]"
BY_PAIR = "by_pair = Tensor(speeds, dtype=DType.float32, device=positions.device)  # [head_dim / 2]"
ANGLES = "return positions.cast(DType.float32).unsqueeze(-1) * by_pair"
COS_SIN = "cos, sin = F.cos(angles).unsqueeze(1), F.sin(angles).unsqueeze(1)  # [batch, 1, seq, head_dim / 2]"
HALVES = "first, second = F.chunk(x, 2, axis=-1)  # 2 x [batch, head, seq, head_dim / 2]"
TURNED = "turned = [first * cos - second * sin, first * sin + second * cos]"
JOINED = "return F.concat(turned, axis=-1)"
IMPORT = "from max.dtype import DType\n"
NEIGHBORS = "first, second = x[..., ::2], x[..., 1::2]"
AS_NEIGHBORS = "turned = [each.unsqueeze(-1) for each in turned]\n    return F.concat(turned, axis=-1).reshape(x.shape)"


def speeds(old, new):
    """The list of speeds, with one part of it changed."""
    return {SPEEDS: SPEEDS.replace(old, new)}


def turned(expressions):
    """The point, turned otherwise."""
    return {TURNED: f"turned = [{expressions}]"}


MISTAKES = {
    "The base is always 10000; it is config.rope_theta.": speeds("config.rope_theta", "10_000"),
    "The exponent lacks its factor 2: divide i by half of head_dim.": speeds("-2 * i", "-i"),
    "The exponent counts pairs from 1; the first pair is 0, which turns by 1.": speeds("-2 * i", "-2 * (i + 1)"),
    "The speeds grow from pair to pair: the exponent needs its minus, and positions are multiplied by speeds.": speeds(
        "-2 * i", "2 * i"
    ),
    "The exponent is divided by the width of the model; divide by head_dim, since each head turns by itself.": speeds(
        "/ config.head_dim)", "/ config.hidden_size)"
    ),
    "The exponent is divided by hidden_size / num_attention_heads; heads have a width of their own, head_dim.": (
        speeds("/ config.head_dim)", "/ (config.hidden_size // config.num_attention_heads))")
    ),
    "All pairs turn at the same speed; each is slower than the one before.": speeds("-2 * i", "0 * i"),
    "The speeds run from slow to fast; the first pair is the fastest.": {
        BY_PAIR: BY_PAIR.replace("speeds,", "speeds[::-1],")
    },
    "There is an angle for every channel; there is one for every pair: head_dim / 2 of them.": speeds(
        "range(config.head_dim // 2)", "range(config.head_dim)"
    ),
    "The angles are in turns or degrees; sine and cosine take radians, so positions times speeds is all.": {
        ANGLES: f"{ANGLES} * 0.017453292519943295"
    },
    "Positions are counted from 1; take them as they come.": {
        ANGLES: ANGLES.replace("positions.cast(DType.float32)", "(positions.cast(DType.float32) + 1)")
    },
    "All texts get the positions of the first; each row of the batch has its own.": {
        ANGLES: ANGLES.replace("positions.cast", "(positions * 0 + positions[:1]).cast")
    },
    "The positions that are given are not used: count none here, since a text may begin at another than 0.": {
        ANGLES: "places = Tensor.arange(0, positions.shape[-1], out_dim=positions.shape[-1], dtype=DType.float32, "
        "device=positions.device)\n    return (positions.cast(DType.float32) * 0 + places).unsqueeze(-1) * by_pair"
    },
    "The positions are rounded to float16, which has no 2049 and no 8191: cast to float32.": {
        ANGLES: ANGLES.replace(".cast(DType.float32)", ".cast(DType.float16).cast(DType.float32)")
    },
    "Neighbors are paired, 2 * i and 2 * i + 1, as in the paper; the pairs here are i and i + head_dim / 2.": {
        HALVES: NEIGHBORS,
        JOINED: AS_NEIGHBORS,
    },
    "Neighbors are taken apart, and put back as halves: cut x in half, first and second.": {HALVES: NEIGHBORS},
    "Halves are cut apart, and put back as neighbors: join them as halves.": {JOINED: AS_NEIGHBORS},
    "It turns the other way: the signs of both sines are swapped.": turned(
        "first * cos + second * sin, second * cos - first * sin"
    ),
    "The first sine lacks its minus, so that lengths change: first * cos - second * sin.": turned(
        "first * cos + second * sin, first * sin + second * cos"
    ),
    "The second sine has a minus; it is first * sin + second * cos.": turned(
        "first * cos - second * sin, second * cos - first * sin"
    ),
    "Sine and cosine are swapped.": {COS_SIN: "sin, cos = F.cos(angles).unsqueeze(1), F.sin(angles).unsqueeze(1)"},
    "The halves of the result are swapped: first * cos - second * sin comes first.": turned(
        "first * sin + second * cos, first * cos - second * sin"
    ),
    "The halves are multiplied without being swapped: the sine takes the other one of a pair.": turned(
        "first * cos - first * sin, second * sin + second * cos"
    ),
    "Only the first half is turned; a turn changes both channels of a pair.": turned(
        "first * cos - second * sin, second"
    ),
    "Sine and cosine are added, like a table of positions; they multiply.": turned("first + cos, second + sin"),
    "The heads are halved, not their channels: cut the last axis.": {
        HALVES: HALVES.replace("axis=-1", "axis=1"),
        JOINED: JOINED.replace("axis=-1", "axis=1"),
        COS_SIN: "cos, sin = (F.concat([part, part], axis=-1).unsqueeze(1) for part in (F.cos(angles), F.sin(angles)))",
    },
    "The axis for the heads is missing: angles are [batch, seq, …], and x has heads between the two.": {
        COS_SIN: "cos, sin = F.cos(angles), F.sin(angles)"
    },
    "The axis for the heads stands behind seq; in x, it stands in front.": {COS_SIN: COS_SIN.replace("(1)", "(2)")},
    "x is returned as it came: return the turned halves, joined.": {JOINED: "return x"},
}

ALTERNATIVES = {
    "powers by exp, of a count of pairs": {
        SPEEDS: "half = config.head_dim // 2",
        BY_PAIR: "pairs = Tensor.arange(0, half, dtype=DType.float32, device=positions.device)\n"
        "    by_pair = F.exp(pairs * (-math.log(config.rope_theta) / half))",
        IMPORT: f"import math\n\n{IMPORT}",
    },
    "a count by twos, and one over the power": {
        SPEEDS: "evens = range(0, config.head_dim, 2)",
        BY_PAIR: "speeds = [1 / config.rope_theta ** (even / config.head_dim) for even in evens]\n"
        "    by_pair = Tensor(speeds, dtype=DType.float32, device=positions.device)",
    },
    "a power of a tensor": {
        SPEEDS: "pairs = Tensor.arange(0, config.head_dim, 2, dtype=DType.float32, device=positions.device)",
        BY_PAIR: "by_pair = config.rope_theta ** (pairs / -config.head_dim)",
    },
    "NumPy": {
        SPEEDS: "pairs = np.arange(config.head_dim // 2)",
        BY_PAIR: "speeds = (config.rope_theta ** (-2 * pairs / config.head_dim)).astype(np.float32)\n"
        "    by_pair = Tensor.from_dlpack(speeds).to(positions.device)",
        IMPORT: f"import numpy as np\n{IMPORT}",
    },
    "Hugging Face's rotate_half": {
        COS_SIN: "angles = F.concat([angles, angles], axis=-1).unsqueeze(1)  # [batch, 1, seq, head_dim]",
        TURNED: "other = F.concat([-second, first], axis=-1)",
        JOINED: "return x * F.cos(angles) + other * F.sin(angles)",
    },
    "slices": {
        HALVES: "half = int(x.shape[-1]) // 2\n    first, second = x[..., :half], x[..., half:]",
    },
    "split": {HALVES: "first, second = F.split(x, [int(x.shape[-1]) // 2] * 2, axis=-1)"},
    "the axis first": {COS_SIN: "angles = angles.unsqueeze(1)\n    cos, sin = F.cos(angles), F.sin(angles)"},
    "an axis by None": {ANGLES: "return positions.cast(DType.float32)[:, :, None] * by_pair"},
    "a reshape into pairs of halves": {
        HALVES: "halves = x.reshape([*x.shape[:-1], 2, -1])\n    first, second = halves[..., 0, :], halves[..., 1, :]",
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "cos as a method": {COS_SIN: "cos, sin = angles.cos().unsqueeze(1), angles.sin().unsqueeze(1)"},
    "torch.cos": {COS_SIN: "cos, sin = torch.cos(angles).unsqueeze(1), torch.sin(angles).unsqueeze(1)"},
    "torch.cat": {JOINED: "return torch.cat(turned, dim=-1)"},
    "cat": {JOINED: "return F.cat(turned, dim=-1)"},
    "chunk as a method": {HALVES: "first, second = x.chunk(2, dim=-1)"},
    "float": {ANGLES: ANGLES.replace(".cast(DType.float32)", ".float()")},
    "torch.tensor": {BY_PAIR: "by_pair = torch.tensor(speeds)"},
}
