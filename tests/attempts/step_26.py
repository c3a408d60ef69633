"""Step 26, what people write instead: mistakes, each with its sentence, and other right answers."""

UNPACKED = 'quants = np.concatenate([blocks["packed"] & 15, blocks["packed"] >> 4], axis=-1)'
SCALES = 'scale, minimum = blocks["scale"].astype(np.float32), blocks["minimum"].astype(np.float32)'
FORMULA = "return scale * quants + minimum"
PAIRS = "pairs = weight.reshape(heads, -1, 2, *weight.shape[1:])"
HALVES = "halves = pairs.swapaxes(1, 2)"
JOINED = "return halves.reshape(weight.shape)"
PARTS = '*block, layer, suffix = name.split(".")'
OF_A_BLOCK = 'return f"model.layers.{block[1]}.{BLOCK_LAYERS[layer]}.{suffix}"'
OTHERS = 'return f"{LAYERS[layer]}.{suffix}"'
BOTH = "name, numbers = hugging_face_name(gguf_name), dequantize(weight)"
LAYER = 'layer = name.split(".")[-2]'
CHOSEN = "if layer in head_counts else"
CONVERTED = f"converted[name] = unpermute(numbers, head_counts[layer]) {CHOSEN} numbers"
TIED = "return {HEAD: converted[EMBEDDINGS]} | converted"

