"""What GitHub reads: workflows, forms for issues, the citation. Its own schemas and a linter read them here."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from checker.course.paths import ROOT
from cli.main import main
from cli.page.server import PORT
from cli.tasks import tasks

pytestmark = pytest.mark.slow

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
GITHUB = ROOT / ".github"
EXAMPLE = GITHUB / "classroom" / "grade.yml"  # for repositories of others
WORKFLOWS = [*sorted((GITHUB / "workflows").glob("*.yml")), EXAMPLE]
VSCODE = ROOT / ".vscode"
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
FORMS = sorted({*(GITHUB / "ISSUE_TEMPLATE").glob("*.yml")} - {GITHUB / "ISSUE_TEMPLATE" / "config.yml"})

#: The one line of a workflow that no task has: only there is a token for it.
OF_GITHUB = {'gh release create "$GITHUB_REF_NAME" --verify-tag --generate-notes'}

SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": FORMS,
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def read(path):
    return yaml.safe_load(path.read_text())


def jobs(path):
    return read(path)["jobs"].values()


def run(program, *arguments):
    """Run a linter of the environment ``dev``."""
    command = [Path(sys.executable).with_name(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_is_task(line):
    assert re.fullmatch(r"\./run [\w-]+( [\w./-]+)*", line), line
    assert line.split()[1] in tasks(), line


@pytest.mark.parametrize("schema", SCHEMAS)
def test_github_can_read_it(schema):
    run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *SCHEMAS[schema])


def test_the_linter_finds_nothing_in_the_workflows():
    """No text of a stranger in a shell, no credentials left behind, no action but GitHub's own by its version alone."""
    run("zizmor", "--offline", "--quiet", "--strict-collection", GITHUB, EXAMPLE)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_tasks_alone_and_may_only_read(path):
    assert read(path)["permissions"] in ({}, {"contents": "read"})  # a job may have more
    lines = {step["run"] for job in jobs(path) for step in job.get("steps", []) if "run" in step}
    for line in lines - OF_GITHUB:
        assert_is_task(line)


def test_every_job_ends_and_has_the_python_that_it_sets_up():
    for job in (job for path in WORKFLOWS for job in jobs(path) if "uses" not in job):
        assert job["timeout-minutes"]
        wanted = [step["with"]["python-version"] for step in job["steps"] if "setup-python" in step.get("uses", "")]
        assert [job["env"]["PYTHON"]] == [f"python{version}" for version in wanted] if wanted else "env" not in job


def test_what_max_compiles_is_kept_where_max_puts_it(tmp_path):
    (job,) = jobs(GITHUB / "workflows" / "tests.yml")
    (kept,) = [step["with"]["path"] for step in job["steps"] if "cache" in step.get("uses", "")]
    assert job["env"]["MODULAR_CACHE_DIR"] == f"${{{{ github.workspace }}}}/{kept}"
    script = "from max import _core; print(_core.engine.max_cache_dir())"
    environment = os.environ | {"MODULAR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent == tmp_path


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_the_file_and_for_doctor(path):
    fields = {field["id"]: field for field in read(path)["body"]}
    assert {"file", "doctor"} <= fields.keys()
    assert "`./run doctor`" in fields["doctor"]["attributes"]["description"]
    assert fields["doctor"]["validations"]["required"]


def test_one_version_is_stated_everywhere():
    assert read(ROOT / "CITATION.cff")["version"] == VERSION
    sections = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", VERSION]
    if os.environ.get("GITHUB_REF_TYPE") == "tag":  # release.yml runs the tests for it
        assert os.environ["GITHUB_REF_NAME"] == f"v{VERSION}"


def test_the_hook_before_a_commit_is_the_check():
    ((hook,),) = [repository["hooks"] for repository in read(ROOT / ".pre-commit-config.yaml")["repos"]]
    assert hook["entry"] == "./run check"
    assert not hook["pass_filenames"]


def test_the_container_is_warm_and_opens_with_the_book():
    assert_is_task(CONTAINER["postCreateCommand"])
    assert CONTAINER["postAttachCommand"].startswith("./run book ")
    assert_is_task(CONTAINER["postAttachCommand"])
    assert PORT in CONTAINER["forwardPorts"]


def test_a_classroom_grades_by_another_clone_than_the_submission():
    (job,) = jobs(EXAMPLE)
    clones = {step["with"]["path"]: step["with"] for step in job["steps"] if "checkout" in step.get("uses", "")}
    (grade,) = [step for step in job["steps"] if "run" in step]
    (submission,) = re.findall(r"\.\./(\w+)", grade["run"])
    assert clones.keys() == {submission, grade["working-directory"]}
    assert "repository" not in clones[submission]
    assert {"repository", "ref"} <= clones[grade["working-directory"]].keys(), "pinned"
    assert clones[submission]["persist-credentials"] is clones["course"]["persist-credentials"] is False


def test_tasks_of_the_editor_are_the_courses():
    told = json.loads((VSCODE / "tasks.json").read_text())["tasks"]
    for task in told:
        words = [word.replace("${fileBasenameNoExtension}", "step_07") for word in (task["command"], *task["args"])]
        assert_is_task(" ".join(words))
        name, *given = words[1:]
        command = main.get_command(click.Context(main), name)
        command.make_context(name, given)  # refuses an unknown option
    assert [task["label"] for task in told if task.get("group", {}) == {"kind": "build", "isDefault": True}]
    wanted = json.loads((VSCODE / "extensions.json").read_text())["recommendations"]
    assert CONTAINER["customizations"]["vscode"]["extensions"] == wanted


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *GITHUB.glob("*.md")], ids=lambda path: path.name)
def test_relative_links_lead_somewhere(path):
    for link in re.findall(r"\]\((?!https?:|\.\./\.\./(?:security|issues)/|#)([^)#]+)", path.read_text()):
        assert (path.parent / link).exists(), link
