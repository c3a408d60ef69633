"""Ablations: what is switched off is off, nothing else is, and the figures are those of Hugging Face's model."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest

from checker.course.paths import ROOT, SMALL_MODEL
from play.ablation.held_out import chapters

pytestmark = pytest.mark.slow

EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())
RECORDED = json.loads((SMALL_MODEL / "ablations.json").read_text())
CONFIG = json.loads((SMALL_MODEL / "config.json").read_text())
HEAD_DIM = CONFIG["n_embd"] // CONFIG["n_head"]
IDS = np.random.default_rng(0).integers(0, 4096, (2, 37))
LAYER, HEAD = 3, 1


def ablate(*arguments, root=ROOT):
    command = [sys.executable, "-m", "cli", "ablate", *map(str, arguments)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=900, check=False)


@pytest.fixture(scope="module")
def model():
    from checker.max_adapter.runtime import prepare
    from solutions.solution_13 import load_pretrained

    prepare()
    return load_pretrained(SMALL_MODEL)


@pytest.fixture(scope="module")
def all_on(model):
    from play.ablation.switches import everything

    return everything(model)


@pytest.fixture(scope="module")
def measure():
    from checker.max_adapter.runtime import prepare
    from play.ablation.measuring import Measure

    prepare()
    return Measure()


@pytest.fixture
def run(model):
    """The logarithms of probabilities with switches, without a compiler."""
    from checker.max_adapter.runtime import lazily, tensor
    from play.ablation.switches import SwitchedGPT2

    def log_probabilities(switches, ids=IDS):
        inputs = {name: tensor(array) for name, array in switches.inputs(ids.shape[-1]).items()}
        with lazily():
            found = SwitchedGPT2(model)(tensor(ids), inputs)
        return np.from_dlpack(found)

    return log_probabilities


def log_softmax(logits):
    logits = logits.astype(np.float64)
    highest = logits.max(axis=-1, keepdims=True)
    return logits - highest - np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True))


# ---------------------------------------------------------------- the text


def test_the_held_out_text_is_that_of_the_model_card():
    found = chapters()
    assert list(found) == EVALUATION["chapters"]["test"]
    assert sum(len(chapter.encode()) for chapter in found.values()) == EVALUATION["bytes"]["test"]
    assert all(chapter.endswith("\n") and not chapter.endswith("\n\n") for chapter in found.values())


@pytest.mark.parametrize("stride", [1, 3, 7])
def test_every_token_is_predicted_once_from_as_much_as_there_is(stride):
    from play.ablation.measuring import NOT_COUNTED, read
    from play.tokens import load_tokenizer
    from solutions.solution_01 import GPT2Config

    tokenizer, config = load_tokenizer(SMALL_MODEL), GPT2Config(vocab_size=4096, n_positions=7, n_embd=6, n_head=2)
    texts = ["Call me Ishmael. Some years ago, never mind", "a", "whale, ho!"]
    text = read(texts, tokenizer, config, stride)
    assert text.bytes == sum(map(len, texts))
    encoded = [tokenizer.encode(one).ids for one in texts]
    assert len(encoded[1]) < config.n_positions < len(encoded[0]), "a short text and a long one"
    predicted = []
    for ids, targets in text.windows:
        assert ids.shape == targets.shape
        assert ids.shape[1] <= config.n_positions
        for row, wanted in zip(ids, targets, strict=True):
            counted = wanted != NOT_COUNTED
            first = int(counted.argmax())
            assert counted[first:].all()
            assert first == 0 or first >= config.n_positions - stride
            np.testing.assert_array_equal(wanted[first:-1], row[first + 1 :])
            predicted += wanted[counted].tolist()
    assert sorted(predicted) == sorted(token for ids in encoded for token in ids)


def test_a_stride_that_makes_no_sense_is_said():
    for stride in ("0", "513"):
        run = ablate("--stride", stride)
        assert run.returncode == 2
        assert f"stride = {stride} is impossible; give 1 to n_positions = 512" in run.stderr
        assert "Traceback" not in run.stderr


# ---------------------------------------------------------------- the switches


def test_with_everything_on_it_is_the_model(model, all_on, run):
    from checker.max_adapter.runtime import lazily, tensor

    for ids in (IDS, IDS[:1, :1]):
        with lazily():
            logits = model(tensor(ids))
        np.testing.assert_allclose(run(all_on, ids), log_softmax(np.from_dlpack(logits)), atol=2e-5)


@pytest.fixture(scope="module")
def theirs():
    """Hugging Face's model, which the function that is given may spoil: the logarithms of its probabilities."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    original = transformers.GPT2LMHeadModel.from_pretrained(
        SMALL_MODEL, dtype="float32", attn_implementation="eager"
    ).eval()

    def log_probabilities(spoil=lambda model: None, **inputs):
        model = copy.deepcopy(original)
        with torch.no_grad():
            model = spoil(model) or model
            return log_softmax(model(torch.tensor(IDS), **inputs).logits.numpy())

    return log_probabilities


