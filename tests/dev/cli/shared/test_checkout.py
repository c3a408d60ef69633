"""Which commit of the course this is, and whether it is changed."""

import subprocess

from cli.shared import checkout


def test_a_commit_has_its_name_and_whether_more_than_steps_is_changed(monkeypatch, tmp_path):
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    assert checkout.commit() == "not a git checkout"
    files = [tmp_path / "steps" / "step_01.py", tmp_path / "run"]
    files[0].parent.mkdir()
    for line in (["init"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-m", "A"]):
        [file.write_text("") for file in files]
        subprocess.run(["git", "-C", tmp_path, *line], check=True)
    for file, is_changed in zip(files, (False, True), strict=True):
        file.write_text("changed")
        assert checkout.commit().endswith("-dirty") is is_changed
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout.commit() == "unknown: the program git is not installed"
