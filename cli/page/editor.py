"""The editor of the page: CodeMirror 6, fetched once from npm's registry, file by file as its packages have them.

CodeMirror rather than the Ace that mdBook brings: what one writes in is text to the browser, so screen readers read it,
and a phone's keyboard, selection and corrections work, which Ace imitates. Its packages are ES modules, and a browser
that is given an import map loads these as they are: no Node, no bundler. No package of PyPI brings it in a recent
version without a framework, so Python fetches the archives itself, as pip does: the versions stand in
``pyproject.toml``, and ``requirements/editor.json`` (made by ``./run lock``) has the license of each and the checksum
that its archive must have. They are kept in ``.course/editor``, with their licenses. Where they cannot be fetched, the
page has a plain text field instead.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checker.course.paths import ROOT
from checker.course.progress import digest

LOCK = ROOT / "requirements" / "editor.json"
KEPT = ROOT / ".course" / "editor"
REGISTRY = "https://registry.npmjs.org"
SECONDS = 30.0

Package = dict[str, str]


def packages() -> dict[str, Package]:
    """Return what is pinned, by name: its ``version``, ``license``, ``integrity`` and the ``module`` in its archive."""
    return json.loads(LOCK.read_text())


def registry() -> str:
    """Return where npm's packages come from on this machine, as npm is told: a variable, the user's file, the usual."""
    told = next((value for name, value in os.environ.items() if name.lower() == "npm_config_registry"), "")
    file = Path(os.environ.get("NPM_CONFIG_USERCONFIG") or Path.home() / ".npmrc")
    if not told and file.is_file():
        found = re.search(r"^\s*registry\s*=\s*(\S+)", file.read_text(), re.MULTILINE)
        told = found[1] if found else ""
    return (told or REGISTRY).rstrip("/")


def archive(name: str, version: str) -> bytes:
    """Fetch the archive of a package.

    Raises:
        OSError: it cannot be fetched.
    """
    address = f"{registry()}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz"
    with urllib.request.urlopen(address, timeout=SECONDS) as answer:
        return answer.read()


def described(name: str, version: str) -> dict[str, Any]:
    """Return what the registry says of a package: its license, what it needs, the checksum of its archive.

    Raises:
        OSError: the registry cannot be asked.
    """
    with urllib.request.urlopen(f"{registry()}/{name}/{version}", timeout=SECONDS) as answer:
        return json.load(answer)


def checksum(data: bytes) -> str:
    """Return the checksum of an archive in npm's notation."""
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


def file_of(name: str) -> str:
    """Return the name of a package's module here: ``codemirror-view.js``."""
    return f"{name.removeprefix('@').replace('/', '-')}.js"


def folder() -> Path:
    """Return where the pinned versions are kept, fetched or not."""
    return KEPT / digest(LOCK.read_bytes())[:12]


def modules() -> dict[str, str]:
    """Return where the page finds each module of the editor; nothing if it is not here."""
    return {name: f"/editor/{file_of(name)}" for name in packages()} if folder().is_dir() else {}


def fetch(say: Callable[[str], None]) -> None:
    """Fetch the editor, unless it is here; say so if it cannot be had."""
    if folder().is_dir():
        return
    say("fetching the editor of the page, once")
    KEPT.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=KEPT))
    try:
        for name, package in packages().items():
            _unpack(name, package, archive(name, package["version"]), made)
        made.rename(folder())
    except OSError as error:
        say(f"the editor could not be fetched ({error}); the page has a plain text field until it can")
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _unpack(name: str, package: Package, data: bytes, into: Path) -> None:
    """Write the module of a package, and its license beside it.

    Raises:
        OSError: the archive is not the pinned one.
    """
    if checksum(data) != package["integrity"]:
        raise OSError(f"{name} {package['version']} is not what requirements/editor.json pins")
    target = into / file_of(name)
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        for member, file in ((package["module"], target), ("LICENSE", target.with_suffix(".LICENSE.txt"))):
            found = packed.extractfile(f"package/{member}")
            assert found is not None
            file.write_bytes(found.read())
