"""``export``: one short file, which writes what ``generate`` writes where only MAX and a few packages are installed."""

import ast
import re
import shutil
import subprocess
import sys
import venv
from importlib import metadata

import pytest
from packaging.requirements import Requirement

from checker.course.steps import SMALL_MODEL, SOLUTIONS
from checker.files import ROOT
from checker.packages import needed_version
from play.export.export import SECTIONS, UNUSED
from play.export.merging import definitions_of, imports_of
from tests.dev.helpers.connections import is_silent, traced
from tools.course_copy import python

pytestmark = pytest.mark.slow

#: Any other graph raises an error, and only the file itself turns telemetry off.
WITH_KEPT_GRAPHS = """
import os, runpy, sys
from checker.max_adapter.hooks import install_hooks
from checker.max_adapter.tracing import GraphMode, in_mode
install_hooks()
del os.environ["MODULAR_TELEMETRY_ENABLED"]
with in_mode(GraphMode.TRACE):
    runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
PACKAGES = ("max", "numpy", "safetensors", "tokenizers", "huggingface_hub")  # the last for a name on the hub alone


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The file of the solutions."""
    file = tmp_path_factory.mktemp("exported") / "gpt2.py"
    assert "gpt2.py has " in python(ROOT, "-m", "cli", "export", file, "--solution", status=0).stderr
    return file


def only(packages, folder):
    """A Python that has these packages, those which they need, and no other."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python3*/site-packages")
    wanted, found = [*packages], set()
    while wanted:
        package = metadata.distribution(wanted.pop())
        if package.name not in found:
            found.add(package.name)
            needed = map(Requirement, package.requires or ())
            wanted += [each.name for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
            for part in {path.parts[0] for path in package.files} - {"..", *(path.name for path in site.iterdir())}:
                (site / part).symlink_to(package.locate_file(part))
    return folder / "bin" / "python"


def test_it_is_short_and_formatted_and_imports_nothing_of_ours(exported):
    source = exported.read_text()
    assert source.count("\n") <= 755
    assert f"pip install max=={needed_version()} numpy " in ast.get_docstring(ast.parse(source))
    assert len(re.findall("^# --- .+ ---$", source, re.MULTILINE)) == len(SECTIONS)
    assert not re.search(r"\bstep\b", source.replace("decoder.step(", ""), re.IGNORECASE)  # it knows no course
    imported = {each.package for _, each in imports_of(ast.parse(source))}
    assert imported - sys.stdlib_module_names == {*PACKAGES}
    for rules in (["check", "--config", ROOT / "pyproject.toml"], ["format", "--check", "--line-length", "120"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *rules, exported], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_nothing_is_lost_but_imports_the_comments_of_blanks_and_what_nothing_uses(exported):
    """Every function and class of steps 01 to 14 is there, word for word."""
    whole = ast.unparse(ast.parse(exported.read_text()))
    assert not re.search(r"\.published\b|PUBLISHED", whole)
    files = [file for file in sorted(SOLUTIONS.glob("solution_*.py")) if file.stem < "solution_15"]
    for file in [*files, SOLUTIONS / "checkpoint.py", SOLUTIONS / "caching.py"]:
        tree = ast.parse(file.read_text())
        for part in definitions_of(tree, UNUSED.get(file.stem, ())):
            (owner,) = (each for each in [tree, *tree.body] if part in getattr(each, "body", ()))
            owner.body.remove(part)
        for node in tree.body[1:]:
            assert isinstance(node, ast.Import | ast.ImportFrom) or ast.unparse(node) in whole, file


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A Python with what the file needs, and nothing else."""
    return only(PACKAGES, tmp_path_factory.mktemp("alone") / "venv")


def test_it_writes_what_generate_writes(exported, calls, tmp_path):
    """Its graph is the one that ``generate`` has had compiled, so nothing is compiled here; and it sends nothing."""
    options = ("The whale", "--model", SMALL_MODEL, "--seed", "4", "--max-new-tokens", "40")
    call = [*traced(calls), sys.executable, "-c", WITH_KEPT_GRAPHS, exported, *options]
    written = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert written.returncode == 0, written.stderr
    assert written.stdout == python(ROOT, "-m", "cli", "generate", "--no-kernels", *options, status=0).stdout
    assert is_silent(calls)


@pytest.mark.nightly
@pytest.mark.parametrize("how", [(), ("--no-cache",)], ids=["", "no cache"])
def test_it_writes_the_same_and_sends_nothing_where_nothing_else_is_installed(exported, alone, calls, tmp_path, how):
    """MAX compiles each way anew, for minutes."""
    options = ("The whale", "--model", SMALL_MODEL, "--seed", "4", "--max-new-tokens", "40")
    call = [*traced(calls), alone, "-I", exported, *options, *how]
    written = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    assert written.returncode == 0, written.stderr
    assert written.stdout == python(ROOT, "-m", "cli", "generate", "--no-kernels", *options, status=0).stdout
    assert is_silent(calls)


def test_it_refuses_what_it_cannot_run(exported, alone, tmp_path):
    run = dict(cwd=tmp_path, capture_output=True, text=True, timeout=900, check=False)
    untold = shutil.copytree(SMALL_MODEL, tmp_path / "untold", ignore=lambda *_: ["config.json"])
    without = shutil.copytree(SMALL_MODEL, tmp_path / "without", ignore=lambda *_: ["tokenizer.json"])
    for options, reason in {
        ("--model", untold): "has no readable config.json",
        ("--model", without): "has no readable tokenizer.json",
        ("--model", ROOT, "--temperature", "-1"): "temperature = -1.0 is impossible",
        ("--model", ROOT, "--max-new-tokens", "-1"): "--max-new-tokens -1 is negative",
        ("--model", ROOT, "--top-k", "-1"): "--top-k -1 is negative",
    }.items():
        refused = subprocess.run([alone, "-I", exported, "The whale", *options], **run)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert reason in refused.stderr
        assert "Traceback" not in refused.stderr
