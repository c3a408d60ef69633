"""What models after GPT-2 changed, as edits of the solutions: all else in a variant is the course's own code.

For each variant and step stands what occurs once in the solution, and what to put in its place; ``…`` leaves out the
middle of what occurs. Several variants can be applied together, in the order of :data:`VARIANTS`: an edit leaves alone
what later ones look for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from difflib import unified_diff
from functools import cache
from pathlib import Path
from types import ModuleType

from checker.claims.loading import load_source
from checker.course.steps import SOLUTIONS, find_step
from checker.diagnosis.mistakes import Edits

GIVEN = "caching"  # the given part of step 14
STEPS = ("01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", GIVEN, "14")  # in the order of their imports
CONTEXT = 2  # lines around a change
LENGTH = re.compile(r"(?<=\.) \(\d+ lines?\)$", re.MULTILINE)  # the end of a blank's comment

NO_BIASES: dict[str, Edits] = {
    "04": {
        "both with a bias": "both without a bias",
        "Linear(config.n_embd, config.inner_dim)": "Linear(config.n_embd, config.inner_dim, bias=False)",
        "Linear(config.inner_dim, config.n_embd)": "Linear(config.inner_dim, config.n_embd, bias=False)",
    },
    "07": {
        "both with a bias": "both without a bias",
        "3 * self.embed_dim)": "3 * self.embed_dim, bias=False)",
        "Linear(self.embed_dim, self.embed_dim)": "Linear(self.embed_dim, self.embed_dim, bias=False)",
    },
}

RMS_NORM: dict[str, Edits] = {
    "03": {
        "layer normalization,": "RMS normalization,",
        "class LayerNorm(": "class RMSNorm(",
        '    """Normalize every token to mean 0…"Layer Normalization" (2016).\n': '''\
    """Normalize every token to a mean square of 1, then scale each channel.

    ``x / sqrt(mean(x * x) + eps) * weight``, where the mean is that of one token's channels.
    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019).
''',
        "parameters weight (ones) and bias (zeros)": "parameter weight (ones)",
        "        self.bias = Tensor.zeros([dim])\n": "",
        "F.layer_norm(x, gamma=self.weight, beta=self.bias, epsilon=self.eps)": "F.rms_norm(x, self.weight, self.eps)",
    },
    "09": {
        "import LayerNorm": "import RMSNorm",
        "self.ln_1 = LayerNorm(": "self.ln_1 = RMSNorm(",
        "self.ln_2 = LayerNorm(": "self.ln_2 = RMSNorm(",
    },
    "10": {"import LayerNorm": "import RMSNorm", "self.ln_f = LayerNorm(": "self.ln_f = RMSNorm("},
}

SWIGLU: dict[str, Edits] = {
    "01": {
        "unless it is 4 * n_embd": "unless it is 8 / 3 * n_embd",
        "else four times ``n_embd``": "else 8 / 3 of ``n_embd``",
        "return 4 * self.n_embd if": "return 8 * self.n_embd // 3 if",
    },
    "04": {
        '    """Widen every token, bend it…Units (GELUs)" (2016).\n': '''\
    """Widen every token twice, let one half open or close the other, and bring it back to its width.

    ``silu(x) = x * sigmoid(x)``. Source: Shazeer, "GLU Variants Improve Transformer" (2020).
''',
        "c_fc (to inner_dim)": "c_fc (to 2 * inner_dim)",
        "n_embd, config.inner_dim": "n_embd, 2 * config.inner_dim",
        "with a GELU between them": "with a gate between them",
        "Widen, bend, and bring back.": "Widen; let the first half open or close the second; bring it back.",
        "hidden_states = self.c_fc(…)": "gate, hidden_states = F.chunk(self.c_fc(hidden_states), 2, axis=-1)",
        'hidden_states = F.gelu(hidden_states, approximate="tanh")': "hidden_states = F.silu(gate) * hidden_states",
    },
}

ROPE: dict[str, Edits] = {
    "06": {
        "position embeddings, a table with one row for every": "rotary positions, an angle for every",
        "from max.driver import Device\n": "import math\n\nfrom max.driver import Device\n",
        "from max.experimental.nn import Module\n": "",
        "class GPT2PositionEmbeddings(…F.gather(self.weight, positions, axis=0)\n": '''\
def rotate(x: Tensor, positions: Tensor) -> Tensor:  # [..., seq, head_dim], [seq] -> [..., seq, head_dim]
    """Turn each pair of channels by an angle that grows with the position, slower from pair to pair.

    Pair i is the channels i and i + head_dim / 2, and its angle at position s is s / 10000^(2 i / head_dim).
    Source: Su et al., "RoFormer" (2021), section 3.2.2; the pairs are Llama's.
    """
    half = int(x.shape[-1]) // 2
    pairs = Tensor.arange(0, half, dtype=x.dtype, device=x.device)
    angles = positions.cast(x.dtype).unsqueeze(-1) * F.exp(pairs * (-math.log(10000) / half))  # [seq, head_dim / 2]
    cos, sin = F.cos(angles), F.sin(angles)
    first, second = F.chunk(x, 2, axis=-1)
    return F.concat([first * cos - second * sin, first * sin + second * cos], axis=-1)
