"""The two backends that are compared, this course's model and Hugging Face's, each in a process of its own.

``python -m tools.benchmarks.backends max FOLDER`` answers requests, one line of JSON each, until its input ends;
``comparison.py`` sends them. In one process, the thread pools of MAX and torch would slow each other down by a fifth to
a half; idle ones do not. With a workload as JSON after the folder, it runs that and ends, to time a cold process and to
measure its memory. ``checkpoint`` in place of a backend writes the checkpoint that both load.
"""

from __future__ import annotations

import copy
import gc
import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
import psutil

from tools.benchmarks.harness import seconds_per_call
from tools.benchmarks.kernels.workloads import BARE, CORE, KERNELS, LINEAR, bare, max_core, torch_core
from tools.benchmarks.step import max_products, max_step, torch_step

PRODUCT = 2048  # rows and columns of the matrices whose product shows the machine's peak
READING = (16384, 8192)  # half a gigabyte of float32, far more than any cache holds

Call = Callable[[], Any]  # runs a workload to its end
Read = Callable[[Any], list[np.ndarray]]  # returns what a workload returned, as arrays to compare


ROUNDED = ("Q4_0",)  # formats of step 22 that MAX multiplies


@dataclass(frozen=True)
class Workload:
    """One thing to run, on random input that depends on nothing but the sizes.

    Args:
        part: ``attention``, ``forward``, ``text`` (greedy tokens after a prompt), ``token`` (the logits after the
            last one, without a cache), ``step`` (of training), ``products`` (its products alone), ``product`` (of two
            matrices) or ``reading`` (one vector times a large matrix), or one of ``kernels/workloads.py``'s.
        way: how to run it; one of the ways that the backend knows.
        batch: sequences.
        length: tokens in each; for ``text``, those of the prompt.
        new_tokens: how many tokens to write.
        device: ``cpu`` or ``gpu``.
        dtype: ``float32`` or ``bfloat16``; or one of ``ROUNDED``, in which only matrices are kept.
    """

    part: str
    way: str
    batch: int = 1
    length: int = 1
    new_tokens: int = 0
    device: str = "cpu"
    dtype: str = "float32"

    def __str__(self) -> str:
        sizes = f"{self.batch} x {self.length}" + (f" + {self.new_tokens}" if self.new_tokens else "")
        return f"{self.part} ({sizes}, {self.dtype}, {self.device}) by {self.way}"

    def hidden_states(self, width: int) -> np.ndarray:  # -> [batch, length, width]
        """Return numbers as attention gets them, normalized."""
        return np.random.RandomState(self.length).standard_normal((self.batch, self.length, width)).astype(np.float32)

    def token_ids(self, vocab_size: int) -> np.ndarray:  # -> [batch, length]
        """Return random tokens."""
        return np.random.RandomState(self.length).randint(0, vocab_size, (self.batch, self.length), dtype=np.int64)

    def matrices(self) -> list[np.ndarray]:  # -> [rows, in], [out, in]
        """Return two matrices, the second as a linear layer keeps it."""
        left, right = (PRODUCT, PRODUCT), (PRODUCT, PRODUCT)
        if self.part == "reading":
            left, right = (1, READING[1]), READING
        generator = np.random.default_rng(0)
        return [generator.random(shape, dtype=np.float32) - 0.5 for shape in (left, right)]


class Backend(Protocol):
    """A library that runs workloads."""

    def about(self) -> dict[str, Any]:
        """Return the ``version`` of what runs here, and the ``devices`` on which it can."""

    def prepare(self, workload: Workload) -> tuple[Call, Read]:
        """Return a function that runs a workload, with its input in place, and one that reads what it returns."""


