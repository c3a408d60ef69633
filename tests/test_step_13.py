"""Step 13, pretrained weights: what is claimed.

The checkpoints are written here, from Hugging Face's weights on the awkward configuration, in every
form that Hugging Face's own come in: with and without prefix, head and mask buffers, in one file or
in several.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from checker.claims import about, equal, error_of, is_value, require
from checker.claims.modules import build, run, shapes_of
from checker.course.steps import Step
from checker.numeric.references import Reference
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel

CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


@pytest.fixture(scope="module")
def reference():
    """The numbers of the whole model, step 11's."""
    return Reference(Step("step_11").reference_file)


@pytest.fixture(scope="module")
def published(reference):
    """A checkpoint's tensors as the published ones are: no prefix, no head, mask buffers, [in, out]."""
    tensors = {}
    for name, array in reference.weights.items():
        if name != "lm_head.weight":
            tensors[name.removeprefix("transformer.")] = array.T.copy() if name.endswith(CONV1D) else array
    for layer in range(reference.config["n_layer"]):
        tensors[f"h.{layer}.attn.bias"] = np.tril(np.ones((1, 1, 13, 13), np.float32))
        tensors[f"h.{layer}.attn.masked_bias"] = np.array(-1e4, np.float32)
    return tensors


@pytest.fixture
def folder(tmp_path, monkeypatch, reference, published):
    """A checkpoint folder as Hugging Face writes it; its name is the same every time, as in messages."""
    monkeypatch.chdir(tmp_path)
    folder = Path("checkpoint")
    folder.mkdir()
    config = {"model_type": "gpt2", "activation_function": "gelu_new", "resid_pdrop": 0.1} | reference.config
    (folder / "config.json").write_text(json.dumps(config))
    save_file(published, folder / "model.safetensors")
    return folder


def same(weights, wanted):
    """Refuse unless two dictionaries of arrays are the same, names first."""
    names = sorted(weights) if isinstance(weights, dict) else weights
    more, fewer = (sorted(one)[:3] for one in (set(names) - set(wanted), set(wanted) - set(names)))
    said = [f"has {', '.join(more)}, which no model has"] if more else []
    said += [f"lacks {', '.join(fewer)}"] if fewer else []
    require(names == sorted(wanted), f"What comes back {' and '.join(said)}.", names)
    for name, array in wanted.items():
        axes = ("out", "in") if array.ndim == 2 else ()
        equal(weights[name], array, axes, what=name)


@about("read_config")
def test_config(step, folder, reference):
    """The configuration is the checkpoint's, and what it does not need is ignored."""
    config = vars(step.read_config(folder))
    is_value("the configuration", {name: config[name] for name in reference.config}, reference.config)


@about("read_config")
def test_config_without_n_inner(step, folder, reference):
    """What config.json does not say is as in GPT2Config: the published ones have no n_inner."""
    values = json.loads((folder / "config.json").read_text())
    del values["n_inner"], values["layer_norm_epsilon"]
    (folder / "config.json").write_text(json.dumps(values))
    config = step.read_config(folder)
    is_value("n_inner", config.n_inner, 4 * reference.config["n_embd"])
    is_value("layer_norm_epsilon", config.layer_norm_epsilon, 1e-5)


@about("read_config")
def test_other_architectures_are_refused(step, folder):
    """A checkpoint of another architecture is a ValueError that names it; so is a missing or damaged config.json."""
    path = folder / "config.json"
    for other in ("llama", "bert", "gpt_neo"):
        path.write_text(json.dumps({"model_type": other, "hidden_size": 64}))
        message = error_of(f"a {other} checkpoint", lambda: step.read_config(folder))
        require(other in message, f"The message is {message!r}, and must name {other}.")
    path.write_text(json.dumps({"n_embd": 768}))
    error_of("a config.json without model_type", lambda: step.read_config(folder))
    for what, spoil in (("cut short", lambda: path.write_text("{")), ("that is missing", path.unlink)):
        spoil()
        message = error_of(f"a config.json {what}", lambda: step.read_config(folder))
        require("config.json" in message, f"The message about a config.json {what} is {message!r}; name the file.")


@about("read_checkpoint")
def test_one_file(step, folder, published):
    """Every tensor of a checkpoint in one file is read, as float32, and the file stays as it is."""
    before = (folder / "model.safetensors").read_bytes()
    same(step.read_checkpoint(folder), published)
    require((folder / "model.safetensors").read_bytes() == before, "The checkpoint's file was changed; only read it.")
    save_file({"wte.weight": published["wte.weight"].astype(np.float16)}, folder / "model.safetensors")
    is_value("the dtype of a float16 weight", step.read_checkpoint(folder)["wte.weight"].dtype.name, "float32")


