"""The names that ``{{= … }}`` in a chapter can use: where every number of the book comes from.

An expression can use everything that is defined or imported here. Add a function if one would be longer than a line.
"""

import importlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from checker.course.blanks import blanks_of
from checker.course.steps import CACHED_MODEL, all_steps, find_step, steps_up_to
from checker.diagnosis.mistakes import load_attempts
from checker.files import ROOT
from checker.numeric.tolerance import TF32_TOLERANCE, TOLERANCE
from checker.packages import needed_version
from cli import model_commands
from cli.doctor import NEEDED_GB as needed_gb
from cli.start.setup import SIZE_GB as environment_gb
from play.export.export import PROGRAM, are_same, modules_of
from play.export.merging import merge
from play.serving.options import BODY_SECONDS, HEAD_SECONDS, LARGEST_BODY, LARGEST_HEAD
from play.smollm2 import SIZE_MB as smollm2_mb
from solutions.llama_config import LlamaConfig
from solutions.solution_01 import GPT2Config
from tools.book_maker.values.arithmetic import (
    attention_flops,
    bfloat16_bytes,
    cache_bytes,
    decode_bytes,
    head_share,
    llama_weights,
    matrix_weights,
    parameters,
    quantized_bytes,
    share,
    token_flops,
)

FIGURES = "tools/benchmarks/figures"


def version_of(package: str) -> str:
    """Return the version of a package that the project's own tests run, or compare with."""
    (version,) = re.findall(rf"^{package}==([\d.]+)", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE)
    return version


def _json(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def _later(module: str) -> Callable[[], Any]:
    """Return a function that imports a module when a chapter asks: some need MAX."""
    return lambda: importlib.import_module(f"tools.{module}")


#: The Llama that steps 23 on end with.
smollm2 = LlamaConfig()
#: The four published sizes by name.
sizes = {name: GPT2Config.published(name) for name in ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")}

#: The largest difference from Hugging Face's numbers that a check accepts, for numbers of size one.
tolerance = TOLERANCE
gpu_tolerance = TF32_TOLERANCE

#: Seconds of the learner's loop (``./run bench-loop``).
loop = _json(f"{FIGURES}/loop.json")

#: What is no longer measured: each step's check, and step 21's with a new text; one fused projection; this course's
#: model beside Hugging Face's; the first steps of the model in the box once more in PyTorch; and what that model wrote,
#: and the one before it.
steps = _json(f"{FIGURES}/steps.json")
projections = _json(f"{FIGURES}/projections.json")
speed = _json(f"{FIGURES}/speed.json")
followed = _json(f"{FIGURES}/follow.json")
writing = _json(f"{FIGURES}/writing.json")

#: This course's model beside what a user would pick instead, as it was measured, and by processor.
compared = _json(f"{FIGURES}/peers.json")
peers = compared["processors"]

#: Text written on a GPU, ours and Hugging Face's, by processor (``./run bench --only gpu``).
on_gpu = _json(f"{FIGURES}/gpu.json")

#: Text written by SmolLM2, ours and Hugging Face's, by processor (``./run bench --only smollm2``).
llama = _json(f"{FIGURES}/llama.json")

#: What weights of 8 and 4 bits cost, and how well the small model reads; neither is measured any more.
small_weights = _json("models/moby-dick/quantized.json")
evaluation = _json("models/moby-dick/evaluation.json")

#: The kernels in Mojo, and what the machine can do, by processor; they are no longer measured.
kernels = _json(f"{FIGURES}/kernels.json")

#: Tokens per second of the server with 1, 8 and 32 clients, beside Hugging Face's (``./run bench-serve``).
serving = _json(f"{FIGURES}/serve.json")

#: The options of ``./run serve`` as they are if nothing is said, and what it takes of a request's body.
serve_defaults = {option.name: option.default for option in model_commands.serve.params}
largest_head, head_seconds = LARGEST_HEAD, HEAD_SECONDS
largest_body, body_seconds = LARGEST_BODY, BODY_SECONDS

#: The small model's configuration.
_stored = _json("models/moby-dick/config.json")
config = GPT2Config(**{field.name: _stored[field.name] for field in fields(GPT2Config) if field.name in _stored})

#: What makes the tables of each benchmark, and of figures that are no longer measured.
recorded, bench_tables = _later("benchmarks.recorded"), _later("benchmarks.bench")
serving_tables = _later("benchmarks.serving")

#: What is measured of the small model.
ablations, heads = _later("book_maker.values.ablations"), _later("book_maker.values.heads")
training = _later("book_maker.values.training")
modern = _later("modern")  # what newer models change
descent, smollm2_reads = _later("book_maker.values.descent"), _later("book_maker.values.smollm2")
places = _later("book_maker.figures.step_06")
speeds = _later("book_maker.values.speed")


def blanks(step: str) -> str:
    """Return how many blanks a step has, and how many lines they take together."""
    lengths = [blank.length for blank in blanks_of(find_step(step))]
    return f"{_counted(len(lengths), 'blank')}, {_counted(sum(lengths), 'line')}"


@cache
def hours() -> int:
    """Return how many hours all steps and warm-ups take, as their pages estimate."""
    return round(minutes(*(step.task for step in all_steps())) / 60)


def minutes(*steps: str) -> int:
    """Return how many minutes some steps take together, as their pages estimate."""
    pages = [find_step(step).chapter.read_text(encoding="utf-8") for step in steps]
    return sum(int(re.findall(r"^\*About (\d+) minutes", page, re.MULTILINE)[0]) for page in pages)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@cache
def mistakes(step: str) -> int:
    """Return how many mistakes the check of a step names."""
    return len(load_attempts(find_step(step)).mistakes)


@cache
def alternatives(step: str) -> int:
    """Return how many other right solutions the check of a step is tried on."""
    return len(load_attempts(find_step(step)).alternatives)


@cache
def exported(*steps: str) -> str:
    """Return how many lines some steps have of the file that ``./run export`` writes: ``exported("01", "03")``."""
    every, own = (modules_of(some, []) for some in (steps_up_to(CACHED_MODEL), [find_step(step) for step in steps]))
    without_program = own[: -len(PROGRAM)]
    some, all_lines = (len(merge(part, are_same).splitlines()) for part in (without_program, every))
    return f"{some} of {all_lines} lines"


def ladder(processor: str) -> dict[str, float]:
    """Return the milliseconds of each row of the kernels' ladder: attention over 1024 tokens, in one layer."""
    return {name: float(cells[3]) for name, *cells in kernels[processor]["recorded"]["tables"]["ladder"]["rows"]}
