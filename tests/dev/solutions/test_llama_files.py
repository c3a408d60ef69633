"""Step 26 on SmolLM2 itself, whose file is fetched: weights, tokens and logits; and files that are refused.

transformers reads this file's tokenizer wrongly (it does not cut digits apart), so tokens are compared with llama.cpp's
rule for "smollm", written out here.
"""

from itertools import pairwise

import gguf
import jinja2
import numpy as np
import pytest
import regex
import torch
from max.driver import CPU
from max.experimental import functional as F
from tokenizers.pre_tokenizers import ByteLevel
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from checker.max_adapter.hooks import install_hooks
from solutions.caching import PADDING, run_on_arrays
from solutions.checkpoint import HEAD
from solutions.gguf_tokenizer import tokenizer_of
from solutions.llama_config import LlamaConfig
from solutions.llama_files import SIZES, empty_llama, load_llama, read_llama
from solutions.solution_14 import CachedModel
from solutions.solution_27 import END, START, chat_ids
from tools.hugging_face import hugging_face_llama, load, seeded

pytestmark = pytest.mark.slow

TEXTS = (
    "Hello, world!", "  two spaces", "trailing space ", "\n\n", "\t\tx = 1", "I'll don't it's", "HELLO'S", "x1y2z3",
    "1234567890", "3.14159", "1,000,000", "2026-11-28T08:00", "   3", "x   7 y", "½ cup", "x² + y³", "٣٤٥", "Ⅷ",
    "naïve café", "Ελληνικά", "Привет, мир", "こんにちは世界", "안녕하세요", "नमस्ते", "👍🏽", "e\u0301", "\u00a0nbsp",
    "def f(x):\n    return x ** 2", '{"a": [1, null]}', "https://example.com/a?b=1#e", "a\r\nb", "\x00", "<", "",
    f"{START}user\nHi{END}\n", f"a{END}b", "<|endoftext|>", "aaaaaaaaaaaaaaaa", "              ", "\n   \n  x",
)  # fmt: skip
TALKS = (
    [("user", "Hi")],
    [("system", "Be brief."), ("user", "Hi")],
    [("user", "Hi"), ("assistant", "Hello!"), ("user", "鯨は何ですか。\n")],
)
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"  # GPT-2's


@pytest.fixture(scope="module")
def read(smollm2_file):
    return read_llama(smollm2_file)


@pytest.mark.sampled
def test_every_weight_is_what_transformers_reads(read, smollm2_file):
    config, weights, _ = read
    with torch.device("meta"):
        model = hugging_face_llama(**vars(config))
    theirs = load_gguf_checkpoint(str(smollm2_file), return_tensors=True, model_to_load=model)["tensors"]
    assert weights.keys() - theirs.keys() == {HEAD}
    assert [name for name, tensor in theirs.items() if not np.array_equal(weights[name], tensor.numpy())] == []


