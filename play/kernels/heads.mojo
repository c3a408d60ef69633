"""All heads of a batch, side by side on the processor's cores."""

from max.algorithm import sync_parallelize

from .attention import attend_block, attend_row
from .vectors import BLOCK, VECTORS, WIDTH, Floats

comptime FEW = 8  # queries: for up to as many, a lane is better used for a number of the head than for a query
comptime TINY = 1 << 18  # multiplications: to wake other threads takes longer than to do so many


@fieldwise_init
struct Heads(TrivialRegisterPassable):
    """Rows of numbers, one per token and head, anywhere in memory: [batch, head, token, depth], by strides."""

    var data: Floats
    var batch: Int
    var head: Int
    var row: Int

    def of(self, batch: Int, head: Int) -> Floats:
        """Return the first row of a head."""
        return self.data.unsafe_offset(batch * self.batch + head * self.head)


def store[depth: Int](new: Heads, cache: Heads, batch: Int, heads: Int, seq: Int, past: Int):
    """Copy the keys, or the values, of new tokens behind those of the ``past`` tokens in a cache."""
    for index in range(batch * heads):
        var row = index // heads
        var head = index % heads
        var target = cache.of(row, head).unsafe_offset(past * cache.row)
        copy_rows[depth](new.of(row, head), new.row, target, cache.row, seq)


def attend[depth: Int](
    query: Heads,
    key: Heads,
    value: Heads,
    starts: Pointer[Int32, MutUntrackedOrigin],
    output: Heads,
    batch: Int,
    heads: Int,
    kv_heads: Int,
    seq: Int,
    total: Int,
    workers: Int,
):  # [batch, head, seq, depth], twice [batch, kv_head, total, depth], [batch] -> [batch, head, seq, depth]
    """Let the last ``seq`` of ``total`` tokens attend to all before them, and to themselves.

    The keys of a head lie side by side, as a cache has them, and so do its values. Heads of queries that lie next to
    each other share a head of keys and values if there are fewer of these.
    """
    var group = heads // kv_heads
    var blocks = (seq + BLOCK - 1) // BLOCK
    var size = (seq + blocks * WIDTH - 1) // (blocks * WIDTH) * WIDTH  # of a block: all alike, and of whole registers
    blocks = (seq + size - 1) // size
    var parts = 1 if seq <= FEW else min(blocks, (2 * workers + batch * heads - 1) // (batch * heads))

    def task(index: Int) {imm}:
        var part = index % parts
        var head = index // parts % heads
        var row = index // parts // heads
        var start = max(Int(starts.unsafe_load(row)), 0)
        if seq <= FEW:
            for i in range(seq):
                attend_row[depth](
                    query.of(row, head).unsafe_offset(i * query.row),
                    key.of(row, head // group),
                    value.of(row, head // group),
                    start,
                    total - seq + i + 1,
                    output.of(row, head).unsafe_offset(i * output.row),
                )
            return
        for block in range(part, blocks, parts):
            var first = block * size
            var rows = min(size, seq - first)
            comptime for lanes in range(1, VECTORS + 1):
                if size == lanes * WIDTH:
                    attend_block[depth, lanes](
                        query.of(row, head).unsafe_offset(first * query.row),
                        query.row,
                        rows,
                        total - seq + first,
                        key.of(row, head // group),
                        value.of(row, head // group),
                        start,
                        output.of(row, head).unsafe_offset(first * output.row),
                        output.row,
                    )

    if batch * heads * seq * total * depth < TINY:
        for index in range(batch * heads * parts):
            task(index)
    else:
        sync_parallelize(task, batch * heads * parts)


@always_inline
def copy_rows[depth: Int](source: Floats, source_stride: Int, target: Floats, target_stride: Int, count: Int):
    """Copy rows of numbers that are ``source_stride`` apart to where they are ``target_stride`` apart."""
    for i in range(count):
        for j in range(0, depth // WIDTH * WIDTH, WIDTH):
            target.unsafe_store(i * target_stride + j, source.unsafe_load[width=WIDTH](i * source_stride + j))
        for j in range(depth // WIDTH * WIDTH, depth):
            target.unsafe_store(i * target_stride + j, source.unsafe_load(i * source_stride + j))
