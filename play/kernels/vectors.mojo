"""What all kernels are made of: a vector register, the tile that fits the registers, 2**x, and a transposition."""

from std.memory import bitcast
from std.sys.info import CompilationTarget, simd_width_of

comptime WIDTH = simd_width_of[DType.float32]()
comptime Vector = SIMD[DType.float32, WIDTH]
comptime Floats = Pointer[Float32, MutUntrackedOrigin]

# A tile of ROWS x VECTORS sums stays in registers; VECTORS more hold one factor, and at least one holds the other.
comptime MANY_REGISTERS = CompilationTarget.has_avx512f() or CompilationTarget.has_neon()  # 32 of them, else 16
comptime ROWS = 8 if MANY_REGISTERS else 6
comptime VECTORS = 3 if MANY_REGISTERS else 2
comptime BLOCK = VECTORS * WIDTH  # rows that were turned: a lane of a register is a row

comptime LOG2_E = 1.4426950408889634


@always_inline
def exp2[width: Int](x: SIMD[DType.float32, width]) -> SIMD[DType.float32, width]:
    """Return 2**x to 1e-7 of its value, for x of at most 127; below -126 the result is as small as a float may be.

    Adding 1.5 * 2**23 rounds x to an integer, which then stands in the lowest bits of the sum; shifted, it is added to
    the exponent of 2**fraction, a polynomial of degree 5 for fractions from -1/2 to 1/2.
    """
    comptime ROUNDER = SIMD[DType.float32, width](12582912.0)
    var clamped = max(x, SIMD[DType.float32, width](-126))
    var shifted = clamped + ROUNDER
    var fraction = clamped - (shifted - ROUNDER)
    var power = SIMD[DType.float32, width](0.001326472707)
    power = power.fma(fraction, 0.009671512649)
    power = power.fma(fraction, 0.05550733744)
    power = power.fma(fraction, 0.2402224209)
    power = power.fma(fraction, 0.6931469776)
    power = power.fma(fraction, 1)
    var exponent = bitcast[DType.int32, width](shifted) << 23
    return bitcast[DType.float32, width](bitcast[DType.int32, width](power) + exponent)


@always_inline
def sums_of_products[count: Int, lanes: Int](
    turned: Floats, others: Floats, depth: Int
) -> Array[Vector, count * lanes]:  # [depth, BLOCK], [count, depth] -> [count, lanes * WIDTH]
    """Multiply ``count`` rows by ``lanes`` registers of rows that were turned; the tile of sums."""
    var sums = Array[Vector, count * lanes](fill=0)
    for i in range(depth):
        comptime for j in range(count):
            var other = Vector(others.unsafe_load(j * depth + i))
            comptime for lane in range(lanes):
                var numbers = turned.unsafe_load[width=WIDTH](i * BLOCK + lane * WIDTH)
                sums[j * lanes + lane] = other.fma(numbers, sums[j * lanes + lane])
    return sums^


@always_inline
def turn_rows[lanes: Int](source: Floats, stride: Int, rows: Int, depth: Int, factor: Float32, target: Floats):
    """Turn [rows, depth], ``stride`` apart, into [depth, BLOCK] times a factor; lanes without a row repeat the last."""
    comptime for lane in range(lanes):
        for tile in range(0, depth // WIDTH * WIDTH, WIDTH):
            var numbers = Array[Vector, WIDTH](fill=0)
            comptime for i in range(WIDTH):
                var row = min(lane * WIDTH + i, rows - 1)
                numbers[i] = source.unsafe_load[width=WIDTH](row * stride + tile) * factor
            transpose(numbers)
            comptime for i in range(WIDTH):
                target.unsafe_store((tile + i) * BLOCK + lane * WIDTH, numbers[i])
        for dim in range(depth // WIDTH * WIDTH, depth):
            for i in range(WIDTH):
                var row = min(lane * WIDTH + i, rows - 1)
                target.unsafe_store(dim * BLOCK + lane * WIDTH + i, source.unsafe_load(row * stride + dim) * factor)


@always_inline
def transpose(mut rows: Array[Vector, WIDTH]):
    """Turn rows into columns: log2(WIDTH) rounds, each of which weaves row i into row i + WIDTH / 2."""
    comptime rounds = log2_of(WIDTH)
    comptime for _ in range(rounds):
        var woven = Array[Vector, WIDTH](fill=0)
        comptime for i in range(WIDTH // 2):
            var both = rows[i].interleave(rows[i + WIDTH // 2])
            woven[2 * i] = both.slice[WIDTH, offset=0]()
            woven[2 * i + 1] = both.slice[WIDTH, offset=WIDTH]()
        rows = woven^


def log2_of(power: Int) -> Int:
    """Return the binary logarithm of a power of two."""
    var result = 0
    while 1 << result < power:
        result += 1
    return result
