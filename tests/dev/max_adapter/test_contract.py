"""The adapters use no other names of MAX than those of the contract, and the installed MAX has them all."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checker.course.paths import ROOT
from checker.max_adapter import contract
from checker.max_adapter.messages import ADVICE, advice_on, without_internals

CONTRACT = ROOT / "checker/max_adapter/contract.py"  # it may use anything, to look at it
ADAPTERS = [*(ROOT / "checker/max_adapter").glob("*.py"), *(ROOT / "play/serving/max").glob("*.py")]
IN_MOJO = [path for folder in ("play", "solutions", "tests", "tools") for path in (ROOT / folder).rglob("*.mojo")]
OTHERS = sorted(
    path
    for pattern in ("checker/**/*.py", "play/**/*.py", "tools/**/*.py", "solutions/*.py", "tests/test_*.py")
    for path in ROOT.glob(pattern)
    if path not in ADAPTERS
)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_hidden(dotted: str) -> bool:
    """Return whether a name of MAX is private or experimental."""
    return any(map(is_private, dotted.split("."))) or dotted.startswith("max.experimental.")


class Names(ast.NodeVisitor):
    """The names of MAX in a file that are private, experimental, replaced or overridden."""

    def __init__(self, source: str) -> None:
        self.imported: dict[str, str] = {}  # what a name in the file stands for
        self.of_max: set[str] = set()  # whole dotted names: private or experimental
        self.members: set[str] = set()  # of objects whose kind the source does not say: private, or replaced
        tree = ast.parse(source)
        self.own = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "max":
                self.imported |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            if isinstance(node, ast.Import):
                of_max = [one for one in node.names if one.name.split(".")[0] == "max"]
                self.imported |= {one.asname or "max": one.name if one.asname else "max" for one in of_max}
        self.visit(tree)

    def dotted(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self.imported.get(node.id, "")
        if isinstance(node, ast.Attribute) and (owner := self.dotted(node.value)):
            return f"{owner}.{node.attr}"
        return ""

    def visit_Attribute(self, node: ast.Attribute) -> None:
        whole = self.dotted(node)
        replaced = isinstance(node.ctx, ast.Store | ast.Del)
        if whole:
            if is_hidden(whole) or replaced:
                self.of_max.add(whole)
            return
        if not self.is_own(node) and (is_private(node.attr) or (replaced and self.imported)):
            self.members.add(node.attr)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        whole = self.imported.get(node.id, "")
        if is_hidden(whole):
            self.of_max.add(whole)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        called = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and self.is_self(one.value)}
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and node.bases and is_private(one.name) and one.name not in called:
                self.members.add(one.name)  # nobody here calls it: MAX does
        self.generic_visit(node)

    def is_own(self, node: ast.Attribute) -> bool:
        return node.attr in self.own or self.is_self(node.value)

    @staticmethod
    def is_self(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in ("self", "cls")


def is_listed(name: str) -> bool:
    """Return whether the contract has a name, or members of it."""
    return any(entry.name == name or entry.name.startswith(f"{name}.") for entry in contract.CONTRACT)


LAST = {entry.name.rpartition(".")[2] for entry in contract.CONTRACT}


@pytest.mark.parametrize(
    "path", [path for path in ADAPTERS if path != CONTRACT], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_every_name_that_an_adapter_uses_is_in_the_contract(path: Path):
    names = Names(path.read_text())
    assert [name for name in sorted(names.of_max) if not is_listed(name)] == []
    assert sorted(names.members - LAST) == []


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_other_file_uses_a_private_name_of_max(path: Path):
    names = Names(path.read_text())
    private = [name for name in names.of_max if any(map(is_private, name.split(".")))]
    assert private == []
    if names.imported:
        assert names.members & LAST == set()


def test_the_search_finds_what_it_is_for():
    found = Names(
        "from max import _core\nfrom max.experimental import compilation\nfrom max.x import y\n"
        "_core.a.b()\ncompilation._session = 1\ny.z = 2\nother._hidden\nother.replaced = 3\n"
        "class Mine(Theirs):\n    def _called_by_max(self): self._helper()\n    def _helper(self): self._own = 1"
    )
    assert found.of_max == {"max._core.a.b", "max.experimental.compilation._session", "max.x.y.z"}
    assert found.members == {"_hidden", "replaced", "_called_by_max"}


def imported_from_max(source: str) -> set[str]:
    """Return the dotted names that a source in Mojo imports from a package of MAX's: not its own, nor the library's."""
    own = {path.stem for path in IN_MOJO} | {path.parent.name for path in IN_MOJO} | {"kernel", "std", "mojo"}
    found = set()
    for module, names in re.findall(r"^from ([\w.]+) import (.+)$", source, re.MULTILINE):
        if module[0] != "." and module.split(".")[0] not in own:
            found |= {f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(",")}
    return found


@pytest.mark.parametrize("path", IN_MOJO, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_that_a_source_in_mojo_imports_is_in_the_contract(path: Path):
    assert [name for name in sorted(imported_from_max(path.read_text())) if not is_listed(name)] == []


def test_the_search_in_mojo_finds_what_it_is_for():
    source = "from std.math import exp\nfrom .heads import Heads\nfrom max.a import b, _c as c\nfrom step_21 import dot"
    assert imported_from_max(source) == {"max.a.b", "max.a._c"}
    used = {name for path in IN_MOJO for name in imported_from_max(path.read_text())}
    assert used == {name for names in contract.IN_MOJO.values() for name in names}


def test_the_files_of_the_contract_exist():
    there = {str(path.relative_to(ROOT)) for path in [*ADAPTERS, *IN_MOJO]}
    assert {entry.used_by for entry in contract.CONTRACT} <= there


def test_a_name_that_mojo_does_not_find_is_told(monkeypatch):
    monkeypatch.setattr(contract, "IN_MOJO", {"a file": ("max.algorithm.sync_parallelize", "layout.no_such_name")})
    found = contract._missing_in_mojo.__wrapped__()
    assert [*found] == ["layout.no_such_name"]
    assert "no_such_name" in found["layout.no_such_name"]


@pytest.mark.slow
def test_the_installed_max_keeps_the_contract():
    """In a process of its own: here the hooks are in place already."""
    command = [sys.executable, "-m", "checker.max_adapter.contract"]
    environment = dict(os.environ)  # else a child gets what MAX's libraries set behind Python's back, and no .venv
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "names are as expected" in said.stdout


def test_every_advice_answers_something_that_max_says():
    given = {advice_on(without_internals(message)) for name, message in contract.messages_of_max().items()}
    assert set(ADVICE.values()) <= given


@pytest.mark.parametrize(
    ("name", "expected", "said"),
    [
        (
            "max.engine.InferenceSession.compile_all",
            "(model)",
            "max.engine.InferenceSession.compile_all no longer exists",
        ),
        ("max.engine.InferenceSession.init", "(model)", "is '(compiled, *, weights_registry=…)', and '(model)' was"),
        ("max._gone.name", "module", "max._gone.name no longer exists"),
    ],
)
def test_what_changed_is_said_in_a_sentence(name, expected, said):
    entry = contract.Entry(name, expected, "a file", "nothing works", contract.describe)
    assert said in entry.broken()
    assert entry.broken().endswith("; a file uses it, and without it nothing works.")
