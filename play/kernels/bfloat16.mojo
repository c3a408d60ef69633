"""A linear layer in bfloat16: half the bytes to read, twice the products at a time, and sums in float32.

AVX512-BF16's instruction multiplies a pair of neighboring inputs by the same pair of WIDTH outputs, so a number here is
such a pair. Weights are packed as they are read: [block of outputs, pair of inputs, BLOCK]. Without the instruction,
both numbers of a pair become float32 first, for which it is enough to shift their bits.
"""

from max.algorithm import sync_parallelize
from std.memory import bitcast
from std.sys import llvm_intrinsic
from std.sys.info import CompilationTarget

from .vectors import BLOCK, ROWS, VECTORS, WIDTH, Floats, Vector

comptime Pairs = Pointer[UInt32, MutUntrackedOrigin]
comptime PairVector = SIMD[DType.uint32, WIDTH]
comptime HAS_PRODUCTS_OF_PAIRS = CompilationTarget._has_feature["avx512bf16"]()  # as far as the compiler knows
comptime PIECES = 2  # for each core, so that one that wakes up late takes less
comptime LINE = 16  # pairs, by which rows are further apart than they are long, so that they share no place of a cache


@always_inline
def add_products(sums: Vector, one: PairVector, other: PairVector) -> Vector:
    """Add both products of each pair."""
    comptime if HAS_PRODUCTS_OF_PAIRS:
        return llvm_intrinsic["llvm.x86.avx512bf16.dpbf16ps.512", Vector, has_side_effect=False](
            sums, bitcast[DType.bfloat16, 2 * WIDTH](one), bitcast[DType.bfloat16, 2 * WIDTH](other)
        )
    return second(one).fma(second(other), first(one).fma(first(other), sums))


@always_inline
def first(pairs: PairVector) -> Vector:
    return bitcast[DType.float32, WIDTH](pairs << 16)


@always_inline
def second(pairs: PairVector) -> Vector:
    return bitcast[DType.float32, WIDTH](pairs & 0xFFFF0000)


@always_inline
def rounded(x: Floats, size: Int, pairs: Pairs):  # [size] -> [(size + 1) / 2]
    """Round numbers to bfloat16; an odd one is paired with zero."""
    var whole = size // WIDTH * WIDTH
    for i in range(0, whole, WIDTH):
        var halves = x.unsafe_load[width=WIDTH](i).cast[DType.bfloat16]()
        pairs.unsafe_store(i // 2, bitcast[DType.uint32, WIDTH // 2](halves))
    for i in range(whole, size, 2):
        var second = x.unsafe_load(i + 1) if i + 1 < size else 0
        var halves = SIMD[DType.float32, 2](x.unsafe_load(i), second).cast[DType.bfloat16]()
        pairs.unsafe_store(i // 2, bitcast[DType.uint32, 1](halves))


@no_inline
def tile[rows: Int](x: Pairs, stride: Int, weight: Pairs, depth: Int, output: Floats, count: Int, out_stride: Int):
    """Multiply some rows, [rows, depth], by a block of weights, [depth, BLOCK], of which ``count`` are there."""
    var sums = Array[Vector, rows * VECTORS](fill=0)
    for i in range(depth):
        var weights = Array[PairVector, VECTORS](fill=0)
        comptime for lane in range(VECTORS):
            weights[lane] = weight.unsafe_load[width=WIDTH](i * BLOCK + lane * WIDTH)
        comptime for row in range(rows):
            var pair = PairVector(x.unsafe_load(row * stride + i))
            comptime for lane in range(VECTORS):
                sums[row * VECTORS + lane] = add_products(sums[row * VECTORS + lane], pair, weights[lane])
    comptime for row in range(rows):
        comptime for lane in range(VECTORS):
            var to = output.unsafe_offset(row * out_stride + lane * WIDTH)
            if count >= (lane + 1) * WIDTH:
                to.unsafe_store(0, sums[row * VECTORS + lane])
            else:
                for i in range(count - lane * WIDTH):
                    to.unsafe_store(i, sums[row * VECTORS + lane][i])


def rounded_product(
    x: Floats, weight: Pairs, rows: Int, size: Int, count: Int, output: Floats, workers: Int
):  # [rows, size], [blocks, (size + 1) / 2, BLOCK] -> [rows, count]
    """Compute x @ weight.T."""
    var depth = (size + 1) // 2
    var stride = (depth + LINE - 1) // LINE * LINE + LINE
    var memory = List[UInt32](unsafe_uninit_length=rows * stride)
    var pairs = memory.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
    var blocks = (count + BLOCK - 1) // BLOCK
    var tiles = (rows + ROWS - 1) // ROWS
    var pieces = min(PIECES * workers, blocks)
    var parts = min((PIECES * workers + pieces - 1) // pieces, tiles)

    def round_tile(index: Int) {imm}:
        for row in range(index * ROWS, min((index + 1) * ROWS, rows)):
            rounded(x.unsafe_offset(row * size), size, pairs.unsafe_offset(row * stride))

    def task(index: Int) {imm}:
        var piece = index // parts
        var part = index % parts
        for block in range(piece * blocks // pieces, (piece + 1) * blocks // pieces):
            for tile_now in range(part * tiles // parts, (part + 1) * tiles // parts):
                var row = tile_now * ROWS
                comptime for some in range(1, ROWS + 1):
                    if min(ROWS, rows - row) == some:
                        tile[some](
                            pairs.unsafe_offset(row * stride),
                            stride,
                            weight.unsafe_offset(block * depth * BLOCK),
                            depth,
                            output.unsafe_offset(row * count + block * BLOCK),
                            count - block * BLOCK,
                            count,
                        )

    if tiles == 1:
        round_tile(0)
    else:
        sync_parallelize(round_tile, tiles)
    if pieces * parts == 1:
        task(0)
    else:
        sync_parallelize(task, pieces * parts)
    _ = memory^
