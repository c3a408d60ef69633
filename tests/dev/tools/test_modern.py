"""What newer models change: every variant is what its paper says, what Hugging Face's Llama computes, and fits the others."""

import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from checker.course.paths import ROOT
from checker.course.steps import find_step
from checker.max_adapter.runtime import lazily, prepare, tensor
from tools.book_maker import directives
from tools.modern import timing
from tools.modern.building import STEPS, diff, load, text_of
from tools.modern.variants import VARIANTS

pytestmark = pytest.mark.slow

prepare()

WIDTH, HEADS, KV_HEADS, INNER, LENGTH, BATCH = 24, 6, 2, 40, 7, 2
EPS = 1e-3  # large enough to be seen
CLOSE = {"atol": 2e-5, "rtol": 2e-5}


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


X = random(BATCH, LENGTH, WIDTH, seed=1)


def config_of(modules, **sizes):
    sizes = {"vocab_size": 31, "n_positions": 13, "n_embd": WIDTH, "n_layer": 2, "n_head": HEADS} | sizes
    config_class = modules["01"].GPT2Config
    if "n_kv_head" in config_class.__dataclass_fields__:
        sizes = {"n_kv_head": KV_HEADS} | sizes
    return config_class(**{"layer_norm_epsilon": EPS} | sizes)


def with_weights(make):
    """A module with random weights, and these by name."""
    from max.experimental import functional as F

    with F.lazy():
        module = make()
    weights = {
        name: 0.3 * random(*(int(size) for size in weight.shape), seed=number)
        for number, (name, weight) in enumerate(module.parameters)
    }
    module.load_state_dict({name: tensor(array) for name, array in weights.items()})
    return module, weights


def run(function, *arrays):
    with lazily():
        found = function(*map(tensor, arrays))
    return np.from_dlpack(found)


# ---------------------------------------------------------------- the edits


def test_a_variant_edits_only_what_is_loaded_and_each_of_its_diffs_says_something():
    for name, by_step in VARIANTS.items():
        assert set(by_step) <= set(STEPS)
        for step in by_step:
            lines = diff(name, step).splitlines()
            assert any(line.startswith(("+", "-")) for line in lines)
            assert not any(line.startswith(("+++", "---")) for line in lines)


def test_a_diff_leads_from_the_solution_to_the_variant():
    for name, by_step in VARIANTS.items():
        for step in by_step:
            before, after = text_of(step, []).splitlines(), text_of(step, [name]).splitlines()
            lines = diff(name, step).splitlines()
            for sign, text in (("-", before), ("+", after)):
                changed = [line[1:] for line in lines if line.startswith(sign)]
                assert [line for line in changed if line not in text] == []
            added = sum(line.startswith("+") for line in lines) - sum(line.startswith("-") for line in lines)
            assert len(after) - len(before) == added


