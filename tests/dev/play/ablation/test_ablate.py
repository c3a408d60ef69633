"""Ablations: what is switched off is off, nothing else is, and the figures are those of Hugging Face's model."""

import copy
import functools
import json

import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from play.tokens import load_tokenizer

pytestmark = pytest.mark.slow

EVALUATION = json.loads((SMALL_MODEL / "evaluation.json").read_text())
RECORDED = json.loads((SMALL_MODEL / "ablations.json").read_text())
IDS = np.random.default_rng(0).integers(0, 4096, (2, 37))
LENGTH, LAYER, HEAD = IDS.shape[1], 3, 1


@pytest.fixture(scope="module")
def model():
    from checker.max_adapter.hooks import install_hooks
    from solutions.solution_13 import load_pretrained

    install_hooks()
    return load_pretrained(SMALL_MODEL)


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
    """Hugging Face's model, which may be spoiled: the logarithms of its probabilities."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    original = transformers.GPT2LMHeadModel.from_pretrained(SMALL_MODEL, attn_implementation="eager").float().eval()

    def log_probabilities(name):
        model = copy.deepcopy(original)
        with torch.no_grad():
            inputs = spoil(model, name, torch) or {}
            logits = model(torch.tensor(IDS), **inputs).logits
        return torch.log_softmax(logits.double(), dim=-1).numpy()

    return log_probabilities


def spoil(model, name, torch):
    """Do to Hugging Face's model what switches do; return inputs that it needs besides."""
    wpe, blocks = model.transformer.wpe.weight, model.transformer.h
    norms = [module for name, module in model.named_modules() if "ln_" in name]
    match name:
        case "positions: backward":
            wpe.copy_(wpe.flip(0))
        case "normalization: gain 1":
            [norm.weight.fill_(1) for norm in norms]
        case "normalization: bias 0":
            [norm.bias.zero_() for norm in norms]
        case "normalization: none":
            [setattr(norm, "forward", lambda x: x) for norm in norms]
        case "activation: exact GELU":
            [setattr(block.mlp.act, "forward", torch.nn.functional.gelu) for block in blocks]
        case "activation: none":
            [setattr(block.mlp.act, "forward", lambda x: x) for block in blocks]
        case "attention: no scale":
            [each[..., : each.shape[-1] // 3].mul_(8) for block in blocks for each in block.attn.c_attn.parameters()]
        case "attention: no mask":
            return {"attention_mask": torch.zeros(len(IDS), 1, LENGTH, LENGTH)}
        case "attention: none":
            [each.zero_() for block in blocks for each in block.attn.c_proj.parameters()]
        case "residual: none":
            [setattr(block, "forward", functools.partial(without_residual, block)) for block in blocks]
        case "a head":
            width = model.config.n_embd // model.config.n_head
            blocks[LAYER].attn.c_proj.weight[HEAD * width : (HEAD + 1) * width] = 0  # Conv1D: [in, out]
        case "a layer":
            del blocks[LAYER]


def without_residual(block, x, past, mask, *_, **more):
    return block.mlp(block.ln_2(block.attn(block.ln_1(x), attention_mask=mask)[0]))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    [
        "nothing", "positions: backward", "normalization: gain 1", "normalization: bias 0", "normalization: none",
        "activation: exact GELU", "activation: none", "attention: no scale", "attention: no mask", "attention: none",
        "residual: none", "a head", "a layer",
    ],
)  # fmt: skip
def test_what_is_left_out_is_left_out_as_of_hugging_faces_model(name, model, switched, theirs):
    """Without normalization, numbers grow from layer to layer, and so does their rounding."""
    from checker.max_adapter.runtime import lazily, tensor
    from play.ablation.switches import SwitchedGPT2, inputs

    on, expected = inputs(switched[name], LENGTH), theirs(name)
    with lazily():
        ours = SwitchedGPT2(model)(tensor(IDS), {name: tensor(array) for name, array in on.items()})
    relative = 5e-4 if name == "normalization: none" else 5e-5
    np.testing.assert_allclose(np.from_dlpack(ours), expected, atol=5e-5, rtol=relative)
    if name != "nothing":
        assert np.abs(expected - theirs("nothing")).max() > (1e-5 if "exact" in name else 0.01)


def test_a_random_head_has_the_size_of_the_tied_one_and_every_part_has_its_figure(switched):
    head, tied = switched["head: random"]["lm_head"], switched["nothing"]["lm_head"]
    assert head.shape == tied.shape
    assert head.std() == pytest.approx(tied.std(), rel=0.01)
    assert abs(np.corrcoef(head.ravel(), tied.ravel())[0, 1]) < 0.02
    assert {*switched} == {*RECORDED["parts"], "nothing", "a head", "a layer"}


@pytest.mark.parametrize("stride", [1, 3, 7])
def test_every_token_is_predicted_once_from_as_much_as_there_is(stride):
    from play.ablation.measuring import read
    from play.training.windows import NOT_COUNTED
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
def test_the_command_prints_what_it_writes(course, tmp_path):
    out = tmp_path / "figures.json"
    done = course.check("ablate", "--stride", "512", "--out", out, status=0, timeout=900)
    written, lines = json.loads(out.read_text()), done.stdout.splitlines()
    assert lines[0].startswith(f"{written['nothing']:.3f} bits per byte of {RECORDED['bytes']:,} bytes")
    for name, bits in written["parts"].items():
        assert any(line.startswith(name) and f" {bits:.3f} " in line for line in lines), name
    last = [float(cell) for cell in lines[-1].split()]
    assert last == pytest.approx([4, *(bits - written["nothing"] for bits in written["heads"][4])], abs=6e-4)
    assert RECORDED["nothing"] == pytest.approx(EVALUATION["test bits per byte"]["this model"], abs=1e-4)


def test_what_cannot_be_measured_is_said(course):
    refused = course.check("ablate", "--stride=0", status=2).stderr
    assert "stride = 0 is impossible; give 1 to n_positions = 512" in refused
