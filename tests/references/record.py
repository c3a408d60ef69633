"""Record Hugging Face's numbers for every step that is compared with them.

Needs torch and transformers, and is only for those who change a reference: learners get the
recorded files. ``tests/dev/test_references.py`` runs the same functions and compares.

The configuration is awkward on purpose: batch 2, length 7, width 15, 3 heads of 5, 4 layers. No
two of them are equal, so that no mix-up of two axes can go unnoticed. Nothing is one or zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import GPT2Config
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from checker.paths import Step
from checker.references import Array, seeded_weights

AWKWARD: dict[str, Any] = dict(
    vocab_size=37, n_positions=13, n_embd=15, n_layer=4, n_head=3, n_inner=22, layer_norm_epsilon=1e-3
)


def values(name: str, *shape: int) -> Array:
    """Standard normal float32 numbers that depend on nothing but ``name`` and ``shape``."""
    return seeded_normal(name).standard_normal(shape).astype(np.float32)


def seeded_normal(name: str) -> np.random.RandomState:
    """A generator seeded by a name."""
    return np.random.RandomState(np.frombuffer(name.encode(), np.uint8))


def hugging_face_attention(config: dict[str, Any], weights: dict[str, Array]) -> GPT2Attention:
    """Hugging Face's attention module with the given weights, which are ``[out, in]``."""
    options: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": 0, "attn_implementation": "sdpa"}
    attention = GPT2Attention(GPT2Config(**config, **options), layer_idx=0).eval()
    state = {name: torch.from_numpy(array.T.copy()) for name, array in weights.items()}  # Conv1D is [in, out]
    attention.load_state_dict(state)
    return attention


def attention_weights(n_embd: int) -> dict[str, Array]:
    """Seeded weights of one attention module, ``[out, in]``."""
    return seeded_weights(
        {
            "c_attn.weight": (3 * n_embd, n_embd),
            "c_attn.bias": (3 * n_embd,),
            "c_proj.weight": (n_embd, n_embd),
            "c_proj.bias": (n_embd,),
        }
    )


def step_07() -> dict[str, Array]:
    """Multi-head attention: what goes in and out of the module and of each of its parts."""
    seen: dict[str, torch.Tensor] = {}

    def recording_attention(module, query, key, value, attention_mask, **options):
        output, weights = ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, attention_mask, **options)
        seen.update(query=query, key=key, value=value, attn_output=output.transpose(1, 2), merged=output.flatten(2))
        return output, weights

    weights = {name: 1.5 * array for name, array in attention_weights(AWKWARD["n_embd"]).items()}
    attention = hugging_face_attention(AWKWARD, weights)
    small = hugging_face_attention(dict(n_embd=768, n_head=12), attention_weights(768))
    record = {f"weights/{name}": array for name, array in weights.items()}
    record |= {f"config/{name}": np.array(value) for name, value in AWKWARD.items()}
    with torch.no_grad():
        for name, shape in {"long": (3, 11, 15), "single": (1, 1, 15)}.items():
            record[f"{name}_input"] = values(name, *shape)
            record[f"{name}_output"] = attention(torch.from_numpy(record[f"{name}_input"]))[0].numpy()
        record["small_input"] = values("small", 1, 5, 768)
        record["small_output"] = small(torch.from_numpy(record["small_input"]))[0].numpy()
        record["input"] = values("input", 2, 7, 15)
        hidden_states = torch.from_numpy(record["input"])
        ALL_ATTENTION_FUNCTIONS.register("recording", recording_attention)
        attention.config._attn_implementation = "recording"
        record["output"] = attention(hidden_states)[0].numpy()
        record["projected_query"] = attention.c_attn(hidden_states)[..., :15].numpy()
        record |= {name: tensor.contiguous().numpy() for name, tensor in seen.items()}
    return record


RECORDERS = {"step_07": step_07}


def main() -> None:
    """Write every reference file."""
    for name, recorder in RECORDERS.items():
        path = Step(name).reference_file
        arrays: dict[str, Any] = recorder()
        np.savez_compressed(path, **arrays)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
