"""The lowest rung of the ladder: attention as the formula says, with all scores of a head in memory."""

from std.math import exp, sqrt

from max.algorithm import sync_parallelize

from .taught import LOWEST, Numbers, Rows, Starts, add_weighted, dot


def attend_head(query: Numbers, key: Numbers, value: Numbers, start: Int, d: Int, output: Numbers, width: Int):
    """Compute all scores, hide the future and the padding, turn rows into weights, and add up the values."""
    var seq = len(query) // d
    var total = len(key) // d
    var memory = List[Float32]()
    memory.resize(unsafe_uninit_length=seq * total)
    var scores = Numbers(
        unsafe_ptr=memory.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), length=seq * total
    )
    for row in range(seq):
        for k in range(total):
            scores[row * total + k] = dot(query[row * d : (row + 1) * d], key[k * d : (k + 1) * d]) / sqrt(Float32(d))
    for row in range(seq):
        for k in range(total):
            if k < start or k > total - seq + row:
                scores[row * total + k] = LOWEST
    for row in range(seq):
        var these = scores[row * total : (row + 1) * total]
        var maximum = LOWEST
        for score in these:
            maximum = max(maximum, score)
        var sum = Float32(0)
        for ref score in these:
            score = exp(score - maximum)
            sum += score
        for ref score in these:
            score /= sum
    for row in range(seq):
        var result = output[row * width : row * width + d]
        result.fill(0)
        for k in range(total):
            add_weighted(result, scores[row * total + k], value[k * d : (k + 1) * d])
    _ = memory^


def causal_attention(
    queries: Rows, keys: Rows, values: Rows, starts: Starts, n_head: Int, seq: Int, output: Numbers
):  # [batch * head * seq, d], 2 x [batch * head * total, d], [batch] -> [batch * seq * head * d]
    """Compute step 21's ``causal_attention``, a head per task."""
    var d = queries.d
    var total = len(keys) // (len(starts) * n_head)

    def task(i: Int) {imm}:
        var sequence = i // n_head
        var query = queries.numbers[i * seq * d : (i + 1) * seq * d]
        var key = keys.numbers[i * total * d : (i + 1) * total * d]
        var value = values.numbers[i * total * d : (i + 1) * total * d]
        var result = output[(sequence * seq * n_head + i % n_head) * d :]
        attend_head(query, key, value, Int(starts[sequence]), d, result, n_head * d)

    sync_parallelize(task, len(starts) * n_head)
