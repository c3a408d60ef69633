"""The tasks of pixi.toml, and the runner that executes them without pixi."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from checker import tasks
from checker.course.paths import ROOT
from checker.course.steps import all_steps

MANIFEST = tomllib.loads((ROOT / "pixi.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*arguments):
    """``./run`` as people without pixi have it."""
    environment = os.environ | {"NO_PIXI": "1"}
    return subprocess.run(["./run", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_every_task_has_a_description():
    assert all(task.get("description") for task in MANIFEST["tasks"].values())


def test_every_step_has_its_task():
    for step in all_steps():
        assert MANIFEST["tasks"][step.task]["cmd"] == f"python -m checker {step.task}"


def test_the_manifest_is_valid():
    schema = os.environ.get("PIXI_SCHEMA")
    if not schema:
        pytest.skip("PIXI_SCHEMA does not name a copy of pixi's schema")
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(MANIFEST, json.loads(Path(schema).read_text()))


def test_the_locked_versions_are_those_of_pyproject():
    extras = PROJECT["optional-dependencies"]
    pins = {"learn": PROJECT["dependencies"]}
    pins["reference"] = [*pins["learn"], *extras["reference"]]
    pins["dev"] = [*pins["reference"], *extras["dev"]]
    for name, wanted in pins.items():
        locked = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
        for pin in wanted:
            assert "==" in pin or pin.startswith(PROJECT["name"])
            assert pin in locked or pin.startswith(PROJECT["name"])
        for line in locked[1:]:
            assert re.fullmatch(r"[a-z0-9-]+==[^ ]+( ; .*)?", line), line


def test_the_locks_agree():
    files = ((ROOT / "requirements" / f"{name}.txt").read_text().splitlines() for name in ("learn", "reference", "dev"))
    learn, reference, dev = (set(lines[1:]) for lines in files)
    assert learn < reference < dev


def test_every_environment_has_its_requirements():
    for task in MANIFEST["tasks"].values():
        environment = task.get("default-environment", "default")
        assert environment in MANIFEST["environments"]
        assert environment == "default" or (ROOT / "requirements" / f"{environment}.txt").is_file()


def test_run_alone_lists_the_tasks():
    listed = run()
    assert listed.returncode == 0
    for name, task in MANIFEST["tasks"].items():
        assert re.search(rf"^  {re.escape(name)} +{re.escape(task['description'])}$", listed.stdout, re.MULTILINE)


def test_an_unknown_task_lists_the_tasks():
    listed = run("s99")
    assert listed.returncode == 2
    assert "there is no task 's99'" in listed.stderr
    assert "multi-head attention" in listed.stderr


def test_run_passes_arguments_and_exit_status_on():
    assert run("s01", "--solution").returncode == 0
    assert run("s07", "--nonsense").returncode == 2


def made_up(**task):
    return {"description": "", **task}


def test_arguments_are_appended_or_filled_in():
    assert tasks.command("t", made_up(cmd="echo a"), ["b c"]) == "echo a 'b c'"
    named = made_up(cmd="echo {{ first }} {{second}}", args=["first", {"arg": "second", "default": "2"}])
    assert tasks.command("t", named, ["1"]) == "echo 1 2"
    assert tasks.command("t", named, ["1; rm x", "3"]) == "echo '1; rm x' 3"
    with pytest.raises(tasks.CannotRun, match="needs the argument first"):
        tasks.command("t", named, [])
    with pytest.raises(tasks.CannotRun, match="takes 2 arguments, not 3"):
        tasks.command("t", named, ["1", "2", "3"])


def test_dependencies_run_first_and_once_and_stop_at_a_failure(tmp_path):
    log = tmp_path / "log"
    known = {
        "a": made_up(cmd=f"echo a >> {log}"),
        "b": made_up(cmd=f"echo b >> {log}", **{"depends-on": ["a"]}),
        "c": made_up(
            cmd=f'echo "c $WORD $(basename "$PWD")" >> {log}',
            env={"WORD": "word"},
            cwd="tests",
            **{"depends-on": ["a", "b"]},
        ),
        "bad": made_up(cmd="exit 3"),
        "after": made_up(cmd=f"echo never >> {log}", **{"depends-on": "bad"}),
    }
    assert tasks.run("c", [], known, set()) == 0
    assert log.read_text() == "a\nb\nc word tests\n"
    assert tasks.run("after", [], known, set()) == 3
    assert "never" not in log.read_text()


def test_setup_says_what_is_missing_without_python(tmp_path):
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "learn.txt").write_text("")
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "dirname", "cmp", "echo"):
        (tools / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {"PATH": str(tools), "NO_PIXI": "1"}
    done = subprocess.run(
        ["/bin/sh", "run", "s07"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no Python 3.11, 3.12 or 3.13 found" in done.stderr


def test_an_interrupted_setup_is_taken_up_again(tmp_path):
    """A .venv without its stamp is completed, not taken for finished."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "learn.txt").write_text("")
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    (tmp_path / "checker").mkdir()
    (tmp_path / "checker" / "tasks.py").write_text("print('ran')")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").write_text("half made")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"NO_PIXI": "1"}
    for _ in range(2):
        done = subprocess.run(["sh", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "ran"
    assert "Setting up" not in done.stderr  # the second time
