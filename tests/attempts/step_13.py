"""Step 13, what people write instead: mistakes, each with its sentence, and other right answers."""

GPT2 = 'if values.get("model_type") != "gpt2":'
THE_INDEX = 'sorted({folder / name for name in json.loads(index.read_text())["weight_map"].values()})'
IF_INDEX = "    if index.is_file():\n"
CAUGHT = "except (OSError, SafetensorError) as error:"
DAMAGED = 'raise ValueError(f"{file} is missing, cut short or damaged: {error}") from error'
ADD = "tensors |= read_tensors(file)"
FLOAT32 = "{name: tensor.astype(np.float32) for name, tensor in tensors.items()}"
COMPLETE = 'name.startswith(("transformer.", "lm_head."))'
PREFIXED = 'f"transformer.{name}"'
IS_CONV1D = "name.endswith(CONV1D)"
TRANSPOSED = "np.ascontiguousarray(tensor.T)"
TIE = '        weights.setdefault("lm_head.weight", weights["transformer.wte.weight"])\n'
IF_WTE = '    if "transformer.wte.weight" in weights:\n'
LOOP = "for name, tensor in tensors.items():\n"
KEPT = "if not name.endswith(MASK_BUFFERS):"
STORE = "weights[name_in_model(name)] = tensor_in_model(name, tensor)"
TIED = "    tie_head(weights)\n"
BOTH = "both = [name for name in shapes if name in weights]"
WRONG = "wrong = [name for name in both if weights[name].shape != shapes[name]]"
MESSAGE = 'f"{name} is {weights[name].shape}, not {shapes[name]}"'
MISSING = '[f"{name} is missing" for name in shapes if name not in weights]'
UNKNOWN = '[f"{name} is unknown" for name in weights if name not in shapes]'
PROBLEMS = "problems = missing + unknown + wrong_shapes(weights, shapes)"

