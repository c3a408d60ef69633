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
from checker.errors import UserError

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
        """The package that the import comes from."""
        return self.module.partition(".")[0]

    @property
    def meaning(self) -> str:
        """What the name stands for."""
        return f"{self.module}.{self.name}" if self.name or self.renamed else self.package

    @property
    def renamed(self) -> str:
        """The end of the statement if it gives another name: ``as name``."""
        return "" if self.bound == (self.name or self.package) else f" as {self.bound}"


def merge(modules: Sequence[Module], are_same: Callable[[str, str], bool]) -> str:
    """Return one file that does the same as the last of the modules; each module imports only those before it.

    Args:
        modules: the modules that become one file.
        are_same: whether two dotted names name the same object, since ``max.graph`` has objects of other modules.

    Raises:
        UserError: a module imports one of ours in a way that does not fit into one file, or a name means different
            things in two modules; the message says what to change.
    """
    imports, parts = set[Imported](), list[str]()
    names_of: dict[str, Collection[str]] = {}  # each module: those that it has for others
    meanings = dict.fromkeys(dir(builtins), ("built in", "Python"))  # what each name stands for, and where
    for module in modules:
        tree = ast.parse(module.text)
        imported = {*imported_from_elsewhere(tree, names_of, module.file)}
        meaning_of = defined_in(tree, module) | {name.bound: name.meaning for name in imported}
        for name, meaning in meaning_of.items():
            other, place = meanings.setdefault(name, (meaning, module.file))
            if other != meaning and not are_same(other, meaning):
                raise UserError(f"{name} is one thing in {module.file} and another in {place}: rename it in one file")
        names_of |= dict.fromkeys(module.names, meaning_of)
        imports |= {name for name in imported if meanings[name.bound][0] == name.meaning}
        parts.append(part_of(tree, module, is_program=module is modules[-1]))
    about = ast.get_docstring(tree) or ""
    end = '\n"""' if "\n" in about else '"""'
    head = f'"""{about}{end}\n\nfrom __future__ import annotations\n\n{import_block(imports)}'
    return "\n\n".join([head, "\n\n\n".join(parts)]) + "\n"


def defined_in(tree: ast.Module, module: Module) -> dict[str, str]:
    """Return the names that a module defines at its top level, each with its meaning: the file, or a type's text."""
    assignments = [node for node in tree.body if isinstance(node, ast.Assign)]
    types = [node for node in assignments if isinstance(node.value, ast.Subscript)]
    text_of_type = {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in types}
    symbols = symtable.symtable(module.text, module.file, "exec").get_symbols()
    names = [symbol.get_name() for symbol in symbols if symbol.is_assigned()]
    return {name: text_of_type.get(name, module.file) for name in names}


def imported_from_elsewhere(tree: ast.Module, names_of: Mapping[str, Collection[str]], file: str) -> Iterator[Imported]:
    """Yield the imports that the file needs for a module.

    Raises:
        UserError: the module imports one of ours otherwise than by names of an earlier module, at its top.
    """
    for node, imported in imports_of(tree):
        if imported.package not in OURS:
            if node in tree.body:
                yield imported
        elif node not in tree.body or imported.renamed or imported.name not in names_of.get(imported.module, ()):
            raise UserError(
                f"{file}, line {node.lineno}: `{ast.unparse(node)}` does not fit into one file; at the top, import "
                "from earlier steps what they define, as in `from solutions.solution_09 import GPT2Block`"
            )


def imports_of(tree: ast.Module) -> Iterator[tuple[ast.stmt, Imported]]:
    """Yield everything that a module imports, with the statement, wherever it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node, Imported(alias.name, "", alias.asname or alias.name.split(".")[0])
            case ast.ImportFrom(module=module, names=names, level=level) if module != "__future__":
                module = "." * level + (module or "")
                for alias in names:
                    yield node, Imported(module, alias.name, alias.asname or alias.name)


def part_of(tree: ast.Module, module: Module, *, is_program: bool) -> str:
    """Return the part of a module's text that the file has."""
    lines = {number: line for number, line in enumerate(module.text.split("\n"), 1) if not COMMENT.match(line)}
    behind = [node for node in tree.body if stays_behind(node, tree, is_program=is_program)]
    behind += definitions_of(tree, module.unused)
    for statement in behind:
        first = min(node.lineno for node in [statement, *getattr(statement, "decorator_list", ())])
        while lines.get(first - 1, "").startswith("#:"):  # what is said of it
            first -= 1
        for number in range(first, (statement.end_lineno or 0) + 1):
            lines.pop(number, None)
    if beside := [node.lineno for node in tree.body if node not in behind and node.lineno not in lines]:
        raise UserError(f"{module.file}, line {beside[0]}: put each statement on a line of its own")
    text = "\n".join(lines.values()).strip("\n")
    if not module.heading:
        return text
    blank_lines = 2 if text.startswith(("def ", "class ", "@")) else 1
    return f"# --- {module.heading} ---\n" + "\n" * blank_lines + text


def definitions_of(tree: ast.Module, names: Collection[str]) -> list[ast.stmt]:
    """Return the constants and methods of these names."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [method for node in classes for method in node.body if getattr(method, "name", "") in names]
    constants = [node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in names]
    return methods + constants


def stays_behind(statement: ast.stmt, tree: ast.Module, *, is_program: bool) -> bool:
    """Return whether a statement is left out of the file: an import, the docstring, or the call of ``main``."""
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
    own = {name for name in imports if name.package in sys.stdlib_module_names}
    return "\n\n".join("\n".join(import_statements(group)) for group in (own, {*imports} - own) if group)


def import_statements(imports: Iterable[Imported]) -> Iterator[str]:
    """Yield the statements of one group: whole modules first, then by module, and each new name on a line."""
    from_module: dict[str, list[Imported]] = {}
    for imported in sorted(imports, key=import_order):
        if imported.name:
            from_module.setdefault(imported.module, []).append(imported)
        else:
            yield f"import {imported.module}{imported.renamed}"
    for module, names in from_module.items():
        if plain := [imported.name for imported in names if not imported.renamed]:
            line = f"from {module} import {', '.join(plain)}"
            long = "\n".join([f"from {module} import (", *(f"    {name}," for name in plain), ")"])
            yield line if len(line) <= LONGEST_LINE else long
        yield from (f"from {module} import {name.name}{name.renamed}" for name in names if name.renamed)


def import_order(imported: Imported) -> tuple[str, int, str]:
    """Return the key by which imports are sorted: the module, then constants, then classes, then other names."""
    name = imported.name
    if name.isupper() and len(name) > 1:
        kind = 0
    elif name[:1].isupper():
        kind = 1
    else:
        kind = 2
    return imported.module, kind, name.lower()