@pytest.mark.parametrize("step", STEPS)
def test_a_variant_is_as_clean_as_a_solution(step):
    """Ruff finds nothing in the edited texts, each alone and all at once: no import is left over, no line is too long."""
    ruff = shutil.which("ruff", path=Path(sys.executable).parent)
    if not ruff:
        pytest.skip("ruff is not installed")
    for names in ([], *([name] for name in VARIANTS), list(VARIANTS)):
        command = [ruff, "check", "--stdin-filename", str(find_step(step).solution_file), "-"]
        done = subprocess.run(
            command, input=text_of(step, names), cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{names}: {done.stdout}"


def test_what_does_not_exist_is_said():
    with pytest.raises(ValueError, match="no variant alibi; choose from no_biases"):
        text_of("07", ["alibi"])
    with pytest.raises(ValueError, match="rms_norm changes nothing in step 07; it edits 03, 09, 10"):
        diff("rms_norm", "07")


def test_nothing_made_is_the_solutions():
    from solutions.solution_09 import GPT2Block

    theirs, weights = with_weights(lambda: load()["09"].GPT2Block(config_of(load())))
    ours, same = with_weights(lambda: GPT2Block(config_of(load())))
    assert weights.keys() == same.keys()
    np.testing.assert_array_equal(run(theirs, X), run(ours, X))


# ---------------------------------------------------------------- each variant, by its formula


def rms_norm(x, weight):
    return x / np.sqrt((x.astype(np.float64) ** 2).mean(axis=-1, keepdims=True) + EPS) * weight


def test_rms_norm_is_the_papers():
    norm, weights = with_weights(lambda: load("rms_norm")["03"].RMSNorm(WIDTH, eps=EPS))
    assert list(weights) == ["weight"]
    for x in (X, 0.01 * X, X + 100):
        np.testing.assert_allclose(run(norm, x), rms_norm(x, weights["weight"]), **CLOSE)


def swiglu(x, weights):
    wide = x.astype(np.float64) @ weights["c_fc.weight"].T + weights.get("c_fc.bias", 0)
    gate, value = np.split(wide, 2, axis=-1)
    return (gate / (1 + np.exp(-gate)) * value) @ weights["c_proj.weight"].T + weights.get("c_proj.bias", 0)


def test_swiglu_is_the_papers():
    modules = load("swiglu")
    mlp, weights = with_weights(lambda: modules["04"].GPT2MLP(INNER, config_of(modules)))
    assert weights["c_fc.weight"].shape == (2 * INNER, WIDTH)
    np.testing.assert_allclose(run(mlp, X), swiglu(X, weights), **CLOSE)


def test_swiglu_is_two_thirds_as_wide_so_that_it_has_as_many_weights():
    modules = load("swiglu")
    config = modules["01"].GPT2Config()
    assert config.n_inner == 2048
    assert 3 * config.n_embd * config.n_inner == 2 * config.n_embd * 4 * config.n_embd
    block, _ = with_weights(lambda: modules["09"].GPT2Block(config_of(modules)))
    assert [int(size) for size in block.mlp.c_proj.weight.shape] == [WIDTH, 8 * WIDTH // 3]


def rotated_as_complex_numbers(x, positions):  # [..., seq, head_dim]
    """RoFormer's equation 12: pair i of neighbors as one complex number, times e^(i s theta_i)."""
    pairs = x[..., 0::2] + 1j * x[..., 1::2].astype(np.complex128)
    theta = 10000.0 ** (-2 * np.arange(pairs.shape[-1]) / x.shape[-1])
    turned = pairs * np.exp(1j * positions[:, None] * theta)
    return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape)


@pytest.mark.parametrize("head_dim", [2, 4, 10])
def test_rope_is_the_papers(head_dim):
    """The paper pairs neighbors; the variant pairs the two halves, as Llama does."""
    rotate, x, positions = load("rope")["06"].rotate, random(2, 3, LENGTH, head_dim), np.arange(LENGTH) + 90
    neighbors = np.arange(head_dim).reshape(2, -1).T.ravel()  # 0, half, 1, half + 1, …
    wanted = rotated_as_complex_numbers(x[..., neighbors], positions)
    np.testing.assert_allclose(run(rotate, x, positions)[..., neighbors], wanted, **CLOSE)


def test_rope_tells_scores_only_how_far_apart_two_tokens_are():
    rotate, query, key = load("rope")["06"].rotate, random(5, 8, seed=3), random(5, 8, seed=4)

    def scores(shift):
        turned = [run(rotate, x, np.arange(5) + shift) for x in (query, key)]
        return turned[0] @ turned[1].T

    np.testing.assert_allclose(scores(0), scores(700), atol=1e-4)
    assert np.abs(scores(0) - query @ key.T).max() > 0.1


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def grouped_query_attention(x, weights):
    """One head after the other, each with its own query and its group's key and value."""
    width = WIDTH // HEADS
    wide = x.astype(np.float64) @ weights["c_attn.weight"].T + weights["c_attn.bias"]
    queries, keys, values = np.split(wide, [WIDTH, WIDTH + KV_HEADS * width], axis=-1)
    mask, found = np.triu(np.full((x.shape[1], x.shape[1]), -np.inf), k=1), []
    for head in range(HEADS):
        group = head // (HEADS // KV_HEADS)
        query = queries[..., head * width : (head + 1) * width]
        key, value = (part[..., group * width : (group + 1) * width] for part in (keys, values))
        found.append(softmax(query @ key.transpose(0, 2, 1) / math.sqrt(width) + mask) @ value)
    return np.concatenate(found, axis=-1) @ weights["c_proj.weight"].T + weights["c_proj.bias"]


def test_grouped_query_attention_is_the_papers():
    modules = load("grouped_query")
    attention, weights = with_weights(lambda: modules["07"].GPT2MultiHeadAttention(config_of(modules)))
    assert weights["c_attn.weight"].shape == (WIDTH + 2 * KV_HEADS * WIDTH // HEADS, WIDTH)
    np.testing.assert_allclose(run(attention, X), grouped_query_attention(X, weights), **CLOSE)


def test_as_many_key_heads_as_heads_are_multi_head_attention():
    from solutions.solution_07 import GPT2MultiHeadAttention

    modules = load("grouped_query")
    config = config_of(modules, n_kv_head=HEADS)
    (one, _), (other, _) = (
        with_weights(lambda kind=kind: kind(config))
        for kind in (modules["07"].GPT2MultiHeadAttention, GPT2MultiHeadAttention)
    )
    np.testing.assert_allclose(run(one, X), run(other, X), **CLOSE)


def test_without_biases_is_with_biases_of_zero():
    modules = load("no_biases")
    bare, weights = with_weights(lambda: modules["09"].GPT2Block(config_of(modules)))
    assert sorted(name for name in weights if name.endswith(".bias")) == ["ln_1.bias", "ln_2.bias"]
    full, shapes = with_weights(lambda: load()["09"].GPT2Block(config_of(load())))
    full.load_state_dict({name: tensor(weights.get(name, np.zeros_like(array))) for name, array in shapes.items()})
    np.testing.assert_allclose(run(bare, X), run(full, X), **CLOSE)


# ---------------------------------------------------------------- all at once, by Hugging Face's Llama


def llama_config(**sizes):
    transformers = pytest.importorskip("transformers")
    return transformers.LlamaConfig(
        **{
            "vocab_size": 31,
            "hidden_size": WIDTH,
            "intermediate_size": 8 * WIDTH // 3,
            "num_hidden_layers": 2,
            "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS,
            "max_position_embeddings": 13,
            "rms_norm_eps": EPS,
            "tie_word_embeddings": True,
            "attn_implementation": "eager",
        }
        | sizes
    )


def in_llamas_names(weights):
    """The weights of a block, or a model, of all variants under Llama's names: fused layers are cut."""
    renamed = {}
    for name, array in weights.items():
        name = name.replace("transformer.wte", "model.embed_tokens").replace("transformer.ln_f", "model.norm")
        name = name.replace("transformer.h.", "model.layers.").replace("ln_1", "input_layernorm")
        name = name.replace("ln_2", "post_attention_layernorm").replace("attn.c_proj", "self_attn.o_proj")
        name = name.replace("mlp.c_proj", "mlp.down_proj")
        if "attn.c_attn" in name:
            parts = np.split(array, [WIDTH, WIDTH + KV_HEADS * WIDTH // HEADS])
            renamed |= {
                name.replace("attn.c_attn", f"self_attn.{one}_proj"): part
                for one, part in zip("qkv", parts, strict=True)
            }
        elif "mlp.c_fc" in name:
            gate, up = np.split(array, 2)
            renamed |= {name.replace("c_fc", "gate_proj"): gate, name.replace("c_fc", "up_proj"): up}
        else:
            renamed[name] = array
    return renamed


@pytest.fixture(scope="module")
def all_at_once():
    """The model with all variants, its weights, and Llama with the same."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    modules = load(*VARIANTS)
    model, weights = with_weights(lambda: modules["11"].MaxGPT2LMHeadModel(config_of(modules)))
    weights["lm_head.weight"] = weights["transformer.wte.weight"]
    model.load_state_dict({name: tensor(array) for name, array in weights.items()})
    llama = transformers.LlamaForCausalLM(llama_config()).eval()
    llama.load_state_dict({name: torch.from_numpy(array) for name, array in in_llamas_names(weights).items()})
    return modules, model, llama


def test_all_five_at_once_are_llama(all_at_once):
    import torch

    _, model, llama = all_at_once
    ids = np.random.default_rng(5).integers(0, 31, (3, 11))
    with torch.no_grad():
        wanted = llama(torch.from_numpy(ids)).logits.numpy()
    np.testing.assert_allclose(run(model, ids), wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "names", [(), ("rope",), ("grouped_query",), tuple(VARIANTS)], ids=lambda names: "+".join(names) or "none"
)
def test_a_cache_changes_nothing(names):
    from max.driver import CPU

    modules = load(*names)
    cached = modules["14"]
    config = config_of(modules)
    model, _ = with_weights(lambda: modules["11"].MaxGPT2LMHeadModel(config))

    def graph(input_ids, position_ids, padding_mask, cache):
        with lazily():
            logits = cached.CachedGPT2(model)(*map(tensor, (input_ids, position_ids, padding_mask)), cache)
        return np.from_dlpack(logits)

    writer = cached.CachedModel(graph, config, CPU())
    ids = np.random.default_rng(6).integers(0, 31, (2, 9))
    for length in (4, 5, 9):
        np.testing.assert_allclose(writer(ids[:, :length]), run(model, ids[:, :length])[:, -1:], atol=5e-5, rtol=5e-5)


# ---------------------------------------------------------------- what the page counts


def test_parameters_are_llamas():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from solutions.solution_01 import GPT2Config
    from tools.book_maker.values import arithmetic, modern

    assert modern.parameters() == arithmetic.parameters(GPT2Config())["total"]
    sizes = dict(vocab_size=50257, hidden_size=768, intermediate_size=2048, num_hidden_layers=12)
    config = llama_config(**sizes, num_attention_heads=12, num_key_value_heads=modern.KV_HEADS)
    with torch.device("meta"):
        llama = transformers.LlamaForCausalLM(config)
    assert modern.parameters(*VARIANTS) == llama.num_parameters()


def test_the_cache_is_as_large_as_counted():
    from solutions.solution_01 import GPT2Config
    from tools.book_maker.values import arithmetic, modern

    assert modern.cache_bytes() == arithmetic.cache_bytes(GPT2Config())
    assert modern.cache_bytes("grouped_query") * 12 == modern.cache_bytes() * modern.KV_HEADS
    assert modern.cache_bytes(*VARIANTS) == modern.cache_bytes("grouped_query")


def test_a_diff_of_the_book_is_that_of_the_edits():
    made = directives.block("diff rms_norm 03")
    assert "<code>solutions/solution_03.py</code>" in made
    assert made.endswith(f"```diff\n{diff('rms_norm', '03').rstrip()}\n```")
    with pytest.raises(ValueError, match="rms_norm changes nothing in step 07"):
        directives.block("diff rms_norm 07")


def test_the_table_of_times_leaves_out_what_was_not_timed():
    rows = [
        {"variant": "the solutions", "reading, ms": 10.0, "decoding, ms": 2.0},
        {"variant": "rope", "reading, ms": 11.0, "reading, ratio": 1.1},
    ]
    lines = timing.as_markdown({"blocks": rows}).splitlines()
    assert lines[2] == "| the solutions | 10.00 |  | 2.00 |"
    assert lines[3] == "| rope | 11.00 | 1.10 |  |"


@pytest.mark.parametrize(
    "names", [(), ("grouped_query",), tuple(VARIANTS)], ids=lambda names: "+".join(names) or "none"
)
def test_the_block_that_is_timed_decodes_what_a_block_reads(names):
    from max.driver import CPU

    modules = load(*names)
    config = config_of(modules, n_layer=1)
    block, _ = with_weights(lambda: modules["09"].GPT2Block(config))
    decoding = timing.Decoding(block, modules["14"].cached_attention, modules["08"].pre_norm_residual)
    ((keys, values),) = modules["14"].empty_cache(config, BATCH, device=CPU())
    mask = np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), k=1)
    for past, end in ((0, LENGTH - 1), (LENGTH - 1, LENGTH)):
        rows = np.broadcast_to(mask[past:end, :end], (BATCH, 1, end - past, end))
        with lazily():
            found = decoding(tensor(X[:, past:end]), tensor(rows), keys, values)
        np.testing.assert_allclose(np.from_dlpack(found), run(block, X[:, :end])[:, past:], **CLOSE)
