"""Ablations: what is switched off is off, nothing else is, and the figures are those of Hugging Face's model."""

import copy
import json

import numpy as np
import pytest

from checker.course.paths import SMALL_MODEL
from play.tokens import load_tokenizer

pytestmark = pytest.mark.slow

EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())
RECORDED = json.loads((SMALL_MODEL / "ablations.json").read_text())
IDS = np.random.default_rng(0).integers(0, 4096, (2, 37))
LENGTH, LAYER, HEAD = IDS.shape[1], 3, 1


@pytest.fixture(scope="module")
def model():
    from checker.max_adapter.runtime import prepare
    from solutions.solution_13 import load_pretrained

    prepare()
    return load_pretrained(SMALL_MODEL)


@pytest.fixture(scope="module")
def run(model):
    """The logarithms of probabilities with switches, without a compiler."""
    from checker.max_adapter.runtime import lazily, tensor
    from play.ablation.switches import SwitchedGPT2

    def log_probabilities(switches):
        inputs = {name: tensor(array) for name, array in switches.inputs(LENGTH).items()}
        with lazily():
            output = SwitchedGPT2(model)(tensor(IDS), inputs)
        return np.from_dlpack(output)

    return log_probabilities


@pytest.fixture(scope="module")
def switched(model):
    """Every set of switches by its name."""
    from play.ablation import switches

    on = switches.everything(model)
    return {
        "nothing": on,
        **switches.left_out(on, model.config),
        "a head": switches.without_head(on, LAYER, HEAD),
        "a layer": switches.without_layer(on, LAYER, switches.ATTENTION, switches.FEED_FORWARD),
    }


