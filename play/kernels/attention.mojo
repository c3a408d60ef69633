"""Causal attention of one head, in tiles that stay in registers and blocks that stay in the nearest cache.

A lane of a register is a query. Scores stand transposed, ``[key, query]``: a tile of them is ROWS keys times VECTORS
registers of queries, and the softmax of a query, which runs over keys, never leaves its lane. Keys and values are
read one number at a time, which goes to all lanes, so neither is ever transposed; only the block of queries is, and
the block of results. The softmax is online: Milakov & Gimelshein, "Online normalizer calculation for softmax" (2018);
blocks of keys and of queries as in Dao et al., "FlashAttention" (2022).
"""

from std.math import iota, sqrt
from std.memory import stack_allocation

from .vectors import BLOCK, LOG2_E, ROWS, WIDTH, Floats, Vector, exp2, sums_of_products, transpose, turn_rows

comptime KEYS = 64  # per step of the online softmax
comptime MASKED = Float32(-1e30)  # a score that no other is below; finite, so that differences are numbers


@always_inline
def score_tile[depth: Int, keys: Int, lanes: Int, masked: Bool](
    query: Floats, key: Floats, number: Int, scores: Floats, mut highest: Array[Vector, lanes]
):  # [depth, BLOCK], [keys, depth] -> [keys, BLOCK]
    """Compute the scores of some keys, and the highest of each query so far.

    If ``masked``, the first key has a number, and lane i of the first register may look at keys up to number i.
    """
    var sums = sums_of_products[keys, lanes](query, key, depth)
    comptime for j in range(keys):
        comptime if masked:
            var visible = iota[DType.int32, WIDTH]().ge(Int32(number + j))
            sums[j * lanes] = visible.select(sums[j * lanes], MASKED)
        comptime for lane in range(lanes):
            highest[lane] = max(highest[lane], sums[j * lanes + lane])
            scores.unsafe_store(j * BLOCK + lane * WIDTH, sums[j * lanes + lane])


@always_inline
def value_tile[depth: Int, dims: Int, lanes: Int](
    weights: Floats, value: Floats, count: Int, result: Floats, correction: Array[Vector, lanes]
):  # [count, BLOCK], [count, depth] -> [dims, BLOCK]
    """Correct some dimensions of the results, and add the values of ``count`` keys by their weights."""
    var sums = Array[Vector, dims * lanes](fill=0)
    comptime for j in range(dims):
        comptime for lane in range(lanes):
            sums[j * lanes + lane] = result.unsafe_load[width=WIDTH](j * BLOCK + lane * WIDTH) * correction[lane]
    for k in range(count):
        comptime for j in range(dims):
            var number = Vector(value.unsafe_load(k * depth + j))
            comptime for lane in range(lanes):
                var weight = weights.unsafe_load[width=WIDTH](k * BLOCK + lane * WIDTH)
                sums[j * lanes + lane] = number.fma(weight, sums[j * lanes + lane])
    comptime for j in range(dims):
        comptime for lane in range(lanes):
            result.unsafe_store(j * BLOCK + lane * WIDTH, sums[j * lanes + lane])


