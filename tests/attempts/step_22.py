"""Step 22, what people write instead: mistakes, each with its sentence, and other right answers."""

REFUSED = 'if width % BLOCK:\n        raise ValueError(f"rows of {width} numbers cannot be cut into blocks of {BLOCK}")'
CUT = "return weight.reshape(rows, width // BLOCK, BLOCK)"
WHERE = "where = np.abs(blocks).argmax(axis=-1, keepdims=True)"
LARGEST = "largest = np.take_along_axis(blocks, where, axis=-1)"
SCALE = 'return np.abs(largest) / 127 if format == "Q8_0" else largest / -8'
DIVIDED = "quotients = np.divide(blocks, scales, out=np.zeros_like(blocks), where=scales != 0)"
ENDS = 'lowest, highest = (-127, 127) if format == "Q8_0" else (-8, 7)'
ROUNDED = "return np.rint(quotients).clip(lowest, highest).astype(np.int8)"
PACKED = "return halves[..., : BLOCK // 2] | halves[..., BLOCK // 2 :] << 4"
UNPACKED = "return np.concatenate([packed & 15, packed >> 4], axis=-1)"
STEPS = "steps = steps_of(blocks, scales, format)"
NUMBERS = 'numbers = steps.view(np.uint8) if format == "Q8_0" else pack((steps + 8).astype(np.uint8))'
JOINED = "return np.concatenate([scales.astype(np.float16).view(np.uint8), numbers], axis=-1).reshape(len(weight), -1)"
IN_BLOCKS = "blocks = data.reshape(len(data), -1, BYTES[format])"
READ_SCALES = "scales = blocks[..., :2].view(np.float16).astype(np.float32)"
READ_STEPS = (
    'steps = blocks[..., 2:].view(np.int8) if format == "Q8_0" else unpack(blocks[..., 2:]).astype(np.int8) - 8'
)
MULTIPLIED = "return (scales * steps.astype(np.float32)).reshape(len(data), -1)"
PRODUCT = "product = F.qmatmul(self.encoding, None, x, self.weight)"
BIASED = "return product[..., : self.out_dim] + self.bias"
FITS = "fits = weight.ndim == 2 and weight.shape[1] % BLOCK == 0"
KEPT = 'return format if fits and not name.endswith("wpe.weight") else "F32"'
IS_LINEAR = "if isinstance(module, Linear) and stored.format in MULTIPLIED:"
REPLACED = "return QuantizedLinear(stored, module.bias)"
SET = "setattr(module, leaf, Tensor.from_dlpack(numbers_of(stored)))"
ADDED = "writer.add_tensor(gguf_name(name), one.data, raw_dtype=GGMLQuantizationType[one.format])"
FORMAT = "format = tensor.tensor_type.name"
READ = "if format not in READ:\n        raise ValueError("
COPIED = "return Stored(np.array(tensor.data), format)"

