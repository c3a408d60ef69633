"""Step 21, what people write instead: mistakes, each with its sentence, and other right answers.

``MISTAKES`` are edits of the kernel in Mojo. ``MODELS`` are the same mistakes as edits of its model in NumPy
(``tests/kernels/step_21/model.py``), by whose numbers they are named; ``./run nightly`` compiles all of the former
and compares.
"""

SCALE = "1 / sqrt(Float32(keys.d))"
SCALED = " * scale"
NO_SCALE = {f"    var scale: Float32 = {SCALE}\n": ""}
MODEL_SCALE = "keys @ query / np.sqrt(np.float32(len(query)))"
END = "min(block + KEYS, position + row + 1)"
DIVIDE = "number /= max(sums[row], 1)"
MODEL_DIVIDE = "return outputs / np.maximum(sums, 1)[:, None]"
BLOCKS = "range(start, position + rows, KEYS)"
NEW = "max(row_max, largest(scores))"

TOLD = {  # a sentence: how to make the mistake in the kernel, and in its model
    "The scores are exponentiated as they are: it is exp(score - new maximum), which cannot overflow.": (
        {"score = exp(score - new_max)": "score = exp(score)"},
        {"np.exp(scores - new_max)": "np.exp(scores)"},
    ),
    "The factor is upside down: it is exp(old maximum - new maximum), which is at most 1.": (
        {"exp(row_max - new_max)": "exp(new_max - row_max)"},
        {"np.exp(np.float32(row_max) - new_max)": "np.exp(new_max - np.float32(row_max))"},
    ),
    "The sum is not rescaled: multiply it by the factor before the new weights are added.": (
        {"    row_sum *= factor\n": ""},
        {"row_sum * factor + ": "row_sum + "},
    ),
    "The sum begins anew with every block: multiply the old one by the factor and add to it.": (
        {"row_sum *= factor": "row_sum = 0"},
        {"row_sum * factor + weights": "weights"},
    ),
    "The maximum is not updated: the next block needs the new one.": (
        {"    row_max = new_max  # m\n": ""},
        {"return weights, new_max, row_sum": "return weights, np.float32(row_max), row_sum"},
    ),
    "The new maximum is that of this block alone: it must be at least the old one.": (
        {NEW: "largest(scores)"},
        {"max(np.float32(row_max), scores.max(initial=LOWEST))": "scores.max(initial=LOWEST)"},
    ),
    "The weights are divided by the sum in every block: only the last sum is right, so attend_tile divides at the "
    "end.": (
        {"    return factor\n": "    for ref score in scores:\n        score /= row_sum\n    return factor\n"},
        {"return weights, new": "return weights / (row_sum * factor + weights.sum()), new"},
    ),
    "The scores are not scaled: divide each by the square root of d.": (
        NO_SCALE | {SCALED: ""},
        {MODEL_SCALE: "keys @ query"},
    ),
    "The scores are divided by d itself; divide by its square root.": (
        {SCALE: "1 / Float32(keys.d)"},
        {MODEL_SCALE: "keys @ query / np.float32(len(query))"},
    ),
    "The scores are multiplied by the square root of d; divide by it.": (
        {SCALE: SCALE.removeprefix("1 / ")},
        {MODEL_SCALE: "keys @ query * np.sqrt(np.float32(len(query)))"},
    ),
    "The maximum is raised to 0, which leaves scores far below no weight: it is the largest score, of any sign.": (
        {"    var factor = online": "    row_max = max(row_max, 0)\n    var factor = online"},
        {"= online_softmax(scores, row_max, row_sum)": "= online_softmax(scores, max(row_max, 0), row_sum)"},
    ),
    "The output is not rescaled: multiply the sum of earlier blocks by the factor.": (
        {"number *= factor": "number *= 1"},
        {"output * factor + ": "output + "},
    ),
    "The output begins anew with every block: multiply it by the factor and add to it.": (
        {"number *= factor": "number = 0"},
        {"output * factor + weights": "weights"},
    ),
    "The keys are added up where the values should be.": (
        {"add_weighted(output, scores[i], values[": "add_weighted(output, scores[i], keys["},
        {"weights @ values": "weights @ keys"},
    ),
    "Every row looks as far as the last row of its tile: end at its own position, position + row, included.": (
        {END: "min(block + KEYS, position + rows)"},
        {END: "min(block + KEYS, position + rows)"},
    ),
    "A row does not look at its own key: it sees position + row + 1 keys, its own included.": (
        {END: "min(block + KEYS, position + row)"},
        {END: "min(block + KEYS, position + row)"},
    ),
    "The position is left out of the keys that a row may see: before row 0 of the tile, there are position keys.": (
        {END: "min(block + KEYS, row + 1)"},
        {END: "min(block + KEYS, row + 1)"},
    ),
    "The keys before the start are looked at: the first block begins at start.": (
        {BLOCKS: "range(0, position + rows, KEYS)"},
        {BLOCKS: "range(0, position + rows, KEYS)"},
    ),
    "The blocks end where the tile begins: its own keys are on the diagonal, so go on to position + rows.": (
        {BLOCKS: "range(start, position, KEYS)"},
        {BLOCKS: "range(start, position, KEYS)"},
    ),
    "The last block is dropped if it is not full: the blocks go on to position + rows.": (
        {BLOCKS: "range(start, start + (position + rows - start) // KEYS * KEYS, KEYS)"},
        {BLOCKS: "range(start, start + (position + rows - start) // KEYS * KEYS, KEYS)"},
    ),
    "A row skips its last block if it may see only part of it: end cuts the block short, so look at the rest.": (
        {"if end > block:": "if end == block + KEYS:"},
        {"if end > block:": "if end == block + KEYS:"},
    ),
    "The rows are not divided by their sums.": (
        {DIVIDE: "number /= 1"},
        {MODEL_DIVIDE: "return outputs"},
    ),
    "A row without a key is divided by its sum 0, which gives NaN: divide by at least 1.": (
        {DIVIDE: "number /= sums[row]"},
        {MODEL_DIVIDE: "return outputs / sums[:, None]"},
    ),
}
MISTAKES = {sentence: kernel for sentence, (kernel, _) in TOLD.items()}
MODELS = {sentence: model for sentence, (_, model) in TOLD.items()}

