"""The locked environments."""

import shutil
import tomllib

from checker.files import ROOT
from tools import lock


def test_lock_exports_each_extra_without_what_one_kind_of_gpu_needs(monkeypatch, tmp_path):
    def uv(folder, command):
        names = ("numpy", "nvidia-nccl-cu12", "triton")
        (folder / "uv.lock").write_text("".join(f'[[package]]\nname = "{name}"\n' for name in names))
        return " ".join(command[len(lock.EXPORT) :])

    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "requirements").mkdir()
    for owner, name, value in ((lock, "ROOT", tmp_path), (lock, "uv", uv), (shutil, "which", str)):
        monkeypatch.setattr(owner, name, value)
    assert lock.write_requirements() == 0
    written = {path.stem: path.read_text().splitlines()[1] for path in (tmp_path / "requirements").iterdir()}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    options = {name: f" --extra={name}" for name in extras} | {"learn": ""}
    assert written == {name: f"--prune=nvidia-nccl-cu12 --prune=triton{option}" for name, option in options.items()}