MISTAKES = {
    "Rows are cut whatever their width; refuse one that 32 does not divide.": {
        f"{REFUSED}\n    ": "",
        CUT: "return np.resize(weight, (rows, max(width // BLOCK, 1), BLOCK))",
    },
    "All numbers are counted; each row must be whole blocks: width % BLOCK.": {
        "if width % BLOCK:": "if weight.size % BLOCK:",
        CUT: "return weight.reshape(-1, BLOCK).reshape(rows, -1, BLOCK) if rows * width >= 32 * rows else weight",
    },
    "A block is taken down a column; its 32 numbers are neighbors in a row.": {
        CUT: "return weight.T.reshape(rows, width // BLOCK, BLOCK)"
    },
    "A block takes every so manyth number; its 32 numbers are neighbors in a row.": {
        CUT: "return weight.reshape(rows, BLOCK, width // BLOCK).swapaxes(1, 2)"
    },
    "The axes are swapped: blocks come before the numbers in them.": {
        CUT: "return weight.reshape(rows, BLOCK, width // BLOCK)"
    },
    "The blocks of all rows are in one long list; rows keep their axis.": {CUT: "return weight.reshape(-1, BLOCK)"},
    "The largest number is taken, and not that of the largest size: -9 is larger than 5 here.": {
        WHERE: WHERE.replace("np.abs(blocks)", "blocks")
    },
    "The smallest number is taken, and not that of the largest size.": {
        WHERE: WHERE.replace("np.abs(blocks).argmax", "blocks.argmin")
    },
    "The number of the smallest size is taken; take the largest.": {WHERE: WHERE.replace("argmax", "argmin")},
    "Each row has one scale; each block must have its own.": {
        LARGEST: LARGEST + "\n    largest = np.broadcast_to(np.abs(largest).max(axis=1, keepdims=True), largest.shape)"
    },
    "The last axis is gone: keepdims=True keeps it, with one number.": {
        SCALE: SCALE.replace("return ", "return (") + ")[..., 0]"
    },
    "Q8_0 counts to 127 on both sides, and its scale is the size over that, not over 128.": {
        SCALE: SCALE.replace("127", "128")
    },
    "The size is divided by 255, the steps on both sides together; each side has 127.": {
        SCALE: SCALE.replace("127", "255")
    },
    "The scale of Q8_0 has a sign; it is the size over 127.": {SCALE: SCALE.replace("np.abs(largest)", "largest")},
    "The scale of Q4_0 has lost its sign: the number itself is divided by -8.": {
        SCALE: SCALE.replace("largest / -8", "np.abs(largest) / 8")
    },
    "The sign of Q4_0's scale is the other one: divide by -8, so that the largest number is step -8.": {
        SCALE: SCALE.replace("-8", "8")
    },
    "Q4_0 is divided by 7; there is one step more below 0, and the largest number is -8 steps.": {
        SCALE: SCALE.replace("largest / -8", "np.abs(largest) / 7")
    },
    "Q4_0 is divided by -7; the largest number is -8 steps.": {SCALE: SCALE.replace("-8", "-7")},
    "The formats are swapped: Q8_0 is the one with 127.": {SCALE: SCALE.replace("==", "!=")},
    "A block of zeros is divided by its scale, 0: np.divide with where= leaves it out.": {
        DIVIDED: "quotients = blocks / scales"
    },
    "The numbers are multiplied by the scale; divide by it.": {DIVIDED: "quotients = blocks * scales"},
    "It is cut off toward 0; round to the nearest step: np.rint.": {ROUNDED: ROUNDED.replace("np.rint", "np.trunc")},
    "It is rounded down; round to the nearest step: np.rint.": {ROUNDED: ROUNDED.replace("np.rint", "np.floor")},
    "It is rounded up; round to the nearest step: np.rint.": {ROUNDED: ROUNDED.replace("np.rint", "np.ceil")},
    "Nothing keeps a step within the ends, and an int8 that is too large begins again at -128: clip.": {
        ROUNDED: ROUNDED.replace(".clip(lowest, highest).astype(np.int8)", ".astype(np.int64).astype(np.int8)")
    },
    "Q4_0 keeps steps up to 8; four bits have 16 values, from -8 to 7.": {ENDS: ENDS.replace("(-8, 7)", "(-8, 8)")},
    "Q4_0 loses its lowest step: it goes from -8 to 7.": {ENDS: ENDS.replace("(-8, 7)", "(-7, 7)")},
    "Q4_0 has the ends of 0 to 15, which is how it is stored; steps go from -8 to 7.": {
        ENDS: ENDS.replace("(-8, 7)", "(0, 15)")
    },
    "Q8_0 keeps a step of -128; it goes from -127 to 127.": {ENDS: ENDS.replace("(-127, 127)", "(-128, 127)")},
    "Both formats have the ends of Q8_0; those of Q4_0 are -8 and 7.": {ENDS: "lowest, highest = -127, 127"},
    "The steps are uint8, which has no negative numbers; they must be int8.": {
        ROUNDED: ROUNDED.replace(".astype(np.int8)", ".astype(np.int8).view(np.uint8)")
    },
    "The steps are floats still; they must be int8.": {ROUNDED: ROUNDED.replace(".astype(np.int8)", "")},
    "The halves are swapped: the first is low, the second high.": {
        PACKED: "return halves[..., BLOCK // 2 :] | halves[..., : BLOCK // 2] << 4"
    },
    "A byte has two neighbors; it must have number 0 and number 16, 1 and 17, and so on.": {
        PACKED: "return halves[..., ::2] | halves[..., 1::2] << 4"
    },
    "The second half is not shifted, so it falls on the first: << 4.": {PACKED: PACKED.replace(" << 4", "")},
    "The second half is shifted by 8, out of the byte; half a byte has 4 bits.": {
        PACKED: PACKED.replace("<< 4", "<< 8")
    },
    "The sum is shifted, not the second half alone: << comes before |, but after +.": {
        PACKED: "return halves[..., : BLOCK // 2] + halves[..., BLOCK // 2 :] << 4"
    },
    "The halves are joined by &, which keeps what both have; | keeps both.": {PACKED: PACKED.replace("|", "&")},
    "The high half comes first; the low one does.": {
        UNPACKED: "return np.concatenate([packed >> 4, packed & 15], axis=-1)"
    },
    "The halves of a byte are neighbors; all low ones come first.": {
        UNPACKED: "return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)"
    },
    "The low half still has the high one above it: packed & 15.": {UNPACKED: UNPACKED.replace("packed & 15", "packed")},
    "The high half is not shifted down: packed >> 4.": {UNPACKED: UNPACKED.replace("packed >> 4", "packed & 240")},
    "The low half is cut to three bits; 15 has four: & 15.": {UNPACKED: UNPACKED.replace("15", "7")},
    "The halves are joined along the first axis; join along the last.": {
        UNPACKED: UNPACKED.replace("axis=-1", "axis=0")
    },
    "The scale comes after the steps; it is in front.": {
        JOINED: "return np.concatenate([numbers, scales.astype(np.float16).view(np.uint8)], "
        "axis=-1).reshape(len(weight), -1)"
    },
    "All scales of a row come before all steps; each block has its scale in front.": {
        JOINED: "return np.concatenate([part.reshape(len(weight), -1) for part in "
        "(scales.astype(np.float16).view(np.uint8), numbers)], axis=-1)"
    },
    "The scales have four bytes; as float16, they have two.": {JOINED: JOINED.replace(".astype(np.float16)", "")},
    "The scales are rounded to whole numbers: view the bytes of the float16, do not cast it.": {
        JOINED: JOINED.replace(".view(np.uint8), numbers", ".astype(np.int64).astype(np.uint8), numbers")
    },
    "Nothing is added to the steps of Q4_0, and a negative step fills the other half of its byte: add 8.": {
        NUMBERS: NUMBERS.replace("(steps + 8)", "steps")
    },
    "7 is added to the steps of Q4_0; -8 must become 0.": {NUMBERS: NUMBERS.replace("steps + 8", "steps + 7")},
    "The steps of Q4_0 are not packed, so each takes a whole byte.": {
        NUMBERS: NUMBERS.replace("pack((steps + 8).astype(np.uint8))", "(steps + 8).astype(np.uint8)")
    },
    "128 is added to the steps of Q8_0, which are kept as int8: view their bytes.": {
        NUMBERS: NUMBERS.replace("steps.view(np.uint8)", "(steps.astype(np.int64) + 128).astype(np.uint8)")
    },
    "The steps are counted in scales that are rounded already; llama.cpp counts in those of float32.": {
        STEPS: STEPS.replace("scales,", "scales.astype(np.float16).astype(np.float32),")
    },
    "The steps of Q4_0 are counted from 0; take 8 away.": {READ_STEPS: READ_STEPS.replace(" - 8", "")},
    "The steps of Q4_0 are uint8 when 8 is taken away, so -1 becomes 255: astype(np.int8) first.": {
        READ_STEPS: READ_STEPS.replace(
            "unpack(blocks[..., 2:]).astype(np.int8) - 8", "unpack(blocks[..., 2:]) - np.uint8(8)"
        )
    },
    "7 is taken away from the steps of Q4_0; it is 8 that was added.": {READ_STEPS: READ_STEPS.replace("- 8", "- 7")},
    "The steps of Q8_0 are viewed as uint8, without a sign; they are int8.": {
        READ_STEPS: READ_STEPS.replace("blocks[..., 2:].view(np.int8)", "blocks[..., 2:]")
    },
    "The two bytes of a scale are read as a whole number; they are a float16.": {
        READ_SCALES: READ_SCALES.replace("np.float16", "np.uint16")
    },
    "The scale is read from the end of a block; it is in front.": {READ_SCALES: READ_SCALES.replace(":2]", "-2:]")},
    "The result is float16, which has three digits; make the scales float32.": {
        READ_SCALES: READ_SCALES.replace(".astype(np.float32)", ""),
        MULTIPLIED: MULTIPLIED.replace("astype(np.float32)", "astype(np.float16)"),
    },
    "The steps are divided by the scale; multiply.": {
        MULTIPLIED: MULTIPLIED.replace("scales * steps.astype(np.float32)", "steps.astype(np.float32) / scales")
    },
    "The scale is added to the steps; multiply.": {MULTIPLIED: MULTIPLIED.replace("scales *", "scales +")},
    "The blocks have an axis of their own; a row is one row again: reshape(len(data), -1).": {
        MULTIPLIED: "return scales * steps.astype(np.float32)"
    },
    "The bias is missing: add it to the product.": {BIASED: BIASED.replace(" + self.bias", "")},
    "The bias is subtracted; add it.": {BIASED: BIASED.replace("+ self.bias", "- self.bias")},
    "The format is always Q4_0; it must be that of the weights: self.encoding.": {
        PRODUCT: PRODUCT.replace("self.encoding", "QuantizationEncoding.Q4_0")
    },
    "The channels of the added rows are still there; keep the first out_dim.": {
        BIASED: "return product + F.pad(self.bias, [0, product.shape[-1] - self.out_dim]) if isinstance(self.bias, "
        "Tensor) else product"
    },
    "The last channels are kept, where the added rows are; keep the first.": {
        BIASED: BIASED.replace(": self.out_dim", "-self.out_dim :")
    },
    "wpe is quantized too; llama.cpp wants its numbers.": {KEPT: 'return format if fits else "F32"'},
    "wte stays large; it is the largest matrix, and the head's as well.": {
        KEPT: KEPT.replace('name.endswith("wpe.weight")', 'name.endswith(("wpe.weight", "wte.weight"))')
    },
    "Biases and gains are quantized too; only what has two axes is.": {FITS: "fits = weight.shape[-1] % BLOCK == 0"},
    "The number of rows is divided by 32; the width must be, shape[1].": {FITS: FITS.replace("shape[1]", "shape[0]")},
    "The width is not looked at; 32 must divide it.": {FITS: "fits = weight.ndim == 2"},
    "All numbers are counted; it is the width that 32 must divide.": {
        FITS: FITS.replace("weight.shape[1]", "weight.size")
    },
    "Nothing is quantized: the condition is the other way round.": {
        KEPT: KEPT.replace('format if fits and not name.endswith("wpe.weight") else "F32"', '"F32" if fits else format')
    },
    "No layer is quantized: replace a Linear whose format is MULTIPLIED.": {
        f"    {IS_LINEAR}\n        {REPLACED}\n": ""
    },
    "Every linear layer is replaced, whatever the format; MAX multiplies only by those in MULTIPLIED.": {
        IS_LINEAR: "if isinstance(module, Linear) and stored.format in BYTES:",
        REPLACED: 'return QuantizedLinear(Stored(stored.data, "Q4_0"), module.bias)',
    },
    "Tables are replaced too; only a Linear multiplies.": {
        IS_LINEAR: 'if leaf == "weight" and stored.format in MULTIPLIED:',
        REPLACED: 'return QuantizedLinear(stored, getattr(module, "bias", 0))',
    },
    "The new layer has no bias; it takes over the one that is there: module.bias.": {
        REPLACED: REPLACED.replace("module.bias", "0")
    },
    "A weight gets bytes in place of numbers: numbers_of(stored).": {
        SET: SET.replace("numbers_of(stored)", "stored.data")
    },
    "A bias is set as the weight; leaf says which it is.": {SET: SET.replace("leaf", '"weight"')},
    "It returns nothing for a weight that is set; return the module.": {
        f"    {SET}\n    return module\n": f"    {SET}\n"
    },
    "The weights have the model's names; llama.cpp looks for GGUF's: gguf_name(name).": {
        ADDED: ADDED.replace("gguf_name(name)", "name")
    },
    "The numbers are written, not the bytes: the file is as large as before.": {
        ADDED: 'writer.add_tensor(gguf_name(name), numbers_of(one), raw_dtype=GGMLQuantizationType["F32"])'
    },
    "The biases are left out; every weight belongs in the file.": {
        ADDED: f"if one.data.ndim > 1:\n            {ADDED}"
    },
    "Only what is quantized is written; every weight belongs in the file.": {
        ADDED: f'if one.format != "F32":\n            {ADDED}'
    },
    "Every format is accepted; refuse one that is not in READ.": {"if format not in READ:": "if not format:"},
    "Only quantized formats are accepted; READ has F32 and F16, too.": {
        "if format not in READ:": "if format not in BYTES and format not in MULTIPLIED:"
    },
    "Only the formats that are written here are accepted; READ has more.": {
        "if format not in READ:": 'if format not in ("F32", "F16", *BYTES):'
    },
    "The format is the enumeration's member; its name is a str: .name.": {
        FORMAT: "format = tensor.tensor_type",
        "if format not in READ:": "if format.name not in READ:",
    },
    "The data is the file's own memory; copy it: np.array.": {COPIED: "return Stored(tensor.data, format)"},
    "The data is turned round: the reader's shape counts from the last axis, its data does not.": {
        COPIED: "return Stored(np.array(tensor.data).T, format)"
    },
    "The data becomes float32, bytes too; it stays as it is.": {
        COPIED: "return Stored(np.array(tensor.data, dtype=np.float32), format)"
    },
    "The message does not name the tensor.": {
        'f"{tensor.name} is stored as {format}': 'f"A tensor is stored as {format}'
    },
}

