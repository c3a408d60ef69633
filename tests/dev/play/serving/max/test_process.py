"""The process of a model: started without a wait, out of reach of signals, and with nothing left behind."""

import multiprocessing
import os
import signal
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from checker.files import ROOT
from play.serving.life import LONGEST_ADDRESS, temporary_folder
from play.serving.max.process import ModelProcess
from play.signals import ENDINGS
from tests.dev.helpers.terminal import started

pytestmark = pytest.mark.slow

SOON = 30  # seconds, on a busy machine
IMPORTS_SECONDS = 4
MORE_THAN_A_PIPE_HOLDS = bytes(1 << 20)


class ImportsMax:
    """An argument that takes a new process some time to read."""

    def __reduce__(self):
        return time.sleep, (IMPORTS_SECONDS,)


def answer(connection, _, content):
    """Answer every message, in a new process."""
    while True:
        connection.send((connection.recv(), len(content)))


@pytest.fixture
def connection():
    """Our end of the pipe to the model, and its end."""
    return multiprocessing.get_context("spawn").Pipe()


@pytest.fixture
def model(connection, tmp_path, monkeypatch):
    """A process that answers instead of a model's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = ModelProcess(target=answer, args=(connection[1], ImportsMax(), MORE_THAN_A_PIPE_HOLDS))
    began = time.monotonic()
    process.start()
    assert time.monotonic() - began < IMPORTS_SECONDS, "it starts without a wait"
    yield process
    process.kill()
    process.join()


def test_no_signal_reaches_a_model(model, connection, tmp_path):
    for word in ("while it starts", "later"):
        for number in ENDINGS:
            os.kill(model.pid, number)
        connection[0].send(word)
        assert connection[0].poll(SOON)
        assert connection[0].recv() == (word, len(MORE_THAN_A_PIPE_HOLDS))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == set(), "they reach this process"
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_killed_while_it_starts_holds_nobody_up(model):
    model.kill()
    model.join(SOON)
    assert model.exitcode == -signal.SIGKILL


SERVER = """
import time
from play.signals import restore_default_signals
from play.serving.max.process import ModelProcess
if __name__ == "__main__":
    restore_default_signals()
    model = ModelProcess(target=time.sleep, args=(999,))
    model.start()
    print(model.pid, flush=True)
    time.sleep(999)
"""


@pytest.mark.parametrize("number", [*ENDINGS, signal.SIGKILL])
def test_a_model_ends_with_the_server_whatever_ends_that(number, tmp_path):
    (tmp_path / "server.py").write_text(SERVER)
    with started(ROOT, tmp_path / "server.py", TMPDIR=str(tmp_path)) as server:
        model = psutil.Process(int(server.stdout.readline()))
        os.killpg(server.pid, number)
        assert server.wait(SOON) == -number
        model.wait(SOON)


def test_temporary_files_are_in_a_folder_that_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    for room, place in ((10, tmp_path), (LONGEST_ADDRESS - 20, Path("/tmp"))):
        with temporary_folder(room) as folder:
            assert (Path(folder).parent, os.environ["TMPDIR"], tempfile.gettempdir()) == (place, folder, folder)
            Path(tempfile.mkdtemp(), "socket").touch()
        assert (os.environ["TMPDIR"], tempfile.gettempdir()) == (str(tmp_path), str(tmp_path))
        assert not Path(folder).exists()
