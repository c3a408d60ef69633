"""What the server answers: the book's pages, and under ``/api/`` what the panel asks for.

This server reads and runs a learner's code, on a machine that others may use too. So it must be asked by a name of this
machine (else a page elsewhere could have its own name lead here), and what is not the book itself needs the key, in a
header that no other page can send. A step is named as in the list of all steps; no path comes from the page. Every
answer is JSON; a check answers with one record per line, as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from checker.course import progress
from checker.course.blanks import blanks_of
from checker.course.languages import Unreadable
from checker.course.paths import relative_path
from checker.course.standing import next_to_do, standing
from checker.course.steps import Step, all_steps
from checker.events import Options
from checker.session.records import Record, Records, verdict_record
from checker.session.session import Session
from cli import compare, hint, reset
from cli.checking import Check, ReadyChild
from cli.page import files
from cli.page.model import Model, NoAnswer

ASSETS = Path(__file__).with_name("assets")
MOST_BYTES = 1_000_000  # of a request's body
FILE_VERSION = "File-Version"  # the header of an answer that says which version of the learner's file it saved
ADDED = '<link rel="stylesheet" href="/page/panel.css">\n<script type="module" src="/page/main.js"></script>\n</head>'
#: Of a page: its own scripts run, by a word that is new each time, and no other. A style can fetch nothing elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
Answer = dict[str, Any]


class Pages(StaticFiles):
    """The files of the book; its pages with the panel's scripts, and with a policy that lets no others run."""

    def file_response(self, full_path: Any, *arguments: Any, **options: Any) -> Response:
        """Return the response for a file."""
        if Path(full_path).suffix != ".html":
            return super().file_response(full_path, *arguments, **options)
        nonce = secrets.token_urlsafe(16)
        html = Path(full_path).read_text(encoding="utf-8").replace("</head>", ADDED, 1)
        html = html.replace("<script", f'<script nonce="{nonce}"')
        return HTMLResponse(html, headers={"Content-Security-Policy": POLICY.format(nonce)})


