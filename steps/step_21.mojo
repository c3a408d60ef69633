"""Step 21: a kernel of your own, causal attention that holds one query's scores of one block of keys at a time.

Source: Dao, "FlashAttention-2" (2023), algorithm 1; the tiles are those of Dao et al., "FlashAttention" (2022).
Its S are the scores, P̃ the weights before they are divided by ℓ, m the maximum, ℓ the row's sum, and O the output.
"""

from std.builtin.builtin_slice import ContiguousSlice
from std.math import ceildiv, exp, sqrt
from std.memory import stack_allocation
from std.reflection import call_location
from std.sys import simd_width_of

from max.algorithm import sync_parallelize

comptime Numbers = Span[Float32, MutUntrackedOrigin]  # float32 numbers that lie side by side in memory
comptime Starts = Span[Int32, MutUntrackedOrigin]
comptime LANES = simd_width_of[DType.float32]()  # numbers that one instruction takes: 8 with AVX2, 16 with AVX-512
comptime QUERIES = 16  # B_r, rows of a tile, which share the keys and values that were read
comptime KEYS = 32  # B_c, keys of a block, which stay in the processor's cache with their values
comptime LOWEST = Float32.MIN_FINITE  # the lowest finite score, not -inf: exp(-inf - -inf) would be NaN


@fieldwise_init
struct Rows(ImplicitlyCopyable, Sized):
    """A matrix, ``[rows, d]``, each of whose rows begins ``stride`` numbers after the one before it."""

    var numbers: Numbers
    var d: Int
    var stride: Int

    def __len__(self) -> Int:
        return ceildiv(len(self.numbers), self.stride)

    def __getitem__(self, row: Int) -> Numbers:  # -> [d]
        return self.numbers[row * self.stride : row * self.stride + self.d]

    @always_inline
    def __getitem__(self, rows: ContiguousSlice) -> Self:  # -> [rows, d]
        var first, end = rows.start.or_else(0), rows.end.or_else(len(self))
        debug_assert[assert_mode="safe"](end <= len(self), "there is no row ", end - 1, location=call_location())
        return Self(self.numbers[first * self.stride : end * self.stride], self.d, self.stride)


@always_inline
def lanes(numbers: Numbers, first: Int) -> SIMD[DType.float32, LANES]:  # [d] -> [LANES]
    """Read LANES numbers with one instruction."""
    return numbers.unsafe_ptr().unsafe_load[width=LANES](first)


def dot(a: Numbers, b: Numbers) -> Float32:  # [d], [d] -> one number
    """Multiply and add up, LANES numbers at a time; what is left over, one by one."""
    var sums = SIMD[DType.float32, LANES](0)
    var whole = len(a) // LANES * LANES
    for i in range(0, whole, LANES):
        sums += lanes(a, i) * lanes(b, i)
    var product = sums.reduce_add()
    for i in range(whole, len(a)):
        product += a[i] * b[i]
    return product


def add_weighted(output: Numbers, weight: Float32, value: Numbers):  # [d], number, [d]
    """Add ``weight`` times a value to the output."""
    var whole = len(output) // LANES * LANES
    for i in range(0, whole, LANES):
        output.unsafe_ptr().unsafe_store(i, lanes(output, i) + weight * lanes(value, i))
    for i in range(whole, len(output)):
        output[i] += weight * value[i]


def largest(numbers: Numbers) -> Float32:  # [n] -> one number
    """Return the largest number, or LOWEST if there is none."""
    var found = LOWEST
    for number in numbers:
        found = max(found, number)
    return found


def online_softmax(scores: Numbers, mut row_max: Float32, mut row_sum: Float32) -> Float32:  # [keys] -> one number
    """Exponentiate the next scores of a row, in place; return the factor that rescales what was added up before.

    ``row_max`` is the largest score so far, ``row_sum`` the sum of exp(score - row_max); both are updated.
    Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3.
    """
    # TODO: Exponentiate each score less the largest so far; update row_max and row_sum. (8 lines)
    std.os.abort("not written yet")


def attend_block(
    query: Numbers, keys: Rows, values: Rows, mut row_max: Float32, mut row_sum: Float32, output: Numbers
):  # [d], 2 x [keys, d], 2 x number, [d]
    """Let one query look at a block of keys, and add to its output."""
    var scores = Numbers(unsafe_ptr=stack_allocation[KEYS, Float32](), length=len(keys))
    # TODO: Score every key, turn the scores into weights, and add the weighted values to what is there. (8 lines)
    std.os.abort("not written yet")


def attend_tile(
    queries: Rows, keys: Rows, values: Rows, position: Int, start: Int, outputs: Rows
):  # [rows, d], 2 x [total, d] -> [rows, d]; outputs may have more rows
    """Let the queries at position, position + 1, … look at the keys from ``start`` up to their own."""
    var rows = len(queries)
    var maxes = Array[Float32, QUERIES](fill=LOWEST)
    var sums = Array[Float32, QUERIES](fill=0)
    for row in range(rows):
        outputs[row].fill(0)
    # TODO: Block after block, let every row look at the keys up to its own; turn sums into averages. (8 lines)
    std.os.abort("not written yet")


def causal_attention(
    queries: Rows, keys: Rows, values: Rows, starts: Starts, n_head: Int, seq: Int, output: Numbers
):  # [batch * head * seq, d], 2 x [batch * head * total, d], [batch] -> [batch * seq * head * d]
    """Let each of the last ``seq`` of ``total`` tokens look at the keys from its sequence's start up to its own.

    Before ``starts[i]``, sequence ``i`` has only padding. Every tile of every head is a task for a core.
    """
    var total = len(keys) // max(len(starts) * n_head, 1)
    var tiles = ceildiv(seq, QUERIES)  # of a head

    def task(i: Int) {imm}:
        var matrix = i // tiles  # a head of a sequence, one of batch * head
        var sequence = matrix // n_head
        var head = matrix % n_head
        var first = i % tiles * QUERIES
        var end = min(first + QUERIES, seq)
        var tile_queries = queries[matrix * seq + first : matrix * seq + end]
        var head_keys = keys[matrix * total : (matrix + 1) * total]
        var head_values = values[matrix * total : (matrix + 1) * total]
        var position = total - seq + first
        var row = (sequence * seq + first) * n_head + head  # of [batch * seq * head, d]
        var outputs = Rows(output[row * queries.d :], queries.d, n_head * queries.d)
        attend_tile(tile_queries, head_keys, head_values, position, Int(starts[sequence]), outputs)

    sync_parallelize(task, len(starts) * n_head * tiles)
