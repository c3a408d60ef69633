"""The tasks of pixi.toml, and the runner that executes them without pixi."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from checker.course.paths import ROOT
from checker.course.steps import all_steps
from cli import tasks

MANIFEST = tomllib.loads((ROOT / "pixi.toml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

GROUPS_OF_PEERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]


#: Where the commands are: the learner's, and the maintainers'.
GROUPS = ("cli", "tools")

#: Tasks that are another program's, and which.
OTHER_PROGRAMS = {
    "book-watch": "mdbook",
    "book-build": "mdbook",
    "check": "ruff",
    "test": "tests",
    "nightly": "tests",
}


def run(*arguments):
    """``./run`` as people without pixi have it."""
    environment = os.environ | {"NO_PIXI": "1"}
    return subprocess.run(["./run", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_every_task_has_a_description():
    assert all(task.get("description") for task in MANIFEST["tasks"].values())


@pytest.mark.parametrize("name", MANIFEST["tasks"])
def test_a_task_is_a_command_or_another_program(name):
    """Its line names the command, and its description is the first sentence of the command's help."""
    task = MANIFEST["tasks"][name]
    if name in OTHER_PROGRAMS:
        assert task["cmd"].removeprefix("python -m ").split()[0] == OTHER_PROGRAMS[name]
        return
    line = re.fullmatch(r"python -m (cli|tools) (\S+)", task["cmd"])
    assert line, task["cmd"]
    assert line[2] == name
    group = importlib.import_module(f"{line[1]}.main").main
    command = group.get_command(click.Context(group), name)
    assert command.get_short_help_str(limit=1000).rstrip(".") == task["description"]


@pytest.mark.parametrize("package", GROUPS)
def test_every_command_has_its_task(package):
    group = importlib.import_module(f"{package}.main").main
    for name in group.list_commands(click.Context(group)):
        assert MANIFEST["tasks"][name]["cmd"] == f"python -m {package} {name}"


def test_the_manifest_uses_only_what_the_runner_knows():
    for task in MANIFEST["tasks"].values():
        assert task.keys() <= {"cmd", "description", "default-environment"}
        assert "{{" not in task["cmd"]


def test_every_step_has_its_task():
    for step in all_steps():
        assert MANIFEST["tasks"][step.task]["cmd"] == f"python -m cli {step.task}"


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


@pytest.mark.parametrize("name", GROUPS_OF_PEERS)
def test_a_peer_has_what_is_stated_and_nothing_of_the_course(name):
    locked = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()[1:]
    assert {re.sub(r"\[.*?\]", "", pin) for pin in GROUPS_OF_PEERS[name]} <= set(locked)  # ray[serve] is locked as ray
    assert not [line for line in locked if line.startswith(("max", "mojo", "nvidia"))]
    both = {pin.partition("==")[0] for pin in GROUPS_OF_PEERS[name]}
    stated = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["reference"]]
    same = [pin for pin in stated if pin.partition("==")[0] in both]
    assert set(same) <= set(GROUPS_OF_PEERS[name])  # the torch that is timed is the one that is recorded


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


def test_arguments_are_appended_as_they_are(capfd):
    known = {"t": {"cmd": "printf '<%s>' a", "description": ""}}
    assert tasks.run("t", ["b c", "$HOME; exit 3"], known) == 0
    assert capfd.readouterr().out == "<a><b c><$HOME; exit 3>"


def test_the_exit_status_is_the_tasks():
    assert tasks.run("t", [], {"t": {"cmd": "exit 3", "description": ""}}) == 3


@pytest.fixture
def nothing_to_install(monkeypatch):
    """The learner's environment: to install anything fails."""

    def install(environment):
        raise AssertionError(f"{environment} would be installed")

    monkeypatch.setattr(tasks, "install", install)


@pytest.mark.parametrize("name", ["serve", "attention", "book-watch", "check"])
def test_help_installs_nothing(name, nothing_to_install, capfd):
    assert tasks.run(name, ["--help"], MANIFEST["tasks"]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert f"./run {name} [" in said
    assert MANIFEST["tasks"][name]["description"] in said


@pytest.mark.parametrize("package", GROUPS)
def test_help_of_any_command_loads_only_what_parses(package):
    """Neither MAX nor what draws, checks or trains: ``--help`` answers at once, in the learner's environment."""
    script = f"""\
import sys
from {package}.main import main
for name in main.list_commands(None):
    main([name, "--help"], standalone_mode=False)
heavy = {{"max", "numpy", "rich", "pytest", "tokenizers", "torch", "transformers", "watchfiles", "markdown_it"}}
print(*sorted(heavy & {{name.partition(".")[0] for name in sys.modules}}), sep="", end="", file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


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


@pytest.mark.parametrize(
    ("python", "said"), [("ours", "run: ours cannot make .venv"), ("none", "found. PYTHON is none.")]
)
def test_the_python_that_is_named_makes_the_environment(tmp_path, python, said):
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "learn.txt").write_text("")
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    for name in ("ours", "python3.13"):  # fits, and cannot make .venv
        (tmp_path / name).write_text('#!/bin/sh\n[ "$1" = -c ]\n')
        (tmp_path / name).chmod(0o755)
    for tool in ("sh", "dirname", "cmp"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {"PATH": str(tmp_path), "NO_PIXI": "1", "PYTHON": python}
    done = subprocess.run(
        ["/bin/sh", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_an_interrupted_setup_is_taken_up_again(tmp_path):
    """A .venv without its stamp is completed, not taken for finished."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "learn.txt").write_text("")
    (tmp_path / "run").write_bytes((ROOT / "run").read_bytes())
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "tasks.py").write_text("print('ran')")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").write_text("half made")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"NO_PIXI": "1"}
    for _ in range(2):
        done = subprocess.run(["sh", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "ran"
    assert "Setting up" not in done.stderr  # the second time
