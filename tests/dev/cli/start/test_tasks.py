"""The tasks of pixi.toml, and ``./run``, which executes them without pixi."""

import importlib
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import click
import jsonschema
import pytest

from checker.course.steps import all_steps
from checker.files import ROOT
from cli.start.setup import FOR_LEARNERS
from cli.start.tasks import ACTIVATION
from tools.course_copy import python

MANIFEST = tomllib.loads((ROOT / "pixi.toml").read_text())
TASKS = MANIFEST["tasks"]
STATED = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = STATED["project"]["optional-dependencies"]

GROUPS = {name: importlib.import_module(f"{name}.main").main for name in ("cli", "tools")}
OTHER_PROGRAMS = {"lint": "ruff", "browser": "playwright", "test": "tests", "nightly": "tests"}
OTHER_PROGRAMS |= {"book-build": "mdbook", "book-watch": "mdbook"}


def run(*arguments, at=ROOT, **variables):
    """``./run`` as people without pixi have it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"NO_PIXI": "1", **variables}
    return subprocess.run(["/bin/sh", "run", *arguments], cwd=at, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_a_command_or_another_program(name):
    """Its line names the command, and its description is the first sentence of the command's help."""
    task = TASKS[name]
    assert task.keys() <= {"cmd", "description", "default-environment"}, "cli/start/tasks.py knows no more"
    package, *rest = task["cmd"].removeprefix("python -m ").split()
    if name in OTHER_PROGRAMS:
        assert package == OTHER_PROGRAMS[name]
        return
    assert rest == [name]
    command = GROUPS[package].get_command(click.Context(GROUPS[package]), name)
    assert command.get_short_help_str(limit=1000).rstrip(".") == task["description"]


def test_every_command_and_every_step_has_its_task():
    commands = {name for group in GROUPS.values() for name in group.list_commands(click.Context(group))}
    assert commands | {step.task for step in all_steps()} == TASKS.keys() - OTHER_PROGRAMS.keys()


def test_the_manifest_is_valid():
    if not (schema := os.environ.get("PIXI_SCHEMA")):
        pytest.skip("PIXI_SCHEMA does not name a copy of pixi's schema")
    jsonschema.validate(MANIFEST, json.loads(Path(schema).read_text()))


def test_pixi_and_run_set_the_same_variables():
    assert "MODULAR_TELEMETRY_ENABLED" in ACTIVATION
    assert MANIFEST["activation"] == {"env": ACTIVATION}


def test_every_environment_is_locked_at_the_versions_of_pyproject():
    # Without markers: a package may be wanted on more machines in dev.
    files = {path.stem: path.read_text().splitlines()[1:] for path in (ROOT / "requirements").glob("*.txt")}
    locked = {name: [line.partition(" ; ")[0] for line in lines] for name, lines in files.items()}
    for name, extra in {"learn": [], **EXTRAS}.items():
        pins = [pin for pin in STATED["project"]["dependencies"] + extra if not pin.startswith("gpt2-in-max[")]
        assert {re.sub(r"\[.*?\]", "", pin) for pin in pins} <= {*locked[name]}, name  # max[serve] is locked as max
        assert {*locked["learn"]} <= {*locked[name]} <= {*locked["dev"]}, name
        assert not [pin for pin in locked[name] if not re.fullmatch(r"[a-z0-9-]+==[^ ]+", pin)]
    used = {task.get("default-environment", "default") for task in TASKS.values()}
    assert used <= MANIFEST["environments"].keys() <= {"default", *EXTRAS}
    learners = {task.get("default-environment") for task in TASKS.values() if task["cmd"].startswith("python -m cli ")}
    assert learners - {None} <= {*FOR_LEARNERS} <= used, "`./run warm --all` installs what a learner's tasks add"


def test_run_lists_the_tasks_alone_and_for_an_unknown_one():
    listed, unknown = run(), run("s99")
    assert (listed.returncode, unknown.returncode) == (0, 2)
    for name, task in TASKS.items():
        line = re.compile(rf"^  {re.escape(name)} +{re.escape(task['description'])}$", re.MULTILINE)
        assert line.search(listed.stdout)
        assert line.search(unknown.stderr)


UNKNOWN = {
    "s99": "run: there is no task 's99'.",
    "s7": "run: there is no task 's7'; did you mean s07?",
    "7": "run: there is no task '7'; did you mean s07?",
    "W1": "run: there is no task 'W1'; did you mean w01?",
    "step_21.mojo": "run: there is no task 'step_21.mojo'; did you mean s21?",
    "dotcor": "run: there is no task 'dotcor'; did you mean doctor?",
}


@pytest.mark.parametrize(("name", "last"), UNKNOWN.items())
def test_an_unknown_task_ends_with_the_one_that_was_meant(name, last):
    assert run(name).stderr.splitlines()[-1] == last


def test_run_passes_arguments_and_exit_status_on():
    assert run("s01", "--solution").returncode == 0
    refused = run("hint", "$HOME b; exit 3")
    assert refused.returncode == 2
    assert "$HOME b; exit 3" in refused.stderr


@pytest.mark.parametrize("name", ["serve", "lint"])
def test_help_installs_nothing(name, course):
    course.shell("./run --help")  # lends the environment
    (course.root / "requirements" / f"{TASKS[name]['default-environment']}.txt").write_text("no-such-package==1\n")
    shown = " ".join(course.shell(f"./run {name} --help").split())
    assert f"./run {name} [" in shown
    assert TASKS[name]["description"] in shown
    assert "Installing" not in shown


@pytest.mark.parametrize("package", GROUPS)
def test_help_of_any_command_loads_only_what_parses(package):
    """Neither MAX nor what draws, checks or trains: ``--help`` answers at once, in the learner's environment."""
    script = f"""\
import sys
from {package}.main import main
for name in main.list_commands(None):
    main([name, "--help"], standalone_mode=False)
heavy = {{"max", "numpy", "rich", "pytest", "tokenizers", "torch", "transformers", "markdown_it"}}
print(*sorted(heavy & {{name.partition(".")[0] for name in sys.modules}}), sep="", end="", file=sys.stderr)
"""
    assert python(ROOT, "-c", script, status=0).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "pixi"),
    [
        (["generate", "say --help twice"], "<run> <generate> <say --help twice>"),
        (["chat", "--help"], "<run> <--environment> <default> <python3> <-m> <cli.start.tasks> <chat> <--help>"),
        ([], "<task> <list>"),
    ],
)
def test_pixi_is_given_the_words_as_they_were_typed(tmp_path, arguments, pixi):
    program = tmp_path / "pixi"
    program.write_text("#!/bin/sh\nprintf '<%s> ' \"$@\"\n")
    program.chmod(0o755)
    done = run(*arguments, NO_PIXI="", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.stdout.strip() == pixi, done.stderr
