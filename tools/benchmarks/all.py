"""All of one day: ``python -m tools.benchmarks.all [--quick] [--rounds N] PART…``; writes .peers/results."""

from __future__ import annotations

import datetime
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from checker.course.steps import ROOT
from tools.benchmarks import formats, shapes, turns
from tools.benchmarks.bench import MOST_TOKENS
from tools.benchmarks.harness import machine, say, take_turns
from tools.benchmarks.random_weights import checkpoint_of
from tools.benchmarks.turns import Way, ask, compare, reference
from tools.benchmarks.workers import FORWARD, KERNELS, TEXT, Workload

BF = "bfloat16"
HF, CT, NODE, ORT, OV = "hugging_face", "with_ctranslate2", "llama_node", "with_onnxruntime", "with_openvino"
REFERENCE = Way("Hugging Face, sdpa", HF)
WAYS = [
    Way("this course", "course"),
    Way("this course, with kernels", "course", how=KERNELS),
    REFERENCE,
    Way("CTranslate2", CT),
    Way("llama.cpp, F32", NODE, "F32", tolerance=1e-3),
    Way("ONNX Runtime", ORT),
    Way("OpenVINO", OV),
    Way("this course, bfloat16", "course", BF, KERNELS, 0.05),
    Way("Hugging Face, sdpa, bfloat16", HF, BF, tolerance=0.05),
    Way("OpenVINO, bfloat16", OV, BF, tolerance=0.05),
    Way("this course, Q4_0", "course", "Q4_0", tolerance=0.2),
    Way("CTranslate2, int8", CT, "int8", "", 0.05),
    Way("llama.cpp, Q8_0", NODE, "Q8_0", tolerance=0.02),
    Way("llama.cpp, Q4_0", NODE, "Q4_0", tolerance=0.2),
]
EAGER = [
    Way("Hugging Face, torch.compile", HF, how="torch.compile"),
    Way("Hugging Face, eager", HF, how="eager"),
    Way("Hugging Face, eager, bfloat16", HF, BF, "eager", 0.05),
]
FORMATS = ["ctranslate2-float32", "ctranslate2-int8", "gguf-F32", "gguf-Q8_0", "gguf-Q4_0", "onnx", "openvino"]
OUT = Path(".peers/results")
QUICK = "--quick" in sys.argv
ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 1 if QUICK else 3
ONLY = sys.argv[sys.argv.index("--ways") + 1].split(";") if "--ways" in sys.argv else None
TAG = sys.argv[sys.argv.index("--tag") + 1] if "--tag" in sys.argv else ""
TURN = 0.01 if QUICK else 0.3


def head() -> dict:
    commit = subprocess.run(["git", "log", "-1", "--format=%h"], cwd=".", capture_output=True, text=True)
    return {
        "date": str(datetime.date.today()),
        "time": time.strftime("%H:%M"),
        "machine": machine(),
        "load": round(os.getloadavg()[0], 2),
        "rounds": ROUNDS,
        "commit": commit.stdout.strip(),
    }


def keep(part: str, result: dict, start: float) -> None:
    name = f"{part}{TAG}{'-quick' if QUICK else ''}.json"
    OUT.mkdir(exist_ok=True)
    result |= {"minutes": round((time.monotonic() - start) / 60, 1), "foreign": turns.FOREIGN[:]}
    turns.FOREIGN.clear()
    (OUT / name).write_text(json.dumps(result, indent=1))
    say(
        f"== {part}: {result['minutes']} minutes, others took at most {max([f[1] for f in result['foreign']], default=0)} cores, stolen {max([f[2] for f in result['foreign']], default=0)}"
    )


def packed(answers: dict) -> dict:
    made = {}
    for way, some in answers.items():
        made[way.title] = {
            "version": some[0].version,
            "bytes": [answer.bytes for answer in some],
            "work": {str(work): [answer.seconds[work] for answer in some] for work in some[0].seconds},
        }
    return made


def peers(part: str) -> None:
    start, checkpoint = time.monotonic(), checkpoint_of("one-layer" if QUICK else "gpt2")
    for name in FORMATS:
        formats.add(checkpoint, name)
    if part == "forward":
        lengths = (8, 16) if QUICK else (1, 8, 64, 128, 512, 1024)
        work = [Workload(FORWARD, b, n) for b in (1, 8) for n in lengths if b * n <= MOST_TOKENS]
    else:
        texts = [(1, 8), (8, 8)] if QUICK else [(1, 16), (1, 512), (8, 16)]
        work = [Workload(TEXT, *text, count) for text in texts for count in (1, 4 if QUICK else 33)]
    ways = [way for way in WAYS + EAGER if way.title in ONLY] if ONLY else WAYS
    result = head()
    right = reference(REFERENCE, work, checkpoint)
    answers, failed = compare(ways, right, checkpoint, ROUNDS, TURN)
    keep(part, result | {"failed": failed, "ways": packed(answers)}, start)


