"""The server of the page: who may ask, what is saved, and that the check is the terminal's."""

import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import tomllib

import jsonschema
import psutil
import pytest

from checker.course.blanks import find_blanks
from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import all_steps, find_step
from cli.page import editor
from tests.dev.cli.page.serving import serve

pytestmark = pytest.mark.slow

STEP = "/api/steps/warmup_05"
SCHEMA = json.loads((ROOT / "checker" / "session" / "verdict.schema.json").read_text())
MISTAKE = "The heads are merged without being transposed back"
MOST_COMPRESSED = 400_000  # bytes of the editor


@pytest.fixture
def file(site):
    """The learner's file of warm-up 05, untouched."""
    site.course.write("w05", expected(find_step("w05")))
    return site.path("w05")


def raw(site, text, *, wait=5.0):
    """Send bytes as they are, and return the status line of the answer."""
    with socket.create_connection(("127.0.0.1", site.port), wait) as connection:
        connection.sendall(text)
        return connection.recv(1 << 16).decode()


def workers_of(site):
    """The children of checks that are alive."""
    workers = []
    for one in psutil.Process(site.server.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            if one.status() != psutil.STATUS_ZOMBIE and "checker.claims.worker" in one.cmdline():
                workers.append(one)
    return workers


# ---------------------------------------------------------------- who may ask


@pytest.mark.parametrize("key", ["", "wrong", "é"])
@pytest.mark.parametrize("path", ["/api/standings", STEP, f"{STEP}/check", f"{STEP}/reset", "/api/model/attention"])
def test_without_the_key_nothing_is_told_or_done(site, file, path, key):
    before = file.read_bytes()
    method = "POST" if path.endswith(("check", "reset", "attention")) else "GET"
    status, said = site.ask(path, method=method, key=key.encode().decode("latin-1"))
    assert status == 401
    assert "the link that `./run book` prints" in said
    assert file.read_bytes() == before


@pytest.mark.parametrize("path", ["/index.html", "/api/standings"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_under_another_name_nothing_is_answered(site, path, host):
    """A page elsewhere may have its own name lead to this machine (DNS rebinding)."""
    status, said = site.ask(path, headers={"Host": host.format(port=site.port)})
    assert status == 403, said


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:1", "null", "http://127.0.0.1.evil.example"]
)
def test_a_page_of_another_origin_may_not_ask(site, file, origin):
    before = file.read_bytes()
    status, _ = site.ask(STEP, {"text": "", "replaces": ""}, "PUT", {"Origin": origin})
    assert status == 403
    assert file.read_bytes() == before
    assert site.ask("/api/standings", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert site.ask("/api/standings", headers={"Sec-Fetch-Site": "same-site"})[0] == 403, "another port of this machine"


def test_an_origin_that_is_trusted_may_ask(site):
    codespaces = {"CODESPACE_NAME": "a-b", "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN": "app.example"}
    with serve(site.course, "--trusted-origin", "https://book.example", environment=codespaces) as other:
        for name in ("book.example", f"a-b-{other.port}.app.example"):
            there = {"Host": name, "Origin": f"https://{name}"}
            assert other.ask("/api/standings", headers=there)[0] == 200
        assert other.ask("/api/standings", headers={"Host": "other.example"})[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/api/steps/../solutions/warmup_05",
        "/api/steps/..%2f..%2fpyproject",
        "/api/steps/warmup_99",
        "/api/steps/warmup_05.py",
        "/../pyproject.toml",
        "/..%2f..%2fpyproject.toml",
        "/%2e%2e/%2e%2e/pyproject.toml",
        "/page/..%2f..%2fcli.py",
        "/.built-from",
        "/step%00",
        pytest.param(f"/{'x' * 5000}", id="long"),
        "//etc/passwd",
    ],
)
def test_no_path_leads_out(site, path):
    answer = raw(
        site,
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nAuthorization: Bearer {site.key}\r\n\r\n".encode(),
    )
    assert answer.startswith("HTTP/1.1 404"), answer


def test_a_picture_that_there_is_not_has_no_answer(site):
    assert site.ask("/api/model/nothing", {}, "POST")[0] == 404


def test_it_listens_on_this_machine_alone(site):
    connections = psutil.Process(site.server.pid).net_connections("inet")
    assert {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def test_the_key_stands_on_no_command_line_and_in_no_file_that_others_read(site):
    with serve(site.course) as other:
        process = psutil.Process(other.server.pid)
        lines = [" ".join(one.cmdline()) for one in (process, *process.children(recursive=True))]
        assert not [line for line in lines if other.key in line]
        files = [path for path in (site.course.root / ".course").rglob("*") if path.is_file()]
        with_key = [path for path in files if other.key.encode() in path.read_bytes()]
        assert len(with_key) == 1
        assert stat.S_IMODE(with_key[0].stat().st_mode) == 0o600
        assert stat.S_IMODE(with_key[0].parent.stat().st_mode) == 0o700
    assert not with_key[0].exists(), "it is gone with the server"


def test_a_port_that_is_taken_is_refused_by_name(site):
    other = subprocess.run(
        [sys.executable, "-m", "cli", "book", "--no-open", "--port", str(site.port)],
        cwd=site.course.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert other.returncode == 2
    assert f"port {site.port} cannot be had" in other.stderr


# ---------------------------------------------------------------- how much may be asked


def test_a_large_body_is_refused_unread(site, file):
    before = file.read_bytes()
    head = f"PUT {STEP} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nAuthorization: Bearer {site.key}\r\n"
    assert raw(site, f"{head}Content-Length: 50000000\r\n\r\n".encode()).startswith("HTTP/1.1 413")
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    chunks = iter([b'{"text": "', *[b"x" * 100_000] * 20, b'"}'])  # it does not say how long it is
    connection.request("PUT", STEP, chunks, {"Authorization": f"Bearer {site.key}"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    assert file.read_bytes() == before


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"text": 1, "replaces": ""}', b'{"text": "x"}', b"\xff"])
def test_a_body_that_is_none_is_refused(site, file, body):
    assert site.ask(STEP, body, "PUT")[0] == 400


def test_200_requests_at_once_are_all_answered(site, file):
    site.course.write("w05")
    asked = [
        (f"{STEP}/check", {}, "POST"),
        (STEP, None, "GET"),
        ("/index.html", None, "GET"),
        ("/api/standings", None, "GET"),
    ] * 50
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda one: site.ask(*one), asked))
    assert {status for status, _ in answers} == {200}
    last = [
        json.loads(said.splitlines()[-1])["event"]
        for (path, *_), (_, said) in zip(asked, answers, strict=True)
        if "check" in path
    ]
    assert last.count("verdict") >= 1
    assert set(last) <= {"verdict", "ended"}
    assert site.check("warmup_05")[-1]["verdict"] == "yes"
    assert len(workers_of(site)) <= 2, "the check that is over, at most, and the one that is ready"


# ---------------------------------------------------------------- the file


def test_a_save_replaces_the_version_that_it_names(site, file):
    now = site.get(STEP)
    assert now["text"] == file.read_text()
    assert now["functions"] == [blank.label for blank in find_blanks(find_step("w05").solution_file.read_text())]
    assert site.ask(STEP, {"text": "x = 1\n", "replaces": now["version"]}, "PUT") == (204, "")
    assert file.read_text() == "x = 1\n"
    assert site.get(STEP)["text"] == "x = 1\n"


def test_a_save_over_another_version_changes_nothing_and_shows_both(site, file):
    version = site.get(STEP)["version"]
    file.write_text("theirs = 1\n")
    status, said = site.ask(STEP, {"text": "mine = 1\n", "replaces": version}, "PUT")
    assert status == 412
    assert file.read_text() == "theirs = 1\n"
    assert json.loads(said)["rows"] == [["theirs = 1", "|", "mine = 1"]]
    assert json.loads(said)["version"] == site.get(STEP)["version"]


def test_what_a_save_replaces_is_kept(site, file):
    file.write_text("before = 'é'\n")
    site.ask(STEP, {"text": "after = 1\n", "replaces": site.get(STEP)["version"]}, "PUT")
    kept = sorted((site.course.root / ".course" / "saved" / "warmup_05").glob("*.py"))
    assert kept[-1].read_text() == "before = 'é'\n"
    for number in range(25):
        site.ask(STEP, {"text": f"x = {number}\n", "replaces": site.get(STEP)["version"]}, "PUT")
    kept = sorted((site.course.root / ".course" / "saved" / "warmup_05").glob("*.py"))
    assert len(kept) == 20
    assert kept[-1].read_text() == "x = 23\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x = 1\r\ny = 2\r\n", b"x = 1\r\ny = 3\r\n"),
        (b"\xef\xbb\xbfx = 1\ny = 2\n", b"\xef\xbb\xbfx = 1\ny = 3\n"),
        (b"x = 1\ny = 2", b"x = 1\ny = 3"),
    ],
)
def test_line_ends_and_a_byte_order_mark_stay_as_they_are(site, file, before, after):
    file.write_bytes(before)
    now = site.get(STEP)
    assert now["text"].replace("2", "3").splitlines() == ["x = 1", "y = 3"]
    assert site.ask(STEP, {"text": now["text"].replace("2", "3"), "replaces": now["version"]}, "PUT")[0] == 204
    assert file.read_bytes() == after


