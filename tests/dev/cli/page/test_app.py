"""What the server of the page answers: who may ask, what is saved, and that the check is the terminal's."""

import asyncio
import concurrent.futures
import io
import json
import os
import re
import stat
import subprocess
import threading
import time
from dataclasses import replace

import httpx
import jsonschema
import psutil
import pytest

from checker.course import progress
from checker.course.reading import Location
from checker.course.skeletons import skeleton_of
from checker.course.steps import all_steps, find_step
from checker.protocol.events import Ended, Late, Limit, Reason, Unloadable
from checker.stages import Mark
from cli.page.answers import next_hint
from cli.page.app import Book
from cli.page.offers import ON_PAGE
from tests.dev.cli.page.serving import serve
from tests.dev.helpers.checks import DRAWN_TOO, NUMBERS_RIGHT, OPENED, S07, SCHEMA, folded, read_only

pytestmark = pytest.mark.slow

STEP = "/api/steps/warmup_05"
SOLUTION = find_step("w05").read_solution().text
MISTAKE = "The heads are merged without being transposed back"
WRONG_KEY = {"Authorization": "Bearer é".encode().decode("latin-1")}
REJECTED = [
    *((path, WRONG_KEY, None, 401) for path in ("/api/standings", STEP)),
    *((f"{STEP}/{action}", WRONG_KEY, {}, 401) for action in ("check", "reset", "hint")),
    *((path, {"Host": host}, None, 400) for path in ("/", "/api/standings") for host in ("evil.example:3000", "")),
    *((f"{STEP}/check", {}, body, 400) for body in (b"[1]", b"[[1, 2]]", b"{", b"\xff", b"[" * 100_000)),
    *((f"{STEP}/check", {}, body, 400) for body in ({"show": 5}, {"seed": "a"}, {"seed": True}, {"seed": -1})),
    *(("/api/model/attention", {}, body, 400) for body in ({"text": 5}, {"ids": "whale"})),
    ("/api/steps/warmup_99", {}, None, 404),
    ("/api/steps/..%2f..%2fpyproject", {}, None, 404),
    (STEP, {}, {"text": "x"}, 405),
    ("/api/model/nothing", {}, {}, 409),
    ("/..%2f..%2fpyproject.toml", {}, None, 404),
    ("/page/..%2fapp.py", {}, None, 404),
    ("//etc/passwd", {}, None, 404),
]


@pytest.fixture
def file(site):
    """The learner's file of warm-up 05, untouched."""
    site.course.write("w05", skeleton_of(find_step("w05")))
    return site.course.path("w05")


def save(site, text, version=None):
    """Return the status of a save over the version that is there, or over another, and its answer."""
    replaces = site.get(STEP)[0]["version"] if version is None else version
    return site.ask(STEP, {"text": text, "replaces": replaces}, "PUT")[:2]


@pytest.mark.parametrize(("path", "headers", "body", "status"), REJECTED)
def test_what_is_rejected(site, path, headers, body, status):
    answer = site.ask(path, body, headers=headers)
    assert answer[0] == status
    assert status != 401 or "the link that `./run book` prints" in answer[1]


@pytest.mark.parametrize("body", [{}, {"text": 5, "replaces": ""}, {"text": "x"}, {"text": "x", "replaces": None}])
def test_a_save_that_does_not_say_what_is_rejected(site, body):
    assert site.ask(STEP, body, "PUT")[0] == 400


def test_names_that_are_trusted_the_key_and_the_port(site):
    codespaces = {"CODESPACE_NAME": "a-b", "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN": "app.example"}
    with serve(site.course, "--trusted-origin", "https://book.example", **codespaces) as other:
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
    taken = site.course.check("book", "--no-open", "--port", site.port, status=2)
    assert taken.stderr == f"book: Port {site.port} is in use. Try --port {site.port + 1}\n"


def test_a_save_replaces_only_the_version_that_it_names(site, file):
    (now,) = site.get(STEP)
    assert now["text"] == file.read_text()
    file.chmod(0o640)
    assert save(site, "x = 'é'\n")[0] == 200
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("x = 'é'\n", 0o640)
    assert "text" not in site.get(f"{STEP}?known={site.get(STEP)[0]['version']}")[0]
    assert save(site, "\ud800")[0] == 409, "no UTF-8 has this"
    status, answer = save(site, "mine = 1\n", now["version"])
    assert (status, file.read_text()) == (412, "x = 'é'\n")
    assert json.loads(answer)["rows"] == ["- x = 'é'", "+ mine = 1"]
    file.unlink()
    assert site.get(STEP)[0]["version"] == ""
    assert save(site, "x = 1\n")[0] == 200
    file.write_bytes(b"\xff")
    status, answer, _ = site.ask(STEP)
    assert (status, "steps/warmup_05.py: The file is not UTF-8 text" in answer) == (409, True)


