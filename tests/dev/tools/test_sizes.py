"""The arithmetic of the book's chapter on sizes equals what Hugging Face's models have and do."""

import pytest

from solutions.solution_01 import GPT2Config
from tools.book_maker.values import arithmetic

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

NAMES = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
AWKWARD = GPT2Config(vocab_size=37, n_positions=13, n_embd=15, n_layer=10, n_head=3, n_inner=44)
PARTS = {
    "wte": ("wte.",),
    "wpe": ("wpe.",),
    "attention": (".attn.",),
    "mlp": (".mlp.",),
    "norms": (".ln_1.", ".ln_2.", "ln_f."),
}


def hugging_faces(config, **options):
    """Hugging Face's model of the same sizes, on the meta device: shapes and no numbers."""
    with torch.device("meta"):
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(**vars(config), **options)).eval()


@pytest.mark.parametrize("config", [*map(GPT2Config.published, NAMES), AWKWARD], ids=[*NAMES, "awkward"])
def test_parameters_are_hugging_faces_part_by_part(config):
    model = hugging_faces(config)
    counted = arithmetic.parameters(config)
    assert counted["total"] == model.num_parameters()
    left = dict(model.named_parameters())  # a tied weight is listed once, as wte
    for part, marks in PARTS.items():
        mine = [name for name in left if any(mark in name for mark in marks)]
        assert mine, f"no weight of the model belongs to {part}"
        assert sum(left.pop(name).numel() for name in mine) == counted[part], part
    assert not left, "weights that belong to no part"
    assert sum(arithmetic.share(config, part) for part in PARTS) == pytest.approx(1)


@pytest.mark.parametrize("config", [GPT2Config(), AWKWARD], ids=["gpt2", "awkward"])
@pytest.mark.parametrize("tokens", [1, 11])
def test_flops_are_those_that_torch_counts(config, tokens):
    """Without a cache every token is compared with every other, those that the mask hides too."""
    from torch.utils.flop_counter import FlopCounterMode

    model = hugging_faces(config, attn_implementation="eager")
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(torch.zeros((1, tokens), dtype=torch.long, device="meta"))
    assert counter.get_total_flops() == tokens * arithmetic.token_flops(config, tokens)
    heads = tokens * 2 * config.vocab_size * config.n_embd
    assert heads / (tokens * 2 * arithmetic.matrix_weights(config)) == pytest.approx(arithmetic.head_share(config))


def test_cache_is_as_large_as_hugging_faces():
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**vars(AWKWARD))).eval()
    with torch.no_grad():
        cache = model(torch.zeros((1, 9), dtype=torch.long), use_cache=True).past_key_values
    layers = [(layer.keys, layer.values) for layer in cache.layers]
    assert len(layers) == AWKWARD.n_layer
    assert sum(kept.nbytes for layer in layers for kept in layer) == arithmetic.cache_bytes(AWKWARD, 9)


def test_decoding_reads_every_weight_but_the_other_positions():
    model = hugging_faces(GPT2Config())
    positions = model.transformer.wpe.weight
    weights = model.num_parameters() - positions.numel() + positions[0].numel()
    for number in (4, 2):
        read = arithmetic.decode_bytes(GPT2Config(), 100, number)
        assert read == weights * number + arithmetic.cache_bytes(GPT2Config(), 100, number)
