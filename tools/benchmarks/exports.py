"""Graphs for ONNX Runtime and OpenVINO: ``python -m tools.benchmarks.exports FORMAT CHECKPOINT OUT``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np


def loaded(folder: Path) -> Any:
    from transformers import GPT2LMHeadModel

    return GPT2LMHeadModel.from_pretrained(folder, dtype="float32").eval()


# ---------------------------------------------------------------- ONNX Runtime and OpenVINO


def with_cache(source: Path) -> Any:
    """Return a module of torch's: tokens after those of a cache, to logits and a longer cache.

    It takes tokens ``[batch, seq]``, the places ``[kept]`` in them whose logits are wanted, which row each sequence
    continues ``[batch]``, and per block keys and values ``[batch, head, past, head_dim]``; it returns logits
    ``[batch, kept, vocab]``, and keys and values of all tokens so far.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    class WithCache(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded(source)

        def forward(self, input_ids: Any, kept: Any, rows: Any, *past: Any) -> tuple[Any, ...]:
            config, transformer = self.model.config, self.model.transformer
            before, new = past[0].shape[2], input_ids.shape[1]
            places = torch.arange(before, before + new)
            mask = torch.arange(before + new) <= places[:, None]  # [seq, past + seq]
            x = transformer.wte(input_ids) + transformer.wpe(places)
            longer: list[Any] = []
            for number, block in enumerate(transformer.h):
                heads = [
                    part.unflatten(-1, (config.n_head, -1)).transpose(1, 2)
                    for part in block.attn.c_attn(block.ln_1(x)).split(config.n_embd, dim=-1)
                ]
                query, *new_ones = heads
                key, value = (
                    torch.cat([old.index_select(0, rows), one], dim=2)
                    for old, one in zip(past[2 * number : 2 * number + 2], new_ones, strict=True)
                )
                longer += [key, value]
                attended = scaled_dot_product_attention(query, key, value, attn_mask=mask)
                x = x + block.attn.c_proj(attended.transpose(1, 2).flatten(-2))
                x = x + block.mlp(block.ln_2(x))
            return (self.model.lm_head(transformer.ln_f(x.index_select(1, kept))), *longer)

    return WithCache()


def example(config: Any) -> tuple[Any, ...]:
    """Return an input of :func:`with_cache`, of sizes that an export must not take for fixed ones."""
    import torch

    shape = (2, config.n_head, 3, config.n_embd // config.n_head)
    past = [torch.zeros(shape) for _ in range(2 * config.n_layer)]  # one tensor for all would be one input of the graph
    return (torch.ones(2, 5, dtype=torch.int64), torch.arange(4), torch.arange(2), *past)


def names_of(config: Any) -> tuple[list[str], list[str]]:
    """Return what the inputs and outputs of :func:`with_cache` are called."""
    each = [f"{number}.{what}" for number in range(config.n_layer) for what in ("key", "value")]
    return ["input_ids", "kept", "rows", *(f"past.{one}" for one in each)], ["logits", *(f"now.{one}" for one in each)]


def onnx(source: Path, out: Path, kept: str) -> None:
    """Write a graph for ONNX Runtime by torch's own exporter."""
    import torch

    module = with_cache(source)
    config = module.model.config
    inputs, outputs = names_of(config)
    batch, seq, kept, past = (torch.export.Dim.DYNAMIC for _ in range(4))
    out.mkdir()
    torch.onnx.export(
        module,
        example(config),
        out / "model.onnx",
        input_names=inputs,
        output_names=outputs,
        dynamo=True,
        dynamic_shapes=({0: batch, 1: seq}, {0: kept}, {0: batch}, tuple({0: batch, 2: past} for _ in inputs[3:])),
    )


def openvino(source: Path, out: Path, kept: str) -> None:
    """Write a graph for OpenVINO whose cache is its own state, by OpenVINO's own converter."""
    import torch
    from openvino import PartialShape, convert_model, save_model
    from openvino._offline_transformations import apply_make_stateful_transformation

    module = with_cache(source)
    config = module.model.config
    inputs, outputs = names_of(config)
    with torch.no_grad():
        made = convert_model(module, example_input=example(config))
    for port, name in [*zip(made.inputs, inputs, strict=True), *zip(made.outputs, outputs, strict=True)]:
        port.get_tensor().set_names({name})
    cache = [-1, config.n_head, -1, config.n_embd // config.n_head]
    made.reshape(
        {name: PartialShape(cache if "past" in name else [-1, -1] if name == "input_ids" else [-1]) for name in inputs}
    )
    apply_make_stateful_transformation(made, dict(zip(inputs[3:], outputs[1:], strict=True)))
    begin_empty(made)
    out.mkdir()
    save_model(made, out / "model.xml", compress_to_fp16=False)


def begin_empty(made: Any) -> None:
    """Have each part of a state begin with no token for as many sequences as there are in the input."""
    from openvino import opset13

    rows = opset13.shape_of(made.input("rows"))
    for read in (op for op in made.get_ops() if op.get_type_name() == "ReadValue"):
        _, heads, _, head_dim = read.get_output_partial_shape(0)
        rest = opset13.constant(np.array([heads.get_length(), 0, head_dim.get_length()]))
        nothing = opset13.broadcast(opset13.constant(np.float32(0)), opset13.concat([rows, rest], axis=0))
        read.set_arguments([nothing])
    made.validate_nodes_and_infer_types()


if __name__ == "__main__":
    {"onnx": onnx, "openvino": openvino}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]), "")