@about("read_checkpoint")
def test_several_files(step, folder, published):
    """A checkpoint in several files is read whole, by its index."""
    (folder / "model.safetensors").unlink()
    names = sorted(published)
    index = {}
    for part in range(3):
        file = f"model-0000{part + 1}-of-00003.safetensors"
        save_file({name: published[name] for name in names[part::3]}, folder / file)
        index |= dict.fromkeys(names[part::3], file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    same(step.read_checkpoint(folder), published)


@about("read_checkpoint")
def test_damaged_files_are_refused(step, folder):
    """A file that is cut short or missing is a ValueError that names it."""
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    message = error_of("a file cut short", lambda: step.read_checkpoint(folder))
    require("model.safetensors" in message, f"The message is {message!r}, and must name model.safetensors.")
    path.unlink()
    error_of("a missing file", lambda: step.read_checkpoint(folder))


@about("convert_checkpoint")
def test_published_form(step, published, reference):
    """Published checkpoints fit: prefix added, mask buffers skipped, Conv1D transposed, the head tied to wte."""
    same(step.convert_checkpoint(published), reference.weights)


@about("convert_checkpoint")
def test_newer_form(step, published, reference):
    """Newer checkpoints fit too, which have the prefix, no mask buffers, and perhaps a head of their own."""
    newer = {
        f"transformer.{name}": array
        for name, array in published.items()
        if ".attn.bias" not in name and "masked" not in name
    }
    same(step.convert_checkpoint(newer), reference.weights)
    own = newer | {"lm_head.weight": newer["transformer.wte.weight"] + 1}
    same(step.convert_checkpoint(own), reference.weights | {"lm_head.weight": own["lm_head.weight"]})


@about("check_weights")
def test_what_does_not_fit_is_listed(step, reference):
    """Missing, unknown and wrongly shaped weights are a ValueError that names every one, and no other."""
    shapes = {name: array.shape for name, array in reference.weights.items()}
    weights = dict(reference.weights)
    del weights["transformer.h.1.ln_2.bias"], weights["transformer.wpe.weight"]
    weights["transformer.h.4.ln_1.bias"] = weights["transformer.h.9.ln_1.bias"] = np.zeros(15, np.float32)
    weights["transformer.ln_f.weight"] = np.zeros(16, np.float32)
    weights["transformer.h.0.mlp.c_fc.weight"] = weights["transformer.h.0.mlp.c_fc.weight"].T
    message = error_of("a checkpoint that does not fit", lambda: step.check_weights(weights, shapes))
    wanted = ("h.1.ln_2.bias", "wpe.weight", "h.4.ln_1.bias", "h.9.ln_1.bias", "ln_f.weight", "h.0.mlp.c_fc.weight")
    for name in wanted:
        require(name in message, f"The message does not name {name}.", [name in message for name in wanted])
    require("h.2.ln_1.weight" not in message, "The message names h.2.ln_1.weight, which fits.")


@about("check_weights")
def test_one_problem_is_enough(step, reference):
    """A single weight that is missing, unknown or wrongly shaped is refused."""
    shapes = {name: array.shape for name, array in reference.weights.items()}
    name = "transformer.ln_f.bias"
    without = {other: array for other, array in reference.weights.items() if other != name}
    for what, weights in (
        ("one missing weight", without),
        ("one unknown weight", reference.weights | {"transformer.ln_g.bias": np.zeros(15, np.float32)}),
        ("one weight of another shape", without | {name: np.zeros(16, np.float32)}),
    ):
        error_of(f"a checkpoint with {what}", lambda: step.check_weights(weights, shapes))  # noqa: B023 - called at once


@about("check_weights")
def test_what_fits_is_accepted(step, reference):
    """Exactly the weights of the model are accepted."""
    try:
        step.check_weights(reference.weights, {name: array.shape for name, array in reference.weights.items()})
    except ValueError as error:
        require(False, f"Weights that fit are refused: {error}")


@about("load_pretrained")
def test_the_whole_model(step, folder, reference):
    """A model loaded from the folder returns Hugging Face's logits."""
    model = step.load_pretrained(folder)
    equal(run(model, reference["input"]), reference["output"], ("batch", "token", "vocab"), what="the logits")


@about("load_pretrained")
def test_incomplete_checkpoints_are_refused(step, folder, published):
    """A checkpoint in which a weight is missing, wte even, is a ValueError that names it."""
    for name in ("wte.weight", "h.3.mlp.c_proj.bias"):
        save_file({other: array for other, array in published.items() if other != name}, folder / "model.safetensors")
        message = error_of(f"a checkpoint without {name}", lambda: step.load_pretrained(folder))
        require(name in message, f"The message is {message!r}, and must name {name}.")


@pytest.mark.drawn
@about("convert_checkpoint")
def test_other_numbers(step, answer, folder, draw):
    """A checkpoint of a configuration drawn anew is read and converted as well."""
    values = draw.settings()
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"} | values))
    config = step.read_config(folder)
    is_value("the configuration", {name: vars(config)[name] for name in values}, values)
    weights = draw.weights(shapes_of(build(MaxGPT2LMHeadModel, GPT2Config(**values), weights={})))
    named = {name.removeprefix("transformer."): array for name, array in weights.items()}
    named = {name: array.T.copy() if name.endswith(CONV1D) else array for name, array in named.items()}
    tied = {name: array for name, array in named.items() if name != "lm_head.weight"}
    save_file(tied, folder / "model.safetensors")
    same(step.convert_checkpoint(step.read_checkpoint(folder)), answer.convert_checkpoint(tied))
