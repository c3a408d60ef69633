"""The operations that are written in Mojo, as functions of tensors; a shape that does not fit is refused here.

They run inside a graph that is compiled while :func:`loaded` is open, in float32, on the CPU. :func:`causal_attention`
also runs on a GPU, by a kernel that nobody has tuned.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor, TensorType
from max.graph import DeviceRef, default_custom_extensions_scope

from checker.max_adapter.cache_files import cache_path

FOLDER = Path(__file__).parent
LONGEST = 300  # characters of what Mojo says
CPU = DeviceRef.CPU()


class NoKernels(ValueError):
    """The kernels cannot be compiled here; the message says why, and what to do without them."""


def loaded() -> AbstractContextManager[None]:
    """Let graphs that are built while this is open call the operations.

    Raises:
        NoKernels: they cannot be compiled.
    """
    return default_custom_extensions_scope(package())


@cache
def package(sources: Path = FOLDER) -> Path:
    """Return a folder of sources in Mojo as one file, which is made in a few seconds and kept until they change.

    Raises:
        NoKernels: there is no compiler, or it refuses them.
    """
    from mojo.run import subprocess_run_mojo  # which is needed with --kernels alone

    folder = cache_path("kernels", *(source.read_text() for source in sorted(sources.glob("*.mojo"))), suffix="")
    if folder is None:
        return sources
    file = folder / "kernels.mojoc"  # a package is called as its file is
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as scratch:  # another process may look for the file at any time
            unfinished = Path(scratch) / file.name
            command = ["precompile", str(sources), "-o", str(unfinished)]
            try:
                made = subprocess_run_mojo(command, capture_output=True)
            except (OSError, RuntimeError) as error:
                raise NoKernels(
                    f"Mojo's compiler cannot be started ({error}); install MAX again, or leave --kernels away"
                ) from error
            if made.returncode:
                said = made.stderr.decode().strip()[-LONGEST:]
                raise NoKernels(f"the kernels do not compile; leave --kernels away. Mojo says: {said}")
            unfinished.replace(file)
    return file


def causal_attention(
    query: Tensor, key: Tensor, value: Tensor, starts: Tensor
) -> Tensor:  # [batch, head, seq, head_dim], twice [batch, head, total, head_dim], [batch] -> [batch, seq, embd]
    """Let the last ``seq`` of ``total`` tokens attend to those before them and to themselves; heads come out merged.

    Args:
        query: of the new tokens.
        key: of all tokens; the past ones come first.
        value: likewise.
        starts: int32, where each row of the batch begins; the keys before are padding, and not looked at. A query
            that has no key left gets zeros.

    Raises:
        ValueError: shapes or types do not fit together.
    """
    _same_type(query=query, key=key, value=value)
    _rank(4, query=query, key=key, value=value)
    batch, heads, seq, depth = query.shape
    if list(key.shape) != list(value.shape):
        raise ValueError(f"key is {_shape(key)} and value {_shape(value)}; they must be alike")
    if list(key.shape[:2]) != [batch, heads] or key.shape[3] != depth:
        raise ValueError(f"query is {_shape(query)} and key {_shape(key)}; they may differ in the third axis alone")
    _starts(starts, batch)
    output = [batch, seq, heads * depth]
    device = DeviceRef.from_device(query.device)
    return _run("causal_attention", [query, key, value, starts], output, device, depth=int(depth))


def joined_attention(
    joined: Tensor, starts: Tensor, n_head: int
) -> Tensor:  # [batch, seq, 3 * embd], [batch] -> [batch, seq, embd]
    """Compute :func:`causal_attention` of what ``c_attn`` returns, which is read where it is.

    Raises:
        ValueError: shapes or types do not fit together.
    """
    output, depth = _joined(joined, starts, n_head)
    return _run("causal_attention_joined", [joined, starts], output, depth=depth)


def cached_attention(
    joined: Tensor, keys: Tensor, values: Tensor, starts: Tensor, past: Tensor, n_head: int
) -> Tensor:  # [batch, seq, 3 * embd], twice [batch, head, n_positions, head_dim], [batch], [1] -> [batch, seq, embd]
    """Write the keys and values of new tokens into the buffers of step 14, and attend to all tokens there.

    Args:
        joined: what ``c_attn`` returns.
        keys: the buffer of a block's keys.
        values: that of its values.
        starts: as in :func:`causal_attention`.
        past: int32, how many tokens the buffers hold already.
        n_head: number of heads.

    Raises:
        ValueError: shapes or types do not fit together.
    """
    output, depth = _joined(joined, starts, n_head)
    wanted = [joined.shape[0], n_head, keys.shape[2], depth]
    for name, buffer in (("keys", keys), ("values", values)):
        if list(buffer.shape) != wanted:
            raise ValueError(f"{name} is {_shape(buffer)} and must be [{', '.join(map(str, wanted))}]")
    if past.dtype != DType.int32 or list(past.shape) != [1]:
        raise ValueError(f"past is {past.dtype.name} {_shape(past)}; it must be int32 [1]")
    buffers = [keys.__buffervalue__(), values.__buffervalue__()]  # written to, which MAX asks to be said
    return _run("causal_attention_cached", [joined, *buffers, starts, past], output, inplace=True, depth=depth)


def linear(
    x: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:  # [batch, seq, in], [out, in], [out] -> [batch, seq, out]
    """Compute ``x @ weight.T + bias``; for at most 8 rows in about the time that reading the weights takes.

    Raises:
        ValueError: shapes or types do not fit together.
    """
    _same_type(x=x, weight=weight, bias=bias)
    _rank(3, x=x)
    _rank(2, weight=weight)
    if x.shape[2] != weight.shape[1] or list(bias.shape) != [weight.shape[0]]:
        raise ValueError(
            f"x is {_shape(x)}, weight {_shape(weight)} and bias {_shape(bias)}; "
            "they must be [batch, seq, in], [out, in] and [out]"
        )
    return _run("linear", [x, weight, bias], [x.shape[0], x.shape[1], weight.shape[0]])


def _run(
    name: str,
    values: Sequence[Any],
    output: Sequence[Any],
    device: DeviceRef = CPU,
    *,
    inplace: bool = False,
    **parameters: int,
) -> Tensor:
    run = F.inplace_custom if inplace else F.custom
    types = [TensorType(DType.float32, output, device=device)]
    return run(name, device, values, types, parameters=parameters or None)[0]


def _joined(joined: Tensor, starts: Tensor, n_head: int) -> tuple[list[Any], int]:
    """Check what ``c_attn`` returned; return the shape of the output, and the numbers of a head."""
    _same_type(joined=joined)
    _rank(3, joined=joined)
    batch, seq, width = joined.shape
    if int(width) % (3 * n_head):
        raise ValueError(f"joined is {_shape(joined)}; its last axis must hold 3 times {n_head} heads")
    _starts(starts, batch)
    return [batch, seq, int(width) // 3], int(width) // (3 * n_head)


def _same_type(**tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype != DType.float32:
            raise ValueError(f"{name} is {tensor.dtype.name}; these kernels compute in float32")


def _rank(wanted: int, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.rank != wanted:
            raise ValueError(f"{name} is {_shape(tensor)}; it must have {wanted} axes")


def _starts(starts: Tensor, batch: Any) -> None:
    if starts.dtype != DType.int32 or list(starts.shape) != [batch]:
        raise ValueError(f"starts is {starts.dtype.name} {_shape(starts)}; it must be int32 [{batch}]")


def _shape(tensor: Tensor) -> str:
    return f"[{', '.join(map(str, tensor.shape))}]"