''',
    },
    "07": {
        "import causal_mask\n": "import causal_mask\nfrom solutions.solution_06 import position_ids, rotate\n",
        "        attn_output = self._merge_heads(": """\
        positions = position_ids(hidden_states.shape[-2], device=hidden_states.device)
        query, key = rotate(query, positions), rotate(key, positions)
        attn_output = self._merge_heads(""",
    },
    "10": {
        "import GPT2PositionEmbeddings, check_length, position_ids": "import check_length",
        "        self.wpe = GPT2PositionEmbeddings(config)\n": "",
        "        positions = position_ids(sequence_length, device=input_ids.device)\n": "",
        "self.wte(input_ids) + self.wpe(positions)": "self.wte(input_ids)",
    },
    "14": {
        "from solutions.solution_07": """from solutions.solution_06 import position_ids, rotate
from solutions.solution_07""",
        "    keys, values = update_cache(": """\
    total = mask.shape[-1]
    positions = position_ids(total, device=hidden_states.device)[total - hidden_states.shape[-2] :]
    query, key = rotate(query, positions), rotate(key, positions)
    keys, values = update_cache(""",
        "transformer.wte(input_ids) + transformer.wpe(positions)": "transformer.wte(input_ids)",
    },
}

SHARE = '''\
    def _share(self, tensor: Tensor) -> Tensor:  # [batch, kv_head, seq, head_dim] -> [batch, head, seq, head_dim]
        """Let each head of keys or values serve a group of queries. Source: Ainslie et al., "GQA" (2023)."""
        *batch, _, length, head_dim = tensor.shape
        group = self.num_heads // self.num_kv_heads
        tensor = F.broadcast_to(tensor.unsqueeze(-3), [*batch, self.num_kv_heads, group, length, head_dim])
        return tensor.reshape([*batch, self.num_heads, length, head_dim])

'''

GROUPED_QUERY: dict[str, Edits] = {
    "01": {
        "    n_inner: int |": """\
    n_kv_head: int = 4  # heads of keys and values; each serves n_head / n_kv_head of the others
    n_inner: int |""",
    },
    "07": {
        "self.head_dim = config.head_dim\n": """self.head_dim = config.head_dim
        self.num_kv_heads = config.n_kv_head
        kv_size = self.num_kv_heads * self.head_dim
        self.split_sizes = [self.embed_dim, kv_size, kv_size]
""",
        "3 * self.embed_dim": "sum(self.split_sizes)",
        "3 * embd]": "embd + 2 * kv_size]",
        "    def _attention_weights(": SHARE + "    def _attention_weights(",
        "[self.embed_dim] * 3, axis=-1": "self.split_sizes, axis=-1",
        "[*x.shape[:-1], self.num_heads, self.head_dim]": "[*x.shape[:-1], -1, self.head_dim]",
        "self._attn(query, key, value, mask)": "self._attn(query, self._share(key), self._share(value), mask)",
    },
    GIVEN: {
        "(batch_size, config.n_head,": "(batch_size, config.n_kv_head,",
        '["batch", config.n_head,': '["batch", config.n_kv_head,',
    },
    "14": {
        "    attn_output = attention._merge_heads(": """\
    keys, values = attention._share(keys), attention._share(values)
    attn_output = attention._merge_heads(""",
    },
}

#: Every variant by its name, in the order in which several are applied.
VARIANTS: dict[str, dict[str, Edits]] = {
    "no_biases": NO_BIASES,
    "rms_norm": RMS_NORM,
    "swiglu": SWIGLU,
    "rope": ROPE,
    "grouped_query": GROUPED_QUERY,
}

# ---------------------------------------------------------------- what they make


def _file(step: str) -> Path:
    return SOLUTIONS / f"{GIVEN}.py" if step == GIVEN else find_step(step).solution_file


def text_of(step: str, names: Iterable[str]) -> str:
    """Return the text of a solution with some variants applied, without the lengths of its blanks.

    Raises:
        ValueError: there is no such variant, or the solution no longer has what a variant edits.
    """
    wanted = set(names)
    if unknown := wanted - set(VARIANTS):
        raise ValueError(f"there is no variant {', '.join(sorted(unknown))}; choose from {', '.join(VARIANTS)}")
    text = LENGTH.sub("", _file(step).read_text())
    edits = [edit for name in VARIANTS if name in wanted for edit in VARIANTS[name].get(step, {}).items()]
    for old, new in edits:
        parts = re.split(".*?".join(map(re.escape, old.split("…"))), text, flags=re.DOTALL)
        if len(parts) != 2:
            raise ValueError(
                f"{old!r} occurs {len(parts) - 1} times in the solution of step {step}, and must occur once"
            )
        text = new.join(parts)
    return text


def diff(name: str, step: str) -> str:
    """Return what a variant changes in the solution of a step, as a unified diff without file headers.

    Raises:
        ValueError: there is no such variant, or it changes nothing in that step.
    """
    before, after = text_of(step, []), text_of(step, [name])
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT))[2:]
    if not lines:
        raise ValueError(f"{name} changes nothing in step {step}; it edits {', '.join(VARIANTS[name])}")
    return "".join(f"{line}\n" for line in lines)


@cache
def load(*names: str) -> dict[str, ModuleType]:
    """Return the modules of the steps with some variants applied, by the step's number; they import each other.

    Raises:
        ValueError: there is no such variant, or the solution no longer has what a variant edits.
    """
    package = "_".join(["modern", *names])
    sys.modules[package] = ModuleType(package)
    modules = {}
    for step in STEPS:
        name, text = _file(step).stem, text_of(step, names)
        source = text.replace("from solutions.", f"from {package}.")
        modules[step] = load_source(f"{package}.{name}", source, f"{name}.py of {package}")
    return modules
