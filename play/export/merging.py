"""Make one file of modules that import each other: a pure function of their sources.

A module keeps its text, but for its imports, which are gathered at the top, the comments of blanks, its docstring, and
constants and methods that nothing in the file uses.
A module may begin a section, which has a heading. No name is changed, so each has to mean one thing in all modules.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checker.course.blanks import COMMENT

LONGEST_LINE = 120
#: Packages that stay behind; a relative import has none.
OURS = ("solutions", "steps", "tests", "checker", "cli", "play", "tools", "")


@dataclass(frozen=True)
class Module:
    """A module: the ``file`` that has its ``text``, and the ``names`` by which others import it."""

    file: str
    names: tuple[str, ...]
    text: str
    heading: str = ""  # of the section that begins with it
    unused: Collection[str] = ()  # names of constants and methods


@dataclass(frozen=True)
class Imported:
    """``from module import name as bound``, or ``import module as bound`` if there is no name."""

    module: str
    name: str
    bound: str

    @property
    def package(self) -> str:
        """The package that it comes from."""
        return self.module.partition(".")[0]

    @property
    def meaning(self) -> str:
        """What the name stands for."""
        return f"{self.module}.{self.name}" if self.name or self.renamed else self.package

    @property
    def renamed(self) -> str:
        """How the statement ends if it gives another name."""
        return "" if self.bound == (self.name or self.package) else f" as {self.bound}"


def merge(modules: Sequence[Module], are_same: Callable[[str, str], bool]) -> str:
    """Return one file that does what the last of the modules does; each imports only those before it.

    Args:
        modules: what becomes one file.
        are_same: whether two dotted names are those of one thing, as ``max.graph`` has things of other modules.

    Raises:
        ValueError: a module imports one of ours in a way that does not fit into one file, or a name means different
            things in two modules; the message says what to change.
    """
    imports, parts = set[Imported](), list[str]()
    known: dict[str, Collection[str]] = {}  # the names that each module has for others
    meanings = dict.fromkeys(dir(builtins), ("built in", "Python"))  # what each name stands for, and where
    for module in modules:
        tree = ast.parse(module.text)
        taken = {*taken_from_elsewhere(tree, known, module.file)}
        meant = defined_in(tree, module) | {each.bound: each.meaning for each in taken}
        for name, meaning in meant.items():
            other, place = meanings.setdefault(name, (meaning, module.file))
            if other != meaning and not are_same(other, meaning):
                raise ValueError(f"{name} is one thing in {module.file} and another in {place}: rename it in one file")
        known |= dict.fromkeys(module.names, meant)
        imports |= {each for each in taken if meanings[each.bound][0] == each.meaning}
        parts.append(part_of(tree, module, is_program=module is modules[-1]))
    about = ast.get_docstring(tree) or ""
    end = '\n"""' if "\n" in about else '"""'
    head = f'"""{about}{end}\n\nfrom __future__ import annotations\n\n{import_block(imports)}'
    return "\n\n".join([head, "\n\n\n".join(parts)]) + "\n"


def defined_in(tree: ast.Module, module: Module) -> dict[str, str]:
    """Return the names that a module defines at its top level, each with its meaning: the file, or a type's text."""
    types = [each for each in tree.body if isinstance(each, ast.Assign) and isinstance(each.value, ast.Subscript)]
    made_of = {ast.unparse(each.targets[0]): ast.unparse(each.value) for each in types}
    symbols = symtable.symtable(module.text, module.file, "exec").get_symbols()
    names = [symbol.get_name() for symbol in symbols if symbol.is_assigned()]
    return {name: made_of.get(name, module.file) for name in names}


