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
DIVIDE = "number /= max(totals[row], 1)"
MODEL_DIVIDE = "return outputs / np.maximum(totals, 1)[:, None]"
BLOCKS = "range(start, position + rows, KEYS)"
OUTPUT = "Rows(output[row * q.d :], q.d, heads * q.d)"
TURNED = "output.reshape(batch, seq, heads * d)"

TOLD = {  # a sentence: how to make the mistake in the kernel, and in its model
    "The scores are exponentiated as they are: it is exp(score - new maximum), which cannot overflow.": (
        {"score = exp(score - new)": "score = exp(score)"},
        {"np.exp(scores - new)": "np.exp(scores)"},
    ),
    "The factor is upside down: it is exp(old maximum - new maximum), which is at most 1.": (
        {"exp(maximum - new)": "exp(new - maximum)"},
        {"np.exp(np.float32(maximum) - new)": "np.exp(new - np.float32(maximum))"},
    ),
    "The total is not rescaled: multiply it by the factor before the new weights are added.": (
        {"    total *= factor\n": ""},
        {"total * factor + ": "total + "},
    ),
    "The total begins anew with every block: multiply the old one by the factor and add to it.": (
        {"total *= factor": "total = 0"},
        {"total * factor + weights": "weights"},
    ),
    "The maximum is not brought up to date: the next block needs the new one.": (
        {"    maximum = new\n": ""},
        {"return weights, new, total": "return weights, np.float32(maximum), total"},
    ),
    "The new maximum is that of this block alone: it must be at least the old one.": (
        {"var new = maximum": "var new = LOWEST"},
        {"max(np.float32(maximum), scores.max(initial=LOWEST))": "scores.max(initial=LOWEST)"},
    ),
    "The weights are divided by the total in every block: only the last total is right, so attend_tile divides at the "
    "end.": (
        {"    return factor\n": "    for ref score in scores:\n        score /= total\n    return factor\n"},
        {"return weights, new, total": "return weights / (total * factor + weights.sum()), new, total"},
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
        {"    var factor = online": "    maximum = max(maximum, 0)\n    var factor = online"},
        {"= online_softmax(scores, maximum, total)": "= online_softmax(scores, max(maximum, 0), total)"},
    ),
    "The output is not rescaled: multiply what earlier blocks have added by the factor.": (
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
    "Every row looks as far as the last row of its tile: count the keys up to its own position, row included.": (
        {END: "min(block + KEYS, position + rows)"},
        {END: "min(block + KEYS, position + rows)"},
    ),
    "A row does not look at its own key: it sees position + row + 1 keys, itself included.": (
        {END: "min(block + KEYS, position + row)"},
        {END: "min(block + KEYS, position + row)"},
    ),
    "The position is left out of what a row may see: before row 0 of the tile there are position keys.": (
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
    "A row skips its last block if it may see only a part of it: end cuts that block short, so look at what is left.": (
        {"if end > block:": "if end == block + KEYS:"},
        {"if end > block:": "if end == block + KEYS:"},
    ),
    "The rows are not divided by their totals.": (
        {DIVIDE: "number /= 1"},
        {MODEL_DIVIDE: "return outputs"},
    ),
    "A row without a key is divided by its total 0, which gives NaN: divide by at least 1.": (
        {DIVIDE: "number /= totals[row]"},
        {MODEL_DIVIDE: "return outputs / totals[:, None]"},
    ),
    "The tokens of the past are left out: the first row of a tile stands at position total - seq + first.": (
        {"var position = total - seq + first": "var position = first"},
        {"total - seq + first,": "first,"},
    ),
    "Every sequence begins where the first one does: it is starts[sequence].": (
        {"Int(starts[sequence])": "Int(starts[0])"},
        {"int(starts[sequence])": "int(starts[0])"},
    ),
    "The output is laid out as [batch, head, seq, d]; the heads of a token must lie side by side, [batch, seq, "
    "head, d].": (
        {OUTPUT: "Rows(output[(matrix * seq + first) * q.d :], q.d, q.d)"},
        {TURNED: "np.ascontiguousarray(output.transpose(0, 2, 1, 3)).reshape(batch, seq, heads * d)"},
    ),
    "The keys and values of a head are looked for every seq rows; with a past they are total rows apart.": (
        {
            "k[matrix * total : (matrix + 1) * total]": "k[matrix * seq : matrix * seq + total]",
            "v[matrix * total : (matrix + 1) * total]": "v[matrix * seq : matrix * seq + total]",
        },
        {
            "key[sequence, head],": "key.reshape(-1, d)[(sequence * heads + head) * seq :],",
            "value[sequence, head],": "value.reshape(-1, d)[(sequence * heads + head) * seq :],",
        },
    ),
    "Every head looks at the keys of the first: matrix is sequence * heads + head.": (
        {"k[matrix * total : (matrix + 1) * total]": "k[sequence * heads * total : (matrix + 1) * total]"},
        {"key[sequence, head],": "key[sequence, 0],"},
    ),
    "The first row of a tile is its number: multiply it by QUERIES.": (
        {"i % tiles * QUERIES": "i % tiles"},
        {"for first in range(0, seq, QUERIES):": "for first in range((seq + QUERIES - 1) // QUERIES):"},
    ),
}
MISTAKES = {sentence: kernel for sentence, (kernel, _) in TOLD.items()}
MODELS = {sentence: model for sentence, (_, model) in TOLD.items()}

LOOP_OF_MAXIMUM = """\
    var new = maximum
    for score in scores:
        new = max(new, score)
"""
LOOP_OF_WEIGHTS = """\
    total *= factor
    for ref score in scores:
        score = exp(score - new)
        total += score
"""
TILE = """\
    for block in range(start, position + rows, KEYS):
        for row in range(rows):
            var end = min(block + KEYS, position + row + 1)
            if end > block:
"""

ALTERNATIVES = {
    "the weights are added up by themselves, and the total is brought up to date at the end": {
        LOOP_OF_WEIGHTS: """\
    var added = Float32(0)
    for i in range(len(scores)):
        scores[i] = exp(scores[i] - new)
        added += scores[i]
    total = total * factor + added
"""
    },
    "an if in place of max": {
        LOOP_OF_MAXIMUM: """\
    var new = maximum
    for score in scores:
        if score > new:
            new = score
"""
    },
    "a while in place of a for": {
        LOOP_OF_MAXIMUM: """\
    var new = maximum
    var i = 0
    while i < len(scores):
        new = max(new, scores[i])
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
    "heads are the slow part of a task's number, sequences the fast one": {
        "var matrix = i // tiles": "var number = i // tiles",
        "var sequence = matrix // heads": "var sequence = number % len(starts)",
        "var head = matrix % heads": "var head = number // len(starts)\n        var matrix = sequence * heads + head",
    },
    "one task after the other": {
        "    sync_parallelize(task, len(starts) * heads * tiles)": "    for i in range(len(starts) * heads * tiles):\n"
        "        task(i)"
    },
}

HABITS = {
    "expf": {"exp(maximum - new)": "expf(maximum - new)"},
    "fmaxf": {"new = max(new, score)": "new = fmaxf(new, score)"},
    "math.exp": {"exp(score - new)": "math.exp(score - new)"},
    "np.exp": {"var factor = exp(": "var factor = np.exp("},
    "sqrt of a whole number": {"sqrt(Float32(keys.d))": "sqrt(keys.d)"},
    "Python's float": {"sqrt(Float32(keys.d))": "math.sqrt(float(keys.d))"},
    "a power in place of a root": {"/ sqrt(Float32(keys.d))": "/ keys.d ** 0.5"},
    "a type in front of a name": {"var factor = exp(": "float factor = exp("},
    "increment": {
        "    for score in scores:\n        new = max(new, score)\n": (
            "    var k = 0\n    while k < len(scores):\n        new = max(new, scores[k])\n        k++\n"
        )
    },
    "a decorated closure": {"    def task(i: Int) {imm}:": "    @parameter\n    def task(i: Int):"},
    "sync_parallelize with brackets": {"sync_parallelize(task, ": "sync_parallelize[task]("},
    "let": {"var end = min(block": "let end = min(block"},
}
