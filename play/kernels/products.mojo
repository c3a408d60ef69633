"""A linear layer for many rows, which is bound by how fast the cores multiply.

As in attention, a lane of a register is a row: of x, here. A block of rows is turned once, and then stays in the cache
that is second-nearest while all weights pass by. The weights are read where they are, one number at a time, for
all lanes; neither they nor their copies are ever turned. Blocks and panels as in Goto & van de Geijn, "Anatomy of
high-performance matrix multiplication" (2008).
"""

from max.algorithm import sync_parallelize
from std.memory import stack_allocation

from .vectors import BLOCK, ROWS, VECTORS, WIDTH, Floats, Vector, sums_of_products, transpose, turn_rows

comptime BLOCKS = 3  # of rows, side by side in the second-nearest cache
comptime DEEP = 768  # numbers of each row in it
comptime PANEL = 24 if ROWS == 6 else 16  # outputs: a multiple of ROWS, and of WIDTH
comptime ALIGNED = 64  # bytes
comptime PIECES = 2  # for each core, as for few rows


def many_rows(
    x: Floats, weight: Floats, bias: Floats, rows: Int, size: Int, count: Int, output: Floats, workers: Int
):  # [rows, size], [count, size], [count] -> [rows, count]
    """Compute x @ weight.T + bias; every core takes its own outputs."""
    var blocks = (rows + BLOCK - 1) // BLOCK
    var block = (rows + blocks * WIDTH - 1) // (blocks * WIDTH) * WIDTH  # all alike but the last, of whole registers
    var panels = (count + PANEL - 1) // PANEL
    var pieces = min(PIECES * workers, panels)
    var longest = min(DEEP, size)

    def task(index: Int) {imm}:
        var memory = List[Float32](unsafe_uninit_length=BLOCKS * longest * BLOCK + ALIGNED // 4)
        var start = (Int(memory.unsafe_ptr()) + ALIGNED - 1) // ALIGNED * ALIGNED
        var turned = Floats(unsafe_from_address=start)
        for top in range(0, rows, BLOCKS * block):
            var end = min(top + BLOCKS * block, rows)
            for first in range(0, size, DEEP):
                var depth = min(DEEP, size - first)
                for row in range(top, end, block):
                    var some = min(block, end - row)
                    var target = turned.unsafe_offset((row - top) // block * longest * BLOCK)
                    comptime for lanes in range(1, VECTORS + 1):
                        if (some + WIDTH - 1) // WIDTH == lanes:
                            turn_rows[lanes](x.unsafe_offset(row * size + first), size, some, depth, 1, target)
                for panel in range(index * panels // pieces, (index + 1) * panels // pieces):
                    var output_number = panel * PANEL
                    for row in range(top, end, block):
                        var some = min(block, end - row)
                        comptime for lanes in range(1, VECTORS + 1):
                            if (some + WIDTH - 1) // WIDTH == lanes:
                                add_panel[lanes](
                                    turned.unsafe_offset((row - top) // block * longest * BLOCK),
                                    weight.unsafe_offset(output_number * size + first),
                                    size,
                                    depth,
                                    bias.unsafe_offset(output_number),
                                    first == 0,
                                    output.unsafe_offset(row * count + output_number),
                                    count,
                                    some,
                                    min(PANEL, count - output_number),
                                )
        _ = memory^

    sync_parallelize(task, pieces)


@no_inline
def add_panel[lanes: Int](
    turned: Floats,
    weight: Floats,
    stride: Int,
    depth: Int,
    bias: Floats,
    begins: Bool,
    output: Floats,
    out_stride: Int,
    rows: Int,
    count: Int,
):  # [depth, BLOCK], [count, depth], [count] -> [rows, count], ``out_stride`` apart
    """Compute at most PANEL outputs of a block, and add them to the bias if a sum begins, otherwise to the output."""
    var sums = stack_allocation[PANEL * BLOCK, Float32, alignment=ALIGNED]()
    var done = 0
    while count - done >= ROWS:
        store_sums[ROWS, lanes](
            turned, weight.unsafe_offset(done * stride), stride, depth, sums.unsafe_offset(done * BLOCK)
        )
        done += ROWS
    while done < count:
        store_sums[1, lanes](
            turned, weight.unsafe_offset(done * stride), stride, depth, sums.unsafe_offset(done * BLOCK)
        )
        done += 1
    comptime for lane in range(lanes):
        for tile in range(0, count, WIDTH):
            var numbers = Array[Vector, WIDTH](fill=0)
            comptime for i in range(WIDTH):
                numbers[i] = sums.unsafe_load[width=WIDTH]((tile + i) * BLOCK + lane * WIDTH)
            transpose(numbers)
            comptime for i in range(WIDTH):
                if lane * WIDTH + i < rows:
                    var at = output.unsafe_offset((lane * WIDTH + i) * out_stride + tile)
                    var before = bias.unsafe_offset(tile) if begins else at
                    if count - tile >= WIDTH:
                        at.unsafe_store(before.unsafe_load[width=WIDTH]() + numbers[i])
                    else:
                        for j in range(count - tile):
                            at.unsafe_store(j, before.unsafe_load(j) + numbers[i][j])


@always_inline
def store_sums[count: Int, lanes: Int](turned: Floats, weight: Floats, stride: Int, depth: Int, sums: Floats):
    """Store a tile of sums, [count, BLOCK]."""
    var tile = sums_of_products[count, lanes](turned, weight, stride, depth)
    comptime for j in range(count):
        comptime for lane in range(lanes):
            sums.unsafe_store(j * BLOCK + lane * WIDTH, tile[j * lanes + lane])