def test_a_head_that_is_off_is_its_slice_of_c_proj_made_zero(all_on, run, theirs):
    from play.ablation.switches import without_head

    def spoil(model):
        width = model.config.n_embd // model.config.n_head
        model.transformer.h[LAYER].attn.c_proj.weight[HEAD * width : (HEAD + 1) * width] = 0  # Conv1D: [in, out]

    found, wanted = run(without_head(all_on, LAYER, HEAD)), theirs(spoil)
    np.testing.assert_allclose(found, wanted, atol=5e-5)
    assert np.abs(wanted - theirs()).max() > 0.01


def test_a_layer_that_is_off_might_as_well_not_be_there(all_on, run, theirs):
    from play.ablation.switches import ATTENTION, FEED_FORWARD, without_layer

    def spoil(model):
        del model.transformer.h[LAYER]

    found, wanted = run(without_layer(all_on, LAYER, ATTENTION, FEED_FORWARD)), theirs(spoil)
    np.testing.assert_allclose(found, wanted, atol=5e-5)
    assert np.abs(wanted - theirs()).max() > 0.01


def silent(*projections):
    for projection in projections:
        projection.weight.zero_()
        projection.bias.zero_()


def norms(model):
    transformer = model.transformer
    return [transformer.ln_f, *(norm for block in transformer.h for norm in (block.ln_1, block.ln_2))]


def without_norms(model):
    import torch

    for block in model.transformer.h:
        block.ln_1 = block.ln_2 = torch.nn.Identity()
    model.transformer.ln_f = torch.nn.Identity()


def with_activation(name):
    from transformers.activations import ACT2FN

    def spoil(model):
        for block in model.transformer.h:
            block.mlp.act = ACT2FN[name]

    return spoil


def with_scale(scale):
    def spoil(model):
        for block in model.transformer.h:
            block.attn.c_attn.weight[:, : model.config.n_embd] *= scale
            block.attn.c_attn.bias[: model.config.n_embd] *= scale

    return spoil


def without_residual(model):
    """Subtract from what a sublayer writes the stream that it is added to."""
    streams = {}

    def keep(norm, inputs):
        streams[norm] = inputs[0]

    def subtract(norm):
        def from_output(sublayer, inputs, output):
            if isinstance(output, tuple):
                return (output[0] - streams[norm], *output[1:])
            return output - streams[norm]

        return from_output

    for block in model.transformer.h:
        for norm, sublayer in ((block.ln_1, block.attn), (block.ln_2, block.mlp)):
            norm.register_forward_pre_hook(keep)
            sublayer.register_forward_hook(subtract(norm))


def everywhere_the_first(model):
    model.transformer.wpe.weight[:] = model.transformer.wpe.weight[0].clone()