ALTERNATIVES = {
    "blocks by -1": {CUT: "return weight.reshape(rows, -1, BLOCK)"},
    "blocks by np.split": {CUT: "return np.stack(np.split(weight, width // BLOCK, axis=1), axis=1)"},
    "the remainder by divmod": {
        "if width % BLOCK:": "count, left = divmod(width, BLOCK)\n    if left:",
        CUT: "return weight.reshape(rows, count, BLOCK)",
    },
    "the larger of maximum and minimum": {
        f"{WHERE}\n    {LARGEST}": "high, low = blocks.max(axis=-1, keepdims=True), blocks.min(axis=-1, "
        "keepdims=True)\n"
        "    largest = np.where(high >= -low, high, low)"
    },
    "an early return": {
        SCALE: 'if format == "Q8_0":\n        return np.abs(largest) / 127\n    return -largest / 8',
    },
    "a size without a place": {SCALE: SCALE.replace("np.abs(largest)", "np.abs(blocks).max(axis=-1, keepdims=True)")},
    "zeros divided by one": {DIVIDED: "quotients = blocks / np.where(scales == 0, 1, scales)"},
    "times the inverse, as llama.cpp does": {
        DIVIDED: "inverse = np.divide(1, scales, out=np.zeros_like(scales), where=scales != 0)\n"
        "    quotients = blocks * inverse"
    },
    "np.round and np.clip": {ROUNDED: "return np.clip(np.round(quotients), lowest, highest).astype(np.int8)"},
    "half a step added": {ROUNDED: ROUNDED.replace("np.rint(quotients)", "np.floor(quotients + 0.5)")},
    "clipped at one end, where there is something to clip": {
        ROUNDED: "return np.maximum(np.minimum(np.rint(quotients), highest), lowest).astype(np.int8)"
    },
    "a sum of halves": {PACKED: "return halves[..., : BLOCK // 2] + 16 * halves[..., BLOCK // 2 :]"},
    "halves by np.split": {
        PACKED: "low, high = np.split(halves, 2, axis=-1)\n    return np.bitwise_or(low, np.left_shift(high, 4))"
    },
    "a remainder and a quotient": {UNPACKED: "return np.concatenate([packed % 16, packed // 16], axis=-1)"},
    "divmod": {UNPACKED: "return np.concatenate(np.divmod(packed, 16)[::-1], axis=-1)"},
    "np.hstack of two axes": {UNPACKED: "return np.append(packed & 0x0F, packed >> 4, axis=-1)"},
    "bytes joined row by row": {
        JOINED: "both = np.concatenate((scales.astype(np.float16).view(np.uint8), numbers), axis=2)\n"
        "    return both.reshape(len(both), -1)"
    },
    "8 added as uint8": {
        NUMBERS: NUMBERS.replace("(steps + 8).astype(np.uint8)", "steps.astype(np.uint8) + np.uint8(8) & 255")
    },
    "the steps of Q4_0 as float32 first": {
        READ_STEPS: READ_STEPS.replace(
            "unpack(blocks[..., 2:]).astype(np.int8) - 8", "unpack(blocks[..., 2:]).astype(np.float32) - 8"
        )
    },
    "multiplied as int8": {MULTIPLIED: "return (scales * steps).reshape(len(data), -1)"},
    "the scale by frombuffer": {
        READ_SCALES: "scales = np.frombuffer(blocks[..., :2].tobytes(), np.float16).reshape(*blocks.shape[:2], "
        "1).astype(np.float32)"
    },
    "in one line": {
        f"{PRODUCT}\n        {BIASED}": BIASED.replace("product[", PRODUCT.removeprefix("product = ") + "[")
    },
    "the bias in front": {BIASED: "return self.bias + product[..., : self.out_dim]"},
    "dequantized first": {
        PRODUCT: "weight = numbers_of(Stored(np.from_dlpack(self.weight), self.encoding.value))\n"
        "        product = x @ F.constant(weight, dtype=x.dtype, device=x.device).T"
    },
    "wpe looked for in the name": {KEPT: 'return "F32" if "wpe" in name or not fits else format'},
    "the rank by len": {FITS: "fits = len(weight.shape) == 2 and not weight.shape[-1] % BLOCK"},
    "the other way round": {
        f"    {IS_LINEAR}\n        {REPLACED}\n    {SET}\n    return module\n": (
            "    if type(module) is not Linear or stored.format not in MULTIPLIED:\n"
            "        numbers = numbers_of(stored)\n        setattr(module, leaf, Tensor.from_dlpack(numbers))\n"
            "        return module\n    return QuantizedLinear(stored, bias=module.bias)\n"
        )
    },
    "the type under a name": {
        ADDED: "kind = GGMLQuantizationType[one.format]\n"
        "        writer.add_tensor(gguf_name(name), one.data, raw_dtype=kind)"
    },
    "copy as a method": {COPIED: "return Stored(np.asarray(tensor.data).copy(), format)"},
}