def cache() -> None:
    """No cache against a cache, both without kernels."""
    start, checkpoint = time.monotonic(), checkpoint_of("one-layer" if QUICK else "gpt2")
    new = 4 if QUICK else 17
    work = [Workload(TEXT, 1, n, count) for n in ((8,) if QUICK else (16, 512)) for count in (1, new)]
    ways = [Way("cache", "course"), Way("no cache", "course", how="no cache")]
    result = head()
    right = reference(REFERENCE, work, checkpoint)
    answers, failed = compare(ways, right, checkpoint, ROUNDS, TURN)
    keep("cache", result | {"failed": failed, "new": new, "ways": packed(answers)}, start)


def kernels(parts: tuple[str, ...]) -> None:
    start = time.monotonic()
    result = head() | {"failed": {}, "parts": {}}
    nowhere = Path("/nowhere")
    plans = {
        "reading": (
            [Way("reading", "reading")],
            [Workload(shapes.READ, t, n) for t in (1, 2) for n in ((20,) if QUICK else (27, 29))],
        ),
        "product": (
            [
                Way("MAX", "course_kernels"),
                Way("Hugging Face", "torch_kernels"),
                Way("MAX with kernels, bfloat16", "course_kernels", BF, KERNELS, 0.01),
                Way("Hugging Face, bfloat16", "torch_kernels", BF, "", 0.01),
            ],
            [Workload(shapes.PRODUCT, 1, n) for n in ((128,) if QUICK else (2048, 4096))],
        ),
        "linear": (
            [
                Way("MAX with kernels", "course_kernels", how=KERNELS),
                Way("MAX", "course_kernels"),
                Way("Hugging Face", "torch_kernels"),
                Way("MAX with kernels, bfloat16", "course_kernels", BF, KERNELS, 0.01),
                Way("Hugging Face, bfloat16", "torch_kernels", BF, "", 0.01),
            ],
            [Workload(shapes.LINEAR, 1, n) for n in ((2,) if QUICK else (1, 2, 4, 8, 1024))],
        ),
        "core": (
            [Way("MAX with kernels", "course_kernels", how=KERNELS), Way("Hugging Face", "torch_kernels")],
            [Workload(shapes.CORE, b, n) for b, n in (((2, 5),) if QUICK else ((1, 8), (1, 64), (1, 512), (1, 1024)))],
        ),
    }
    for part in parts:
        ways, work = plans[part]
        if ONLY:
            ways = [way for way in ways if way.title in ONLY]
        right: dict = {}

        def answer(way: Way):
            given = ask(way, work, nowhere, TURN)
            for each in work:
                expected = right.setdefault(each, given.outputs[each])
                off = float(np.abs(given.outputs[each] - expected).max() / np.abs(expected).max(initial=1.0))
                if not off < (0.02 if "bfloat16" in way.title else 1e-4):
                    result["failed"][f"{part} {way.title} {each}"] = off
                    say(f"  WRONG {way.title} {each}: {off}")
            say(f"  {way.title}: " + ", ".join(f"{each} {1000 * s:.4g} ms" for each, s in given.seconds.items()))
            return given

        answers = take_turns(ways, ROUNDS, answer)
        result["parts"][part] = packed(answers)
    keep("kernels-" + "-".join(parts), result, start)


def ladder() -> None:
    start, result = time.monotonic(), head()
    scratch = Path(".peers/ladder")
    rows = OUT / f"ladder-rows{TAG}.json"
    OUT.mkdir(exist_ok=True)
    line = [".venv/bin/python", "-m", "tools.benchmarks.peers.ladder", str(scratch), str(rows)]
    subprocess.run(line + (["quick"] if QUICK else []), cwd=ROOT, check=True)
    keep("ladder", result | {"rows": json.loads(rows.read_text())}, start)


if __name__ == "__main__":
    skip = {"--quick", "--rounds", "--ways", "--tag"}
    arguments = [
        a
        for i, a in enumerate(sys.argv[1:], 1)
        if a not in skip and sys.argv[i - 1] not in {"--rounds", "--ways", "--tag"}
    ]
    for part in arguments:
        say(f"== {part} {time.strftime('%H:%M:%S')}, load {os.getloadavg()[0]:.2f}")
        if part in ("forward", "generation"):
            peers(part)
        elif part in ("cache", "ladder"):
            globals()[part]()
        else:
            kernels(tuple(part.split("+")))
