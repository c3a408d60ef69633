"""The functions of step 21 as C functions, for its check: arrays come as addresses, and are filled."""

from step_21 import Numbers, Rows, Starts, attend_block, attend_tile, causal_attention, online_softmax


def numbers(address: Int, length: Int) -> Numbers:
    return Numbers(unsafe_ptr=Pointer[Float32, MutUntrackedOrigin](unsafe_from_address=address), length=length)


def matrix(address: Int, count: Int, d: Int) -> Rows:
    return Rows(numbers(address, count * d), d, d)


@export("online_softmax")
def c_online_softmax(scores: Int, count: Int, running: Int) abi("C"):  # running: the maximum, the row's sum, the factor
    var row = numbers(running, 3)
    row[2] = online_softmax(numbers(scores, count), row[0], row[1])


@export("attend_block")
def c_attend_block(
    query: Int, keys: Int, values: Int, count: Int, d: Int, width: Int, running: Int, output: Int
) abi("C"):
    var row = numbers(running, 2)
    var block = Rows(numbers(keys, count * width), d, width)
    attend_block(
        numbers(query, d), block, Rows(numbers(values, count * width), d, width), row[0], row[1], numbers(output, d)
    )


@export("attend_tile")
def c_attend_tile(
    query: Int, key: Int, value: Int, rows: Int, total: Int, position: Int, start: Int, d: Int, output: Int, width: Int
) abi("C"):
    var outputs = Rows(numbers(output, rows * width), d, width)
    var queries = matrix(query, rows, d)
    attend_tile(queries, matrix(key, total, d), matrix(value, total, d), position, start, outputs)


@export("causal_attention")
def c_causal_attention(
    query: Int, key: Int, value: Int, starts: Int, batch: Int, heads: Int, seq: Int, total: Int, d: Int, output: Int
) abi("C"):
    var q = matrix(query, batch * heads * seq, d)
    var k = matrix(key, batch * heads * total, d)
    var v = matrix(value, batch * heads * total, d)
    var first = Starts(unsafe_ptr=Pointer[Int32, MutUntrackedOrigin](unsafe_from_address=starts), length=batch)
    causal_attention(q, k, v, first, heads, seq, numbers(output, len(q.numbers)))
