"""A linear layer for few rows, as a cache leaves them: all of its time goes into reading the weights once.

Every core reads its own rows of the weights, a few side by side, from one end to the other, and multiplies what it has
read by all rows of x while it is in a register.
"""

from max.algorithm import sync_parallelize
from std.sys.intrinsics import PrefetchOptions, prefetch

from .vectors import MANY_REGISTERS, WIDTH, Floats, Vector

comptime FEW = 8  # rows of x: with more, the cores multiply longer than they read
comptime PIECE = 16  # outputs that a core takes at least
comptime PIECES = 2  # for each core, so that one that wakes up late takes less
comptime SUMS = 24 if MANY_REGISTERS else 12  # registers, beside those of what is multiplied
comptime SECOND_NEAREST = PrefetchOptions().medium_locality()  # the cache: the nearest is full of x


@always_inline
def outputs[rows: Int, count: Int](
    woven: Floats, weight: Floats, size: Int, output: Floats, stride: Int
):  # [size, rows], [count, size] -> [rows, count], ``stride`` apart
    """Compute ``count`` outputs of each row, from rows that :func:`weave` has put together."""
    var sums = Array[Vector, rows * count](fill=0)
    var whole = size // WIDTH * WIDTH
    for i in range(0, whole, WIDTH):
        var weights = Array[Vector, count](fill=0)
        comptime for j in range(count):
            prefetch[SECOND_NEAREST](weight.unsafe_offset((j + count) * size + i))  # what the next outputs need here
            weights[j] = weight.unsafe_load[width=WIDTH](j * size + i)
        comptime for row in range(rows):
            var numbers = woven.unsafe_load[width=WIDTH](i * rows + row * WIDTH)
            comptime for j in range(count):
                sums[row * count + j] = weights[j].fma(numbers, sums[row * count + j])
    comptime for row in range(rows):
        comptime for j in range(count):
            var sum = sums[row * count + j].reduce_add()
            for i in range(whole, size):
                sum += woven.unsafe_load(i * rows + row) * weight.unsafe_load(j * size + i)
            output.unsafe_store(row * stride + j, sum)


def weave[rows: Int](x: Floats, size: Int, woven: Floats):  # [rows, size] -> [size, rows]
    """Put the registers that are needed together side by side: the first one of every row, then the second.

    Apart, rows whose size is a multiple of 1,024 would share a few places of the nearest cache.
    """
    var whole = size // WIDTH * WIDTH
    comptime for row in range(rows):
        for i in range(0, whole, WIDTH):
            woven.unsafe_store(i * rows + row * WIDTH, x.unsafe_load[width=WIDTH](row * size + i))
        for i in range(whole, size):
            woven.unsafe_store(i * rows + row, x.unsafe_load(row * size + i))


def rows_known[rows: Int](
    x: Floats, weight: Floats, size: Int, count: Int, output: Floats, workers: Int
):  # [rows, size], [count, size] -> [rows, count]
    """Compute x @ weight.T for a number of rows that is known when this is compiled."""
    comptime side_by_side = min(4, SUMS // rows)  # rows of weights: rows * side_by_side sums stay in registers
    var pieces = min(PIECES * workers, (count + PIECE - 1) // PIECE)
    var memory = List[Float32](unsafe_uninit_length=rows * size)
    var woven = memory.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
    weave[rows](x, size, woven)

    def task(index: Int) {imm}:
        var first = index * count // pieces
        var end = (index + 1) * count // pieces
        while end - first >= side_by_side:
            outputs[rows, side_by_side](
                woven, weight.unsafe_offset(first * size), size, output.unsafe_offset(first), count
            )
            first += side_by_side
        while first < end:
            outputs[rows, 1](woven, weight.unsafe_offset(first * size), size, output.unsafe_offset(first), count)
            first += 1

    if pieces == 1:
        task(0)
    else:
        sync_parallelize(task, pieces)
    _ = memory^


def few_rows(
    x: Floats, weight: Floats, rows: Int, size: Int, count: Int, output: Floats, workers: Int
):  # [rows, size], [count, size] -> [rows, count]
    """Compute x @ weight.T for at most FEW rows."""
    comptime for some in range(1, FEW + 1):
        if rows == some:
            rows_known[some](x, weight, size, count, output, workers)
