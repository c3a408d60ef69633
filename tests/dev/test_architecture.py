"""What import-linter cannot see: names in strings, sizes of folders, what an import must not do, and words."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.course.paths import ROOT
from checker.course.steps import all_steps, uses_max

PACKAGES = ("cli", "checker", "play", "tools")
ONE_FILE_PER_STEP = ("tools/book_maker/figures",)
SOURCES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
MODULE = re.compile(r"(?:cli|checker|play|tools)(?:\.[a-z_]+)+")
NO_MODULE = {"checker.claims.Refusal"}  # words that look like one
QUESTION = ("What", "Whether", "How", "Where", "Who", "Why", "When", "Which")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def strings(tree: ast.AST) -> Iterator[str]:
    """The string constants of a module that are code: no docstrings."""
    words = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            yield node.value


def test_the_contracts_of_the_layers_are_kept():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_modules_named_in_strings_exist():
    found = {}
    for path in [*SOURCES, ROOT / "pixi.toml", ROOT / "pyproject.toml", ROOT / "run", ROOT / "book" / "book.toml"]:
        texts = strings(ast.parse(path.read_text())) if path.suffix == ".py" else [path.read_text()]
        for text in texts:
            for name in (
                MODULE.findall(text) if path.suffix != ".py" else MODULE.findall(text if " " not in text else "")
            ):
                found.setdefault(name, relative(path))
    assert "checker.claims.worker" in found
    assert "checker.claims.plugin" in found
    for name, where in found.items():
        parts = name.split(".")
        module = next((".".join(parts[:n]) for n in range(len(parts), 0, -1) if _exists(".".join(parts[:n]))), None)
        assert module, f"{where} names {name}"
        assert len(parts) - module.count(".") <= 2, f"{where} names {name}; there is {module}"


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_nothing_outside_tests_imports_tests():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            assert not [name for name in names if name.split(".")[0] == "tests"], relative(path)


def test_the_folder_of_the_tests_is_named_in_one_place():
    named = {relative(path) for path in SOURCES if {"tests"} & set(strings(ast.parse(path.read_text())))}
    named |= {
        relative(path) for path in SOURCES for text in strings(ast.parse(path.read_text())) if text.startswith("tests/")
    }
    assert named <= {"checker/course/paths.py", "tools/course_copy.py"}


@pytest.mark.parametrize("folder", sorted({relative(path.parent) for path in SOURCES}))
def test_a_folder_has_one_concern_and_says_so(folder):
    words = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text())) or ""
    assert len(words) > 80, f"{folder}/__init__.py must say what comes in, what goes out, and who may import it"
    if folder not in ONE_FILE_PER_STEP:
        assert words.count(". ") + words.count(".\n") + words.endswith(".") >= 3


def test_uses_max_is_true_of_those_checks_that_import_max():
    script = f"""
import runpy, sys

class NoMax:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "max":
            raise LookupError

sys.meta_path.insert(0, NoMax())
for file in {[relative(step.check_file) for step in all_steps()]}:
    try:
        runpy.run_path(file)
        print(file, "False")
    except LookupError:
        print(file, "True")
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    said = dict(line.split() for line in done.stdout.splitlines())
    assert said == {relative(step.check_file): str(uses_max(step)) for step in all_steps()}
    assert set(said.values()) == {"True", "False"}


def test_no_import_patches_max():
    """Only ``prepare()`` changes how MAX runs, and how this process takes Ctrl-C."""
    script = """
import importlib, os, signal
from max.engine import InferenceSession
from max.experimental import executor
def state():
    default = executor._default_executor.get(None) if hasattr(executor, "_default_executor") else None
    hooked = (InferenceSession.compile_reusing_mefs, InferenceSession.init_all, default)
    return (*hooked, signal.getsignal(signal.SIGINT), dict(os.environ))
before = state()
for name in ("checker.max_adapter.runtime", "checker.max_adapter.kernels", "checker.max_adapter.graphs",
             "checker.claims.modules", "play.engine", "play.attention_weights"):
    importlib.import_module(name)
assert state() == before
from checker.max_adapter.runtime import prepare
prepare()
assert state() != before
print("done")
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "done\n", done.stderr


def test_no_docstring_of_a_function_begins_with_a_question():
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                is_property = any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
                words = (ast.get_docstring(node) or "").split()
                if words and words[0] in QUESTION and not is_property:
                    found.append(f"{relative(path)}:{node.lineno} {node.name}: {' '.join(words[:4])} …")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_places_that_a_page_names_exist(page):
    named = set(
        re.findall(
            r"`((?:cli|checker|play|tools|tests|book|solutions|steps|models)/[\w./]*)`", (ROOT / page).read_text()
        )
    )
    assert named
    missing = [place for place in named if not (ROOT / place.replace("NN", "07")).exists()]
    assert not missing
