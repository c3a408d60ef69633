"""Step 13, what people write instead: mistakes, each with its sentence, and other right answers."""

COMPLETE = 'name.startswith(("transformer.", "lm_head."))'
PREFIXED = 'f"transformer.{name}"'
IS_CONV1D = "name.endswith(CONV1D)"
TRANSPOSED = "np.ascontiguousarray(tensor.T)"
SKIP = "if not name.endswith(MASK_BUFFERS)}"
KEPT = "kept = {name: tensor for name, tensor in checkpoint.items() if not name.endswith(MASK_BUFFERS)}"
CONVERTED = "weights = {name_in_model(name): tensor_in_model(name, tensor) for name, tensor in kept.items()}"
TIED = "tied = {HEAD: weights[WTE]} if WTE in weights else {}"
MERGED = "return tied | weights"
READ = "weights = convert_checkpoint(read_checkpoint(folder))"
CHECK = "check_weights(weights, model)"
LOAD = "model.load_state_dict(weights)"
LOOP = "weights = {}\n    for name, tensor in checkpoint.items():\n"
STORE = "weights[name_in_model(name)] = tensor_in_model(name, tensor)"

MISTAKES = {
    "The prefix transformer. is missing from the names.": {PREFIXED: "name"},
    "The prefix transformer. is added to names that have it already.": {COMPLETE: 'name.startswith("lm_head.")'},
    "The prefix transformer. is added to the head, which has none: lm_head.weight stays as it is.": {
        COMPLETE: 'name.startswith("transformer.")'
    },
    "The prefix is added without its dot: transformer. and not transformer.": {PREFIXED: 'f"transformer{name}"'},
    "The prefix is taken off; the model's names have it.": {
        f"return name if {COMPLETE} else {PREFIXED}": 'return name.removeprefix("transformer.")'
    },
    "Nothing is transposed: Hugging Face's Conv1D stores its weights [in, out], Linear [out, in].": {
        TRANSPOSED: "tensor"
    },
    "Only the weights that are not square are transposed; attention's c_proj is square and must be transposed too.": {
        IS_CONV1D: "name.endswith(CONV1D) and tensor.shape[0] != tensor.shape[1]"
    },
    "Every matrix is transposed; the embeddings are tables and stay as they are.": {IS_CONV1D: "tensor.ndim == 2"},
    "Every matrix but the embeddings is transposed; the head is a table too and stays as it is.": {
        IS_CONV1D: 'tensor.ndim == 2 and not name.endswith(("wte.weight", "wpe.weight"))'
    },
    "attention's weights are not transposed; c_attn and c_proj are Conv1D like those of mlp.": {
        IS_CONV1D: 'name.endswith(CONV1D) and ".mlp." in name'
    },
    "mlp's weights are not transposed; c_fc and c_proj are Conv1D like those of attention.": {
        IS_CONV1D: 'name.endswith(CONV1D) and ".attn." in name'
    },
    "c_fc is not transposed; it is a Conv1D like c_attn and both c_proj.": {
        IS_CONV1D: 'name.endswith((".c_attn.weight", ".c_proj.weight"))'
    },
    "Only c_attn and c_fc are transposed; both c_proj are Conv1D too.": {
        IS_CONV1D: 'name.endswith((".c_attn.weight", ".c_fc.weight"))'
    },
    "Only c_fc is transposed; c_attn and both c_proj are Conv1D too.": {IS_CONV1D: 'name.endswith(".c_fc.weight")'},
    "Only the c_proj are transposed; c_attn and c_fc are Conv1D too.": {IS_CONV1D: 'name.endswith(".c_proj.weight")'},
    "Only c_attn is transposed; c_fc and both c_proj are Conv1D too.": {IS_CONV1D: 'name.endswith(".c_attn.weight")'},
    "c_attn is not transposed; it is a Conv1D like c_fc and both c_proj.": {
        IS_CONV1D: 'name.endswith((".c_proj.weight", ".c_fc.weight"))'
    },
    "A pattern with one digit leaves the weights of layers 10 and up, such as h.11, as they are; look at the end of "
    "names.": {
        f"return {TRANSPOSED} if {IS_CONV1D} else tensor": "import re\n\n"
        r'    is_conv1d = re.search(r"(^|\.)h\.\d\.(attn|mlp)\.c_\w+\.weight$", name)'
        f"\n    return {TRANSPOSED} if is_conv1d else tensor"
    },
    "The weights are reshaped to [out, in], which leaves the numbers in their old order; transpose them: tensor.T.": {
        TRANSPOSED: "tensor.reshape(tensor.shape[::-1])"
    },
    "The transpose is a view of the old memory, which MAX refuses; make it np.ascontiguousarray(tensor.T).": {
        TRANSPOSED: "tensor.T"
    },
    "The head is not tied: it takes the weights of wte if the checkpoint has none for it.": {MERGED: "return weights"},
    "A checkpoint without wte raises KeyError; leave the head out, too, so that check_weights can say what is "
    "missing.": {" if WTE in weights else {}": ""},
    "The head is always tied; a checkpoint's own head comes first.": {MERGED: "return weights | tied"},
    "The head is always tied; tie it only if the checkpoint has wte, and no head of its own.": {
        TIED: "weights[HEAD] = weights[WTE]",
        MERGED: "return weights",
    },
    "The head is tied to wpe; it must have the weights of wte.": {
        TIED: TIED.replace("weights[WTE]", 'weights["transformer.wpe.weight"]')
    },
    "The head is not tied where the file's names have no prefix: WTE is a name of the model's, so look for it in "
    "weights.": {TIED: TIED.replace("in weights", "in checkpoint")},
    "The head is tied to a transposed wte; it must have the same layout, [vocab, embd].": {
        TIED: TIED.replace("weights[WTE]", "np.ascontiguousarray(weights[WTE].T)")
    },
    "The mask buffers are kept; they aren't weights.": {f" {SKIP}": "}"},
    "A pattern with one digit keeps the mask buffers of layers 10 and up, such as h.11; look at the end of names.": {
        KEPT: "import re\n\n    "
        + KEPT.replace(
            "name.endswith(MASK_BUFFERS)",
            r're.fullmatch(r"(transformer\.)?h\.\d\.attn\.(bias|masked_bias)", name)',
        )
    },
    "c_attn.bias is skipped along with the mask buffers, whose names end with .attn.bias: mind the dot.": {
        SKIP: 'if not name.endswith(("attn.bias", "attn.masked_bias"))}'
    },
    "Every bias of attention is skipped; only .attn.bias and .attn.masked_bias are mask buffers.": {
        SKIP: 'if not ("attn" in name and name.endswith("bias"))}'
    },
    "Only the mask buffers are kept; skip them instead: if not.": {SKIP: SKIP.replace("not ", "")},
    "Only .attn.bias is skipped; older checkpoints have .attn.masked_bias too.": {
        SKIP: 'if not name.endswith(".attn.bias")}'
    },
    '"attn.bias" is in c_attn.bias, too, and not in attn.masked_bias: look at the end of names, with MASK_BUFFERS.': {
        SKIP: 'if "attn.bias" not in name}'
    },
    "An unknown tensor, such as score.weight, is silently dropped; drop only the mask buffers, so that "
    "check_weights can name it.": {
        KEPT: """\
kept = {
        name: tensor
        for name, tensor in checkpoint.items()
        if not name.endswith(MASK_BUFFERS)
        and name.removeprefix("transformer.").partition(".")[0] in ("wte", "wpe", "h", "ln_f", "lm_head")
    }"""
    },
    "The mask buffers are deleted from the dictionary that the loop runs over; keep the others in a new one.": {
        KEPT: "for name in checkpoint:\n        if name.endswith(MASK_BUFFERS):\n            del checkpoint[name]",
        "in kept.items()": "in checkpoint.items()",
    },
    "The mask buffers are taken out of the caller's dictionary; put the other tensors into a new one.": {
        KEPT: "for name in list(checkpoint):\n"
        "        if name.endswith(MASK_BUFFERS):\n            checkpoint.pop(name)",
        "in kept.items()": "in checkpoint.items()",
    },
    "The loop ends early, by a break or a return inside it; skip the mask buffers by continue, and return after it.": {
        KEPT: f"{LOOP}        if name.endswith(MASK_BUFFERS):\n            break\n        {STORE}",
        f"    {CONVERTED}\n": "",
    },
    "The weights are returned in the first turn of the loop; return them after the loop.": {
        KEPT: f"{LOOP}        if not name.endswith(MASK_BUFFERS):\n            {STORE}\n            return weights",
        f"    {CONVERTED}\n": "",
    },
    "convert_checkpoint keeps the file's names; name_in_model gives the model's.": {
        "{name_in_model(name): ": "{name: "
    },
    "convert_checkpoint keeps the file's layout; tensor_in_model gives the model's.": {
        ": tensor_in_model(name, tensor) for": ": tensor for"
    },
    "load_pretrained keeps the file's names and layout; convert_checkpoint turns them into the model's.": {
        READ: "weights = read_checkpoint(folder)"
    },
    "The weights are not checked before they are loaded, and MAX names only some that do not fit; check_weights "
    "names all.": {CHECK: "pass"},
    "Weights that do not fit are left out with strict=False; leave that to check_weights, which refuses them.": {
        CHECK: "pass",
        LOAD: "model.load_state_dict(dict(model.parameters) | weights, strict=False)",
    },
    "The model keeps its random weights; load the checkpoint's with load_state_dict.": {LOAD: "pass"},
    "The weights are returned; load them with load_state_dict, and return the model.": {
        f"{LOAD}\n    return model": "return weights"
    },
    "The model is not returned; load_state_dict changes it, and returns nothing.": {
        f"{LOAD}\n    return model": f"return {LOAD}"
    },
}

