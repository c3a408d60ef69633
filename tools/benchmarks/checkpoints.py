"""Checkpoints of seeded weights, made once and kept under ``.peers/``: benchmarks need sizes, not trained weights.

``python -m tools.benchmarks.checkpoints OUT NAME`` writes one, in a process of its own, so that a benchmark need not
import torch.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from checker.course.steps import ROOT, SMALL_MODEL
from checker.errors import UserError
from tools.benchmarks.harness import say

HOME = ROOT / ".peers"
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {},  # GPT-2 small's
    "one-layer": dict(vocab_size=4096, n_positions=64, n_embd=64, n_layer=1, n_head=2, n_inner=256),
}
VARIED = {"c_proj.weight": 4, "transformer.ln_f.bias": 0.3}  # else every token of a text is followed by itself


def checkpoint_of(name: str = "gpt2") -> Path:
    """Return a checkpoint of one of ``SIZES`` in Hugging Face's layout, which is made where it is missing.

    Raises:
        UserError: it cannot be written.
    """
    checkpoint = HOME / name
    if checkpoint.exists():
        return checkpoint
    say(f"  writing a checkpoint of random weights, {name}")
    HOME.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as scratch:
        line = [sys.executable, "-m", "tools.benchmarks.checkpoints", f"{scratch}/{name}", name]
        ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise UserError(f"the checkpoint could not be made: {ended.stderr.strip()}")
        (Path(scratch) / name).rename(checkpoint)  # which it is once it is complete
    return checkpoint


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


if __name__ == "__main__":
    out, name = sys.argv[1:]
    save_checkpoint(Path(out), SIZES[name])
