"""Step 22, what people write instead: mistakes, each with its sentence, and other right answers."""

SCALE_8 = "scales = np.abs(weights).max(axis=-1, keepdims=True) / 127"
ROUNDED_8 = "quants = roundf(weights * inverse(scales))"
READ_8 = 'return blocks["scale"].astype(np.float32) * blocks["quants"]'
INDEX = "largest = np.abs(weights).argmax(axis=-1, keepdims=True)"
SCALE_4 = "scales = np.take_along_axis(weights, largest, axis=-1) / -8"
ROUNDED_4 = "quants = np.floor(weights * inverse(scales) + 8.5).clip(0, 15).astype(np.uint8)"
PACKED = 'blocks["packed"] = quants[..., :half] | (quants[..., half:] << 4)'
UNPACKED = 'quants = np.concatenate([blocks["packed"] & 15, blocks["packed"] >> 4], axis=-1)'
READ_4 = 'return blocks["scale"].astype(np.float32) * (quants.astype(np.int8) - 8)'
PRODUCT = "product = F.qmatmul(QuantizationEncoding.Q4_0, None, x, self.weight)"
BIASED = "return product[..., : self.out_dim] + self.bias"

MISTAKES = {
    "The scale of Q8_0 is the largest number over 127; take the largest magnitude: -9 counts more than 5.": {
        SCALE_8: SCALE_8.replace("np.abs(weights)", "weights")
    },
    "The smallest magnitude sets the scale; take the largest.": {SCALE_8: SCALE_8.replace("max", "min")},
    "Each row has one scale; each block must have its own.": {
        SCALE_8: f"{SCALE_8}\n    scales = np.broadcast_to(scales.max(axis=0), scales.shape)"
    },
    "Q8_0 counts to 127 on both sides, and its scale is the magnitude over that, not over 128.": {
        SCALE_8: SCALE_8.replace("127", "128"),
        ROUNDED_8: f"{ROUNDED_8}.clip(-127, 127)",
    },
    "Q8_0 is divided by 128, so the largest magnitude becomes 128, which int8 doesn't have: divide by 127.": {
        SCALE_8: SCALE_8.replace("127", "128")
    },
    "The largest magnitude of all blocks sets the scale of Q8_0; take that of each block: axis=-1, keepdims=True.": {
        SCALE_8: "scales = np.abs(weights).max() / 127"
    },
    "The magnitude is divided by 255, the quants on both sides together; each side has 127.": {
        SCALE_8: SCALE_8.replace("127", "255"),
        ROUNDED_8: f"{ROUNDED_8}.clip(-127, 127)",
    },
    "A number halfway between two quants rounds to even in Q8_0; llama.cpp rounds it away from 0.": {
        ROUNDED_8: ROUNDED_8.replace("roundf", "np.rint")
    },
    "A number halfway between two quants rounds up in Q8_0; llama.cpp rounds it away from 0: -2.5 becomes -3.": {
        ROUNDED_8: "quants = np.floor(weights * inverse(scales) + 0.5)"
    },
    "Each number of Q8_0 is divided by the scale; multiply by inverse(scales), or some quants are not llama.cpp's.": {
        ROUNDED_8: "quants = roundf(np.divide(weights, scales, out=np.zeros_like(weights), where=scales != 0))"
    },
    "The numbers of Q8_0 are multiplied by 127 / magnitude; llama.cpp's inverse(scales) rounds differently.": {
        SCALE_8: "largest = np.abs(weights).max(axis=-1, keepdims=True)\n    scales = largest / 127",
        ROUNDED_8: "quants = roundf(weights * (127 / np.where(largest == 0, 1, largest)))",
    },
    "A block of zeros is divided by its scale, 0, in Q8_0: use inverse.": {
        ROUNDED_8: "quants = roundf(weights * (1 / scales))"
    },
    "The numbers of Q8_0 are multiplied by the scale; divide by it.": {ROUNDED_8: "quants = roundf(weights * scales)"},
    "The quants of Q8_0 are computed from rounded scales; llama.cpp computes them from the float32 ones.": {
        ROUNDED_8: "quants = roundf(weights * inverse(scales.astype(np.float16).astype(np.float32))).clip(-127, 127)"
    },
    "Q8_0 divides by scales rounded to float16; divide by the float32 ones, and round them only to store them.": {
        SCALE_8: SCALE_8.replace("= ", "= (") + ").astype(np.float16).astype(np.float32)"
    },
    "Q8_0 is truncated toward 0; round to the nearest quant.": {ROUNDED_8: ROUNDED_8.replace("roundf", "np.trunc")},
    "Q8_0 is rounded down; round to the nearest quant.": {ROUNDED_8: ROUNDED_8.replace("roundf", "np.floor")},
    "128 is added to the quants of Q8_0, which are kept as int8.": {
        ROUNDED_8: ROUNDED_8.replace("= ", "= (128 + ") + ").astype(np.uint8).view(np.int8)"
    },
    "A scale of Q8_0 below the smallest normal float16 becomes 0, as do its quants; float16 has numbers there.": {
        SCALE_8: f"{SCALE_8}\n    scales = np.where(scales < np.finfo(np.float16).tiny, 0, scales)"
    },
    "A scale of Q8_0 below the smallest normal float16 is stored as 0; float16 has numbers there.": {
        f"{ROUNDED_8}  #": f"{ROUNDED_8}\n    scales = np.where(scales < np.finfo(np.float16).tiny, 0, scales)  #"
    },
    "The scales of Q8_0 are kept from the first call with this shape; compute them in every call.": {
        SCALE_8: "kept = globals().setdefault('kept', {})\n"
        f"    scales = kept.setdefault(weights.shape, {SCALE_8.removeprefix('scales = ')})"
    },
    "The scales of Q8_0 are float16 before the quants are computed; leave them float32, and let blocks round.": {
        SCALE_8: f"{SCALE_8}\n    scales = scales.astype(np.float16)"
    },
    "Q8_0 divides by a scale that may be 0, and rounds halves to even: roundf(weights * inverse(scales)).": {
        ROUNDED_8: "quants = np.round(weights / scales)"
    },
    "Q8_0 divides by the scale and rounds halves to even: roundf(weights * inverse(scales)).": {
        ROUNDED_8: "quants = np.round(weights / np.where(scales == 0, 1, scales))"
    },
    'The blocks of Q8_0 have no scale: set blocks["scale"].': {'blocks["scale"] = scales  #': "#"},
    "The quants of Q8_0 are viewed as uint8, without a sign; they are int8.": {
        READ_8: READ_8.replace('blocks["quants"]', 'blocks["quants"].view(np.uint8)')
    },
    "The numbers of Q8_0 are float16, which has three digits; make the scales float32.": {
        READ_8: READ_8.replace(".astype(np.float32)", "")
    },
    "The numbers of Q8_0 are computed in float16, which has three digits; make the scales float32 first.": {
        READ_8: READ_8.replace(".astype(np.float32)", "").replace("return ", "return (") + ").astype(np.float32)"
    },
    "The quants of Q8_0 are divided by the scale; multiply.": {
        READ_8: 'return blocks["quants"] / blocks["scale"].astype(np.float32)'
    },
    "The largest number sets the scale of Q4_0; take that of the largest magnitude: -9 counts more than 5.": {
        INDEX: "largest = weights.argmax(axis=-1, keepdims=True)"
    },
    "The smallest number sets the scale of Q4_0; take that of the largest magnitude.": {
        INDEX: "largest = weights.argmin(axis=-1, keepdims=True)"
    },
    "If a number and its negative are largest, the positive one sets Q4_0's scale; the first of the two must.": {
        SCALE_4: "high, low = weights.max(axis=-1, keepdims=True), weights.min(axis=-1, keepdims=True)\n"
        "    scales = np.where(high >= -low, high, low) / -8"
    },
    "The scale of Q4_0 has lost its sign: the number itself is divided by -8.": {
        SCALE_4: "scales = np.abs(weights).max(axis=-1, keepdims=True) / 8"
    },
    "Q4_0's scale is made of the magnitude; take the weight of the largest magnitude itself, with its sign.": {
        SCALE_4: "scales = np.abs(weights).max(axis=-1, keepdims=True) / -8"
    },
    "The largest weight of all blocks sets the scale of Q4_0; take that of each block: axis=-1, keepdims=True.": {
        INDEX: "largest = np.abs(weights).argmax()",
        SCALE_4: "scales = weights.reshape(-1)[largest] / -8",
    },
    "The sign of Q4_0's scale is wrong: divide by -8, so that the largest number is quant -8.": {
        SCALE_4: SCALE_4.replace("-8", "8")
    },
    "Q4_0 is divided by 7; there is one quant more below 0, and the largest number is quant -8.": {
        SCALE_4: "scales = np.abs(weights).max(axis=-1, keepdims=True) / 7"
    },
    "Q4_0 is divided by -7; the largest number is quant -8.": {SCALE_4: SCALE_4.replace("-8", "-7")},
    "A number halfway between two quants rounds to even in Q4_0; llama.cpp rounds it up.": {
        ROUNDED_4: "quants = (np.rint(weights * inverse(scales)) + 8).clip(0, 15).astype(np.uint8)"
    },
    "A number halfway between two quants rounds away from 0 in Q4_0; llama.cpp rounds it up: -2.5 becomes -2.": {
        ROUNDED_4: "quotients = weights * inverse(scales)\n"
        "    quants = (np.trunc(quotients + np.copysign(0.5, quotients)) + 8).clip(0, 15).astype(np.uint8)"
    },
    "roundf rounds halves away from 0, and Q4_0 rounds them up: add 8.5, then np.floor.": {
        ROUNDED_4: "quants = (roundf(weights * inverse(scales)) + 8).clip(0, 15).astype(np.uint8)"
    },
    "Each number of Q4_0 is divided by the scale; multiply by inverse(scales), or some quants are not llama.cpp's.": {
        ROUNDED_4: ROUNDED_4.replace("* inverse(scales)", "/ np.where(scales == 0, 1, scales)")
    },
    "Add 8.5 at once, in float32, before np.floor: x + 0.5, or float64, keeps digits of Q4_0 that llama.cpp loses.": {
        ROUNDED_4: "quants = (np.floor(weights * inverse(scales) + 0.5).clip(-8, 7) + 8).astype(np.uint8)"
    },
    "A byte holds two neighbors; it must hold numbers 0 and 16, 1 and 17, and so on. Also add 8.5 at once, in float32: "
    "x + 0.5 keeps digits that llama.cpp loses.": {
        ROUNDED_4: "quants = (np.floor(weights * inverse(scales) + 0.5).clip(-8, 7) + 8).astype(np.uint8)",
        PACKED: 'blocks["packed"] = quants[..., ::2] | quants[..., 1::2] << 4',
    },
    "A block of zeros is divided by its scale, 0, in Q4_0: use inverse.": {
        ROUNDED_4: ROUNDED_4.replace("inverse(scales)", "(1 / scales)")
    },
    "The quants of Q4_0 are computed from rounded scales; llama.cpp computes them from the float32 ones.": {
        ROUNDED_4: ROUNDED_4.replace("scales)", "scales.astype(np.float16).astype(np.float32))")
    },
    "Q4_0 is rounded down; round to the nearest quant: add 8.5 before np.floor.": {
        ROUNDED_4: ROUNDED_4.replace("8.5", "8")
    },
    "Nothing limits Q4_0 to 15, and a quant of 16 spills into the other half of its byte: clip.": {
        ROUNDED_4: ROUNDED_4.replace(".clip(0, 15)", "")
    },
    "Q4_0 loses its lowest quant: it goes from 0 to 15.": {ROUNDED_4: ROUNDED_4.replace("(0, 15)", "(1, 15)")},
    "Q4_0 is clipped to -8 and 7 after 8 is added: the limits are 0 and 15 then.": {
        ROUNDED_4: ROUNDED_4.replace("(0, 15)", "(-8, 7)")
    },
    "7 is added to the quants of Q4_0; -8 must become 0.": {ROUNDED_4: ROUNDED_4.replace("8.5", "7.5")},
    "Nothing is added to the quants of Q4_0, and a negative quant has no place in half a byte: add 8.": {
        ROUNDED_4: "quants = np.floor(weights * inverse(scales) + 0.5).clip(-8, 7).astype(np.int8).view(np.uint8)"
    },
    "The halves are swapped: the first 16 are low, the last 16 high.": {
        PACKED: 'blocks["packed"] = quants[..., half:] | quants[..., :half] << 4'
    },
    "A byte holds two neighbors; it must hold numbers 0 and 16, 1 and 17, and so on.": {
        PACKED: 'blocks["packed"] = quants[..., ::2] | quants[..., 1::2] << 4'
    },
    "The second half is not shifted, so it lands on the first: << 4.": {PACKED: PACKED.replace(" << 4", "")},
    "The second half is shifted by 8, out of the byte; half a byte has 4 bits.": {
        PACKED: PACKED.replace("<< 4", "<< 8")
    },
    "The sum is shifted, not just the second half: << binds tighter than |, but not than +.": {
        PACKED: 'blocks["packed"] = quants[..., :half] + quants[..., half:] << 4'
    },
    "Both halves are shifted; shift the second alone: low | (high << 4).": {
        PACKED: 'blocks["packed"] = (quants[..., :half] | quants[..., half:]) << 4'
    },
    "The halves are joined by &, which keeps common bits only; | keeps all.": {PACKED: PACKED.replace("|", "&")},
    "The quants of Q4_0 are not packed, so each takes a whole byte.": {PACKED: 'blocks["packed"] = quants'},
    "A scale of Q4_0 below the smallest normal float16 becomes 0, as do its quants; float16 has numbers there.": {
        SCALE_4: f"{SCALE_4}\n    scales = np.where(np.abs(scales) < np.finfo(np.float16).tiny, 0, scales)"
    },
    "A scale of Q4_0 below the smallest normal float16 is stored as 0; float16 has numbers there.": {
        f"{ROUNDED_4}  #": f"{ROUNDED_4}\n    scales = np.where(np.abs(scales) < 2.0**-14, 0, scales)  #"
    },
    "The scales of Q4_0 are float16 before the quants are computed; leave them float32, and let blocks round.": {
        SCALE_4: f"{SCALE_4}\n    scales = scales.astype(np.float16)"
    },
    "Q4_0 rounds halves to even, and llama.cpp up: multiply by inverse(scales), add 8.5, then np.floor.": {
        ROUNDED_4: "quants = np.round(weights * inverse(scales) + 8).clip(0, 15).astype(np.uint8)"
    },
    "Q4_0 divides by a scale that may be 0, and rounds halves to even: multiply by inverse(scales), add 8.5, then "
    "np.floor.": {ROUNDED_4: "quants = (np.round(weights / scales).clip(-8, 7) + 8).astype(np.uint8)"},
    "The scale of a block of zeros is 0.0 in Q4_0; llama.cpp divides 0 by -8, which is -0.0, and their bytes differ.": {
        SCALE_4: f"{SCALE_4} + 0.0"
    },
    'The blocks of Q4_0 have no scale: set blocks["scale"].': {
        f'    blocks["scale"] = scales\n    {PACKED}': f"    {PACKED}"
    },
    "The high half comes first; the low one must.": {
        UNPACKED: 'quants = np.concatenate([blocks["packed"] >> 4, blocks["packed"] & 15], axis=-1)'
    },
    "The halves of a byte are neighbors; all low ones come first.": {
        UNPACKED: 'quants = np.stack([blocks["packed"] & 15, blocks["packed"] >> 4], axis=-1)\n'
        "    quants = quants.reshape(*blocks.shape, 32)"
    },
    "The low half still has the high one above it: & 15.": {UNPACKED: UNPACKED.replace(" & 15", "")},
    "The high half is not shifted down: >> 4.": {UNPACKED: UNPACKED.replace(">> 4", "& 240")},
    "The low half is cut to three bits; it has four: & 15.": {UNPACKED: UNPACKED.replace("15", "7")},
    "The halves are joined along the first axis; join along the last.": {
        UNPACKED: UNPACKED.replace("axis=-1", "axis=0")
    },
    "The quants of Q4_0 are counted from 0; subtract 8.": {
        READ_4: READ_4.replace("(quants.astype(np.int8) - 8)", "quants.astype(np.int8)")
    },
    "The quants of Q4_0 are uint8 when 8 is subtracted, so -1 becomes 255: astype(np.int8) first.": {
        READ_4: READ_4.replace("quants.astype(np.int8) - 8", "quants - 8")
    },
    "7 is subtracted from the quants of Q4_0; subtract 8, which was added.": {READ_4: READ_4.replace("- 8", "- 7")},
    "The numbers of Q4_0 are computed in float16, which has three digits; make the scales float32 first.": {
        READ_4: READ_4.replace(".astype(np.float32)", "").replace("return ", "return (") + ").astype(np.float32)"
    },
    "The scale of Q4_0 is added to the quants; multiply.": {READ_4: READ_4.replace("* (", "+ (")},
    "The bias is missing: add it to the product.": {BIASED: BIASED.replace(" + self.bias", "")},
    "The bias is subtracted; add it.": {BIASED: BIASED.replace("+ self.bias", "- self.bias")},
    "The outputs of the padding are still there; keep the first out_dim.": {
        BIASED: "return product + F.pad(self.bias, [0, product.shape[-1] - self.out_dim]) if isinstance(self.bias, "
        "Tensor) else product"
    },
    "The outputs of the padding are still there, and the bias has no place for them; keep the first out_dim.": {
        BIASED: "return product + self.bias"
    },
    "The first axis is cut, not the last: [..., : self.out_dim].": {BIASED: BIASED.replace("..., ", "")},
    "The last outputs are kept, where the padding is; keep the first.": {
        BIASED: BIASED.replace(": self.out_dim", "-self.out_dim :")
    },
    "F.qmatmul gets a text; it takes QuantizationEncoding.Q4_0.": {
        PRODUCT: PRODUCT.replace("QuantizationEncoding.Q4_0", '"Q4_0"')
    },
    "@ takes packed bytes for numbers; only F.qmatmul can read the weight.": {PRODUCT: "product = x @ self.weight.T"},
    "weights[largest] takes whole blocks; np.take_along_axis takes one number of each.": {
        SCALE_4: SCALE_4.replace("np.take_along_axis(weights, largest, axis=-1)", "weights[largest]")
    },
}