MISTAKES = {
    "Low and high halves alternate; all low halves come first, then all high ones.": {
        UNPACKED: 'quants = np.stack([blocks["packed"] & 15, blocks["packed"] >> 4], axis=-1)\n'
        "    quants = quants.reshape(*blocks.shape, BLOCK_SIZE)"
    },
    "The high halves come first; the low ones must.": {
        UNPACKED: 'quants = np.concatenate([blocks["packed"] >> 4, blocks["packed"] & 15], axis=-1)'
    },
    "8 is subtracted from the quants, as in Q4_0; in Q4_1 the minimum says where they begin.": {
        FORMULA: "return scale * (quants.astype(np.int8) - 8) + minimum"
    },
    "The minimum is subtracted; quant 0 is the minimum, so add it.": {FORMULA: "return scale * quants - minimum"},
    "The minimum is left out; quant 0 stands for it.": {FORMULA: "return scale * quants"},
    "The minimum is multiplied by the scale, too; add it as it is.": {FORMULA: "return scale * (quants + minimum)"},
    "Scale and minimum are swapped.": {FORMULA: "return minimum * quants + scale"},
    "The quants are counted down from the minimum; they must count up.": {FORMULA: "return minimum - scale * quants"},
    "The minimum is added to the quants, and the scale is left out.": {FORMULA: "return quants + minimum"},
    "The numbers are computed in float16, which rounds them: convert scale and minimum to float32 first.": {
        SCALES: 'scale, minimum = blocks["scale"], blocks["minimum"]',
        FORMULA: "return (scale * quants.astype(np.float16) + minimum).astype(np.float32)",
    },
    "The product is rounded to float16: convert the scale to float32 before you multiply.": {
        SCALES: 'scale, minimum = blocks["scale"], blocks["minimum"].astype(np.float32)',
        FORMULA: "return (scale * quants.astype(np.float16)).astype(np.float32) + minimum",
    },
    "The numbers are float16; return float32.": {
        SCALES: 'scale, minimum = blocks["scale"], blocks["minimum"]',
        FORMULA: "return scale * quants.astype(np.float16) + minimum",
    },
    "The numbers are float64; return float32.": {
        SCALES: SCALES.replace("np.float32", "np.float64"),
    },
    "The high half of a byte is not shifted down: >> 4.": {UNPACKED: UNPACKED.replace(">> 4", "& 240")},
    "The low half of a byte still has the high one with it: & 15.": {UNPACKED: UNPACKED.replace(" & 15", "")},
    "Only the low halves are read; a block has 32 numbers.": {
        UNPACKED: 'quants = np.concatenate([blocks["packed"] & 15] * 2, axis=-1)'
    },
    "The halves are joined along the blocks, not along the numbers: axis=-1.": {
        UNPACKED: UNPACKED.replace("axis=-1", "axis=0")
    },
    "The rows are still in llama.cpp's order.": {JOINED: "return weight.copy()"},
    "The rows are permuted once more, as llama.cpp's converter does; go the other way.": {
        PAIRS: "pairs = weight.reshape(heads, 2, -1, *weight.shape[1:])"
    },
    "The rows of all heads are mixed; put each head in order on its own.": {PAIRS: PAIRS.replace("heads, ", "1, ")},
    "The number of heads is taken for the width of a head.": {
        PAIRS: "pairs = weight.reshape(-1, heads // 2, 2, *weight.shape[1:])",
    },
    "Neighbors are swapped; rows at even places come first, then those at odd ones.": {
        HALVES: "halves = pairs[:, :, ::-1]"
    },
    "Odd rows come before even ones; row i of a head is at 2 i.": {HALVES: "halves = pairs.swapaxes(1, 2)[:, ::-1]"},
    "The columns are put in order; the rows are the outputs of q_proj.": {
        PAIRS: "pairs = weight.T.reshape(2, -1, 2, len(weight))",
        JOINED: "return halves.reshape(weight.T.shape).T",
    },
    "The heads are swapped to the end; swap only the pair and its place.": {HALVES: "halves = pairs.swapaxes(0, 2)"},
    "The heads still have an axis of their own; the weight is [heads * head_dim, in].": {
        JOINED: "return halves.reshape(heads, -1, weight.shape[-1])"
    },
    "unpermute changes the caller's weight; make a new array.": {
        JOINED: "weight[:] = halves.reshape(weight.shape)\n    return weight"
    },
    "Every weight of a block is named as if it were in block 0; its number is the second part.": {
        OF_A_BLOCK: OF_A_BLOCK.replace("{block[1]}", "0")
    },
    "Only the last digit of the block's number is used.": {OF_A_BLOCK: OF_A_BLOCK.replace("[1]", "[1][-1]")},
    "model. is missing in front of layers.": {OF_A_BLOCK: OF_A_BLOCK.replace("model.layers", "layers")},
    "The layers of a block are in model.layers, as Hugging Face's Llama has them; GPT-2's are in transformer.h.": {
        OF_A_BLOCK: OF_A_BLOCK.replace("model.layers", "transformer.h")
    },
    "llama.cpp's own name of the layer is kept; BLOCK_LAYERS has Hugging Face's.": {
        OF_A_BLOCK: OF_A_BLOCK.replace("BLOCK_LAYERS[layer]", "layer")
    },
    "The name ends without weight or bias.": {
        OF_A_BLOCK: OF_A_BLOCK.replace(".{suffix}", ""),
        OTHERS: "return LAYERS[layer]",
    },
    "Every name ends with weight; a bias stays a bias.": {OF_A_BLOCK: OF_A_BLOCK.replace("{suffix}", "weight")},
    "The name ends without weight outside the blocks.": {OTHERS: "return LAYERS[layer]"},
    "The weights keep llama.cpp's names.": {
        BOTH: BOTH.replace("hugging_face_name(gguf_name)", "gguf_name"),
        TIED: 'return {HEAD: converted["token_embd.weight"], **converted}',
    },
    "The weights keep llama.cpp's names, so there is none called EMBEDDINGS; hugging_face_name gives the new ones.": {
        BOTH: BOTH.replace("hugging_face_name(gguf_name)", "gguf_name"),
    },
    "The weights are still in blocks; dequantize them.": {
        BOTH: BOTH.replace("dequantize(weight)", "weight"),
        CHOSEN: "if False else",
    },
    "q_proj and k_proj are still in llama.cpp's order; unpermute them.": {CHOSEN: "if False else"},
    "Only q_proj is un-permuted; k_proj was permuted, too.": {CHOSEN: 'if layer == "q_proj" else'},
    "Only k_proj is un-permuted; q_proj was permuted, too.": {CHOSEN: 'if layer == "k_proj" else'},
    "v_proj is un-permuted, too; values are not rotated, so it was never permuted.": {
        LAYER: f'{LAYER}\n        head_counts["v_proj"] = config.num_key_value_heads'
    },
    "Every weight is un-permuted; only those of q_proj and k_proj were permuted.": {
        CONVERTED: "converted[name] = unpermute(numbers, config.num_attention_heads)"
    },
    "k_proj is un-permuted as if it had as many heads as q_proj; it has num_key_value_heads.": {
        "head_counts[layer])": "config.num_attention_heads)"
    },
    "q_proj is un-permuted as if it had as many heads as k_proj; it has num_attention_heads.": {
        "head_counts[layer])": "config.num_key_value_heads)"
    },
    "The head is missing; a model that has none of its own uses its embeddings.": {TIED: "return converted"},
    "The embeddings replace a head that the file has; use them only where there is none.": {
        TIED: "return {**converted, HEAD: converted[EMBEDDINGS]}"
    },
    "The embeddings are moved to the head; the model needs both.": {
        TIED: "head = converted.pop(EMBEDDINGS)\n    return {HEAD: head, **converted}"
    },
    "The head is transposed; Linear keeps its weight [out, in], as the embeddings are.": {
        TIED: "return {HEAD: converted[EMBEDDINGS].T, **converted}"
    },
    "The norms are left out; a GGUF file has them in float32.": {
        BOTH: f"if weight.ndim < 2:\n            continue\n        {BOTH}"
    },
    "Only the last weight is returned: a new dict is made in each turn of the loop.": {
        LAYER: f"{LAYER}\n        converted = {{EMBEDDINGS: converted.get(EMBEDDINGS)}}"
    },
}