MISTAKES = {
    "Another architecture is let through; its weights mean something else.": {GPT2: "if False:"},
    "The message about another architecture does not say which it is.": {
        "holds a {values.get('model_type')} model": "holds another model"
    },
    'A config.json without model_type is a KeyError; ask for values.get("model_type"), so that it is a ValueError '
    "too.": {GPT2: 'if values["model_type"] != "gpt2":'},
    "The configuration is always GPT-2 small's; take the values of config.json.": {
        "GPT2Config(**{name: values[name] for name in names if name in values})": "GPT2Config()"
    },
    "Every entry of config.json is passed on; pick those that GPT2Config has.": {
        "{name: values[name] for name in names if name in values}": "values"
    },
    "A config.json without n_inner is a KeyError; take the values that are there, GPT2Config has the others.": {
        " for name in names if name in values}": " for name in names}"
    },
    "The index is not read: a checkpoint in several files is not found.": {IF_INDEX: "    if False:\n"},
    "The index is read even where there is none; ask index.is_file() first.": {IF_INDEX: "    if True:\n"},
    "The names of the tensors are taken for files; the files are the values of weight_map, not its keys.": {
        THE_INDEX: THE_INDEX.replace(".values()", "")
    },
    "A file is listed once for every tensor in it, and read as often; make a set of the names.": {
        THE_INDEX: THE_INDEX.replace("{", "[").replace("}", "]")
    },
    "The names of the index lack the folder; a file is folder / name.": {
        THE_INDEX: THE_INDEX.replace("folder / name for", "Path(name) for")
    },
    "checkpoint_files lists only the first file of the index.": {THE_INDEX: f"{THE_INDEX}[:1]"},
    "A file that is cut short raises an error of safetensors; raise a ValueError that names the file.": {
        CAUGHT: "except OSError as error:"
    },
    "A missing file raises FileNotFoundError; raise a ValueError that names the file.": {
        CAUGHT: "except SafetensorError as error:"
    },
    "The message about a damaged file does not name it.": {
        DAMAGED: 'raise ValueError("a file is missing, cut short or damaged") from error'
    },
    "A damaged file counts as empty, and nobody hears of it; raise a ValueError that names the file.": {
        DAMAGED: "return {}"
    },
    "Only the first of several files is read.": {
        "for file in checkpoint_files(folder):": "for file in checkpoint_files(folder)[:1]:"
    },
    "Every file replaces the tensors of those before it; add them: tensors |= ….": {
        ADD: "tensors = read_tensors(file)"
    },
    "float16 weights stay float16; the model is float32.": {FLOAT32: "tensors"},
    "The weights become float64, which is Python's float; the model is float32.": {
        FLOAT32: FLOAT32.replace("np.float32", "float")
    },
    "The prefix transformer. is missing from the names.": {PREFIXED: "name"},
    "The prefix transformer. is added to names that have it already.": {COMPLETE: 'name.startswith("lm_head.")'},
    "The prefix transformer. is added to the head, which has none: lm_head.weight stays as it is.": {
        COMPLETE: 'name.startswith("transformer.")'
    },
    "The prefix is added without its dot: transformer. and not transformer.": {PREFIXED: 'f"transformer{name}"'},
    "Nothing is transposed: Hugging Face's Conv1D keeps its weights [in, out], Linear wants [out, in].": {
        TRANSPOSED: "tensor"
    },
    "Only the weights that are not square are transposed; attention's c_proj is square and must be transposed too.": {
        IS_CONV1D: "name.endswith(CONV1D) and tensor.shape[0] != tensor.shape[1]"
    },
    "Every matrix is transposed; the embeddings are tables and stay as they are.": {IS_CONV1D: "tensor.ndim == 2"},
    "attention's weights are not transposed; c_attn and c_proj are Conv1D like those of mlp.": {
        IS_CONV1D: 'name.endswith(CONV1D) and ".mlp." in name'
    },
    "The weights are reshaped to [out, in], which leaves the numbers in their old order; transpose them: tensor.T.": {
        TRANSPOSED: "tensor.reshape(tensor.shape[::-1])"
    },
    "The transpose is a view of the old memory, which Tensor.from_dlpack refuses; make it "
    "np.ascontiguousarray(tensor.T).": {TRANSPOSED: "tensor.T"},
    "The head is not tied: it has the weights of wte where a checkpoint has none for it.": {TIE: "        pass\n"},
    "tie_head makes another dictionary; add the head to the one that it is given, in place.": {
        TIE: '        return {"lm_head.weight": weights["transformer.wte.weight"]} | weights\n'
    },
    "A checkpoint without wte is a KeyError; leave the head out too, so that check_weights can say what is missing.": {
        IF_WTE: "    if True:\n"
    },
    "The head is always tied; a checkpoint's own head comes first.": {
        'weights.setdefault("lm_head.weight", '
        'weights["transformer.wte.weight"])': 'weights["lm_head.weight"] = weights["transformer.wte.weight"]'
    },
    "The head is tied to wpe; it has the weights of wte.": {TIE: TIE.replace("wte", "wpe")},
    "The mask buffers are kept; they are no weights.": {KEPT: "if True:"},
    "c_attn.bias is skipped along with the mask buffers, whose names end with .attn.bias: mind the dot.": {
        KEPT: 'if not name.endswith(("attn.bias", "attn.masked_bias")):'
    },
    "Every bias of attention is skipped; only .attn.bias and .attn.masked_bias are mask buffers.": {
        KEPT: 'if not ("attn" in name and name.endswith("bias")):'
    },
    "Only the mask buffers are kept; they are what is to be skipped: if not.": {KEPT: KEPT.replace("not ", "")},
    "The mask buffers are deleted from the dictionary that the loop runs over; keep the others in a new one.": {
        KEPT: "if name.endswith(MASK_BUFFERS):\n            del tensors[name]\n        else:"
    },
    "The loop ends at the first mask buffer; skip that one and go on: continue, not break.": {
        KEPT: "if name.endswith(MASK_BUFFERS):\n            break\n        else:"
    },
    "convert_checkpoint keeps the names of the file; name_in_model says what they are in the model.": {
        STORE: "weights[name] = tensor_in_model(name, tensor)"
    },
    "convert_checkpoint keeps the layout of the file; tensor_in_model returns that of the model.": {
        STORE: "weights[name_in_model(name)] = tensor"
    },
    "convert_checkpoint does not call tie_head: a published checkpoint has no head.": {TIED: ""},
    "convert_checkpoint returns what tie_head returns, which is None; return weights.": {
        f"{TIED}    return weights": "    return tie_head(weights)"
    },
    "Wrong shapes are not noticed.": {WRONG: "wrong = []"},
    "Only the numbers of axes are compared; compare the shapes.": {
        WRONG: "wrong = [name for name in both if weights[name].ndim != len(shapes[name])]"
    },
    "Only the first axis is compared; compare the whole shapes.": {
        WRONG: "wrong = [name for name in both if weights[name].shape[0] != shapes[name][0]]"
    },
    "Only the sizes of the arrays are compared; a weight that is not transposed has as many numbers.": {
        WRONG: "wrong = [name for name in both if weights[name].size != np.prod(shapes[name])]"
    },
    "wrong_shapes looks up a weight that is missing; compare only the names that both have.": {BOTH: "both = shapes"},
    "wrong_shapes looks up a shape that the model does not have; compare only the names that both have.": {
        BOTH: "both = weights"
    },
    "wrong_shapes lists the weights that fit; compare with !=.": {WRONG: WRONG.replace("!=", "==")},
    "The messages about wrong shapes do not say which shapes.": {MESSAGE: 'f"{name} has another shape"'},
    "wrong_shapes raises the error itself; return the messages, so that check_weights can name all that does not "
    "fit.": {
        f"    return [{MESSAGE} for name in wrong]": f"    for name in wrong:\n        raise ValueError({MESSAGE})\n"
        f"    return []"
    },
    "Missing weights are not noticed.": {"problems = missing + unknown": "problems = unknown"},
    "Unknown weights are not noticed.": {"problems = missing + unknown": "problems = missing"},
    "check_weights does not ask for the wrong shapes.": {PROBLEMS: "problems = missing + unknown"},
    "Only the first problem is named; name them all.": {'"; ".join(problems)': "problems[0]"},
    "Nothing is refused.": {"    if problems:": "    if False:"},
}