@pytest.fixture(scope="module")
def theirs():
    """Hugging Face's model, which a function may spoil: the logarithms of its probabilities."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    original = transformers.GPT2LMHeadModel.from_pretrained(
        SMALL_MODEL, dtype="float32", attn_implementation="eager"
    ).eval()

    def log_probabilities(spoil):
        model = copy.deepcopy(original)
        model.torch = torch
        with torch.no_grad():
            inputs = spoil(model)
            logits = model(torch.tensor(IDS), **(inputs if isinstance(inputs, dict) else {})).logits
        return torch.log_softmax(logits.double(), dim=-1).numpy()

    return log_probabilities


# ---------------------------------------------------------------- the same, done to Hugging Face's model


def blocks(change):
    return lambda model: [change(block) for block in model.transformer.h]


def silent(sublayer):
    return blocks(lambda block: [each.zero_() for each in getattr(block, sublayer).c_proj.parameters()])


def norms(change):
    return lambda model: [change(module) for name, module in model.named_modules() if "ln_" in name]


def activation(function):
    return blocks(lambda block: setattr(block.mlp.act, "forward", function))


def scale(factor):
    return blocks(
        lambda block: [each[..., : each.shape[-1] // 3].mul_(factor) for each in block.attn.c_attn.parameters()]
    )


def without_residual(block):
    def forward(x, past, mask, *_, **more):
        return block.mlp(block.ln_2(block.attn(block.ln_1(x), attention_mask=mask)[0]))

    block.forward = forward


def without_head(model):
    width = model.config.n_embd // model.config.n_head
    model.transformer.h[LAYER].attn.c_proj.weight[HEAD * width : (HEAD + 1) * width] = 0  # Conv1D: [in, out]


def wpe(change):
    return lambda model: model.transformer.wpe.weight.copy_(change(model.transformer.wpe.weight))


SPOIL = {
    "nothing": lambda model: None,
    "positions: none": wpe(lambda weight: 0 * weight),
    "positions: everywhere the first": wpe(lambda weight: weight[:1].clone()),
    "positions: backward": wpe(lambda weight: weight.flip(0)),
    "normalization: gain 1": norms(lambda norm: norm.weight.fill_(1)),
    "normalization: bias 0": norms(lambda norm: norm.bias.zero_()),
    "normalization: none": norms(lambda norm: setattr(norm, "forward", lambda x: x)),
    "activation: exact GELU": lambda model: activation(model.torch.nn.functional.gelu)(model),
    "activation: none": activation(lambda x: x),
    "attention: no scale": scale(8.0),
    "attention: even weights": scale(0),
    "attention: no mask": lambda model: {"attention_mask": model.torch.zeros(len(IDS), 1, LENGTH, LENGTH)},
    "attention: none": silent("attn"),
    "feed-forward: none": silent("mlp"),
    "residual: none": blocks(without_residual),
    "a head": without_head,
    "a layer": lambda model: model.transformer.h.__delitem__(LAYER),
}


@pytest.mark.parametrize("name", SPOIL)
def test_what_is_left_out_is_left_out_as_of_hugging_faces_model(name, switched, run, theirs):
    """Without normalization, numbers grow from layer to layer, and so does their rounding."""
    expected = theirs(SPOIL[name])
    relative = 5e-4 if name == "normalization: none" else 5e-5
    np.testing.assert_allclose(run(switched[name]), expected, atol=5e-5, rtol=relative)
    if name != "nothing":
        assert np.abs(expected - theirs(SPOIL["nothing"])).max() > (1e-5 if "exact" in name else 0.01)


def test_a_random_head_has_the_size_of_the_tied_one_and_every_part_is_tried_here(switched):
    head, tied = switched["head: random"].lm_head, switched["nothing"].lm_head
    assert head.shape == tied.shape
    assert head.std() == pytest.approx(tied.std(), rel=0.01)
    assert abs(np.corrcoef(head.ravel(), tied.ravel())[0, 1]) < 0.02
    assert {*SPOIL, "head: random"} == {*switched} == {*RECORDED["parts"], "nothing", "a head", "a layer"}


@pytest.mark.parametrize("stride", [1, 3, 7])
def test_every_token_is_predicted_once_from_as_much_as_there_is(stride):
    from play.ablation.measuring import NOT_COUNTED, read
    from solutions.solution_01 import GPT2Config

    tokenizer, config = load_tokenizer(SMALL_MODEL), GPT2Config(vocab_size=4096, n_positions=7, n_embd=6, n_head=2)
    texts = ["Call me Ishmael. Some years ago, never mind", "a", "whale, ho!"]  # longer than a window, and shorter
    text, predicted = read(texts, tokenizer, config, stride), []
    assert text.bytes == sum(map(len, texts))
    for ids, targets in ((row, target) for batch in text.windows for row, target in zip(*batch, strict=True)):
        counted = targets != NOT_COUNTED
        first = int(counted.argmax())
        assert counted[first:].all()
        assert len(ids) <= 7
        assert first == 0 or first >= 7 - stride
        np.testing.assert_array_equal(targets[first:-1], ids[first + 1 :])
        predicted += targets[counted].tolist()
    assert sorted(predicted) == sorted(token for each in texts for token in tokenizer.encode(each).ids)


@pytest.mark.nightly
def test_the_command_prints_what_it_writes_and_the_recorded_figures_are_those_of_the_model_card(course, tmp_path):
    out = tmp_path / "figures.json"
    done = course.python("-m", "cli", "ablate", "--stride", "512", "--out", str(out), timeout=900)
    assert done.returncode == 0, done.stderr
    written, lines = json.loads(out.read_text()), done.stdout.splitlines()
    assert lines[0].startswith(f"{written['nothing']:.3f} bits per byte of {RECORDED['bytes']:,} bytes")
    for name, bits in written["parts"].items():
        assert any(line.startswith(name) and f" {bits:.3f} " in line for line in lines), name
        assert bits == pytest.approx(RECORDED["parts"][name], rel=0.02)
    last = [float(cell) for cell in lines[-1].split()]
    assert last == pytest.approx([4, *(bits - written["nothing"] for bits in written["heads"][4])], abs=6e-4)
    assert RECORDED["nothing"] == pytest.approx(EVALUATION["test bits per byte"]["this model"], abs=1e-4)


@pytest.mark.parametrize(
    ("option", "message"),
    [("--stride=0", "stride = 0 is impossible; give 1 to n_positions = 512"), ("--mine", "are not written yet: s01")],
)
def test_what_cannot_be_measured_is_said(course, option, message):
    done = course.python("-m", "cli", "ablate", option)
    assert (done.returncode, message in done.stderr, "Traceback" in done.stderr) == (2, True, False)