@no_inline
def step[depth: Int, lanes: Int, masked: Bool](
    query: Floats,
    key: Floats,
    value: Floats,
    count: Int,
    number: Int,
    scores: Floats,
    result: Floats,
    highest: Floats,
    total: Floats,
):  # [depth, BLOCK], twice [count, depth]; [KEYS, BLOCK], [depth, BLOCK], twice [BLOCK]
    """Let a block of queries attend to ``count`` more keys, at most KEYS; masked as in ``score_tile``."""
    var now = Array[Vector, lanes](fill=0)
    comptime for lane in range(lanes):
        now[lane] = highest.unsafe_load[width=WIDTH](lane * WIDTH)
    var done = 0
    while count - done >= ROWS:
        score_tile[depth, ROWS, lanes, masked](
            query, key.unsafe_offset(done * depth), number + done, scores.unsafe_offset(done * BLOCK), now
        )
        done += ROWS
    comptime for power in reversed(range(3)):
        comptime size = 1 << power
        if count - done >= size:
            score_tile[depth, size, lanes, masked](
                query, key.unsafe_offset(done * depth), number + done, scores.unsafe_offset(done * BLOCK), now
            )
            done += size

    var correction = Array[Vector, lanes](fill=0)
    var sums = Array[Vector, lanes](fill=0)
    comptime for lane in range(lanes):
        correction[lane] = exp2(highest.unsafe_load[width=WIDTH](lane * WIDTH) - now[lane])
        highest.unsafe_store(lane * WIDTH, now[lane])
        sums[lane] = total.unsafe_load[width=WIDTH](lane * WIDTH) * correction[lane]
    for k in range(count):
        comptime for lane in range(lanes):
            var weight = exp2(scores.unsafe_load[width=WIDTH](k * BLOCK + lane * WIDTH) - now[lane])
            comptime if masked and lane == 0:
                weight = iota[DType.int32, WIDTH]().ge(Int32(number + k)).select(weight, 0)
            sums[lane] += weight
            scores.unsafe_store(k * BLOCK + lane * WIDTH, weight)
    comptime for lane in range(lanes):
        total.unsafe_store(lane * WIDTH, sums[lane])

    comptime for tile in range(depth // ROWS):
        comptime dim = tile * ROWS
        value_tile[depth, ROWS, lanes](
            scores, value.unsafe_offset(dim), count, result.unsafe_offset(dim * BLOCK), correction
        )
    comptime rest = depth % ROWS
    comptime if rest:
        comptime dim = depth - rest
        value_tile[depth, rest, lanes](
            scores, value.unsafe_offset(dim), count, result.unsafe_offset(dim * BLOCK), correction
        )


@always_inline
def store_results[depth: Int, lanes: Int](
    block: Floats, highest: Floats, total: Floats, output: Floats, stride: Int, rows: Int
):
    """Divide [depth, BLOCK] by the total weights and turn it into [rows, depth], ``stride`` apart.

    A query that may look at no key, since it is padding, gets zeros.
    """
    comptime for lane in range(lanes):
        var weight = total.unsafe_load[width=WIDTH](lane * WIDTH)
        var sees = highest.unsafe_load[width=WIDTH](lane * WIDTH).gt(MASKED)
        var factor = sees.select(1 / weight, 0)
        comptime for tile in range(depth // WIDTH):
            var numbers = Array[Vector, WIDTH](fill=0)
            comptime for i in range(WIDTH):
                numbers[i] = block.unsafe_load[width=WIDTH]((tile * WIDTH + i) * BLOCK + lane * WIDTH) * factor
            transpose(numbers)
            comptime for i in range(WIDTH):
                if lane * WIDTH + i < rows:
                    output.unsafe_store((lane * WIDTH + i) * stride + tile * WIDTH, numbers[i])
        for dim in range(depth // WIDTH * WIDTH, depth):
            for i in range(min(WIDTH, rows - lane * WIDTH)):
                var number = block.unsafe_load(dim * BLOCK + lane * WIDTH + i) * factor[i]
                output.unsafe_store((lane * WIDTH + i) * stride + dim, number)


@no_inline
def attend_block[depth: Int, lanes: Int](
    query: Floats,
    query_stride: Int,
    rows: Int,
    position: Int,
    key: Floats,
    value: Floats,
    start: Int,
    output: Floats,
    out_stride: Int,
):  # [rows, depth], twice [total, depth] -> [rows, depth]
    """Let at most ``lanes`` registers of queries, the first at ``position``, attend to the keys ``start`` … their own.
    """
    var block = stack_allocation[depth * BLOCK, Float32, alignment=64]()
    var result = stack_allocation[depth * BLOCK, Float32, alignment=64]()
    var scores = stack_allocation[KEYS * BLOCK, Float32, alignment=64]()
    var highest = stack_allocation[BLOCK, Float32, alignment=64]()
    var total = stack_allocation[BLOCK, Float32, alignment=64]()
    comptime scale = Float32(LOG2_E / sqrt(Float64(depth)))  # so that exp2 of a score is what is wanted
    turn_rows[lanes](query, query_stride, rows, depth, scale, block)
    comptime for lane in range(lanes):
        highest.unsafe_store(lane * WIDTH, Vector(MASKED))
        total.unsafe_store(lane * WIDTH, Vector(0))
        for dim in range(depth):
            result.unsafe_store(dim * BLOCK + lane * WIDTH, Vector(0))

    var k = start
    while k < position:  # keys before all queries
        var count = min(KEYS, position - k)
        step[depth, lanes, False](
            block, key.unsafe_offset(k * depth), value.unsafe_offset(k * depth), count, 0,
            scores, result, highest, total
        )
        k += count
    comptime for lane in range(lanes):  # WIDTH keys for the registers from this one on; of this one, for some lanes
        var first = position + lane * WIDTH
        var end = min(first + WIDTH, position + rows)
        var number = max(start - first, 0)
        var key_now = first + number
        if key_now < end:
            step[depth, lanes - lane, True](
                block.unsafe_offset(lane * WIDTH),
                key.unsafe_offset(key_now * depth),
                value.unsafe_offset(key_now * depth),
                end - key_now,
                number,
                scores.unsafe_offset(lane * WIDTH),
                result.unsafe_offset(lane * WIDTH),
                highest.unsafe_offset(lane * WIDTH),
                total.unsafe_offset(lane * WIDTH),
            )
    store_results[depth, lanes](block=result, highest=highest, total=total, output=output, stride=out_stride, rows=rows)


@no_inline
def attend_row[depth: Int](
    query: Floats, key: Floats, value: Floats, start: Int, end: Int, output: Floats
):  # [depth], twice [end, depth] -> [depth]
    """Let one query attend to the keys from ``start`` up to ``end``, as many in a step as a register has lanes.

    A lane is a number of the head where keys and values are read, and a key between them.
    """
    comptime width = divisor(depth)
    comptime keys = width
    comptime parts = depth // width
    comptime Part = SIMD[DType.float32, width]
    comptime Keys = SIMD[DType.float32, keys]
    comptime scale = Float32(LOG2_E / sqrt(Float64(depth)))
    var queries = Array[Part, parts](fill=0)
    var result = Array[Part, parts](fill=0)
    comptime for part in range(parts):
        queries[part] = query.unsafe_load[width=width](part * width) * scale
    var highest = Keys(MASKED)
    var total = Keys(0)  # lane by lane
    for k in range(start, end, keys):
        var sums = Array[Part, keys](fill=0)
        comptime for j in range(keys):
            var row = key.unsafe_offset(min(k + j, end - 1) * depth)
            comptime for part in range(parts):
                sums[j] = row.unsafe_load[width=width](part * width).fma(queries[part], sums[j])
        var visible = iota[DType.int32, keys]().lt(Int32(end - k))
        var products = Keys(0)
        comptime for j in range(keys):
            products[j] = sums[j].reduce_add()
        var scores = visible.select(products, MASKED)
        var now = max(highest, Keys(scores.reduce_max()))
        var correction = exp2(highest - now)
        highest = now
        var weights = visible.select(exp2(scores - now), 0)
        total = total.fma(correction, weights)
        comptime for part in range(parts):
            result[part] *= correction[0]
        comptime for j in range(keys):
            var row = value.unsafe_offset(min(k + j, end - 1) * depth)
            comptime for part in range(parts):
                result[part] = row.unsafe_load[width=width](part * width).fma(Part(weights[j]), result[part])
    var factor = 1 / total.reduce_add() if start < end else Float32(0)
    comptime for part in range(parts):
        output.unsafe_store(part * width, result[part] * factor)


def divisor(depth: Int) -> Int:
    """Return the largest power of two that divides a head's numbers, and is no wider than a register."""
    var result = WIDTH
    while depth % result:
        result //= 2
    return result
