"""Checkpoints of seeded weights, made once and kept under ``.peers/``: benchmarks need sizes, not trained weights."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from checker.course.steps import SMALL_MODEL
from checker.files import ROOT
from tools.benchmarks.harness import say

HOME = ROOT / ".peers"
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {},  # GPT-2 small's
    "one-layer": dict(vocab_size=4096, n_positions=64, n_embd=64, n_layer=1, n_head=2, n_inner=256),
}
VARIED = {"c_proj.weight": 4, "transformer.ln_f.bias": 0.3}  # else every token of a text is followed by itself


def random_checkpoint(name: str = "gpt2") -> Path:
    """Return a checkpoint of one of ``SIZES`` in Hugging Face's layout, which is made where it is missing."""
    checkpoint = HOME / name
    if not checkpoint.exists():
        say(f"  writing a checkpoint of random weights, {name}")
        HOME.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as scratch:
            save_checkpoint(Path(scratch) / name, SIZES[name])
            (Path(scratch) / name).rename(checkpoint)  # which it is once it is complete
    return checkpoint


def save_checkpoint(out: Path, sizes: dict[str, Any]) -> None:
    """Write seeded weights, and the small model's tokenizer filled up to the vocabulary."""
    from tools.hugging_face import hugging_face_config, seeded_model  # torch, which only this needs

    model, _ = seeded_model(hugging_face_config(**sizes), VARIED)
    model.save_pretrained(out)
    tokenizer = json.loads((SMALL_MODEL / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"<{number}>": number for number in range(len(vocabulary), model.config.vocab_size)}
    (out / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(SMALL_MODEL / "tokenizer_config.json", out)
