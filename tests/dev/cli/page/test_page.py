"""The server of the page: who may ask, what is saved, and that the check is the terminal's."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import stat
import time

import jsonschema
import psutil
import pytest

from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import all_steps, find_step
from tests.dev.cli.page.serving import serve

pytestmark = pytest.mark.slow

STEP = "/api/steps/warmup_05"
SCHEMA = json.loads((ROOT / "checker" / "session" / "verdict.schema.json").read_text())
SOLUTION = find_step("w05").solution_file.read_text()
MISTAKE = "The heads are merged without being transposed back"


@pytest.fixture
def file(site):
    """The learner's file of warm-up 05, untouched."""
    site.course.write("w05", expected(find_step("w05")))
    return site.path("w05")


def save(site, text, version=None):
    """Return the status of a save over the version that is there, or over another, and its answer."""
    replaces = site.get(STEP)["version"] if version is None else version
    return site.ask(STEP, {"text": text, "replaces": replaces}, "PUT")


def kept(site):
    """The versions of warm-up 05 that saves have replaced, the newest last."""
    return sorted((site.course.root / ".course" / "saved" / "warmup_05").glob("*.py"))


# ---------------------------------------------------------------- who may ask what

WRONG_KEY = {"Authorization": "Bearer é".encode().decode("latin-1")}
REJECTED = [
    *((path, WRONG_KEY, None, 401) for path in ("/api/standings", STEP)),
    *((f"{STEP}/{action}", WRONG_KEY, {}, 401) for action in ("check", "reset", "hint")),
    *((path, {"Host": host}, None, 400) for path in ("/", "/api/standings") for host in ("evil.example:3000", "")),
    ("/api/steps/warmup_99", {}, None, 404),
    ("/api/steps/..%2f..%2fpyproject", {}, None, 404),
    (f"{STEP}/check", {}, {"show": "../x"}, 400),
    (STEP, {}, {"text": "x"}, 405),
    ("/api/model/nothing", {}, {}, 409),
    ("/../pyproject.toml", {}, None, 404),
    ("/..%2f..%2fpyproject.toml", {}, None, 404),
    ("/page/..%2fapp.py", {}, None, 404),
    ("//etc/passwd", {}, None, 404),
    ("/step%00", {}, None, 404),
    (f"/{'x' * 5000}", {}, None, 404),
]