def test_the_tokens_are_llama_cpps(read):
    fields = read[2]
    tokenizer = tokenizer_of(fields)
    letters = dict(zip(range(256), byte_letters(), strict=True))
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(fields["tokenizer.ggml.merges"])}

    def merged(word):
        parts = [letters[byte] for byte in word.encode()]
        while len(parts) > 1:
            rank, place = min((ranks.get(pair, len(ranks)), place) for place, pair in enumerate(pairwise(parts)))
            if rank == len(ranks):
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        return parts

    for text in TEXTS:
        words = [word for part in regex.findall(r"\p{N}|\P{N}+", text) for word in regex.findall(PATTERN, part)]
        assert tokenizer.encode(text).tokens == [token for word in words for token in merged(word)], text
        assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def byte_letters():
    """The letter of each byte, in their order, in GPT-2's alphabet."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = (chr(256 + number) for number in range(256))
    letters = [chr(byte) if byte in plain else next(others) for byte in range(256)]
    assert sorted(letters) == sorted(ByteLevel.alphabet())
    return letters


def test_a_conversation_is_written_as_the_template_in_the_file_writes_it(read):
    fields = read[2]
    tokenizer = tokenizer_of(fields)
    template = jinja2.Environment().from_string(fields["tokenizer.chat_template"])
    for talk in TALKS:
        messages = [{"role": role, "content": content} for role, content in talk]
        text = template.render(messages=messages, add_generation_prompt=True)
        assert tokenizer.decode(chat_ids(tokenizer, talk)[0], skip_special_tokens=False) == text


def interpreted(model):
    """A model as a function of arrays, without compiling it."""

    def lazily(*inputs):
        with F.lazy():
            return model(*inputs)

    return run_on_arrays(lazily, CPU())


@pytest.mark.sampled
def test_the_logits_of_three_conversations_in_one_batch_are_transformers(read, smollm2_file):
    install_hooks()
    config, weights, fields = read
    tokenizer = tokenizer_of(fields)
    talks = [chat_ids(tokenizer, talk)[0].tolist() for talk in TALKS]
    model, _ = load_llama(smollm2_file, 128)
    longest = max(map(len, talks))
    padded = np.array([[PADDING] * (longest - len(talk)) + talk for talk in talks])
    logits = CachedModel(interpreted(model), model.config.cache_config, CPU())(padded)[:, -1]
    theirs = hugging_face_llama(**vars(config))
    load(theirs, weights)
    with torch.no_grad():
        for row, ids in zip(logits, talks, strict=True):
            np.testing.assert_allclose(row, theirs(torch.tensor([ids])).logits[0, -1].numpy(), atol=2e-4)


def test_a_small_llama_is_right_up_to_the_last_token_of_its_context():
    install_hooks()
    config = LlamaConfig(33, 2048, 24, 40, 2, 6, 2, 8, rope_theta=1000.0)
    theirs, model = hugging_face_llama(**vars(config)), empty_llama(config)
    model.load_state_dict(seeded(theirs))
    cached = CachedModel(interpreted(model), config.cache_config, CPU())
    ids = np.random.default_rng(26).integers(0, 33, (1, 2048))
    with torch.no_grad():
        right = theirs(torch.from_numpy(ids)).logits.numpy()
    for length in (2000, 2001, 2048):
        np.testing.assert_allclose(cached(ids[:, :length])[:, -1], right[:, length - 1], atol=2e-4)


def write_llama(file, *, architecture="llama", without=(), kv_heads=32, extra=None, scaling=None):
    """Write a file with the sizes of a Llama, all others 32, and a weight."""
    writer = gguf.GGUFWriter(file, architecture)
    for size, name in SIZES.items():
        if size not in without:
            add = writer.add_float32 if size in ("rms_norm_eps", "rope_theta") else writer.add_uint32
            add(f"{architecture}.{name}", kv_heads if size == "num_key_value_heads" else 32)
    if scaling:
        writer.add_rope_scaling_type(scaling)
    for name in ("token_embd.weight", *([extra] if extra else [])):
        writer.add_tensor(name, np.ones((33, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_other_files_are_refused_in_a_sentence(tmp_path):
    file = tmp_path / "model.gguf"
    cases = [
        ({"architecture": "gpt2"}, "its architecture is gpt2"),
        ({"without": ["head_dim"]}, "llama.rope.dimension_count"),
        ({"kv_heads": 5}, "num_attention_heads = 32 cannot share num_key_value_heads = 5 evenly"),
        ({"extra": "rope_freqs.weight"}, "another kind of Llama than this course's: it has rope_freqs.weight"),
        ({"extra": "blk.0.attn_q.bias"}, "it has blk.0.attn_q.bias"),
        ({"scaling": gguf.RopeScalingType.LINEAR}, r"its angles are scaled \(linear\)"),
    ]
    for options, words in cases:
        write_llama(file, **options)
        with pytest.raises(ValueError, match=words):
            read_llama(file)
    write_llama(file)
    with pytest.raises(ValueError, match=r"does not fit the model: model\.layers\.0"):
        load_llama(file, 64)
    whole = file.read_bytes()
    for length in (0, 7, 300, len(whole) - 1):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is missing, cut short, or no Llama"):
            read_llama(file)


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(ValueError, match="the tokenizer is llama with None"):
        tokenizer_of({"tokenizer.ggml.model": "llama"})


def test_a_context_is_at_most_the_models(smollm2_file):
    for context, longest in ((64, 64), (10_000, 8192)):
        assert load_llama(smollm2_file, context)[0].config.max_position_embeddings == longest
