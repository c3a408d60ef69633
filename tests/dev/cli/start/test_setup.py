"""``./run`` in a clone: it makes ``.venv``, again where that is needed, and says why it cannot.

The clone has one package to install. pip and what installs it are stand-ins, which Python finds beside ``run``.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pexpect
import pytest

from checker.errors import UserError
from checker.files import ROOT
from cli.start import setup
from cli.start.setup import FOR_LEARNERS

MODULES = (
    "cli/__init__.py",
    "checker/__init__.py",
    *(f"cli/start/{name}.py" for name in ("__init__", "setup", "tasks")),
    *(f"cli/shared/{name}.py" for name in ("__init__", "programs")),
    *(f"checker/{name}.py" for name in ("errors", "files", "machine", "packages", "spelling")),
    "checker/protocol/processes.py",
)
FILES = {
    "pyproject.toml": '[project]\ndependencies = ["click==1"]\n',
    "pixi.toml": """[tasks.hello]\ncmd = "python -c 'import click'"\ndescription = "Import"
[tasks.fetch]\ncmd = "python -c 'from cli.start.setup import install_all as all; all()'"\ndescription = "Fetch"
[tasks.read]\ncmd = "python -c 'import click'"\ndescription = "Read"\ndefault-environment = "book"
""",
    "requirements/learn.txt": "click==1\n",
    **{f"requirements/{name}.txt": f"click==1\n{name}==1\n" for name in FOR_LEARNERS},
    "ensurepip.py": "",
    "pip.py": """\
import os, pathlib, sysconfig, sys, time
with pathlib.Path("calls").open("a") as calls:
    print(os.getpid(), *sys.argv[1:], file=calls)
if "--requirement" in sys.argv:
    time.sleep(float(os.environ.get("PIP_SECONDS", "0")))
    pathlib.Path(sysconfig.get_path("purelib"), "click.py").touch()
