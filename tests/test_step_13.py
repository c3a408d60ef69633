"""Step 13, pretrained weights: what is claimed.

The checkpoints are written here, from Hugging Face's weights on the awkward configuration, in every
form that Hugging Face's own come in: with and without prefix, head and mask buffers, in one file or
in several.
"""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from checker.claims import about, equal, error_of, is_value, require
from checker.claims.modules import build, run, shapes_of
from checker.claims.vocabulary import article, is_same
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
    return dict(sorted(tensors.items()))  # mask buffers among the weights, as in a file


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


def listed(names):
    """Return some names in words, of which there may be many."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def same(weights, wanted, what="What comes back"):
    """Refuse unless two dictionaries of arrays are the same, names first."""
    require(weights is not None, f"{what} is None: is there a `return`?")
    kind = article(type(weights).__name__)
    require(isinstance(weights, dict), f"{what} is {kind}, and must be a dictionary of arrays.", kind)
    names = sorted(weights)
    more, fewer = (sorted(one) for one in (set(names) - set(wanted), set(wanted) - set(names)))
    said = [f"has {listed(more)}, which no model has"] if more else []
    said += [f"lacks {listed(fewer)}"] if fewer else []
    require(names == sorted(wanted), f"{what} {', and '.join(said)}.", names)
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


def is_a_list(found, of, kinds=list):
    """Refuse unless what comes back is a list."""
    require(found is not None, "What comes back is None: is there a `return`?")
    kind = type(found).__name__
    require(isinstance(found, kinds), f"What comes back is {article(kind)}, and must be a list of {of}.", kind)


def files_of(step, folder):
    """Return what ``checkpoint_files`` lists, in the order of the names."""
    files = step.checkpoint_files(folder)
    is_a_list(files, "paths", list | tuple | set)
    others = [article(type(one).__name__) for one in files if not isinstance(one, str | Path)]
    require(not others, f"In the list there is {' and '.join(others[:1])}; there must be paths.", others)
    names = sorted(Path(one).as_posix() for one in files)
    for name in names:
        count = names.count(name)
        require(count == 1, f"{name} is listed {count} times, and so it is read {count} times; list it once.", names)
    return names


@about("checkpoint_files")
def test_files_of_the_index(step, folder):
    """The files are those of the index, each once, in the checkpoint's folder."""
    parts = [f"model-0000{part}-of-00003.safetensors" for part in (1, 2, 3)]
    names = ("wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias", "h.0.attn.bias", "ln_f.weight")
    index = {"metadata": {"total_size": 7}, "weight_map": dict(zip(names, [*parts[::-1], *parts], strict=True))}
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    is_value("The list of files", files_of(step, folder), [f"checkpoint/{part}" for part in parts])


@about("checkpoint_files")
def test_no_index(step, folder):
    """Without an index there is one file, model.safetensors."""
    is_value("The list of files", files_of(step, folder), ["checkpoint/model.safetensors"])


@about("read_tensors")
def test_tensors_of_a_file(step, folder, published):
    """Every tensor of a file is read, by its name there, and the file stays as it is."""
    file = folder / "part.safetensors"
    part = {name: published[name] for name in sorted(published)[::3]}
    save_file(part, file)
    before = file.read_bytes()
    same(step.read_tensors(file), part)
    require(file.read_bytes() == before, "The file was changed; only read it.")


@about("read_tensors")
def test_a_damaged_file_is_named(step, folder):
    """A file that is cut short, empty or missing is a ValueError that names it."""
    file = folder / "part.safetensors"
    whole = (folder / "model.safetensors").read_bytes()
    for what, content in (("cut short", whole[:-100]), ("that is empty", b""), ("that is missing", None)):
        file.unlink() if content is None else file.write_bytes(content)
        message = error_of(f"a file {what}", lambda: step.read_tensors(file))
        require(file.name in message, f"The message about a file {what} is {message!r}, and must name {file.name}.")


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


NAMES = {
    "wte.weight": "transformer.wte.weight",
    "h.0.attn.c_attn.bias": "transformer.h.0.attn.c_attn.bias",
    "h.11.ln_1.weight": "transformer.h.11.ln_1.weight",
    "ln_f.bias": "transformer.ln_f.bias",
    "transformer.wpe.weight": "transformer.wpe.weight",
    "transformer.h.0.mlp.c_fc.weight": "transformer.h.0.mlp.c_fc.weight",
    "lm_head.weight": "lm_head.weight",
}


@about("name_in_model")
def test_names(step):
    """Names without transformer. in front get it; those that have it, and the head's, stay as they are."""
    found = {name: step.name_in_model(name) for name in NAMES}
    for name, wanted in NAMES.items():
        fits = is_same(found[name], wanted)
        require(fits, f"name_in_model({name!r}) is {found[name]!r}, and must be {wanted!r}.", found)


TO_TRANSPOSE = (
    "h.0.mlp.c_fc.weight",
    "h.1.mlp.c_proj.weight",
    "h.0.attn.c_attn.weight",
    "h.1.attn.c_proj.weight",
)


