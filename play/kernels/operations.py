"""The operations that are written in Mojo, as functions of tensors.

They run inside a graph that is compiled while :func:`loaded` is open, in float32, on the CPU.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from max.dtype import DType
from max.experimental import functional as F
from max.experimental.tensor import Tensor, TensorType
from max.graph import DeviceRef, default_custom_extensions_scope

from checker.compiling import compiling
from checker.errors import UserError
from checker.max_adapter.runtime import cache_path
from play.signals import raising_on_signals

FOLDER = Path(__file__).parent
CPU = DeviceRef.CPU()
BLOCK = 48  # outputs that stand together: BLOCK of ``vectors.mojo`` with AVX-512
LONGEST = 300  # characters of what Mojo says


def loaded() -> AbstractContextManager[None]:
    """Let graphs that are built while this is open call the operations.

    Raises:
        UserError: they cannot be compiled.
    """
    return default_custom_extensions_scope(package())


@cache
def package() -> Path:
    """Return the kernels as one file, which is kept until they change: MAX takes two seconds for it at every start.

    Raises:
        UserError: there is no compiler, or it refuses them.
    """
    from mojo.run import subprocess_run_mojo  # which nothing else needs

    folder = cache_path("kernels", *(source.read_text("utf-8") for source in sorted(FOLDER.glob("*.mojo"))), suffix="")
    if folder is None:
        return FOLDER
    file = folder / "kernels.mojoc"  # a package is called as its file is
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as scratch:  # another process may look for the file at any time
            unfinished = Path(scratch) / file.name
            try:
                with compiling("the kernels of play/kernels, 1 of 2"), raising_on_signals():
                    run = subprocess_run_mojo(["precompile", str(FOLDER), "-o", str(unfinished)], capture_output=True)
            except (OSError, RuntimeError) as error:
                raise UserError(f"Mojo's compiler cannot be started ({error})") from error
            if run.returncode:
                errors = run.stderr.decode().strip()[-LONGEST:]
                raise UserError(f"Mojo's compiler refuses them: {errors}")
            unfinished.replace(file)
    return file


def cached_attention(
    joined: Tensor, keys: Tensor, values: Tensor, starts: Tensor, past: Tensor, n_head: int
) -> Tensor:  # [batch, seq, …], twice [batch, kv_head, n_positions, head_dim], [batch], [1] -> [batch, seq, embd]
    """Write the keys and values of new tokens into the buffers of step 14, and attend to all tokens there.

    Args:
        joined: the heads of queries, those of keys and those of values side by side, as ``c_attn`` returns them; they
            are read where they are.
        keys: the buffer of a block's keys.
        values: that of its values.
        starts: int32, where each row of the batch begins; the keys before are padding, and not looked at. A query
            that has no key left gets zeros.
        past: int32, how many tokens the buffers hold already.
        n_head: number of heads of queries, a multiple of those in the buffers; they come out merged.
    """
    batch, seq, _ = joined.shape
    depth = int(keys.shape[-1])
    buffers = [keys.__buffervalue__(), values.__buffervalue__()]  # written to, which MAX asks to be said
    output = [TensorType(DType.float32, [batch, seq, n_head * depth], device=CPU)]
    parameters = {"depth": depth}
    inputs = [joined, *buffers, starts, past]
    return F.inplace_custom("causal_attention_cached", CPU, inputs, output, parameters=parameters)[0]


def linear(x: Tensor, weight: Tensor) -> Tensor:  # [..., in], [out, in] -> [..., out]
    """Compute ``x @ weight.T``; for at most 8 rows in about the time that reading the weights takes.

    For more rows, MAX multiplies.
    """
    rows = x.reshape([-1, x.shape[-1]])
    output = [TensorType(DType.float32, [rows.shape[0], weight.shape[0]], device=CPU)]
    return F.custom("linear", CPU, [rows, weight], output)[0].reshape([*x.shape[:-1], weight.shape[0]])


def pairs_of(weight: np.ndarray) -> np.ndarray:  # [out, in] -> [blocks, (in + 1) / 2, BLOCK]
    """Round a matrix to bfloat16, to even where two are as near, and pack it as the kernel reads it."""
    count, size = weight.shape
    halves = np.zeros((-(-count // BLOCK) * BLOCK, size + size % 2), np.uint16)
    bits = weight.view(np.uint32)
    halves[:count, :size] = (bits + ((bits >> 16) & 1) + 0x7FFF) >> 16
    pairs = halves.view(np.uint32)
    return np.ascontiguousarray(pairs.reshape(-1, BLOCK, pairs.shape[1]).swapaxes(1, 2))


def linear_bfloat16(x: Tensor, pairs: Tensor, outputs: int) -> Tensor:  # [..., in], by pairs_of -> [..., out]
    """Compute ``x @ weight.T`` of a weight from :func:`pairs_of`; x is rounded to bfloat16, sums are in float32."""
    rows = x.reshape([-1, x.shape[-1]])
    output = [TensorType(DType.float32, [rows.shape[0], outputs], device=CPU)]
    return F.custom("linear_bfloat16", CPU, [rows, pairs], output)[0].reshape([*x.shape[:-1], outputs])
