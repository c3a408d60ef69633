"""Step 13, pretrained weights: what is claimed.

The checkpoints are written here, from Hugging Face's weights on the awkward configuration, in every
form that Hugging Face's own come in: with and without prefix, head and mask buffers, in one file or
in several. ``tests/dev/solutions/test_given.py`` tests what is refused, which is given.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import TensorSpec, serialize_file
from safetensors.numpy import save_file

from checker.claims import Refusal, about, equal, error_of, first_of, require
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
    for layer in (*range(reference.config["n_layer"]), 11):  # GPT-2 small has 12 layers
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


#: The axes of matrices that are tables; the others are [out, in].
TABLES = {
    "wte.weight": ("vocab", "embd"),
    "lm_head.weight": ("vocab", "embd"),
    "wpe.weight": ("position", "embd"),
}


def axes_of(name, array):
    """Return the axes of a matrix, by the name of the weight; of a vector, none."""
    table = next((axes for table, axes in TABLES.items() if name.endswith(table)), ("out", "in"))
    return table if array.ndim == 2 else ()


def listed(names):
    """Return some names in words, of which there may be many."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def same(weights, wanted, what="What comes back"):
    """Refuse unless two dictionaries of arrays are the same, names first."""
    require(weights is not None, f"{what} is None: is there a `return`?")
    kind = article(type(weights).__name__)
    require(isinstance(weights, dict), f"{what} is {kind}, and must be a dictionary of arrays.", kind)
    names = sorted(weights)
    more, fewer = sorted(set(names) - set(wanted)), sorted(set(wanted) - set(names))
    do = "does" if len(more) == 1 else "do"
    problems = [f"has {listed(more)}, which {do} not belong there"] if more else []
    problems += [f"lacks {listed(fewer)}"] if fewer else []
    require(names == sorted(wanted), f"{what} {', and '.join(problems)}.", names)
    for name, array in wanted.items():
        equal(weights[name], array, axes_of(name, array), what=name)


NAMES = {
    "wte.weight": "transformer.wte.weight",
    "h.0.attn.c_attn.bias": "transformer.h.0.attn.c_attn.bias",
    "h.11.ln_1.weight": "transformer.h.11.ln_1.weight",
    "transformer.h.47.ln_1.weight": "transformer.h.47.ln_1.weight",
    "ln_f.bias": "transformer.ln_f.bias",
    "transformer.wpe.weight": "transformer.wpe.weight",
    "transformer.h.0.mlp.c_fc.weight": "transformer.h.0.mlp.c_fc.weight",
    "lm_head.weight": "lm_head.weight",
}


@about("name_in_model")
def test_names(subject):
    """Names without transformer. in front get it; those that have it, and the head's, stay as they are."""
    names = {name: subject.name_in_model(name) for name in NAMES}
    for name, wanted in NAMES.items():
        fits = is_same(names[name], wanted)
        require(fits, f"name_in_model({name!r}) is {names[name]!r}, and must be {wanted!r}.", names)


TO_TRANSPOSE = (
    "h.0.mlp.c_fc.weight",
    "h.1.mlp.c_proj.weight",
    "h.0.attn.c_attn.weight",
    "h.1.attn.c_proj.weight",
)


def each_is_right(subject, cases):
    """Refuse with the first of several tensors that is wrong; which of them are wrong tells mistakes apart."""
    refusals = {}
    for name, (given, wanted) in cases.items():
        try:
            tensor = subject.tensor_in_model(name, given)
            equal(tensor, wanted, axes_of(name, wanted), what=name)
            flags = getattr(tensor, "flags", None)
            require(flags is None or flags.c_contiguous, f"{name} is right, and not contiguous in memory.")
        except Refusal as refusal:
            refusals[name] = refusal
    first_of(list(refusals.values()), observed={name: each.sentence for name, each in refusals.items()})


@about("tensor_in_model")
def test_transposed(subject, published, reference):
    """The weights of the four Conv1D layers are transposed and contiguous, attention's square c_proj too."""
    pairs = {name: (published[name], reference.weights[f"transformer.{name}"]) for name in TO_TRANSPOSE}
    for name, pair in list(pairs.items()):  # GPT-2 small has 12 layers, and the largest 48
        _, layer, rest = name.split(".", 2)
        pairs[f"h.{int(layer) + 10}.{rest}"] = pairs[f"h.{int(layer) + 46}.{rest}"] = pair
    each_is_right(subject, pairs | {f"transformer.{name}": pair for name, pair in pairs.items()})


@about("tensor_in_model")
def test_left_alone(subject, published):
    """Embeddings, the head, biases and gains stay as they are."""
    names = ("wte.weight", "wpe.weight", "h.0.attn.c_attn.bias", "h.0.ln_1.weight", "ln_f.bias")
    cases = {name: published[name] for name in names} | {"lm_head.weight": published["wte.weight"]}
    cases |= {name.replace(".0.", ".47."): array for name, array in cases.items()}
    each_is_right(subject, {name: (tensor, tensor) for name, tensor in cases.items()})