def test_the_check_of_the_page_says_what_the_terminal_says(site, file):
    site.course.spoil("w05", MISTAKE)
    (*records, verdict) = site.check("warmup_05")
    assert verdict.pop("event") == "verdict"
    jsonschema.validate(verdict, SCHEMA)
    rows = [record for record in records if record["event"] == "row"]
    whole = [{"event": "row", **row} for row in verdict["rows"]]
    assert [row for row in rows if row["mark"] != "fail"] == [row for row in whole if row["mark"] != "fail"]
    folded = [row["sentence"] for row in rows if row["mark"] == "fail"]
    assert "(2 more claims fail for the same reason.)" in " ".join(folded)
    assert len(folded) + 2 == sum(row["mark"] == "fail" for row in whole)
    assert MISTAKE in verdict["explanations"][0]["sentence"]
    in_json = json.loads(site.course.check("w05", "--json").stdout)  # nothing was drawn
    assert {**in_json, "seconds": 0, "said": 0} == {**verdict, "seconds": 0, "said": 0}


def test_the_page_says_nothing_that_only_a_terminal_has(site, file):
    """Of wrong numbers, drawn and recorded, of a file that is gone, and of a limit."""
    site.course.spoil("w08", "the width of a key is a number", "fixed")
    site.course.spoil("w05", MISTAKE)
    checks = [site.check("warmup_08"), site.check("warmup_05")]
    file.unlink()
    checks.append(site.check("warmup_05"))
    assert site.get(STEP)[0]["words"] == "missing: Reset writes it anew"
    for records, words in zip(checks, ("Show numbers draws these", "Show numbers puts", "Reset writes"), strict=True):
        said = " ".join(record.get(name, "") for record in records for name in ("text", "sentence"))
        assert words in said
        assert not re.search(r"\./run|Ctrl-C|run this", said)
    old_file = [Unloadable(Reason("ImportError: F"), changed_since=["f"]), Ended()]
    in_a_loop = [Late(Limit.COMPUTING, 10, Location(3, "while True: pass"))]
    for events in (*([Late(limit, 10)] for limit in Limit), in_a_loop, old_file):
        on_page = folded([OPENED, *events], replace(S07, offers=ON_PAGE))[0]
        assert "./run" not in on_page.verdict.explanations[0].sentence
    error = replace(DRAWN_TOO, mark=Mark.FAIL, why=Reason("TypeError"))  # there are no numbers to show
    said = folded([*NUMBERS_RIGHT[:4], error, Ended()], replace(S07, offers=ON_PAGE))[1]
    assert "Every check draws new numbers." in said


def test_a_hunt_on_the_page(site, file):
    assert site.ask(f"{STEP}/hunt", {})[0] == 409, "it has not passed"
    site.course.write("w05")
    site.check("warmup_05")
    (begun,) = site.get(f"{STEP}/hunt", {})
    assert (begun["name"], begun["file"]) == ("hunt_w05", "steps/hunt_w05.py")
    (drawn,) = site.get("/api/steps/hunt_w05")
    assert [*site.get(f"{STEP}/hunt", {})] == [begun], "it goes on"
    assert site.get("/api/steps/hunt_w05")[0]["text"] == drawn["text"]
    (*records, verdict) = site.check("hunt_w05")
    jsonschema.validate({name: value for name, value in verdict.items() if name != "event"}, SCHEMA)
    assert (verdict["verdict"], verdict["file"]) == ("fail", begun["file"])
    assert not [record for record in records if "./run" in str(record)]
    body = {"text": SOLUTION, "replaces": drawn["version"]}
    assert site.ask("/api/steps/hunt_w05", body, "PUT")[0] == 200
    assert re.search(r"Found after (\d+ min )?\d+ s: ", site.check("hunt_w05")[-1]["said"][-1])
    (another,) = site.get("/api/steps/hunt_w05/reset", {})
    assert another["text"] not in (drawn["text"], SOLUTION)
    assert another["kept"] == "", "it has passed as it was"
    (site.course.root / "steps" / "hunt_w05.py").write_text(drawn["text"])
    assert site.get("/api/steps/hunt_w05/reset", {})[0]["kept"].startswith("steps/hunt_w05.kept-")
    assert file.read_text() == SOLUTION