def test_what_is_rejected(site, file):
    before = file.read_bytes()
    for path, headers, body, status in REJECTED:
        answer = site.ask(path, body, headers=headers)
        assert answer[0] == status, (path, answer)
        assert status != 401 or "the link that `./run book` prints" in answer[1]
    for body in (b"", b"[]", b"{", b'{"text": 1, "replaces": ""}', b'{"text": "x"}', b"\xff"):
        assert site.ask(STEP, body, "PUT")[0] == 400
    assert file.read_bytes() == before
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    chunks = iter([b'{"text": "', *[b"x" * 100_000] * 20, b'"}'])  # it does not say how long it is
    connection.request("PUT", STEP, chunks, {"Authorization": f"Bearer {site.key}"}, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_names_that_are_trusted_the_key_and_the_port(site):
    codespaces = {"CODESPACE_NAME": "a-b", "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN": "app.example"}
    with serve(site.course, "--trusted-origin", "https://book.example", environment=codespaces) as other:
        for host, status in (("book.example", 200), (f"a-b-{other.port}.app.example", 200), ("other.example", 400)):
            assert other.ask("/api/standings", headers={"Host": host})[0] == status
        process = psutil.Process(other.server.pid)
        listening = [each for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN]
        assert {each.laddr.ip for each in listening} == {"127.0.0.1"}
        assert other.key not in " ".join(process.cmdline())
        files = [path for path in (site.course.root / ".course").rglob("*") if path.is_file()]
        (with_key,) = [path for path in files if other.key.encode() in path.read_bytes()]
        assert stat.S_IMODE(with_key.parent.stat().st_mode) == 0o700
    assert not with_key.exists(), "it is gone with the server"
    taken = site.course.python("-m", "cli", "book", "--no-open", "--port", str(site.port))
    assert taken.returncode == 2
    assert taken.stderr == f"book: Port {site.port} is in use. Try --port {site.port + 1}\n"


# ---------------------------------------------------------------- the file


def test_a_save_replaces_the_version_that_it_names_and_keeps_it(site, file):
    now = site.get(STEP)
    assert now["text"] == file.read_text()
    file.chmod(0o640)
    assert save(site, "x = 'é'\n") == (204, "")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("x = 'é'\n", 0o640)
    assert kept(site)[-1].read_text() == now["text"]
    assert "text" not in site.get(f"{STEP}?known={site.get(STEP)['version']}")
    for number in range(25):
        save(site, f"x = {number}\n")
    assert (len(kept(site)), kept(site)[-1].read_text()) == (20, "x = 23\n")
    assert save(site, "\ud800")[0] == 409, "no UTF-8 has this"
    file.unlink()
    assert site.get(STEP)["version"] == ""
    assert save(site, "x = 1\n")[0] == 204
    file.write_bytes(b"x = 1\r\ny = 2\r\n")
    assert site.get(STEP)["text"] == "x = 1\ny = 2\n"
    save(site, "x = 1\ny = 3\n")
    assert file.read_bytes() == b"x = 1\r\ny = 3\r\n"


def test_a_save_over_another_version_changes_nothing_and_shows_both(site, file):
    version = site.get(STEP)["version"]
    file.write_text("theirs = 1\n")
    for path, method in ((STEP, "PUT"), (f"{STEP}/check", "POST"), (f"{STEP}/reset", "POST")):
        status, answer = site.ask(path, {"text": "mine = 1\n", "replaces": version}, method)
        assert (status, file.read_text()) == (412, "theirs = 1\n")
    status, answer = save(site, "mine = 1\n", version)
    assert json.loads(answer)["rows"] == [["-", "theirs = 1"], ["+", "mine = 1"]]
    assert json.loads(answer)["version"] == site.get(STEP)["version"]


# ---------------------------------------------------------------- the check, hints and the rest


def test_the_check_of_the_page_says_what_the_terminal_says(site, file):
    site.course.spoil("w05", MISTAKE)
    wrong = file.read_text()
    site.course.write("w05", expected(find_step("w05")))
    text = {"text": wrong, "replaces": site.get(STEP)["version"]}
    (*records, verdict) = site.check("warmup_05", text)
    assert file.read_text() == wrong, "what was checked is what is on disk"
    assert verdict.pop("event") == "verdict"
    jsonschema.validate(verdict, SCHEMA)
    rows = [record for record in records if record["event"] == "row"]
    assert rows == [{"event": "row", **row} for row in verdict["rows"]]
    assert MISTAKE in verdict["explanations"][0]["sentence"]
    in_json = json.loads(site.course.check("w05", "--json", "--seed", str(verdict["seed"])).stdout)
    assert {**in_json, "seconds": 0, "said": 0} == {**verdict, "seconds": 0, "said": 0}
    assert site.check("warmup_05", {"show": verdict["explanations"][0]["about"]})[-1]["shown"]
    (standing,) = [now for now in site.get("/api/standings")["steps"] if now["name"] == "warmup_05"]
    assert standing["refused"]


def test_a_newer_check_ends_the_older_and_many_at_once_are_answered(site, file):
    site.course.write("w05", f"{SOLUTION}while True: pass\n")
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        older = pool.submit(site.check, "warmup_05")
        time.sleep(1)
        site.course.write("w01")
        begun = time.monotonic()
        newer = site.check("warmup_01")
        assert time.monotonic() - begun < 3, "it does not wait until the older one is late"
        assert older.result()[-1] == {"event": "ended"}
        others = [pool.submit(site.check, "warmup_01") for _ in range(50)]
        assert {other.result()[-1]["event"] for other in others} == {"ended", "verdict"}
    assert site.check("warmup_01")[-1]["verdict"] == newer[-1]["verdict"]


def test_the_terminal_goes_on_with_hints_where_the_page_was(site, file):
    answer = site.get(f"{STEP}/reset", {"replaces": site.get(STEP)["version"]})
    assert file.read_text() == answer["text"] == expected(find_step("w05"))
    assert site.get(f"{STEP}/hint", {}) == {"number": 1, "is_all": False}
    assert "Hint 2 of 3" in site.course.check("hint", "w05").stdout
    assert "gives away what to write" in site.get(f"{STEP}/hint", {})["ask"]
    assert site.get(f"{STEP}/hint", {"sure": True}) == {"number": 3, "is_all": False}
    assert site.get(f"{STEP}/hint", {}) == {"number": 3, "is_all": True}


# ---------------------------------------------------------------- the end, and the book


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_it_ends_with_all_that_it_has_started(site, file, number, status):
    site.course.write("w05", f"{SOLUTION}\nsum(iter(int, 1))\n")  # a loop of C, which notices nothing
    with serve(site.course) as other, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(other.ask, f"{STEP}/check", {})
        server, deadline = psutil.Process(other.server.pid), time.monotonic() + 30
        while not any(child.cpu_times().user > 0.6 for child in server.children(recursive=True)):
            assert time.monotonic() < deadline, "no child got so far"
            time.sleep(0.02)
        started = server.children(recursive=True)
        os.killpg(other.server.pid, number)
        assert other.server.wait(10) == status
        _, alive = psutil.wait_procs(started, timeout=5)
        assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []
        with contextlib.suppress(http.client.HTTPException, OSError):
            answer.result()


def test_every_step_has_its_panel_and_the_book_is_built_again_when_a_source_has_changed(site):
    html = site.course.root / "book" / "html"
    for step in all_steps():
        page = (html / f"{step.chapter.stem}.html").read_text()
        assert re.findall(r'<section class="panel" data-step="(\w+)">', page) == [step.name]
    state = "from cli.page import building; print(building.is_built())"
    source = site.course.root / "tools" / "book_maker" / "new.py"
    site.course.write("w05", "x = 1\n")
    assert site.course.python("-c", state).stdout == "True\n", "a learner's step is no source"
    source.write_text("")
    assert site.course.python("-c", state).stdout == "False\n"
    source.unlink()


def test_a_page_lets_no_script_run_but_its_own(site):
    with socket.create_connection(("127.0.0.1", site.port)) as connection:
        connection.sendall(f"GET /index.html HTTP/1.0\r\nHost: localhost:{site.port}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
    policy = re.search(r"content-security-policy: (.*)\r", answer, re.IGNORECASE)[1]
    (nonce,) = re.findall(r"'nonce-([^']+)'", policy)
    assert f"script-src 'self' 'nonce-{nonce}';" in policy
    assert answer.count("<script") == answer.count(f'<script nonce="{nonce}"')