ALTERNATIVES = {
    "a loop over the fields": {
        "return GPT2Config(**{name: values[name] for name in names if name in values})": "chosen = {}\n"
        "    for name in names:\n        if name in values:\n            chosen[name] = values[name]\n"
        "    return GPT2Config(**chosen)"
    },
    "fields of the dataclass": {
        "[field.name for field in dataclasses.fields(GPT2Config)]": "GPT2Config.__dataclass_fields__"
    },
    "files in the order of the index": {
        THE_INDEX: 'list(dict.fromkeys(folder / name for name in json.loads(index.read_text())["weight_map"].values()))'
    },
    "the set as it is": {THE_INDEX: THE_INDEX.removeprefix("sorted(").removesuffix(")")},
    "names of files as text": {
        THE_INDEX: 'sorted({f"{folder}/{name}" for name in json.loads(index.read_text())["weight_map"].values()})',
        'return [folder / "model.safetensors"]': 'return [f"{folder}/model.safetensors"]',
    },
    "safe_open": {
        "return load_file(file)": "from safetensors import safe_open\n\n"
        "        with safe_open(file, 'numpy') as opened:\n"
        "            return {key: opened.get_tensor(key) for key in opened.keys()}"
    },
    "every exception is caught": {CAUGHT: "except Exception as error:"},
    "float32 file by file": {
        ADD: "tensors |= {name: tensor.astype(np.float32) for name, tensor in read_tensors(file).items()}",
        f"return {FLOAT32}": "return tensors",
    },
    "update": {ADD: "tensors.update(read_tensors(file))"},
    "the prefix taken off and put on": {
        COMPLETE: 'name.startswith("lm_head.")',
        PREFIXED: '"transformer." + name.removeprefix("transformer.")',
    },
    "swapaxes": {TRANSPOSED: "np.swapaxes(tensor, 0, 1).copy()"},
    "names by their last two parts": {
        IS_CONV1D: 'name.split(".")[-2:][0] in ("c_attn", "c_proj", "c_fc") and name.endswith("weight")'
    },
    "a copy of wte": {TIE: TIE.replace('wte.weight"])', 'wte.weight"].copy())')},
    "the head, if it is not there": {
        IF_WTE + TIE: '    if "lm_head.weight" not in weights and "transformer.wte.weight" in weights:\n'
        '        weights["lm_head.weight"] = weights["transformer.wte.weight"]\n'
    },
    "an early return": {
        f"return name if {COMPLETE} else {PREFIXED}": f"if {COMPLETE}:\n        return name\n    return {PREFIXED}",
        f"return {TRANSPOSED} if {IS_CONV1D} else tensor": f"if not {IS_CONV1D}:\n        return tensor\n"
        f"    return {TRANSPOSED}",
    },
    "continue": {
        f"        {KEPT}\n            {STORE}": f"        {KEPT.replace('not ', '')}\n            continue\n"
        f"        {STORE}"
    },
    "a comprehension": {
        f"    {LOOP}        {KEPT}\n            {STORE}\n": "    weights = {name_in_model(name): "
        "tensor_in_model(name, tensor)\n"
        "               for name, tensor in tensors.items() if not name.endswith(MASK_BUFFERS)}\n"
    },
    "the layout by the model's name": {
        STORE: "name = name_in_model(name)\n            weights[name] = tensor_in_model(name, tensor)"
    },
    "shapes in a loop": {
        f"    {BOTH}\n    {WRONG}\n    return [{MESSAGE} for name in wrong]": "    messages = []\n"
        "    for name, shape in shapes.items():\n"
        "        if name in weights and tuple(weights[name].shape) != tuple(shape):\n"
        f"            messages.append({MESSAGE})\n    return messages"
    },
    "sets": {
        MISSING: '[f"{name} is missing" for name in sorted(set(shapes) - set(weights))]',
        UNKNOWN: '[f"{name} is unknown" for name in sorted(set(weights) - set(shapes))]',
    },
    "one problem after the other": {
        PROBLEMS: "problems = wrong_shapes(weights, shapes)\n    problems += unknown\n    problems += missing"
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