def taken_from_elsewhere(tree: ast.Module, known: Mapping[str, Collection[str]], file: str) -> Iterator[Imported]:
    """Yield what the file has to import for a module.

    Raises:
        ValueError: the module imports one of ours, and not at its top the names that an earlier one has.
    """
    for node, each in imports_of(tree):
        if each.package not in OURS:
            if node in tree.body:
                yield each
        elif node not in tree.body or each.renamed or each.name not in known.get(each.module, ()):
            raise ValueError(
                f"{file}, line {node.lineno}: `{ast.unparse(node)}` does not fit into one file; at the top, import "
                "from earlier steps what they define, as in `from solutions.solution_09 import GPT2Block`"
            )


def imports_of(tree: ast.Module) -> Iterator[tuple[ast.stmt, Imported]]:
    """Yield what a module imports, and the statement, wherever it is."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node, Imported(each.name, "", each.asname or each.name.split(".")[0])) for each in names)
            case ast.ImportFrom(module=module, names=names, level=level) if module != "__future__":
                module = "." * level + (module or "")
                yield from ((node, Imported(module, each.name, each.asname or each.name)) for each in names)


def part_of(tree: ast.Module, module: Module, *, is_program: bool) -> str:
    """Return what the file has of a module."""
    lines = {number: line for number, line in enumerate(module.text.split("\n"), 1) if not COMMENT.match(line)}
    behind = [each for each in tree.body if stays_behind(each, tree, is_program=is_program)]
    behind += definitions_of(tree, module.unused)
    for statement in behind:
        first = min(each.lineno for each in [statement, *getattr(statement, "decorator_list", ())])
        while lines.get(first - 1, "").startswith("#:"):  # what is said of it
            first -= 1
        for number in range(first, (statement.end_lineno or 0) + 1):
            lines.pop(number, None)
    if beside := [each.lineno for each in tree.body if each not in behind and each.lineno not in lines]:
        raise ValueError(f"{module.file}, line {beside[0]}: put each statement on a line of its own")
    text = "\n".join(lines.values()).strip("\n")
    if not module.heading:
        return text
    blank_lines = 2 if text.startswith(("def ", "class ", "@")) else 1
    return f"# --- {module.heading} ---\n" + "\n" * blank_lines + text


def definitions_of(tree: ast.Module, names: Collection[str]) -> list[ast.stmt]:
    """Return the constants and methods of these names."""
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    methods = [part for each in classes for part in each.body if getattr(part, "name", "") in names]
    constants = [each for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) in names]
    return methods + constants


def stays_behind(statement: ast.stmt, tree: ast.Module, *, is_program: bool) -> bool:
    """Return whether a statement is not for the file: an import, the docstring, what runs a module as a program."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant(value=str())):
            return statement is tree.body[0]
        case ast.If():
            return not is_program and ast.unparse(statement.test) == "__name__ == '__main__'"
    return False


def import_block(imports: Collection[Imported]) -> str:
    """Return the imports of a file in the order of ruff and isort: Python's own, then the others."""
    own = {each for each in imports if each.package in sys.stdlib_module_names}
    return "\n\n".join("\n".join(import_statements(group)) for group in (own, {*imports} - own) if group)


def import_statements(imports: Iterable[Imported]) -> Iterator[str]:
    """Yield the statements of one group: whole modules first, then by module, and each new name on a line."""
    taken: dict[str, list[Imported]] = {}
    for each in sorted(imports, key=lambda each: (each.module, kind(each.name), each.name.lower())):
        if each.name:
            taken.setdefault(each.module, []).append(each)
        else:
            yield f"import {each.module}{each.renamed}"
    for module, names in taken.items():
        if plain := [each.name for each in names if not each.renamed]:
            line = f"from {module} import {', '.join(plain)}"
            long = "\n".join([f"from {module} import (", *(f"    {name}," for name in plain), ")"])
            yield line if len(line) <= LONGEST_LINE else long
        yield from (f"from {module} import {each.name}{each.renamed}" for each in names if each.renamed)


def kind(name: str) -> int:
    """Return what names from one module are sorted by first: constants, then classes, then the others."""
    is_constant = name.isupper() and len(name) > 1
    return 0 if is_constant else 1 if name[:1].isupper() else 2
