"""Step 22 beyond its check: whole files, and bad ones are refused in a sentence."""

import json
import re

import gguf
import numpy as np
import pytest

from checker.course.steps import SMALL_MODEL
from solutions.checkpoint import HEAD, read_checkpoint, read_config
from solutions.gguf_files import SIZES, read_gguf, save_gguf
from solutions.quantized import quantize_weights, quantized_model
from solutions.solution_13 import convert_checkpoint
from solutions.solution_22 import Q4_0, QuantizedLinear, quantize_q8_0

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def weights():
    return convert_checkpoint(read_checkpoint(SMALL_MODEL))


@pytest.fixture(scope="module")
def file(tmp_path_factory, weights):
    """The model in the box in blocks of 4 bits."""
    path = tmp_path_factory.mktemp("gguf") / "Q4_0.gguf"
    save_gguf(path, read_config(SMALL_MODEL), quantize_weights(weights, "Q4_0"), SMALL_MODEL / "tokenizer.json")
    return path


def test_what_is_saved_is_read_again(file, weights):
    """So is the tokenizer, as llama.cpp wants it: names in the order of their ids, merges with a space between."""
    config, stored = read_gguf(file)
    sizes = vars(read_config(SMALL_MODEL)) | {"n_inner": 4 * config.n_embd}  # which GGUF always states
    assert {name: pytest.approx(value) for name, value in vars(config).items()} == sizes
    saved = quantize_weights(weights, "Q4_0")
    large = {name for name, weight in weights.items() if weight.ndim == 1} | {"transformer.wpe.weight"}
    assert {name for name, weight in saved.items() if weight.dtype != Q4_0} == large
    assert stored.keys() == saved.keys()
    for name, weight in saved.items():
        np.testing.assert_array_equal(stored[name], weight)
    fields = gguf.GGUFReader(file).fields
    tokenizer = json.loads((SMALL_MODEL / "tokenizer.json").read_text())["model"]
    names, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    assert {name: number for number, name in enumerate(names)} == tokenizer["vocab"]
    assert [merge.split(" ") for merge in merges] == tokenizer["merges"]


def test_a_head_in_another_format_than_the_table_is_saved(tmp_path, weights):
    mixed = quantize_weights(weights, "Q4_0") | {HEAD: quantize_weights(weights, "Q8_0")[HEAD]}
    save_gguf(tmp_path / "mixed.gguf", read_config(SMALL_MODEL), mixed, SMALL_MODEL / "tokenizer.json")
    np.testing.assert_array_equal(read_gguf(tmp_path / "mixed.gguf")[1][HEAD], mixed[HEAD])


def test_only_linear_layers_multiply_by_blocks_and_those_of_8_bits_become_numbers(weights):
    for format, multiplies in (("Q8_0", 0), ("Q4_0", 21)):  # four in each of five blocks, and the head
        model = quantized_model(read_config(SMALL_MODEL), quantize_weights(weights, format))
        assert sum(isinstance(module, QuantizedLinear) for _, module in model.descendants) == multiplies
        assert model.transformer.wte.weight.dtype.name == "float32"


def test_rounding_is_llama_cpps_and_a_matrix_into_which_blocks_do_not_fit_stays():
    row = np.float32([[254 * 41, 41] + 30 * [0]])  # half a step: times 1 / scale in float32 it is a hair less, so 0
    right = gguf.quantize(row, gguf.GGMLQuantizationType.Q8_0)[0]
    np.testing.assert_array_equal(quantize_q8_0(row).view(np.uint8), right)
    assert quantize_weights({"c_fc.weight": np.ones((64, 48))}, "Q8_0")["c_fc.weight"].dtype == float


def test_a_cut_file_is_refused_wherever_it_is_cut(file, tmp_path):
    whole, cut = file.read_bytes(), tmp_path / "cut.gguf"
    start = len(whole) - sum(tensor.n_bytes for tensor in gguf.GGUFReader(file).tensors) - 40_000
    for length in (0, 7, 60, 399, start // 2, start, start + 20_000, len(whole) // 2, len(whole) - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=rf"^{re.escape(str(cut))} is missing, cut short, or no GPT-2"):
            read_gguf(cut)


def test_any_format_of_a_gpt2_is_read_and_any_other_file_is_refused_in_a_sentence(tmp_path):
    kind = gguf.GGMLQuantizationType.Q5_1
    data = gguf.quantize(np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32), kind)
    for architecture in ("gpt2", "llama"):
        writer = gguf.GGUFWriter(tmp_path / architecture, architecture)
        writer.add_tensor("token_embd.weight", data, raw_dtype=kind)
        for name in SIZES.values():
            writer.add_uint32(f"{architecture}.{name}", 32)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    _, weights = read_gguf(tmp_path / "gpt2")
    np.testing.assert_array_equal(weights["transformer.wte.weight"], gguf.dequantize(data, kind))
    for name, reason in (("llama", r"'gpt2\.context_length'$"), ("none", "No such file or directory")):
        said = rf"{name} is missing, cut short, or no GPT-2 that gguf can read: .*{reason}"
        with pytest.raises(ValueError, match=said):
            read_gguf(tmp_path / name)
