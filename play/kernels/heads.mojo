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


@fieldwise_init
struct Store[depth: Int](TrivialRegisterPassable):
    """Keys and values of new tokens, which belong behind those of the ``past`` tokens in a cache."""

    var new_key: Heads
    var new_value: Heads
    var key: Heads
    var value: Heads
    var seq: Int
    var past: Int

    @always_inline
    def __call__(self, batch: Int, head: Int):
        """Copy those of one head."""
        self.copy(self.new_key.of(batch, head), self.new_key.row, self.key.of(batch, head), self.key.row)
        self.copy(self.new_value.of(batch, head), self.new_value.row, self.value.of(batch, head), self.value.row)

    @always_inline
    def copy(self, source: Floats, source_stride: Int, target: Floats, target_stride: Int):
        copy_rows[Self.depth](
            source, source_stride, target.unsafe_offset(self.past * target_stride), target_stride, self.seq
        )


def attend[depth: Int](
    query: Heads,
    key: Heads,
    value: Heads,
    starts: Pointer[Int32, MutUntrackedOrigin],
    output: Heads,
    batch: Int,
    heads: Int,
    seq: Int,
    total: Int,
    workers: Int,
    new: Optional[Store[depth]] = None,
):  # [batch, head, seq, depth], twice [batch, head, total, depth], [batch] -> [batch, head, seq, depth]
    """Let the last ``seq`` of ``total`` tokens attend to all before them, and to themselves.

    If keys and values are ``new``, each core first stores those that it then reads.
    """
    var blocks = (seq + BLOCK - 1) // BLOCK
    var size = (seq + blocks * WIDTH - 1) // (blocks * WIDTH) * WIDTH  # of a block: all alike, and of whole registers
    blocks = (seq + size - 1) // size
    var parts = 1 if seq <= FEW else min(blocks, (2 * workers + batch * heads - 1) // (batch * heads))

    if new and parts > 1:  # several tasks read what one of them would store
        for index in range(batch * heads):
            new.value()(index // heads, index % heads)

    def task(index: Int) {imm}:
        var part = index % parts
        var head = index // parts % heads
        var row = index // parts // heads
        if new and parts == 1:
            new.value()(row, head)
        var start = max(Int(starts.unsafe_load(row)), 0)
        if seq <= FEW:
            for i in range(seq):
                attend_row[depth](
                    query.of(row, head).unsafe_offset(i * query.row),
                    key.of(row, head),
                    key.row,
                    value.of(row, head),
                    value.row,
                    start,
                    total - seq + i + 1,
                    output.of(row, head).unsafe_offset(i * output.row),
                )
            return
        var copies = List[Float32]()  # rows that are apart are put side by side, once for all blocks of queries
        var keys = side_by_side[depth](key, row, head, total, copies)
        var more = List[Float32]()
        var values = side_by_side[depth](value, row, head, total, more)
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
                        keys,
                        values,
                        start,
                        output.of(row, head).unsafe_offset(first * output.row),
                        output.row,
                    )
        _ = copies^
        _ = more^

    if batch * heads * seq * total * depth < TINY:
        for index in range(batch * heads * parts):
            task(index)
    else:
        sync_parallelize(task, batch * heads * parts)


def side_by_side[depth: Int](rows: Heads, batch: Int, head: Int, count: Int, mut copies: List[Float32]) -> Floats:
    """Return a pointer to [count, depth]; if the rows of the head are not side by side, to their copies."""
    var first = rows.of(batch, head)
    if rows.row == depth:
        return first
    copies.resize(unsafe_uninit_length=count * depth)
    var data = copies.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
    copy_rows[depth](first, rows.row, data, depth, count)
    return data


@always_inline
def copy_rows[depth: Int](source: Floats, source_stride: Int, target: Floats, target_stride: Int, count: Int):
    """Copy rows of numbers that are ``source_stride`` apart to where they are ``target_stride`` apart."""
    for i in range(count):
        for j in range(0, depth // WIDTH * WIDTH, WIDTH):
            target.unsafe_store(i * target_stride + j, source.unsafe_load[width=WIDTH](i * source_stride + j))
        for j in range(depth // WIDTH * WIDTH, depth):
            target.unsafe_store(i * target_stride + j, source.unsafe_load(i * source_stride + j))
