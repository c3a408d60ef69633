"""Step 13, what people write instead: mistakes, each with its sentence, and other right answers."""

SKIP = "        if name.endswith(MASK_BUFFERS):\n            continue\n"
PREFIX = '        if not name.startswith(("transformer.", "lm_head.")):\n            name = f"transformer.{name}"\n'
TRANSPOSE = "np.ascontiguousarray(tensor.T) if name.endswith(CONV1D) else tensor"
TIE = '        weights.setdefault("lm_head.weight", weights["transformer.wte.weight"])\n'
GPT2 = 'if values.get("model_type") != "gpt2":'
FILES = 'set(json.loads(index.read_text())["weight_map"].values()) if index.is_file() else {"model.safetensors"}'
PROBLEMS = "problems = missing + unknown + other"
CAUGHT = "except (OSError, SafetensorError) as error:"

MISTAKES = {
    "Another architecture is let through; its weights mean something else.": {GPT2: "if False:"},
    "The message about another architecture does not say which it is.": {
        "holds a {values.get('model_type')} model": "holds another model"
    },
    'A config.json without model_type is a KeyError; ask for values.get("model_type"), so that it is a ValueError too.': {
        GPT2: 'if values["model_type"] != "gpt2":'
    },
    "The configuration is always GPT-2 small's; take the values of config.json.": {
        "GPT2Config(**{name: values[name] for name in names if name in values})": "GPT2Config()"
    },
    "Every entry of config.json is passed on; pick those that GPT2Config has.": {
        "{name: values[name] for name in names if name in values}": "values"
    },
    "A config.json without n_inner is a KeyError; take the values that are there, GPT2Config has the others.": {
        " for name in names if name in values}": " for name in names}"
    },
    "The index is not read: a checkpoint in several files is not found.": {FILES: '{"model.safetensors"}'},
    "Only the first of several files is read.": {"for name in sorted(names):": "for name in sorted(names)[:1]:"},
    "A file that is cut short raises an error of safetensors; raise a ValueError that names the file.": {
        CAUGHT: "except OSError as error:"
    },
    "A missing file raises FileNotFoundError; raise a ValueError that names the file.": {
        CAUGHT: "except SafetensorError as error:"
    },
    "float16 weights stay float16; the model is float32.": {
        "{name: tensor.astype(np.float32) for name, tensor in tensors.items()}": "tensors"
    },
    "The mask buffers are kept; they are no weights.": {SKIP: ""},
    "c_attn.bias is skipped along with the mask buffers, whose names end with .attn.bias: mind the dot.": {
        "name.endswith(MASK_BUFFERS)": 'name.endswith(("attn.bias", "attn.masked_bias"))'
    },
    "Every bias of attention is skipped; only .attn.bias and .attn.masked_bias are mask buffers.": {
        "name.endswith(MASK_BUFFERS)": '"attn" in name and name.endswith("bias")'
    },
    "The prefix transformer. is missing from the names.": {PREFIX: ""},
    "The prefix transformer. is added to names that have it already.": {
        '        if not name.startswith(("transformer.", "lm_head.")):\n': ""
        '        if not name.startswith("lm_head."):\n'
    },
    "Nothing is transposed: Hugging Face's Conv1D keeps its weights [in, out], Linear wants [out, in].": {
        TRANSPOSE: "tensor"
    },
    "Only the weights that are not square are transposed; attention's c_proj is square and must be transposed too.": {
        TRANSPOSE: "np.ascontiguousarray(tensor.T) if name.endswith(CONV1D) and tensor.shape[0] != tensor.shape[1] else tensor"
    },
    "Every matrix is transposed; the embeddings are tables and stay as they are.": {
        TRANSPOSE: "np.ascontiguousarray(tensor.T) if tensor.ndim == 2 else tensor"
    },
    "attention's weights are not transposed; c_attn and c_proj are Conv1D like those of mlp.": {
        "name.endswith(CONV1D)": 'name.endswith(CONV1D) and ".mlp." in name'
    },
    "The head is not tied: it has the weights of wte where a checkpoint has none for it.": {TIE: "        pass\n"},
    "A checkpoint without wte is a KeyError; leave the head out too, so that check_weights can say what is missing.": {
        '    if "transformer.wte.weight" in weights:\n': "    if True:\n"
    },
    "The head is always tied; a checkpoint's own head comes first.": {
        'weights.setdefault("lm_head.weight", weights["transformer.wte.weight"])': 'weights["lm_head.weight"] = weights["transformer.wte.weight"]'
    },
    "The head is tied to wpe; it has the weights of wte.": {TIE: TIE.replace("wte", "wpe")},
    "Missing weights are not noticed.": {PROBLEMS: "problems = unknown + other"},
    "Unknown weights are not noticed.": {PROBLEMS: "problems = missing + other"},
    "Wrong shapes are not noticed.": {PROBLEMS: "problems = missing + unknown"},
    "Only the first problem is named; name them all.": {'"; ".join(problems)': "problems[0]"},
    "Nothing is refused.": {"    if problems:": "    if False:"},
}

ALTERNATIVES = {
    "swapaxes": {TRANSPOSE: "np.swapaxes(tensor, 0, 1).copy() if name.endswith(CONV1D) else tensor"},
    "names by their last two parts": {
        "name.endswith(CONV1D)": 'name.split(".")[-2:][0] in ("c_attn", "c_proj", "c_fc") and name.endswith("weight")'
    },
    "safe_open": {
        "tensors |= load_file(folder / name)": "from safetensors import safe_open\n\n            with safe_open(folder / name, 'numpy') as file:\n"
        "                tensors |= {key: file.get_tensor(key) for key in file.keys()}"
    },
    "the prefix taken off and put on": {
        PREFIX: '        if not name.startswith("lm_head."):\n            name = "transformer." + name.removeprefix("transformer.")\n'
    },
    "sets": {
        '[f"{name} is missing" for name in shapes if name not in weights]': '[f"{name} is missing" for name in sorted(set(shapes) - set(weights))]',
        '[f"{name} is unknown" for name in weights if name not in shapes]': '[f"{name} is unknown" for name in sorted(set(weights) - set(shapes))]',
    },
}

#: What people bring along from PyTorch or Python; the check shows the line to write instead.
HABITS = {
    "float as a method": {"tensor.astype(np.float32) for": "tensor.float() for"},
    "to a dtype": {"tensor.astype(np.float32) for": "tensor.to(np.float32) for"},
    "numpy": {"tensor.astype(np.float32) for": "tensor.numpy().astype(np.float32) for"},
    "t": {"np.ascontiguousarray(tensor.T)": "tensor.t()"},
    "contiguous": {"np.ascontiguousarray(tensor.T)": "tensor.T.contiguous()"},
    "permute": {"np.ascontiguousarray(tensor.T)": "np.ascontiguousarray(tensor.permute(1, 0))"},
    "an assertion": {
        """    if problems:
        raise ValueError("the checkpoint does not fit the model: " + "; ".join(problems))
""": """    assert not problems, "; ".join(problems)
"""
    },
}
