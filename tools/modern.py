"""What models after Llama changed, as edits of the solutions: all else in a variant is the course's own code.

For each variant and file stands what occurs once in the solution, and what to put in its place.
"""

from __future__ import annotations

import sys
from difflib import unified_diff
from functools import cache
from types import ModuleType

from checker.child.loading import load_source
from checker.course.source import Source
from checker.course.steps import SOLUTIONS
from checker.diagnosis.mistakes import Edits, apply_edits

#: The files of a Llama that a variant may edit or that import one of these, in the order of their imports.
FILES = ("solution_02", "solution_07", "solution_14", "solution_23", "solution_25", "llama")
CONTEXT = 2  # lines around a change

QUERY_KEY_NORM: dict[str, Edits] = {
    "solution_25": {
        "from solutions.solution_24 import rotate\n": """\
from solutions.solution_23 import LlamaRMSNorm
from solutions.solution_24 import rotate
""",
        "        self.o_proj = Linear(self.embed_dim, config.hidden_size, bias=False)\n": """\
        self.o_proj = Linear(self.embed_dim, config.hidden_size, bias=False)
        self.q_norm = LlamaRMSNorm(config.head_dim, eps=config.rms_norm_eps)
        self.k_norm = LlamaRMSNorm(config.head_dim, eps=config.rms_norm_eps)
""",
        "        query, key = rotate(query, angles), rotate(key, angles)\n": """\
        query, key = rotate(self.q_norm(query), angles), rotate(self.k_norm(key), angles)
""",
    },
}

WINDOW = 4  # tokens; Mistral 7B has 4096

SLIDING_WINDOW: dict[str, Edits] = {
    "solution_02": {
        "It may look at columns ``0`` to ``i``, and": f"It may look at itself and the {WINDOW - 1} before it, and",
        "at nothing to the right": "at nothing else",
        "num_lower=None": f"num_lower={WINDOW - 1}",
    },
}

GEMMA: dict[str, Edits] = {  # the docstrings stay Llama's, so that its diff shows only what runs
    "solution_23": {
        "    return x * F.rsqrt(mean_square + eps) * weight\n": (
            "    return x * F.rsqrt(mean_square + eps) * (1 + weight)\n"
        ),
        "Tensor.ones([dim])": "Tensor.zeros([dim])",
        "Compute the gate (gate_proj, then SiLU)": "Compute the gate (gate_proj, then GELU)",
        "F.silu(self.gate_proj(hidden_states))": 'F.gelu(self.gate_proj(hidden_states), approximate="tanh")',
    },
    "llama": {
        "from functools import partial\n": "import math\nfrom functools import partial\n",
        "hidden_states = self.embed_tokens(input_ids)": (
            "hidden_states = self.embed_tokens(input_ids) * math.sqrt(self.config.hidden_size)"
        ),
    },
}

#: Every variant by its name.
VARIANTS: dict[str, dict[str, Edits]] = {
    "query_key_norm": QUERY_KEY_NORM,
    "sliding_window": SLIDING_WINDOW,
    "gemma": GEMMA,
}


def text_of(file: str, variant: str) -> str:
    """Return the text of a solution's file in a variant.

    Raises:
        ValueError: there is no such variant, or the solution no longer has what it edits.
    """
    if variant not in VARIANTS:
        raise ValueError(f"there is no variant {variant}; choose from {', '.join(VARIANTS)}")
    return apply_edits((SOLUTIONS / f"{file}.py").read_text(), VARIANTS[variant].get(file, {}))


def diff(variant: str, file: str) -> str:
    """Return what a variant changes in a solution's file, as a unified diff without file headers.

    Raises:
        ValueError: there is no such variant, or it changes nothing in that file.
    """
    after = text_of(file, variant)
    before = (SOLUTIONS / f"{file}.py").read_text()
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=CONTEXT))[2:]
    if not lines:
        raise ValueError(f"{variant} changes nothing in {file}.py; it edits {', '.join(VARIANTS[variant])}")
    return "".join(f"{line}\n" for line in lines)


@cache
def load(variant: str) -> dict[str, ModuleType]:
    """Return the modules of a Llama in a variant, by the names of their files; they import each other.

    Raises:
        ValueError: there is no such variant, or a solution no longer has what it edits.
    """
    package = f"modern_{variant}"
    sys.modules[package] = ModuleType(package)
    modules = {}
    for file in FILES:
        source = text_of(file, variant)
        for other in FILES:
            source = source.replace(f"from solutions.{other} ", f"from {package}.{other} ")
        modules[file] = load_source(f"{package}.{file}", Source(source), f"{file}.py of {package}")
    return modules