@about("tensor_in_model")
def test_transposed(step, published, reference):
    """The weights of the four Conv1D layers are transposed and contiguous, attention's square c_proj too."""
    for name in TO_TRANSPOSE:
        for prefix in ("", "transformer."):
            found = step.tensor_in_model(prefix + name, published[name])
            equal(found, reference.weights[f"transformer.{name}"], ("out", "in"), what=prefix + name)
            flags = getattr(found, "flags", None)
            require(flags is None or flags.c_contiguous, f"{prefix + name} is right, and not contiguous in memory.")


@about("tensor_in_model")
def test_left_alone(step, published):
    """Embeddings, the head, biases and gains stay as they are."""
    for name in ("wte.weight", "wpe.weight", "h.0.attn.c_attn.bias", "h.0.ln_1.weight", "ln_f.bias"):
        equal(step.tensor_in_model(name, published[name]), published[name], what=name)
    equal(step.tensor_in_model("lm_head.weight", published["wte.weight"]), published["wte.weight"], what="the head")


@about("tie_head")
def test_tied(step, reference):
    """The head gets the weights of wte, in place; a checkpoint's own head stays."""
    for own in (False, True):
        weights = {name: array for name, array in reference.weights.items() if own or name != "lm_head.weight"}
        if own:
            weights["lm_head.weight"] = weights["lm_head.weight"] + 1
        wanted = {"lm_head.weight": weights["transformer.wte.weight"]} | weights
        returned = step.tie_head(weights)
        sentence = "tie_head returns a dictionary with a head, and the one that it was given has none."
        require(not isinstance(returned, dict) or "lm_head.weight" in weights, sentence)
        same(weights, wanted, "The dictionary that tie_head was given")


@about("tie_head")
def test_nothing_to_tie_to(step, reference):
    """Without wte there is no error and no head: check_weights will say that both are missing."""
    without = {name: array for name, array in reference.weights.items() if name.startswith("transformer.w")}
    del without["transformer.wte.weight"]
    weights = dict(without)
    step.tie_head(weights)
    same(weights, without, "The dictionary that tie_head was given")


@about("convert_checkpoint")
def test_published_form(step, published, reference):
    """Published checkpoints fit: prefix added, mask buffers skipped, Conv1D transposed, the head tied to wte."""
    same(step.convert_checkpoint(dict(published)), reference.weights)


@about("convert_checkpoint")
def test_newer_form(step, published, reference):
    """Newer checkpoints fit too, which have the prefix, no mask buffers, and perhaps a head of their own."""
    newer = {
        f"transformer.{name}": array
        for name, array in published.items()
        if ".attn.bias" not in name and "masked" not in name
    }
    same(step.convert_checkpoint(dict(newer)), reference.weights)
    own = newer | {"lm_head.weight": newer["transformer.wte.weight"] + 1}
    same(step.convert_checkpoint(dict(own)), reference.weights | {"lm_head.weight": own["lm_head.weight"]})


@about("wrong_shapes")
def test_wrong_shapes(step, reference):
    """Every weight of another shape has a message with its name and both shapes, and no other weight has one."""
    shapes = {name: array.shape for name, array in reference.weights.items()}
    found = step.wrong_shapes(reference.weights, shapes)
    is_a_list(found, "messages")
    require(not found, f"All shapes fit, and there is a message: {' '.join(map(repr, found[:1]))}.", str(found))
    square = reference.weights["transformer.h.0.attn.c_proj.weight"]
    other = {
        "transformer.ln_f.bias": np.zeros(17, np.float32),
        "transformer.h.0.mlp.c_fc.weight": reference.weights["transformer.h.0.mlp.c_fc.weight"].T,
        "transformer.h.1.mlp.c_proj.weight": square,
        "transformer.h.0.attn.c_proj.weight": square[None],
        "transformer.ln_g.bias": square,  # unknown, which is not for this function to say
    }
    weights = reference.weights | other
    del weights["transformer.wpe.weight"]
    found = step.wrong_shapes(weights, shapes)
    is_a_list(found, "messages")
    wanted = [name for name in shapes if name in other]
    for name in wanted:
        said = [message for message in found if isinstance(message, str) and name in message]
        require(len(said) > 0, f"No message names {name}.", str(found))
        numbers = Counter(re.findall(r"\d+", said[0].replace(name, "")))
        sizes = Counter(str(size) for size in (*other[name].shape, *shapes[name]))
        require(sizes <= numbers, f"The message is {said[0]!r}, and must say both shapes.", str(found))
    others = [message for message in found if not any(name in str(message) for name in wanted)]
    require(not others, f"There is a message too many: {' '.join(map(repr, others[:1]))}.", str(found))
    require(len(found) == len(wanted), f"There are {len(found)} messages about {len(wanted)} weights.", str(found))


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
        error_of(f"a checkpoint with {what}", lambda: step.check_weights(weights, shapes))  # noqa: B023


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
