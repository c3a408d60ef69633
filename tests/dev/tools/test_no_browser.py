"""Where a browser is found, who is asked for one, and what ``./run test`` does where there is none to be had."""

import os
import re
import subprocess
import sys

import psutil
import pytest

from checker.course.paths import ROOT
from cli.tasks import tasks
from tools.book_maker import browser

pytestmark = pytest.mark.slow

NEED_BROWSER = "COURSE_TESTS_NEED_BROWSER"
LOOK_AT_PAGES = ("tests/dev/tools/test_book_browser.py", "tests/dev/play/test_attention.py::test_light_and_dark_differ")


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """A machine without a browser, and where Playwright downloads none: the folder that alone is its PATH."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(browser, "APPLICATIONS", [])
    monkeypatch.setattr(browser, "PLAYWRIGHTS_OWN", "")
    monkeypatch.setattr(browser, "DOWNLOAD", ("-c", ""))
    return folder


def put(folder, name, *lines):
    """A program that does what ``lines`` of shell say."""
    path = folder / name
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", browser.NAMES)
def test_a_browser_that_is_there_is_found(tools, name):
    assert browser.find() is None
    there = put(tools, name)
    assert browser.find() == there


def test_a_program_that_only_says_what_to_install_is_none(tools):
    put(tools, "chromium", "echo 'this requires the chromium snap to be installed'", "exit 10")
    (tools / "chromium-browser").write_text("no program")
    (tools / "chromium-browser").chmod(0o755)
    assert browser.find() is None
    chrome = put(tools, "google-chrome")
    assert browser.find() == chrome


def test_applications_and_playwrights_own_are_found(tools, tmp_path, monkeypatch):
    own = put(tmp_path, "downloaded")
    monkeypatch.setattr(browser, "PLAYWRIGHTS_OWN", f"print({own!r})")
    assert browser.find() == own
    edge = tmp_path / "Microsoft Edge"
    monkeypatch.setattr(browser, "APPLICATIONS", [tmp_path / "no such", edge])
    put(tmp_path, edge.name)
    assert browser.find() == str(edge)


def test_playwright_says_where_its_own_is(monkeypatch):
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/no/such/folder")
    assert [path[:15] for path in browser._playwrights_own()] == ["/no/such/folder"]


def test_without_a_browser_it_is_said_how_to_install_one(tools):
    with pytest.raises(browser.NoBrowser, match="apt-get install chromium"), browser.chromium():
        pass


ROOTS = {
    "root": (0, None, "apt-get install --yes --no-install-recommends fonts-liberation chromium"),
    "sudo asks": (1000, 1, None),
    "sudo does not ask": (1000, 0, "apt-get install --yes --no-install-recommends fonts-liberation chromium"),
    "no sudo": (1000, None, None),
}


@pytest.mark.parametrize(("user", "sudo", "asked"), ROOTS.values(), ids=ROOTS)
def test_a_package_manager_is_used_only_where_nobody_is_asked(tools, tmp_path, monkeypatch, user, sudo, asked):
    log, chromium = tmp_path / "log", tools / "chromium"
    (tools / "env").symlink_to("/usr/bin/env")
    (tools / "chmod").symlink_to("/bin/chmod")
    put(tools, "timeout", "shift", 'exec "$@"')
    installed = f"case $1 in install) echo '#!/bin/sh' > {chromium}; chmod +x {chromium};; esac"
    put(tools, "apt-get", f'echo "apt-get $*" >> {log}', f'echo "$DEBIAN_FRONTEND" >> {log}', installed, "exit 100")
    if sudo is not None:
        put(tools, "sudo", '[ "$1" = -n ] || exit 9', f'[ "$2" = true ] && exit {sudo}', "shift", 'exec "$@"')
    monkeypatch.setattr(browser.os, "geteuid", lambda: user)
    told = []
    if asked is None:
        with pytest.raises(browser.NoBrowser, match="Install one"):
            browser.get(told.append)
        assert not log.exists()
        return
    assert browser.get(told.append) == str(chromium)
    assert log.read_text().splitlines() == ["apt-get update", "noninteractive", asked, "noninteractive"]
    assert told == [
        f"No Chromium, Chrome or Edge was found; installing one with {who}." for who in ("Playwright", "apt-get")
    ]
    assert browser.get(told.append) == str(chromium)
    assert len(told) == 2, "nobody is asked where there is one"


def test_homebrew_is_never_run_by_root(tools, tmp_path, monkeypatch):
    log, chrome = tmp_path / "log", tools / "google-chrome"
    (tools / "chmod").symlink_to("/bin/chmod")
    put(tools, "brew", f'echo "$NONINTERACTIVE $*" > {log}', f"echo '#!/bin/sh' > {chrome}; chmod +x {chrome}")
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0)
    with pytest.raises(browser.NoBrowser):
        browser.get(lambda what: None)
    monkeypatch.setattr(browser.os, "geteuid", lambda: 501)
    assert browser.get(lambda what: None) == str(chrome)
    assert log.read_text() == "1 install --cask google-chrome\n"


def test_a_download_that_hangs_is_ended(tools, monkeypatch):
    monkeypatch.setattr(browser, "DOWNLOAD", ("-c", "import time; time.sleep(600)"))
    monkeypatch.setattr(browser, "INSTALL_SECONDS", 0.5)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(browser.NoBrowser):
        browser.get(lambda what: None)
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.slow
def test_run_test_passes_without_a_browser_unless_one_is_demanded(tmp_path):
    """Nothing on PATH, and a network that refuses."""
    if any(path.exists() for path in browser.APPLICATIONS):
        pytest.skip("this machine has a browser that is not found by PATH")
    refusing = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    nothing = {name: str(tmp_path) for name in ("PATH", "HOME", "XDG_CACHE_HOME", "PLAYWRIGHT_BROWSERS_PATH")}
    environment = {name: value for name, value in os.environ.items() if name != NEED_BROWSER} | refusing | nothing
    python, *arguments = tasks()["test"]["cmd"].split()
    assert python == "python"
    command = [sys.executable, *arguments, "-p", "no:cacheprovider", *LOOK_AT_PAGES]
    runs = [
        subprocess.Popen([*command, "-n", count], cwd=ROOT, env=environment | more, stdout=subprocess.PIPE, text=True)
        for count, more in (("1", {}), ("0", {NEED_BROWSER: "1"}))
    ]
    left_out, failed = [run.communicate(timeout=300)[0] for run in runs]
    assert runs[0].returncode == 0, left_out
    *_, said, last = left_out.splitlines()
    count = int(re.search(r"^=+ (\d+) skipped in ", last)[1])
    assert count > 100
    assert said == f"{count} tests that look at pages were left out: {browser.ADVICE}"
    assert runs[1].returncode == 1, failed
    assert f" {count} errors in " in failed.splitlines()[-1]
    assert f"{browser.ADVICE} ({NEED_BROWSER} is set, so this test is not left out.)" in failed
    assert "left out:" not in failed
