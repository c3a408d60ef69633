"""What GitHub and editors read: workflows, the tasks of an editor, links; `./run lint` has linters for their forms."""

import ast
import importlib
import json
import os
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from checker.files import ROOT
from cli.start.tasks import read_tasks

GITHUB = ROOT / ".github"
CLASSROOM = GITHUB / "classroom" / "grade.yml"  # for repositories of others
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in [*GITHUB.glob("workflows/*.yml"), CLASSROOM]}
JOBS = [job for workflow in WORKFLOWS.values() for job in workflow["jobs"].values()]
RELEASE = 'gh release create "$GITHUB_REF_NAME" --verify-tag --generate-notes'  # no task: there alone is a token for it


def assert_is_task(line):
    """Refuse a line that is not of a task, or has arguments that its command does not take."""
    run, name, *arguments = shlex.split(line, comments=True)
    assert run == "./run", line
    assert name in read_tasks(), line
    package = read_tasks()[name]["cmd"].split()[2]
    if package in ("cli", "tools"):
        group = importlib.import_module(f"{package}.main").main
        group.get_command(click.Context(group), name).make_context(name, arguments)


def test_workflows_run_tasks_alone_and_may_only_read():
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] in ({}, {"contents": "read"})  # a job may have more
    for line in {step["run"] for job in JOBS for step in job.get("steps", []) if "run" in step} - {RELEASE}:
        assert_is_task(line)


def test_a_classroom_grades_by_another_clone_than_the_submission():
    (job,) = WORKFLOWS["grade"]["jobs"].values()
    clones = {step["with"]["path"]: step["with"] for step in job["steps"] if "checkout" in step.get("uses", "")}
    (grade,) = [step for step in job["steps"] if "run" in step]
    (submission,) = re.findall(r"\.\./(\w+)", grade["run"])
    assert clones.keys() == {submission, grade["working-directory"]}
    assert "repository" not in clones[submission]
    for name in ("repository", "ref"):  # pinned, and refused if they are empty
        assert re.search(r" \|\| '\w+ is not set' }}$", clones[grade["working-directory"]][name])


def test_one_version_is_stated_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert "## [Unreleased]" in (changes := (ROOT / "CHANGELOG.md").read_text())
    assert re.findall(r"^## \[(\d.*?)\]", changes, re.MULTILINE)[0] == version
    if os.environ.get("GITHUB_REF_TYPE") == "tag":  # release.yml runs the tests for it
        assert os.environ["GITHUB_REF_NAME"] == f"v{version}"


def test_tasks_of_the_container_and_of_the_editor_are_the_courses():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert_is_task(container["postCreateCommand"])
    assert_is_task(container["postAttachCommand"])
    assert 3000 in container["forwardPorts"]  # where `./run book` serves
    for task in json.loads((ROOT / ".vscode" / "tasks.json").read_text())["tasks"]:
        words = [word.replace("${fileBasenameNoExtension}", "step_07") for word in (task["command"], *task["args"])]
        assert_is_task(shlex.join(words))


def test_pixi_starts_no_task_where_a_program_is_meant():
    """One of the tasks is called python, and pixi looks for a task first."""
    pages = [ROOT / "run", *(ROOT / "book" / "src").glob("*.md")]
    wrong = r"pixi run (?:--environment \w+ )?python\b(?! -c)"
    assert [path.name for path in pages if re.search(wrong, path.read_text())] == []


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *GITHUB.glob("*.md")], ids=lambda path: path.name)
def test_commands_and_places_that_a_page_names_exist(path):
    assert {*re.findall(r"(?:\./run|pixi run) ([a-z][\w-]*)", path.read_text())} <= read_tasks().keys()
    for line in re.findall(r"^\./run .*", path.read_text(), re.MULTILINE):
        assert_is_task(line)
    links = re.findall(r"\]\((?!https?:|\.\./\.\./(?:security|issues|codespaces)/|#)([^)#]+)", path.read_text())
    named = re.findall(r"`((?:cli|checker|play|tools|tests|book|solutions|steps|models)/[\w./]*)`", path.read_text())
    places = [path.parent / link for link in links] + [ROOT / place.replace("NN", "07") for place in named]
    assert [place for place in places if not place.exists()] == []


def test_a_trick_is_named_by_its_word_in_the_docstring_of_its_module():
    table = (ROOT / "TRICKS.md").read_text().partition("| word | trick |")[2]
    rows = [row.split(" | ") for row in table.splitlines() if row.startswith("| `")]
    assert len(rows) > 15
    for words, _, files, _ in rows:
        docstrings = [ast.get_docstring(ast.parse((ROOT / file).read_text())) for file in re.findall("`(.+?)`", files)]
        for word in re.findall("`(.+?)`", words):
            assert any(f"``{word}``" in (docstring or "") for docstring in docstrings), word


def defines(file, name):
    """Return whether a function, a class, a variable or a field of a file has a name."""
    definition = rf"\b(def|class|function) {name}\b|^ *{name}(: .+)? = |^ *{name}: "
    return re.search(definition, (ROOT / file).read_text(), re.MULTILINE) is not None


def test_a_row_of_architecture_names_one_place_that_is_there_and_one_test():
    """Behind a file it says what to look for there; where no test is named, there is one of the module's, or "none"."""
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## To change")[2]
    named = re.findall(r"`([\w/]+\.\w+)`: ((?:`\w+`(?:, )?)+)", table)
    inside = [(file, name) for file, names in named for name in re.findall(r"\w+", names)]
    assert len(inside) > 40
    assert [(file, name) for file, name in inside if not defines(file, name)] == []
    rows = [re.split(r"\s*\|\s*", row)[1:-1] for row in table.splitlines() if re.match(r"\| (?!to change)", row)]
    for _, place, test, _ in rows:
        assert len(re.findall(r"`[\w/]+[./][\w./]*`", place)) == 1, place
        assert re.fullmatch(r"(none|`tests/[\w/]+\.py`)?", test), test
    modules = [
        [Path(file) for file in re.findall(r"`((?:cli|checker|play|tools)/[\w/]+\.py)`", places)]
        for _, places, test, _ in rows
        if not test
    ]
    tests = [[ROOT / "tests/dev" / file.with_name(f"test_{file.name}") for file in files] for files in modules if files]
    assert len(tests) > 20
    assert [files for files in tests if not any(file.exists() for file in files)] == []


def test_no_docstring_stands_twice():
    files = [path for name in ("checker", "cli", "play", "tools", "tests/dev") for path in (ROOT / name).rglob("*.py")]
    assert [file for file in files if re.search(r'^( *""".+""")\n\1$', file.read_text(), re.MULTILINE)] == []