#: What people bring along from PyTorch, or from Python; the check shows the line to write instead.
HABITS = {
    "view with sizes": {CUT: "return weight.view(rows, width // BLOCK, BLOCK)"},
    "abs as a method": {WHERE: "where = blocks.abs().argmax(axis=-1, keepdims=True)"},
    "argmax with a dim": {WHERE: "where = np.abs(blocks).argmax(dim=-1, keepdim=True)"},
    "gather": {LARGEST: "largest = blocks.gather(-1, where)"},
    "torch.abs": {SCALE: SCALE.replace("np.abs", "torch.abs")},
    "torch.round": {ROUNDED: ROUNDED.replace("np.rint(quotients)", "torch.round(quotients)")},
    "clamp": {ROUNDED: ROUNDED.replace(".clip(", ".clamp(")},
    "to a dtype": {ROUNDED: ROUNDED.replace(".astype(np.int8)", ".to(np.int8)")},
    "torch.cat": {UNPACKED: "return torch.cat([packed & 15, packed >> 4], dim=-1)"},
    "float as a method": {READ_SCALES: READ_SCALES.replace(".astype(np.float32)", ".float()")},
    "an assertion": {REFUSED: 'assert width % BLOCK == 0, f"{width} and {BLOCK}"'},
}

#: Numbers of the recorded matrix, written into the code: only one that is drawn anew shows them.
FIXED = {
    "five rows": {JOINED: JOINED.replace("len(weight)", "5")},
}
