"""A rung of the ladder as a C function, which calls it several times: the threads stay awake, as in a graph of MAX."""

from kernel import causal_attention
from step_21 import Numbers, Starts


def numbers(address: Int, length: Int) -> Numbers:
    return Numbers(unsafe_ptr=Pointer[Float32, MutUntrackedOrigin](unsafe_from_address=address), length=length)


@export("attend")
def c_attend(
    query: Int, key: Int, value: Int, starts: Int, output: Int, heads: Int, seq: Int, total: Int, d: Int, calls: Int
) abi("C"):
    """[1, head, seq, d], twice [1, head, total, d], [1] -> [1, seq, head * d]."""
    var queries = numbers(query, heads * seq * d)
    var keys = numbers(key, heads * total * d)
    var values = numbers(value, heads * total * d)
    var first = Starts(unsafe_ptr=Pointer[Int32, MutUntrackedOrigin](unsafe_from_address=starts), length=1)
    for _ in range(calls):
        causal_attention(queries, keys, values, first, heads, seq, d, numbers(output, len(queries)))