class MaxBackend:
    """This course's solutions, compiled by MAX with symbolic shapes."""

    def __init__(self, folder: Path) -> None:
        from checker.max_adapter import runtime

        self.folder, self.runtime = folder, runtime
        runtime.prepare()
        runtime.listeners.append(_say_when_compiled)
        self.models: dict[tuple[str, ...], Any] = {}
        self.compiled: dict[tuple[str, ...], Any] = {}

    def about(self) -> dict[str, Any]:
        """Return the version of what runs here, and the devices on which it can run."""
        from importlib.metadata import version

        return {"version": f"MAX {version('max')}", "devices": self.runtime.devices()}

    def prepare(self, workload: Workload) -> tuple[Call, Read]:
        """Return a workload as a function, compiled and with its input in place, and how to read what it returns."""
        from max.driver import CPU
        from max.dtype import DType
        from max.experimental.tensor import Tensor

        from solutions.solution_12 import generate_tokens

        if workload.part == "step":
            return max_step(self.folder, workload)
        if workload.part == "products":
            return max_products(self.folder, workload)
        if workload.part in (CORE, LINEAR):
            return max_core(workload)
        if workload.part == "text":
            input_ids, cached = workload.token_ids(self.config.vocab_size), self.graph("cached", workload)
            logits: list[np.ndarray] = []

            def remembered(ids: np.ndarray) -> np.ndarray:
                logits.append(cached(ids))
                return logits[-1]

            def write() -> np.ndarray:
                cached.cached_ids = np.zeros((0, 0), np.int64)  # nothing from an earlier run helps this one
                logits.clear()
                text = generate_tokens(remembered, input_ids, workload.new_tokens, temperature=0)
                return text[:, workload.length :]

            return write, lambda ids: [ids, np.concatenate(logits, axis=1)]
        device, dtype = self.runtime.open_device(workload.device), self._numbers(workload)
        graph = self.graph(workload.part, workload)
        if workload.part == "attention":
            arrays = [workload.hidden_states(self.config.n_embd)]
        elif workload.part in ("product", "reading"):
            arrays = workload.matrices()
        else:
            arrays = [workload.token_ids(self.config.vocab_size)]
        tensors = [self.runtime.tensor(array) for array in arrays]
        tensors = [(t.cast(dtype) if t.dtype.is_float() and t.dtype != dtype else t).to(device) for t in tensors]

        def call() -> Tensor:
            output = graph(*tensors)
            if workload.device == "cpu":
                np.from_dlpack(output)  # waits for the result; nothing is copied
            else:
                device.synchronize()
            return output

        return call, lambda output: [
            np.from_dlpack(output.to(CPU()).cast(DType.float32))
            if dtype != DType.float32
            else np.from_dlpack(output.to(CPU()))
        ]

    @cached_property
    def config(self) -> Any:
        """The checkpoint's configuration."""
        from solutions.solution_13 import read_config

        return read_config(self.folder)

    def graph(self, what: str, workload: Workload) -> Any:
        """Return the compiled graph for a workload; one for all shapes."""
        key = (what, workload.device, workload.dtype, *([workload.way] if workload.way in (KERNELS, BARE) else []))
        if key not in self.compiled:
            with self.runtime.compiling(f"{what} for {workload.device}, {workload.dtype}"):
                self.compiled[key] = self._compile(what, workload)
        return self.compiled[key]

    def _compile(self, what: str, workload: Workload) -> Any:
        from max.dtype import DType
        from max.experimental.nn import Module
        from max.experimental.tensor import Tensor, TensorType

        from checker.claims.modules import build
        from play.engine import LastLogits
        from play.kernels.modules import compile_with_kernels, with_kernels, with_linear
        from play.kernels.operations import loaded
        from solutions.solution_07 import GPT2MultiHeadAttention
        from solutions.solution_13 import load_pretrained
        from solutions.solution_14 import compile_cached

        device, dtype = self.runtime.open_device(workload.device), self._numbers(workload)
        ids = TensorType(DType.int64, ["batch", "seq"], device=device)
        if what == "cached":
            if workload.way == KERNELS:  # which puts its layers into a model: not into the one that others run
                return compile_with_kernels(load_pretrained(self.folder), device)
            return compile_cached(self.model(workload), device)
        if what == "attention":
            weights = self.weights
            prefix = "transformer.h.0.attn."
            own = {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}
            attention = build(GPT2MultiHeadAttention, self.config, weights=own)
            self._move(attention, workload)
            return attention.compile(TensorType(dtype, ["batch", "seq", self.config.n_embd], device=device))
        if workload.way in (KERNELS, BARE):
            model = with_kernels(load_pretrained(self.folder))
            with_linear(model)
            with loaded():
                return (bare(model) if workload.way == BARE else model).compile(ids)
        if what in ("forward", "token"):
            model = self.model(workload)
            return (model if what == "forward" else LastLogits(model)).compile(ids)

        class Product(Module[[Tensor, Tensor], Tensor]):
            def forward(self, left: Tensor, right: Tensor) -> Tensor:  # [rows, in], [out, in] -> [rows, out]
                return left @ right.transpose(0, 1)

        shapes = [array.shape for array in workload.matrices()]
        return Product().compile(*(TensorType(dtype, shape, device=device) for shape in shapes))

    @cached_property
    def weights(self) -> dict[str, np.ndarray]:
        """The checkpoint's weights by the names of this course's model."""
        from solutions.solution_13 import convert_checkpoint, read_checkpoint

        return convert_checkpoint(read_checkpoint(self.folder))

    def model(self, workload: Workload) -> Any:
        """Return the whole model with the checkpoint's weights, on the workload's device."""
        from play.engine import load_quantized
        from solutions.solution_13 import load_pretrained

        key = (workload.device, workload.dtype)
        if key not in self.models:
            rounded = workload.dtype in ROUNDED
            self.models[key] = load_quantized(self.folder, workload.dtype) if rounded else load_pretrained(self.folder)
            self._move(self.models[key], workload)
        return self.models[key]

    def _numbers(self, workload: Workload) -> Any:
        """Return the type of the numbers that are computed with."""
        from max.dtype import DType

        return DType.float32 if workload.dtype in ROUNDED else DType[workload.dtype]

    def _move(self, module: Any, workload: Workload) -> None:
        from max.dtype import DType

        if (dtype := self._numbers(workload)) != DType.float32:
            cast = {name: weight.cast(dtype) for name, weight in module.parameters}
            module.load_state_dict(cast, auto_cast=True)
        if workload.device != "cpu":
            module.to(self.runtime.open_device(workload.device))