SPOILED = {
    "positions: none": lambda model: model.transformer.wpe.weight.zero_(),
    "positions: everywhere the first": everywhere_the_first,
    "normalization: gain 1": lambda model: [norm.weight.fill_(1) for norm in norms(model)],
    "normalization: bias 0": lambda model: [norm.bias.zero_() for norm in norms(model)],
    "normalization: none": without_norms,
    "activation: exact GELU": with_activation("gelu"),
    "activation: none": with_activation("linear"),
    "attention: no scale": with_scale(HEAD_DIM**0.5),
    "attention: even weights": with_scale(0),
    "attention: none": lambda model: silent(*(block.attn.c_proj for block in model.transformer.h)),
    "feed-forward: none": lambda model: silent(*(block.mlp.c_proj for block in model.transformer.h)),
    "residual: none": without_residual,
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_part_that_is_left_out_is_left_out_as_of_hugging_faces_model(name, model, all_on, run, theirs):
    """Without normalization, numbers grow from layer to layer, and so does their rounding."""
    from play.ablation.switches import left_out

    def spoil(model):
        SPOILED[name](model)

    wanted = theirs(spoil)
    relative = 5e-4 if name == "normalization: none" else 5e-5
    np.testing.assert_allclose(run(left_out(all_on, model.config)[name]), wanted, atol=5e-5, rtol=relative)
    assert np.abs(wanted - theirs()).max() > (1e-5 if "exact" in name else 0.1)


def test_positions_backward_are_hugging_faces(model, all_on, run, theirs):
    import torch

    from play.ablation.switches import left_out

    length, last = IDS.shape[1], model.config.n_positions - 1
    wanted = theirs(position_ids=torch.arange(last, last - length, -1)[None])
    np.testing.assert_allclose(run(left_out(all_on, model.config)["positions: backward"]), wanted, atol=5e-5)


def test_without_a_mask_every_token_sees_every_other(model, all_on, run, theirs):
    import torch

    from play.ablation.switches import left_out

    length = IDS.shape[1]
    wanted = theirs(attention_mask=torch.zeros(len(IDS), 1, length, length))
    found = run(left_out(all_on, model.config)["attention: no mask"])
    np.testing.assert_allclose(found, wanted, atol=5e-5)


def test_a_random_head_has_the_size_of_the_tied_one(model, all_on):
    from play.ablation.switches import left_out

    head = left_out(all_on, model.config)["head: random"].lm_head
    assert head.shape == all_on.lm_head.shape
    assert head.std() == pytest.approx(all_on.lm_head.std(), rel=0.01)
    assert abs(np.corrcoef(head.ravel(), all_on.lm_head.ravel())[0, 1]) < 0.02


def test_each_part_that_is_left_out_is_tried_here(model, all_on):
    from play.ablation.switches import left_out

    tried = {*SPOILED, "positions: backward", "attention: no mask", "head: random"}
    assert set(left_out(all_on, model.config)) == tried == set(RECORDED["parts"])


# ---------------------------------------------------------------- the figures


@pytest.mark.nightly
def test_with_nothing_left_out_the_bits_are_those_of_the_model_card(measure):
    assert measure.bits_per_byte(measure.all_on) == pytest.approx(
        EVALUATION["test bits per byte"]["this model"], abs=1e-4
    )
    assert RECORDED["nothing"] == pytest.approx(EVALUATION["test bits per byte"]["this model"], abs=1e-4)


@pytest.mark.nightly
def test_the_recorded_figures_are_what_is_measured_now(measure):
    from play.ablation.switches import ATTENTION, left_out, without_head, without_layer

    config, all_on = measure.config, measure.all_on
    assert RECORDED["bytes"] == measure.text.bytes
    assert np.shape(RECORDED["heads"]) == (config.n_layer, config.n_head)
    now = {
        "no scale": measure.bits_per_byte(left_out(all_on, config)["attention: no scale"]),
        "layer": measure.bits_per_byte(without_layer(all_on, LAYER, ATTENTION)),
        "head": measure.bits_per_byte(without_head(all_on, LAYER, HEAD)),
    }
    recorded = {
        "no scale": RECORDED["parts"]["attention: no scale"],
        "layer": RECORDED["layers"][LAYER][1],
        "head": RECORDED["heads"][LAYER][HEAD],
    }
    assert now == pytest.approx(recorded, abs=2e-5)


@pytest.mark.nightly  # the page's own transcript runs the command every time
def test_what_is_printed_is_what_is_written(tmp_path):
    done = ablate("--stride", "512", "--out", tmp_path / "figures.json")
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "figures.json").read_text())
    assert written["nothing"] == pytest.approx(RECORDED["nothing"], abs=0.02)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{written['nothing']:.3f} bits per byte of 49,318 bytes")
    for name, bits in written["parts"].items():
        assert any(line.startswith(name) and f" {bits:.3f} " in line for line in lines), name
    last = [float(cell) for cell in lines[-1].split()]
    assert last == pytest.approx([4, *(bits - written["nothing"] for bits in written["heads"][4])], abs=6e-4)


def test_the_figures_support_the_sentences_of_the_page():
    from tools.book_maker.values import ablations

    more, layers, heads = ablations.more, ablations.layers(), ablations.heads()
    assert more("attention: none") < min(more("attention: even weights"), more("attention: no scale"))
    assert more("positions: none") < more("positions: backward")
    others = layers[:, 1].sum() + layers[1:, 2].sum()
    assert layers[0, 0] > layers[0, 2] > others
    assert heads.max() < 0.1 * more("attention: none")
    assert (heads < 0).any()
    assert heads.sum() < more("attention: none")
    assert abs(more("activation: exact GELU")) < 1e-4
    assert more("attention: no mask") > 0


def test_guessing_is_what_a_model_without_weights_needs(model, all_on, run):
    from dataclasses import replace

    from tools.book_maker.values import ablations

    found = run(replace(all_on, lm_head=0 * all_on.lm_head))
    bits_per_token = float(-found.mean() / np.log(2))
    assert ablations.guessing() == pytest.approx(bits_per_token * RECORDED["tokens"] / RECORDED["bytes"], rel=1e-5)


def test_mine_names_what_is_not_written(course):
    done = ablate("--mine", root=course.root)
    assert done.returncode == 2
    assert "these steps are not written yet: s01" in done.stderr