ALTERNATIVES = {
    "the place by itself": {INDEX: "largest = np.argmax(np.abs(weights), axis=-1)[..., None]"},
    "halves away from 0 by the magnitude": {
        ROUNDED_8: "quotients = weights * inverse(scales)\n"
        "    quants = np.sign(quotients) * np.floor(np.abs(quotients) + np.float32(0.5))"
    },
    "halves away from 0 by the sign": {
        ROUNDED_8: "quotients = weights * inverse(scales)\n"
        "    quants = np.trunc(quotients.astype(np.float64) + np.copysign(0.5, quotients))"
    },
    "halves away from 0 by np.where": {
        ROUNDED_8: "quotients = weights * inverse(scales)\n"
        "    quants = np.where(quotients < 0, np.ceil(quotients - 0.5), np.floor(quotients + 0.5))"
    },
    "halves away from 0 as llama.cpp's package has it": {
        ROUNDED_8: "quotients = weights * inverse(scales)\n"
        "    whole = np.trunc(quotients)\n"
        "    quants = whole + np.trunc(2 * (quotients - whole))",
    },
    "the inverse by hand": {
        ROUNDED_8: "quants = roundf(weights * np.where(scales == 0, 0, 1 / np.where(scales == 0, 1, scales)))"
    },
    "as whole numbers first": {ROUNDED_8: ROUNDED_8.replace("= ", "= (") + ").astype(np.int8)"},
    "truncated, since nothing is negative": {
        ROUNDED_4: "quants = np.minimum((weights * inverse(scales) + np.float32(8.5)).astype(np.uint8), 15)"
    },
    "a sum of halves": {PACKED: 'blocks["packed"] = quants[..., :half] + 16 * quants[..., half:]'},
    "halves by np.split": {
        PACKED: "low, high = np.split(quants, 2, axis=-1)\n"
        '    blocks["packed"] = np.bitwise_or(low, np.left_shift(high, 4))'
    },
    "a remainder and a quotient": {UNPACKED: UNPACKED.replace("& 15", "% 16").replace(">> 4", "// 16")},
    "divmod": {UNPACKED: 'quants = np.concatenate(np.divmod(blocks["packed"], 16)[::-1], axis=-1)'},
    "the quants of Q4_0 as float32 first": {READ_4: READ_4.replace("np.int8", "np.float32")},
    "the scale multiplied first": {
        READ_4: 'scales = blocks["scale"].astype(np.float32)\n    return scales * quants - 8 * scales'
    },
    "in one line": {
        f"{PRODUCT}\n        {BIASED}": BIASED.replace("product[", PRODUCT.removeprefix("product = ") + "[")
    },
    "the bias in front": {BIASED: "return self.bias + product[..., : self.out_dim]"},
    "dequantized first": {
        PRODUCT: "blocks = np.from_dlpack(self.weight).view(Q4_0)\n"
        "        weight = dequantize_q4_0(blocks).reshape(len(blocks), -1)\n"
        "        product = x @ F.constant(weight, dtype=x.dtype, device=x.device).T"
    },
}

#: What people bring along from PyTorch, or from Python; the check shows the line to write instead.
HABITS = {
    "abs as a method": {SCALE_8: SCALE_8.replace("np.abs(weights)", "weights.abs()")},
    "max with a dim": {SCALE_8: SCALE_8.replace("axis=-1, keepdims=True", "dim=-1, keepdim=True")},
    "argmax with a dim": {INDEX: INDEX.replace("argmax(axis=-1, keepdims=True)", "argmax(dim=-1, keepdim=True)")},
    "torch.abs": {SCALE_8: SCALE_8.replace("np.abs", "torch.abs")},
    "clamp": {ROUNDED_4: ROUNDED_4.replace(".clip(", ".clamp(")},
    "to a dtype": {ROUNDED_4: ROUNDED_4.replace(".astype(np.uint8)", ".to(np.uint8)")},
    "torch.cat": {UNPACKED: UNPACKED.replace("np.concatenate", "torch.cat").replace("axis", "dim")},
    "qmatmul without None": {PRODUCT: PRODUCT.replace("None, ", "")},
    "float as a method": {READ_8: READ_8.replace(".astype(np.float32)", ".float()")},
}