""",
}
PYTHON = os.path.realpath(sys.executable)
LIBRARY = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def clone(tmp_path):
    """A clone before its first run, on a machine that has only what ``./run`` itself calls."""
    for module in ("run", *MODULES):
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / module, tmp_path / module)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bin").mkdir()
    for tool in ("sh", "dirname", "cmp", "readlink"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return tmp_path


def variables(clone, **others):
    return {"NO_PIXI": "1", "PATH": f"{clone}/bin", "PYTHON": PYTHON, **others}


def run(clone, *arguments, program="run", **others):
    """``./run hello``, and what it says, in one line."""
    line = ["/bin/sh", program, *(arguments or ["hello"])]
    return subprocess.run(line, cwd=clone, env=variables(clone, **others), capture_output=True, text=True)


def installs(clone):
    """Return how often the list of packages was installed."""
    return (clone / "calls").read_text().count("--requirement")


def rename(path, name):
    path.rename(path.with_name(name))


def dangling(path):
    path.unlink()
    path.symlink_to("/no/such/python")


def no_program(path):
    """Put a file that nobody may run in its place, as a copy to a disk without such rights leaves it."""
    path.unlink()
    path.touch(0o644)


FAULTS = {
    "its Python does not start (": lambda venv: no_program(venv / "bin" / "python"),
    "its Python is gone": lambda venv: dangling(venv / "bin" / "python"),
    "it was made with python2.7, and its Python is": lambda venv: rename(venv / LIBRARY, "python2.7"),
    "click cannot be found": lambda venv: (venv / LIBRARY / "site-packages" / "click.py").unlink(),
}


@pytest.mark.parametrize(("reason", "spoil"), FAULTS.items(), ids=FAULTS)
def test_a_venv_that_cannot_be_used_is_named_and_made_anew(clone, reason, spoil):
    first = run(clone)
    assert (first.returncode, first.stderr.count("Setting up .venv, once: about a minute")) == (0, 1), first.stderr
    assert (run(clone).stderr, installs(clone)) == ("", 1)
    spoil(clone / ".venv")
    again = run(clone)
    assert again.returncode == 0, again.stderr
    assert f".venv cannot be used: {reason}" in again.stderr
    assert (run(clone).stderr, installs(clone)) == ("", 2)


def test_a_new_list_is_installed_in_the_venv_that_there_is(clone):
    run(clone)
    (clone / ".venv" / "mine").touch()
    (clone / "requirements" / "learn.txt").write_text("click==1\nother==1\n")
    assert run(clone).returncode == 0
    assert (installs(clone), (clone / ".venv" / "mine").exists()) == (2, True)


def test_what_some_tasks_add_is_installed_once_and_all_of_it_when_asked_for(clone):
    first, again = run(clone, "read"), run(clone, "read")
    assert "Installing what the environment 'book' adds, once." in first.stderr
    assert (again.stderr, installs(clone)) == ("", 2)
    assert run(clone, "fetch").stderr.count("Installing what") == len(FOR_LEARNERS) - 1
    assert (run(clone, "fetch").stderr, installs(clone)) == ("", 1 + len(FOR_LEARNERS))
    (clone / "requirements" / "serve.txt").write_text("another==1\n")
    fake("pip", "exit('Not resolved')")(clone)
    offline = run(clone, "fetch")
    assert (offline.returncode, run(clone, "read").returncode) == (1, 0)
    assert "Not resolved" in offline.stderr
    assert "the packages could not be installed. Is there a network?" in offline.stderr


def fake(name, code):
    return lambda clone: (clone / f"{name}.py").write_text(code)


CANNOT = {
    "no Python": (lambda clone: None, {"PYTHON": "none"}, "no Python from 3.11 to 3.14 found. PYTHON is none."),
    "no ensurepip": (
        fake("ensurepip", "exit('No module named ensurepip')"),
        {},
        "with pip: No module named ensurepip.",
    ),
    "no venv": (fake("venv", "raise ImportError('no venv')"), {}, "cannot make .venv: no venv. On Debian"),
    "no network": (
        fake("pip", "exit('Name does not resolve')"),
        {},
        "Name does not resolve\nrun: the packages could not",
    ),
    "in the way": (lambda clone: (clone / ".venv").touch(), {}, "cannot make .venv: "),
    "a link": (lambda clone: (clone / ".venv").symlink_to("gone"), {}, ".venv is a link to gone. Delete the link"),
}


@pytest.mark.parametrize(("spoil", "others", "reason"), CANNOT.values(), ids=CANNOT)
def test_a_setup_that_fails_says_why_and_is_taken_up_again(clone, spoil, others, reason):
    spoil(clone)
    done = run(clone, **others)
    assert (done.returncode, reason in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    for name in ("ensurepip.py", "pip.py"):
        (clone / name).write_text(FILES[name])
    (clone / "venv.py").unlink(missing_ok=True)
    if reason.startswith(".venv is") or (clone / ".venv").is_file():
        (clone / ".venv").unlink()
    assert run(clone).returncode == 0


PROGRAMS = {
    "uname": "echo {machine}",
    "uv": '[ "$2" = install ] && echo downloading && exit 1',
}


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ("Darwin x86_64", "MAX needs Linux on x86-64 or ARM, or macOS on Apple silicon; here is Darwin x86_64."),
        ("Darwin arm64", "downloading"),
    ],
)
def test_no_python_is_downloaded_where_max_cannot_run(clone, machine, words):
    for name, line in PROGRAMS.items():
        (clone / "bin" / name).write_text(f"#!/bin/sh\n{line.format(machine=machine)}\n")
        (clone / "bin" / name).chmod(0o755)
    done = run(clone, PYTHON="")
    assert (done.returncode, words in done.stderr, "downloading" in done.stderr) == (2, True, words == "downloading")


def test_the_path_of_a_python_may_have_a_blank(clone):
    (clone / "my programs").mkdir()
    (clone / "my programs" / "python").symlink_to(PYTHON)
    done = run(clone, PYTHON=f"{clone}/my programs/python")
    assert done.returncode == 0, done.stderr


def test_a_full_disk_is_named_where_packages_cannot_be_installed(monkeypatch):
    monkeypatch.setattr(setup, "install_command", lambda lock: [])
    monkeypatch.setattr(setup, "succeeds", lambda command, lock: False)
    for free, is_named in ((1.9e9, True), (2.1e9, False)):
        monkeypatch.setattr(setup.shutil, "disk_usage", lambda path, free=free: SimpleNamespace(free=free))
        with pytest.raises(UserError) as failed:
            setup.install_list("learn", 0)
        assert ("The disk has 1.9 GB left." in str(failed.value)) is is_named


def setting_up(clone):
    """Start ``./run hello``, and wait until it installs."""
    slow = variables(clone, PIP_SECONDS="2")
    process = subprocess.Popen(["/bin/sh", "run", "hello"], cwd=clone, env=slow, stderr=subprocess.PIPE, text=True)
    wait_for_pip(clone)
    return process


def wait_for_pip(clone):
    """Return the process that installs, once there is one."""
    calls, deadline = clone / "calls", time.monotonic() + 30
    while not (calls.is_file() and "--requirement" in calls.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(re.findall(r"^(\d+) .*--requirement", calls.read_text(), re.MULTILINE)[-1])


def test_two_at_once_wait_for_each_other(clone):
    with setting_up(clone) as first:
        second = run(clone, COURSE_DAMAGED="click cannot be found")  # as it was, before the first one made it anew
        first.communicate()
    assert (first.returncode, second.returncode, installs(clone)) == (0, 0, 1)
    assert second.stderr == "Another ./run is setting up .venv; this one waits for it.\n"


def test_one_that_is_killed_leaves_no_lock(clone):
    with setting_up(clone) as first:
        first.kill()
        os.kill(wait_for_pip(clone), signal.SIGKILL)
    assert run(clone).returncode == 0
    assert installs(clone) == 2


def test_ctrl_c_ends_it_with_what_installs(clone):
    terminal = pexpect.spawn(
        "/bin/sh", ["run", "hello"], cwd=str(clone), env=variables(clone, PIP_SECONDS="60"), encoding="utf-8"
    )
    pip = wait_for_pip(clone)
    terminal.sendintr()
    terminal.expect_exact(pexpect.EOF, timeout=20)
    terminal.close()
    assert "Interrupted. The same command goes on from here." in terminal.before
    assert "Traceback" not in terminal.before
    assert terminal.signalstatus == signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(pip, 0)
    assert run(clone).returncode == 0


@pytest.mark.parametrize("others", [{}, {"PYTHONSAFEPATH": "1"}, {"CDPATH": "/"}, {"PYTHONHOME": "/nowhere"}])
def test_run_is_called_from_anywhere(clone, others):
    (clone / "elsewhere").mkdir()
    (clone / "elsewhere" / "absolute").symlink_to(clone / "run")
    (clone / "elsewhere" / "relative").symlink_to("../run")
    (clone / "to a link").symlink_to("elsewhere/relative")
    for program in ("run", "elsewhere/absolute", "elsewhere/relative", "to a link", clone / "run"):
        done = run(clone, program=str(program), **others)
        assert done.returncode == 0, done.stderr