class KeyHolders:
    """Lets requests in that have the key.

    Args:
        app: answers them.
        key: the key.
    """

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.wanted = app, f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or that it has no key."""
        words = "the key is missing or wrong; open the link that `./run book` prints"
        has_key = secrets.compare_digest(dict(scope["headers"]).get(b"authorization", b""), self.wanted)
        await (self.app if has_key else JSONResponse({"error": words}, 401))(scope, receive, send)


class Book:
    """The book in a folder, and the learner's files.

    Args:
        html: the built book.
        key: what a request for more than the book needs.
        hosts: the names of this server.
    """

    def __init__(self, html: Path, key: str, hosts: list[str]) -> None:
        self.html, self.key, self.hosts = html, key, hosts
        self.model, self.ready = Model(), ReadyChild()
        self.newest: Check | None = None

    def app(self) -> Starlette:
        """Return what answers requests."""
        actions = (self.beside, self.hint, self.compare, self.reset)
        api = [
            Route("/standings", self.standings),
            Route("/model/{what}", self.ask, methods=["POST"]),
            Route("/steps/{step}", self.file),
            Route("/steps/{step}", self.save, methods=["PUT"]),
            Route("/steps/{step}/check", self.check, methods=["POST"]),
            *(Route(f"/steps/{{step}}/{do.__name__}", partial(self.answer, do), methods=["POST"]) for do in actions),
        ]
        reasons = (HTTPException, files.Rejected, hint.NoHints, NoAnswer, OSError, UnicodeEncodeError)
        return Starlette(
            routes=[
                Mount("/api", routes=api, middleware=[Middleware(KeyHolders, key=self.key)]),
                Mount("/page", StaticFiles(directory=ASSETS)),
                Mount("/", Pages(directory=self.html, html=True)),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=self.hosts)],
            exception_handlers={**dict.fromkeys(reasons, _rejected), files.Conflict: _conflict},
            lifespan=self.lifespan,
        )

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """End the check at the end, and the process of the model."""
        yield
        await self.model.close()
        if self.newest:
            self.newest.end()
            self.newest.join()
        self.ready.close()

    async def standings(self, request: Request) -> Response:
        """Answer how far each step is, and which to go on with."""
        steps = all_steps()
        standings = await run_in_threadpool(lambda: [standing(step) for step in steps])
        following = next_to_do(steps)
        answer = {
            "steps": [{"name": now.step.name, "state": now.state, "refused": now.refused} for now in standings],
            "done": sum(now.state == "done" for now in standings),
            "next": {"name": following.name, "title": following.title} if following else None,
        }
        return JSONResponse(answer)

    async def ask(self, request: Request) -> Response:
        """Answer what an interactive figure asks the model."""
        return JSONResponse(await self.model.ask(request.path_params["what"], await _body(request)))

    # ------------------------------------------------------------ a step

    async def file(self, request: Request) -> Response:
        """Answer with the learner's file and how far it is; without its text if the page knows this version."""
        step, known = _step(request), request.query_params.get("known")
        if known is None:  # the page was opened, and will ask for a check
            self.ready.prepare(step)
        file = files.read(step)
        answer = {"file": relative_path(step.learner_file), "version": file.version, "words": standing(step).words}
        return JSONResponse(answer if file.version == known else {**answer, "text": file.text})

    async def save(self, request: Request) -> Response:
        """Save the learner's file in place of the version that the page began from."""
        return Response(status_code=204, headers=_save(request, await _body(request)))

    async def check(self, request: Request) -> Response:
        """Save the text that comes with it, check the file on disk, and answer with records; leaving ends it."""
        step, asked = _step(request), await _body(request)
        show = asked.get("show", "")
        if show and show not in (blank.label for blank in blanks_of(step)):
            raise HTTPException(400, f"there is no function {show!r} to show")
        saved = _save(request, asked) if "text" in asked else None
        loop, records = asyncio.get_running_loop(), asyncio.Queue[Record]()

        def tell(record: Record) -> None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(records.put_nowait, record)

        def hear(check: Check) -> None:
            if check.is_ended:
                tell({"event": "ended"})
            elif check.is_over:
                check.session.conclude()
                tell({"event": "verdict", **verdict_record(check.session)})

        if self.newest:
            self.newest.end()
        view = Records(tell)
        view.again, view.stopping = "check again", "another check"
        check = self.newest = Check(Session(step, view, Options(show=show)), self.ready, hear)

        async def lines() -> AsyncIterator[bytes]:
            try:
                record: Record = {"event": ""}
                while record["event"] not in ("verdict", "ended"):
                    record = await records.get()
                    yield json.dumps(record).encode() + b"\n"
            finally:
                if not check.may_go_on:  # else it goes on for the pass that compiling completes
                    check.end()

        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=saved)

    async def answer(self, do: Callable[[Step, Answer], Answer], request: Request) -> Response:
        """Answer with what a function returns."""
        return JSONResponse(do(_step(request), await _body(request)))

    def beside(self, step: Step, asked: Answer) -> Answer:
        """Return the file on disk beside the text that the page has."""
        return beside(files.read(step), str(asked.get("text", "")))

    def hint(self, step: Step, asked: Answer) -> Answer:
        """Return the next hint, or the last again; before the last, what it would give away unless one is ``sure``."""
        tier = hint.next_tier(step)
        if tier is None:
            return {"number": len(hint.hints_of(step)), "is_all": True}
        if tier.warning and not asked.get("sure"):
            return {"ask": tier.warning}
        hint.note_seen(step, tier.number)
        return {"number": tier.number, "is_all": False}

    def compare(self, step: Step, asked: Answer) -> Answer:
        """Return the functions that are written differently from the solution, row by row."""
        if standing(step).state != "done" and not asked.get("sure"):
            return {"ask": compare.WARNING}
        source = files.read(step).text
        try:
            step.language.refuse(source, str(step.learner_file))
        except Unreadable as error:
            raise files.Rejected(str(error)) from error
        return {
            "differences": [asdict(difference) for difference in compare.differences(step, source)],
            "count": len(blanks_of(step)),
        }

    def reset(self, step: Step, asked: Answer) -> Answer:
        """Put the skeleton in place of the version that the page has; say under which name it is kept."""
        files.expect(step, str(asked.get("replaces")))
        copy = reset.begin_again(step)
        progress.forget(step)
        return {**asdict(files.read(step)), "kept": relative_path(copy) if copy else ""}


def _step(request: Request) -> Step:
    """Return the step that a request is about."""
    for step in all_steps():
        if step.name == request.path_params["step"]:
            return step
    raise HTTPException(404, "there is no such step")


async def _body(request: Request) -> Answer:
    """Return the object that a request brings; nothing is an empty one."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MOST_BYTES:
            raise HTTPException(413, f"a body has {MOST_BYTES:,} bytes at most")
    try:
        return dict(json.loads(data or b"{}"))
    except (TypeError, ValueError) as error:
        raise HTTPException(400, "the body must be a JSON object") from error


def _save(request: Request, asked: Answer) -> dict[str, str]:
    """Save a text in place of the version that the page began from; return the header with its own version."""
    text, replaces = asked.get("text"), asked.get("replaces")
    if not isinstance(text, str) or not isinstance(replaces, str):
        raise HTTPException(400, "a save needs a text, and the version that it replaces")
    request.state.text = text  # should there be a conflict
    return {FILE_VERSION: files.save(_step(request), text, replaces)}


def beside(file: files.File, text: str) -> Answer:
    """Return a file, and its lines beside those of another text."""
    return {**asdict(file), "rows": compare.rows_of(file.text.splitlines(), text.splitlines())}


async def _rejected(request: Request, error: Exception) -> Response:
    """Answer why something cannot be done."""
    status = error.status_code if isinstance(error, HTTPException) else 409
    return JSONResponse({"error": str(getattr(error, "detail", error))}, status)


async def _conflict(request: Request, error: Exception) -> Response:
    """Answer with the file as it is now, beside what the page wanted to save."""
    now = files.read(_step(request))
    return JSONResponse(beside(now, getattr(request.state, "text", now.text)), 412)