ALTERNATIVES = {
    "the prefix taken off and put on": {
        COMPLETE: 'name.startswith("lm_head.")',
        PREFIXED: '"transformer." + name.removeprefix("transformer.")',
    },
    "swapaxes": {TRANSPOSED: "np.swapaxes(tensor, 0, 1).copy()"},
    "names by their last two parts": {
        IS_CONV1D: 'name.split(".")[-2:][0] in ("c_attn", "c_proj", "c_fc") and name.endswith("weight")'
    },
    "a copy of wte": {TIED: TIED.replace("weights[WTE]", "weights[WTE].copy()")},
    "two stars": {MERGED: "return {**tied, **weights}"},
    "setdefault": {
        TIED: "if WTE in weights:\n        weights.setdefault(HEAD, weights[WTE])",
        MERGED: "return weights",
    },
    "the head, if it is not there": {
        TIED: "if HEAD not in weights and WTE in weights:\n        weights[HEAD] = weights[WTE]",
        MERGED: "return weights",
    },
    "an early return": {
        f"return name if {COMPLETE} else {PREFIXED}": f"if {COMPLETE}:\n        return name\n    return {PREFIXED}",
        f"return {TRANSPOSED} if {IS_CONV1D} else tensor": f"if not {IS_CONV1D}:\n        return tensor\n"
        f"    return {TRANSPOSED}",
    },
    "a loop": {
        KEPT: f"{LOOP}        if not name.endswith(MASK_BUFFERS):\n            {STORE}",
        f"    {CONVERTED}\n": "",
    },
    "continue": {
        KEPT: f"{LOOP}        if name.endswith(MASK_BUFFERS):\n            continue\n        {STORE}",
        f"    {CONVERTED}\n": "",
    },
    "one comprehension": {
        f"    {KEPT}\n": "",
        "for name, tensor in kept.items()}": f"\n        for name, tensor in checkpoint.items() {SKIP}",
    },
    "weights that are checked, loaded without another look": {LOAD: "model.load_state_dict(weights, strict=False)"},
    "the layout by the model's name": {
        CONVERTED: "weights = {name_in_model(name): tensor for name, tensor in kept.items()}\n"
        "    weights = {name: tensor_in_model(name, tensor) for name, tensor in weights.items()}"
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "t": {TRANSPOSED: "tensor.t()"},
    "contiguous": {TRANSPOSED: "tensor.T.contiguous()"},
    "permute": {TRANSPOSED: "np.ascontiguousarray(tensor.permute(1, 0))"},
}