ALTERNATIVES = {
    "a remainder and a quotient": {UNPACKED: UNPACKED.replace("& 15", "% 16").replace(">> 4", "// 16")},
    "the minimum first": {FORMULA: "return minimum + scale * quants"},
    "the quants as float32": {FORMULA: "return minimum + scale * quants.astype(np.float32)"},
    "filled by halves": {
        UNPACKED: "quants = np.empty((*blocks.shape, BLOCK_SIZE), np.float32)\n"
        '    quants[..., :16] = blocks["packed"] & 15\n'
        '    quants[..., 16:] = blocks["packed"] >> 4'
    },
    "slices of even and odd rows": {
        HALVES: "halves = np.concatenate([pairs[:, :, 0], pairs[:, :, 1]], axis=1)",
    },
    "transpose": {HALVES: "halves = pairs.transpose(0, 2, 1, 3)"},
    "np.moveaxis": {HALVES: "halves = np.moveaxis(pairs, 2, 1)"},
    "by rows": {
        PAIRS: "pairs = weight.reshape(heads, -1, weight.shape[-1])",
        HALVES: "halves = np.concatenate([pairs[:, ::2], pairs[:, 1::2]], axis=1)",
    },
    "an index of rows": {
        PAIRS: "pairs = np.arange(len(weight)).reshape(heads, -1, 2)",
        JOINED: "return weight[halves.ravel()]",
    },
    "one table of both": {
        PARTS: f"{PARTS}\n    names = LAYERS | BLOCK_LAYERS",
        OF_A_BLOCK: OF_A_BLOCK.replace("BLOCK_LAYERS", "names"),
        OTHERS: OTHERS.replace("LAYERS", "names"),
    },
    "by the number of parts": {
        PARTS: 'parts = name.split(".")\n    layer, suffix = parts[-2:]',
        "if block:": "if len(parts) == 4:",
        OF_A_BLOCK: OF_A_BLOCK.replace("block[1]", "parts[1]"),
    },
    "by replacing": {
        OF_A_BLOCK: 'return name.replace("blk", "model.layers", 1).replace(f".{layer}.", f".{BLOCK_LAYERS[layer]}.")'
    },
    "two layers by their names": {
        CHOSEN: 'if name.endswith(("q_proj.weight", "k_proj.weight")) else',
    },
    "setdefault": {TIED: "converted.setdefault(HEAD, converted[EMBEDDINGS])\n    return converted"},
    "a copy of the embeddings as head": {TIED: "return {HEAD: converted[EMBEDDINGS].copy(), **converted}"},
}

#: What people bring along from PyTorch; the check shows the line to write instead.
HABITS = {
    "torch.cat": {UNPACKED: UNPACKED.replace("np.concatenate", "torch.cat").replace("axis", "dim")},
    "float as a method": {SCALES: 'scale, minimum = blocks["scale"].float(), blocks["minimum"].float()'},
    "view": {PAIRS: PAIRS.replace("reshape", "view")},
    "permute": {HALVES: "halves = pairs.permute(0, 2, 1, 3)"},
    "swapdims": {HALVES: "halves = pairs.swapdims(1, 2)"},
}
