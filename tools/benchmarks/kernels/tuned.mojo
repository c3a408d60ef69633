"""The kernel of ``play/kernels``, called as step 21's is."""

from max.runtime.asyncrt import parallelism_level

from .heads import Heads, attend

comptime Numbers = Span[Float32, MutUntrackedOrigin]
comptime Starts = Span[Int32, MutUntrackedOrigin]
comptime DEPTH = 64  # GPT-2's


def causal_attention(
    query: Numbers, key: Numbers, value: Numbers, starts: Starts, heads: Int, seq: Int, d: Int, output: Numbers
):  # [batch, head, seq, d], twice [batch, head, total, d], [batch] -> [batch, seq, head * d]
    """Compute step 21's ``causal_attention``."""
    var batch = len(starts)
    var total = len(key) // (batch * heads * DEPTH)
    attend[DEPTH](
        Heads(query.unsafe_ptr(), heads * seq * DEPTH, seq * DEPTH, DEPTH),
        Heads(key.unsafe_ptr(), heads * total * DEPTH, total * DEPTH, DEPTH),
        Heads(value.unsafe_ptr(), heads * total * DEPTH, total * DEPTH, DEPTH),
        starts.unsafe_ptr(),
        Heads(output.unsafe_ptr(), seq * heads * DEPTH, DEPTH, heads * DEPTH),
        batch,
        heads,
        seq,
        total,
        parallelism_level(None),
    )
