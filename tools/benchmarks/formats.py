"""Models in other formats, beside the checkpoint: ``python -m tools.benchmarks.formats NAME CHECKPOINT``."""

import subprocess
import sys
from pathlib import Path

VENV = ".peers/venv/bin/python"


def place(checkpoint: Path, name: str) -> Path:
    return Path(".peers/models") / checkpoint.name / name


def add(checkpoint: Path, name: str) -> None:
    out = place(checkpoint, name)
    if out.exists():
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    library, _, dtype = name.partition("-")
    if library == "ctranslate2":
        line = [
            VENV,
            "-m",
            "ctranslate2.converters.transformers",
            "--model",
            str(checkpoint),
            "--output_dir",
            str(out),
            "--quantization",
            dtype,
        ]
    elif library == "gguf":
        line = [".venv/bin/python", "-m", "tools.benchmarks.formats", name, str(checkpoint)]
    else:
        line = [VENV, "-m", "tools.benchmarks.exports", library, str(checkpoint), str(out)]
    print("writing", out, flush=True)
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:])
        raise SystemExit(1)


def save_as_gguf(out: Path, checkpoint: Path) -> None:
    from solutions.checkpoint import read_checkpoint, read_config
    from solutions.gguf_files import save_gguf
    from solutions.quantized import quantize_weights
    from solutions.solution_13 import convert_checkpoint

    weights, format = convert_checkpoint(read_checkpoint(checkpoint)), out.name.partition("-")[2]
    stored = weights if format == "F32" else quantize_weights(weights, format)
    save_gguf(out, read_config(checkpoint), stored, checkpoint / "tokenizer.json")


if __name__ == "__main__":
    name, checkpoint = sys.argv[1], Path(sys.argv[2])
    save_as_gguf(place(checkpoint, name), checkpoint)
