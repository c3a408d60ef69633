"""The kernel of ``play/kernels``, called as step 21's is."""

from max.runtime.asyncrt import parallelism_level

from .heads import Heads, attend
from .taught import Numbers, Rows, Starts

comptime DEPTH = 64  # GPT-2's


def causal_attention(
    queries: Rows, keys: Rows, values: Rows, starts: Starts, n_head: Int, seq: Int, output: Numbers
):  # [batch * head * seq, d], 2 x [batch * head * total, d], [batch] -> [batch * seq * head * d]
    """Compute step 21's ``causal_attention``."""
    var batch = len(starts)
    var total = len(keys) // (batch * n_head)
    attend[DEPTH](
        Heads(queries.numbers.unsafe_ptr(), n_head * seq * DEPTH, seq * DEPTH, DEPTH),
        Heads(keys.numbers.unsafe_ptr(), n_head * total * DEPTH, total * DEPTH, DEPTH),
        Heads(values.numbers.unsafe_ptr(), n_head * total * DEPTH, total * DEPTH, DEPTH),
        starts.unsafe_ptr(),
        Heads(output.unsafe_ptr(), seq * n_head * DEPTH, DEPTH, n_head * DEPTH),
        batch,
        n_head,
        n_head,
        seq,
        total,
        parallelism_level(None),
    )
