"""How fast memory can be read: some threads add up numbers, each its own part from one end to the other."""

from std.sys.intrinsics import prefetch
from std.sys.info import simd_width_of

from max.algorithm import sync_parallelize

comptime WIDTH = simd_width_of[DType.float32]()
comptime SUMS = 8  # vectors, added up side by side: an addition need not wait for the one before
comptime AHEAD = 4096 // 4  # numbers: how far in front of a load its cache line is asked for


@export("read")
def c_read(address: Int, count: Int, threads: Int, sums: Int) abi("C"):
    """Add up about ``count`` numbers, of which every thread takes a part; write the sum of each part."""
    var data = Pointer[Float32, MutUntrackedOrigin](unsafe_from_address=address)
    var part = count // (threads * SUMS * WIDTH) * SUMS * WIDTH
    var result = Pointer[Float32, MutUntrackedOrigin](unsafe_from_address=sums)

    def task(index: Int) {imm}:
        var sums = Array[SIMD[DType.float32, WIDTH], SUMS](fill=0)
        for i in range(index * part, (index + 1) * part, SUMS * WIDTH):
            comptime for j in range(SUMS):
                prefetch(data.unsafe_offset(i + j * WIDTH + AHEAD))
                sums[j] += data.unsafe_load[width=WIDTH](i + j * WIDTH)
        var sum = SIMD[DType.float32, WIDTH](0)
        comptime for j in range(SUMS):
            sum += sums[j]
        result.unsafe_store(index, sum.reduce_add())

    if threads == 1:
        task(0)
    else:
        sync_parallelize(task, threads)