class HuggingFaceBackend:
    """Hugging Face's GPT-2 on torch, as its users run it: no gradients, one thread per physical core."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers.utils import logging

        logging.disable_progress_bar()
        torch.set_num_threads(psutil.cpu_count(logical=False) or 1)
        torch.set_grad_enabled(False)
        self.torch, self.folder = torch, folder
        self.models: dict[tuple[str, ...], Any] = {}
        self.attentions: dict[tuple[str, str, str], Any] = {}

    def about(self) -> dict[str, Any]:
        """Return the version of what runs here, and the devices on which it can run."""
        import transformers

        versions = f"transformers {transformers.__version__}, torch {self.torch.__version__}"
        devices = ["cpu", "gpu"] if self.torch.cuda.is_available() else ["cpu"]
        return {"version": versions, "devices": devices, "threads": self.torch.get_num_threads()}

    def prepare(self, workload: Workload) -> tuple[Call, Read]:
        """Return a workload as a function with its input in place, and how to read what it returns."""
        torch = self.torch
        if workload.part == "step":
            return torch_step(copy.deepcopy(self.loaded), workload)
        function = self._function(workload)

        def call() -> Any:
            with torch.inference_mode():
                output = function()
            if workload.device == "gpu":
                torch.cuda.synchronize()
            return output

        def read(output: Any) -> list[np.ndarray]:
            if workload.part == "text":  # run once more, for the logits too
                with torch.inference_mode():
                    full = function(return_dict_in_generate=True, output_logits=True)
                return [output.numpy(), torch.stack(full.logits, dim=1).numpy()]
            return [one.float().cpu().numpy() for one in (output if isinstance(output, list) else [output])]

        return call, read

    def _function(self, workload: Workload) -> Callable[..., Any]:
        torch = self.torch
        target, dtype = "cuda" if workload.device == "gpu" else "cpu", getattr(torch, workload.dtype)
        if workload.part == "attention":
            attention = self.attention(workload)
            hidden_states = torch.from_numpy(workload.hidden_states(attention.embed_dim)).to(target, dtype)
            mask = None
            if workload.way == "eager":  # it has no mask of its own; the model makes one for all its layers
                mask = (
                    torch.full((workload.length, workload.length), float("-inf")).triu(1)[None, None].to(target, dtype)
                )
            return lambda: attention(hidden_states, attention_mask=mask)[0]
        if workload.part in (CORE, LINEAR):
            return torch_core(workload)
        if workload.part in ("product", "reading"):
            left, right = map(torch.from_numpy, workload.matrices())
            return lambda: left @ right.T
        model = self.model(workload)
        input_ids = torch.from_numpy(workload.token_ids(model.config.vocab_size)).to(target)
        if workload.part == "text":
            settings: dict[str, Any] = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0, "use_cache": True}
            settings |= {"max_new_tokens": workload.new_tokens, "attention_mask": torch.ones_like(input_ids)}

            def write(**more: Any) -> Any:
                text = model.generate(input_ids, **settings, **more)
                return text if more else text[:, workload.length :]

            return write
        last = 1 if workload.part == "token" else 0  # 0 is Hugging Face's word for all
        return lambda: model(input_ids, use_cache=False, logits_to_keep=last).logits

    @cached_property
    def loaded(self) -> Any:
        """The whole model as most of its users have it."""
        return self.load("sdpa", "float32")

    def load(self, attention: str, dtype: str) -> Any:
        """Return the checkpoint with one of Hugging Face's ways to attend, in a precision."""
        from transformers import GPT2LMHeadModel

        numbers = getattr(self.torch, dtype)
        return GPT2LMHeadModel.from_pretrained(self.folder, attn_implementation=attention, dtype=numbers).eval()

    def model(self, workload: Workload) -> Any:
        """Return the whole model on the workload's device, in its precision."""
        key = (workload.device, workload.dtype)
        if key == ("cpu", "float32"):
            return self.loaded
        if key not in self.models:
            target, dtype = "cuda" if workload.device == "gpu" else "cpu", getattr(self.torch, workload.dtype)
            self.models[key] = copy.deepcopy(self.loaded).to(target, dtype)
        return self.models[key]

    def attention(self, workload: Workload) -> Any:
        """Return a copy of the first block's attention, which has its own way of attending."""
        key = (workload.way, workload.device, workload.dtype)
        if key not in self.attentions:
            attention = copy.deepcopy(self.model(workload).transformer.h[0].attn)
            attention.config = copy.deepcopy(attention.config)
            attention.config._attn_implementation = "eager" if workload.way == "eager" else "sdpa"
            compiled = workload.way == "torch.compile"
            self.attentions[key] = self.torch.compile(attention, dynamic=True) if compiled else attention
        return self.attentions[key]


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    status = Path("/proc/self/status")
    if status.is_file():  # getrusage would count what the parent had when it started this process
        words = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()
        return int(words[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _say_when_compiled(what: str, seconds: float | None) -> None:
    if seconds is None:
        print(f"  MAX is compiling {what} (a minute or two the first time)", file=sys.stderr, flush=True)
    else:
        print(f"  MAX has {what} ready after {seconds:.0f} s", file=sys.stderr, flush=True)


def answer(backend: Backend, prepared: dict[Workload, tuple[Call, Read]], request: dict[str, Any]) -> dict[str, Any]:
    """Return what a request asks for: ``about``, the ``output`` of a workload, its ``time``, or to ``forget`` all."""
    if request["do"] == "about":
        return backend.about()
    if request["do"] == "forget":
        prepared.clear()
        gc.collect()
        return {}
    workload = Workload(**request["workload"])
    if workload not in prepared:
        prepared[workload] = backend.prepare(workload)
    call, read = prepared[workload]
    if request["do"] == "time":
        if request["calls"] > 1:
            call()  # threads that slept through the turns of others wake up
        return {"seconds": seconds_per_call(call, request["calls"])}
    arrays = read(call())
    np.savez(request["file"], *arrays)
    del arrays
    call()
    return {"seconds": seconds_per_call(call, 1)}


def serve(backend: Backend, requests: TextIO, answers: TextIO) -> None:
    """Answer line by line; a failure is an answer too, in words."""
    prepared: dict[Workload, tuple[Call, Read]] = {}
    for line in requests:
        try:
            said = answer(backend, prepared, json.loads(line))
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {str(error).strip()[:600]}"}
        print(json.dumps(said), file=answers, flush=True)


def as_request(do: str, workload: Workload | None = None, **more: Any) -> str:
    """Write a request as the line that :func:`serve` reads."""
    return json.dumps({"do": do, **({"workload": asdict(workload)} if workload else {}), **more})


def be(make: Callable[[], Backend], once: Sequence[str]) -> None:
    """Be one backend: answer requests until they end, or run one workload, given as JSON, and say its memory."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is not an answer
    backend = make()
    if once:
        call, _ = backend.prepare(Workload(**json.loads(once[0])))
        call()
        print(json.dumps({"peak": peak_bytes()}), file=answers, flush=True)
    else:
        serve(backend, sys.stdin, answers)


def main() -> None:
    """Be one backend, or write the checkpoint that both load."""
    name, folder, *once = sys.argv[1:]
    if name == "checkpoint":
        from tools.hugging_face import varied_small

        varied_small()[0].save_pretrained(folder)
        return
    backend = MaxBackend if name == "max" else HuggingFaceBackend
    be(lambda: backend(Path(folder)), once)


if __name__ == "__main__":
    main()