def test_the_rights_of_a_file_stay_as_they_are(site, file):
    file.chmod(0o640)
    site.ask(STEP, {"text": "x = 1\n", "replaces": site.get(STEP)["version"]}, "PUT")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_is_neither_read_nor_written(site, file, tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text("secret = 1\n")
    version = site.get(STEP)["version"]
    file.unlink()
    file.symlink_to(secret)
    try:
        for path, body, method in (
            (STEP, None, "GET"),
            (STEP, {"text": "", "replaces": version}, "PUT"),
            (f"{STEP}/check", {"text": "", "replaces": version}, "POST"),
            (f"{STEP}/reset", {}, "POST"),
        ):
            status, said = site.ask(path, body, method)
            assert status == 409
            assert "is a link" in said
            assert "secret" not in said
        assert secret.read_text() == "secret = 1\n"
    finally:
        file.unlink()


def test_a_file_that_is_missing_can_be_written_anew(site, file):
    file.unlink()
    now = site.get(STEP)
    assert (now["text"], now["version"], now["state"]) == ("", "", "missing")
    assert site.ask(STEP, {"text": "x = 1\n", "replaces": ""}, "PUT")[0] == 204
    assert file.read_text() == "x = 1\n"


#: Saves in a process that kills itself at one point of doing so.
DIES = """
import os, signal
from checker.course.steps import find_step
from cli.page import files
step = find_step("w05")
version = files.read(step).version
real = os.{name}
def dies(*arguments):
    if {after}: real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
os.{name} = dies
files.save(step, "new = 1\\n", version)
"""


@pytest.mark.parametrize(
    ("name", "after", "left"), [("fsync", False, "old"), ("replace", False, "old"), ("replace", True, "new")]
)
def test_a_server_that_is_killed_while_it_saves_leaves_a_whole_file(site, file, name, after, left):
    file.write_text("old = 1\n")
    done = site.course.python("-c", DIES.format(name=name, after=after))
    assert done.returncode == -signal.SIGKILL
    assert file.read_text() == f"{left} = 1\n"
    left_over = list(file.parent.glob(".*.new"))
    assert len(left_over) == (not after)
    for path in left_over:
        os.utime(path, (0, 0))
    with serve(site.course):
        assert not list(file.parent.glob(".*.new")), "the next server clears it away"


def test_two_tabs_that_save_at_once_do_not_lose_a_text(site, file):
    version = site.get(STEP)["version"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        texts = ["one = 1\n", "two = 2\n"]
        answers = list(pool.map(lambda text: site.ask(STEP, {"text": text, "replaces": version}, "PUT")[0], texts))
    assert sorted(answers) == [204, 412]
    assert file.read_text() == texts[answers.index(204)]


# ---------------------------------------------------------------- the check, hints and the rest


def test_the_check_of_the_page_says_what_the_terminal_says(site, file):
    site.course.spoil("w05", MISTAKE)
    (*_, verdict) = records = site.check("warmup_05")
    assert verdict.pop("event") == "verdict"
    jsonschema.validate(verdict, SCHEMA)
    assert [one for one in records[:-1] if one["event"] == "row"] == [
        {"event": "row", **row} for row in verdict["rows"]
    ]
    terminal = site.course.check("w05", "--seed", str(verdict["seed"])).stdout
    flat = re.sub(r"\s+", " ", terminal)
    assert verdict["verdict"] == "no"
    for row in verdict["rows"]:
        assert f"{row['verdict']} {row['about']} {row['sentence']}" in flat
    for one in verdict["explanations"]:
        assert f"{one['about']}: {one['sentence']}" in flat
    in_json = json.loads(site.course.check("w05", "--json", "--seed", str(verdict["seed"])).stdout)
    assert {**in_json, "seconds": 0, "said": 0} == {**verdict, "seconds": 0, "said": 0}


def test_a_check_saves_the_text_that_comes_with_it(site, file):
    version = site.get(STEP)["version"]
    assert site.check("warmup_05", {"text": "nothing = 1\n", "replaces": version})[-1]["verdict"] == "no"
    assert file.read_text() == "nothing = 1\n"
    file.write_text("theirs = 1\n")
    for text, status in (("mine = 1\n", 412), (1, 400)):
        assert site.ask(f"{STEP}/check", {"text": text, "replaces": version}, "POST")[0] == status
    assert file.read_text() == "theirs = 1\n"


def test_a_newer_check_ends_the_older(site, file):
    site.course.write("w05", find_step("w05").solution_file.read_text() + "while True: pass\n")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        older = pool.submit(site.check, "warmup_05")
        time.sleep(1)
        site.course.write("w01")
        begun = time.monotonic()
        assert site.check("warmup_01")[-1]["verdict"] == "yes"
        assert time.monotonic() - begun < 3, "it does not wait until the older one is late"
        assert older.result()[-1] == {"event": "ended"}


def test_a_step_that_hangs_is_ended_and_says_where(site, file):
    text = find_step("w05").solution_file.read_text()
    at = text.index("    return ", text.index("def multi_head_attention"))
    site.course.write("w05", text[:at] + "    while True: pass\n" + text[at:])
    verdict = site.check("warmup_05")[-1]
    assert verdict["verdict"] == "no"
    assert "Nothing was heard for 3 seconds" in verdict["explanations"][0]["sentence"]
    assert verdict["explanations"][0]["line"] == site.course.line_of("w05", "while True: pass")


@pytest.mark.parametrize("printing", ["print('x' * 100_000_000)", "print(('x' * 100 + '\\n') * 1_000_000)"])
def test_a_step_that_prints_100_mb_is_heard_in_part(site, file, printing):
    site.course.write("w05", f"{find_step('w05').solution_file.read_text()}\n{printing}\n")
    begun = time.monotonic()
    (*records, verdict) = site.check("warmup_05")
    assert verdict["verdict"] == "yes"
    assert 1 <= len(verdict["printed"]) <= 200
    assert len(json.dumps(records)) < 3_000_000
    assert time.monotonic() - begun < 20


def test_show_lists_numbers_of_a_function_of_the_step(site, file):
    site.course.spoil("w05", MISTAKE)
    name = site.check("warmup_05")[-1]["explanations"][0]["about"]
    assert site.check("warmup_05", {"show": name})[-1]["shown"]
    assert site.ask(f"{STEP}/check", {"show": "../x"}, "POST")[0] == 400


def test_hints_come_one_by_one_and_the_last_is_asked_for(site, file):
    site.ask(f"{STEP}/reset", {"replaces": site.get(STEP)["version"]}, "POST")

    def hint(**asked):
        return json.loads(site.ask(f"{STEP}/hint", asked, "POST")[1])

    assert hint() == {"number": 1, "count": 3, "is_all": False}
    assert "Hint 2 of 3" in site.course.check("hint", "w05").stdout, "the terminal goes on where the page was"
    assert "gives away what to write" in hint()["ask"]
    assert hint(sure=True) == {"number": 3, "count": 3, "is_all": False}
    assert hint() == {"number": 3, "count": 3, "is_all": True}


def test_compare_is_asked_for_until_the_check_says_yes(site, file):

    def compare(**asked):
        return json.loads(site.ask(f"{STEP}/compare", asked, "POST")[1])

    assert "no yes yet" in compare()["ask"]
    assert [pair["name"] for pair in compare(sure=True)["pairs"]]
    site.course.write("w05")
    assert site.check("warmup_05")[-1]["verdict"] == "yes"
    assert compare()["pairs"] == []


def test_reset_keeps_the_file_and_refuses_another_version(site, file):
    file.write_text("mine = 1\n")
    assert site.ask(f"{STEP}/reset", {"replaces": "another"}, "POST")[0] == 412
    status, said = site.ask(f"{STEP}/reset", {"replaces": site.get(STEP)["version"]}, "POST")
    assert status == 200
    assert (site.course.root / json.loads(said)["kept"]).read_text() == "mine = 1\n"
    assert file.read_text() == json.loads(said)["text"] == expected(find_step("w05"))


def test_standings_list_every_step_and_what_is_next(site, file):
    found = site.get("/api/standings")
    assert [one["name"] for one in found["steps"]] == [step.name for step in all_steps()]
    site.course.spoil("w05", MISTAKE)
    site.check("warmup_05")
    (one,) = [one for one in site.get("/api/standings")["steps"] if one["name"] == "warmup_05"]
    assert one["refused"]
    assert "last check: no" in one["words"]


def test_a_text_that_is_no_unicode_is_refused(site, file):
    before = file.read_bytes()
    status, said = site.ask(STEP, b'{"text": "\\ud800", "replaces": "%s"}' % site.get(STEP)["version"].encode(), "PUT")
    assert status == 409
    assert "cannot be saved as UTF-8" in said
    assert file.read_bytes() == before


def test_ctrl_c_ends_it_and_all_that_it_started(site):
    with serve(site.course) as other:
        other.ask(f"{STEP}/ready", {}, "POST")
        started = psutil.Process(other.server.pid).children(recursive=True)
        assert started
        os.killpg(other.server.pid, signal.SIGINT)
        assert other.server.wait(10) == 130
        _, alive = psutil.wait_procs(started, timeout=5)
        assert not alive


#: Neither can notice by itself that the server is gone.
ORPHANS = {
    "the next check's, which has stopped itself": ("ready", "", lambda one: one.status() == psutil.STATUS_STOPPED),
    "one in a loop of C": ("check", "\nsum(iter(int, 1))\n", lambda one: one.cpu_times().user > 0.6),
}


@pytest.mark.parametrize(("asked", "more", "is_there"), ORPHANS.values(), ids=ORPHANS)
def test_a_server_that_is_killed_leaves_no_child(site, asked, more, is_there):
    site.course.write("w05", find_step("w05").solution_file.read_text() + more)
    with serve(site.course) as other, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(other.ask, f"{STEP}/{asked}", {}, "POST")
        deadline = time.monotonic() + 30
        while not any(map(is_there, workers_of(other))):
            assert time.monotonic() < deadline, "no child got so far"
            time.sleep(0.02)
        started = psutil.Process(other.server.pid).children(recursive=True)
        other.server.kill()
        _, alive = psutil.wait_procs(started, timeout=5)
        assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
        with contextlib.suppress(http.client.HTTPException, OSError):
            answer.result()


# ---------------------------------------------------------------- the book


def test_every_step_has_its_panel_on_the_page_of_its_chapter(site):
    for step in all_steps():
        html = (site.course.root / "book" / "html" / f"{step.chapter.stem}.html").read_text()
        assert re.findall(r'<section class="panel" data-step="(\w+)">', html) == [step.name]


def test_the_book_is_built_again_when_a_chapter_has_changed_and_not_when_a_step_has(site):
    state = "from cli.page import building; print(building.state_of_sources(), end='')"
    before = (site.course.root / "book" / "html" / ".built-from").read_text()
    site.course.write("w05", "x = 1\n")
    assert site.course.python("-c", state).stdout == before
    (site.course.root / "tools" / "book_maker" / "new.py").write_text("")
    assert site.course.python("-c", state).stdout not in ("", before)
    (site.course.root / "tools" / "book_maker" / "new.py").unlink()
    assert site.course.python("-c", state).stdout == before


# ---------------------------------------------------------------- the editor


def test_the_editor_is_small_and_comes_with_its_licences(site):
    if not editor.folder().is_dir():
        pytest.skip("the editor's packages could not be fetched")
    packages = editor.packages()
    files = [editor.folder() / editor.file_of(name) for name in packages]
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= MOST_COMPRESSED
    for name, package in packages.items():
        assert package["license"] == "MIT", name
        assert (
            "Permission is hereby granted"
            in (editor.folder() / editor.file_of(name)).with_suffix(".LICENSE.txt").read_text()
        )


def test_an_archive_that_is_another_is_refused(tmp_path):
    package = next(iter(editor.packages().items()))
    with pytest.raises(OSError, match="is not what requirements"):
        editor._unpack(*package, b"another", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_editors_versions_are_those_of_pyproject():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["course"]["editor"]
    assert {name: package["version"] for name, package in editor.packages().items()} == stated


@pytest.mark.parametrize(
    ("environment", "npmrc", "wanted"),
    [
        ({}, None, editor.REGISTRY),
        ({}, "registry=https://npm.example/x/\n", "https://npm.example/x"),
        ({"npm_config_registry": "https://env.example"}, "registry=https://npm.example\n", "https://env.example"),
    ],
)
def test_packages_come_from_where_npm_is_told_to_look(monkeypatch, tmp_path, environment, npmrc, wanted):
    for name in [name for name in os.environ if name.lower().startswith("npm_config_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(tmp_path / "npmrc"))
    if npmrc:
        (tmp_path / "npmrc").write_text(npmrc)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert editor.registry() == wanted