def test_a_reset_that_is_undone_takes_no_pass_and_no_hint(site, file):
    site.course.write("w05")
    site.check("warmup_05")
    site.get(f"{STEP}/hint", {})
    (reset,) = site.get(f"{STEP}/reset", {})
    assert site.get(STEP)[0]["words"] == "untouched"
    assert save(site, SOLUTION)[0] == 200
    site.get(f"{STEP}/undo-reset", {"forgotten": reset["forgotten"]})
    assert site.get(STEP)[0]["words"] == "done"
    assert site.get(f"{STEP}/hint", {})[0]["number"] == 2
    assert site.ask(f"{STEP}/undo-reset", {"forgotten": 3})[0] == 400


def test_a_newer_check_ends_the_older_and_many_at_once_are_answered(site, file):
    site.course.write("w05", f"{SOLUTION}while True: pass\n")
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        older = pool.submit(site.check, "warmup_05")
        time.sleep(1)
        site.course.write("w01")
        begun = time.monotonic()
        newer = site.check("warmup_01")
        assert time.monotonic() - begun < 3, "it does not wait until the older one is late"
        assert older.result()[-1] == {"event": "ended", "text": "A newer check has ended this one."}
        stopped = pool.submit(site.check, "warmup_05")
        time.sleep(1)
        assert site.ask("/api/steps/warmup_01/stop", {})[0] == 200, "of another step; it stops nothing"
        assert not stopped.done()
        site.get(f"{STEP}/stop", {})
        assert stopped.result()[-1] == {"event": "ended", "text": "Stopped."}
        others = [pool.submit(site.check, "warmup_01") for _ in range(20)]
        assert {other.result()[-1]["event"] for other in others} == {"ended", "verdict"}
    assert site.check("warmup_01")[-1]["verdict"] == newer[-1]["verdict"]


def test_a_slow_disk_holds_up_no_other_request(monkeypatch, tmp_path):
    """No file is opened, and no process is started, in the thread that answers all requests."""
    (tmp_path / "index.html").write_text("<head></head>")
    monkeypatch.setattr(progress, "FILE", tmp_path / "progress.json")
    own, done, here = threading.get_ident(), [], "http://127.0.0.1"

    def noting(original):
        def call(*arguments, **options):
            if threading.get_ident() == own:
                done.append(arguments)
            return original(*arguments, **options)

        return call

    for owner, name in ((io, "open"), (os, "open"), (os, "stat"), (os, "scandir"), (subprocess.Popen, "__init__")):
        monkeypatch.setattr(owner, name, noting(getattr(owner, name)))

    async def ask():
        key, book = {"Authorization": "Bearer key"}, Book(tmp_path, "key", ["127.0.0.1"])
        app, step = httpx.ASGITransport(book.app()), f"{here}{STEP}"
        async with book.lifespan(None), httpx.AsyncClient(transport=app, headers=key) as client:
            done.clear()
            answers = [
                await client.get(f"{here}/index.html"),
                await client.get(step),
                await client.put(step, json={"text": "x = 1", "replaces": "another version"}),
                await client.post(f"{step}/hint", json={}),
                await client.post(f"{step}/compare", json={"sure": True}),
                await client.post(f"{step}/check", json={}),
                await client.get(f"{here}/api/standings"),
            ]
            assert [answer.status_code for answer in answers] == [200, 200, 412, 200, 200, 200, 200]
            assert done == []

    asyncio.run(ask())


def test_a_hint_is_shown_also_where_it_cannot_be_noted(monkeypatch):
    monkeypatch.setattr(progress, "note_hints", read_only)
    monkeypatch.setattr(progress, "FILE", progress.ROOT / "nowhere" / "progress.json")
    words = "The button shows this one again: nowhere/progress.json cannot be written, Read-only file system."
    assert next_hint(find_step("w05"), {}) == {"number": 1, "words": words}


def test_the_book_has_every_panel_and_lets_no_script_run_but_its_own(site):
    for step in all_steps():
        page = site.ask(f"/{step.chapter.stem}.html")[1]
        assert re.findall(r'<section class="panel" data-step="(\w+)">', page) == [step.name]
    _, page, headers = site.ask("/index.html")
    policy = headers["Content-Security-Policy"]
    (nonce,) = re.findall(r"'nonce-([^']+)'", policy)
    assert f"script-src 'self' 'nonce-{nonce}';" in policy
    assert page.count("<script") == page.count(f'<script nonce="{nonce}"')