LOOP_OF_WEIGHTS = """\
    row_sum *= factor
    for ref score in scores:
        score = exp(score - new_max)  # P̃
        row_sum += score"""
TILE = """\
    for block in range(start, position + rows, KEYS):
        for row in range(rows):
            var end = min(block + KEYS, position + row + 1)
            if end > block:  # else the whole block is in the row's future
"""

ALTERNATIVES = {
    "the weights are added up by themselves, and the sum is updated at the end": {
        LOOP_OF_WEIGHTS: """\
    var added = Float32(0)
    for i in range(len(scores)):
        scores[i] = exp(scores[i] - new_max)
        added += scores[i]
    row_sum = row_sum * factor + added"""
    },
    "an if in place of max": {
        f"    var new_max = {NEW}\n": """\
    var new_max = row_max
    for score in scores:
        if score > new_max:
            new_max = score
"""
    },
    "a while in place of a for": {
        f"    var new_max = {NEW}\n": """\
    var new_max = row_max
    var i = 0
    while i < len(scores):
        new_max = max(new_max, scores[i])
        i += 1
"""
    },
    "a root for every key": NO_SCALE | {SCALED: " / sqrt(Float32(keys.d))"},
    "nothing is rescaled where the maximum has not changed": {
        "    for ref number in output:\n        number *= factor\n": (
            "    if factor < 1:\n        for i in range(len(output)):\n            output[i] *= factor\n"
        )
    },
    "the rows are the outer loop": {
        TILE: """\
    for row in range(rows):
        for block in range(start, position + row + 1, KEYS):
            var end = min(block + KEYS, position + row + 1)
            if end > block:
"""
    },
}

HABITS = {
    "expf": {"exp(row_max - new_max)": "expf(row_max - new_max)"},
    "fmaxf": {NEW: "fmaxf(row_max, largest(scores))"},
    "math.exp": {"exp(score - new_max)": "math.exp(score - new_max)"},
    "np.exp": {"var factor = exp(": "var factor = np.exp("},
    "sqrt of a whole number": {"sqrt(Float32(keys.d))": "sqrt(keys.d)"},
    "Python's float": {"sqrt(Float32(keys.d))": "math.sqrt(float(keys.d))"},
    "a power in place of a root": {"/ sqrt(Float32(keys.d))": "/ keys.d ** 0.5"},
    "a type in front of a name": {"var factor = exp(": "float factor = exp("},
    "increment": {
        f"    var new_max = {NEW}\n": (
            "    var new_max = row_max\n    var k = 0\n    while k < len(scores):\n"
            "        new_max = max(new_max, scores[k])\n"
            "        k++\n"
        )
    },
    "let": {"var end = min(block": "let end = min(block"},
}