@about("convert_checkpoint")
def test_published_form(subject, published, reference):
    """Published checkpoints fit: prefix added, mask buffers skipped, Conv1D transposed, the head tied to wte."""
    same(subject.convert_checkpoint(dict(published)), reference.weights)


@about("convert_checkpoint")
def test_prefixed_form(subject, published, reference):
    """Checkpoints that have the prefix fit too: some with mask buffers, newer ones without."""
    prefixed = {f"transformer.{name}": array for name, array in published.items()}
    same(subject.convert_checkpoint(dict(prefixed)), reference.weights)
    newer = {name: array for name, array in prefixed.items() if not name.endswith((".attn.bias", ".masked_bias"))}
    same(subject.convert_checkpoint(newer), reference.weights)


@about("convert_checkpoint")
def test_own_head(subject, published, reference):
    """A checkpoint's own head stays, in its own layout."""
    own = {"lm_head.weight": published["wte.weight"] + 1}
    same(subject.convert_checkpoint(published | own), reference.weights | own)


@about("convert_checkpoint")
def test_nothing_is_hidden_from_check_weights(subject, published, reference):
    """A weight the model lacks, such as a classifier's score.weight, is kept, and a missing one stays missing."""
    score, later = np.ones((2, 15), np.float32), published["h.0.attn.c_attn.weight"]
    more = {"transformer.score.weight": score, "transformer.h.11.attn.c_attn.weight": later.T.copy()}
    result = subject.convert_checkpoint(published | {"score.weight": score, "h.11.attn.c_attn.weight": later})
    same(result, reference.weights | more)
    without, wanted = dict(published), dict(reference.weights)
    del without["wte.weight"], wanted["transformer.wte.weight"], wanted["lm_head.weight"]
    same(subject.convert_checkpoint(without), wanted)


@about("convert_checkpoint")
def test_the_checkpoint_stays(subject, published):
    """It returns a new dictionary; the caller's, and the tensors in it, are left unchanged."""
    given = dict(published)
    subject.convert_checkpoint(given)
    changed = [name for name in published if given.get(name) is not published[name]]
    sentence = f"The dictionary that it was given has lost {listed(changed)}: leave it as it is, and return a new one."
    require(not changed, sentence, changed)


@about("load_pretrained")
def test_the_whole_model(subject, folder, reference):
    """A model loaded from the folder returns Hugging Face's logits."""
    model = subject.load_pretrained(folder)
    equal(run(model, reference["input"]), reference["output"], ("batch", "token", "logit"), what="the logits")


@about("load_pretrained")
def test_several_files(subject, folder, published, reference):
    """A checkpoint in several files, one in float16 and one in bfloat16, is loaded as float32."""
    (folder / "model.safetensors").unlink()
    for part, dtype in enumerate(("float16", "bfloat16")):
        arrays = {name: published[name] for name in sorted(published)[part::2]}
        for name, array in arrays.items():  # a bfloat16 is the upper half of a float32, rounded
            halves = array.view(np.uint32) + 0x8000 >> 16 if dtype == "bfloat16" else array.astype(np.float16)
            arrays[name] = np.asarray(halves, np.uint16 if dtype == "bfloat16" else np.float16)
        specs = {
            name: TensorSpec(dtype=dtype, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes)
            for name, array in arrays.items()
        }
        serialize_file(specs, folder / f"model-0000{part + 1}-of-00002.safetensors")
    for name, weight in subject.load_pretrained(folder).parameters:
        # Rounding to bfloat16 takes 0.0031 at most; a float16 read as a bfloat16 is off by 0.98.
        equal(weight, reference.weights[name], what=name, tolerance=0.01)


@about("load_pretrained")
def test_what_does_not_fit_is_refused(subject, folder, published):
    """A checkpoint of another model is refused with a ValueError that names every weight that does not fit."""
    tensors = {name: array for name, array in published.items() if name not in ("wpe.weight", "h.0.ln_1.bias")}
    save_file(tensors | {"score.weight": np.ones((2, 15), np.float32)}, folder / "model.safetensors")
    message = error_of("load_pretrained of a checkpoint that does not fit", lambda: subject.load_pretrained(folder))
    for name in ("wpe.weight is missing", "h.0.ln_1.bias is missing", "score.weight is unknown"):
        sentence = f"The error does not say that transformer.{name}; check_weights lists everything: {message}"
        require(f"transformer.{name}" in message, sentence)


@pytest.mark.drawn
@about("convert_checkpoint")
def test_other_numbers(subject, solution, draw):
    """A checkpoint of a new random configuration is converted as well."""
    weights = draw.weights(shapes_of(build(MaxGPT2LMHeadModel, GPT2Config(**draw.settings()), weights={})))
    named = {name.removeprefix("transformer."): array for name, array in weights.items()}
    named = {name: array.T.copy() if name.endswith(CONV1D) else array for name, array in named.items()}
    tied = {name: array for name, array in named.items() if name != "lm_head.weight"}
    same(subject.convert_checkpoint(dict(tied)), solution.convert_checkpoint(tied))
