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

from checker.course.hunts import Hunt
from checker.course.reading import Unreadable
from checker.course.steps import Step
from checker.errors import UserError
from checker.job import Options
from checker.parent.check import Check
from checker.parent.limits import PAGE_COMPILE_SECONDS
from checker.parent.records import Record, verdict_record
from cli import compare, hunt
from cli.page import answers, versions
from cli.page.model import PageModel
from cli.page.offers import ANEW, PageView
from cli.page.requests import Json, body_of, field_of, step_of
from cli.shared.background import FAULT, BackgroundCheck, ReadyChild, Report

ASSETS = Path(__file__).with_name("assets")
ADDED = '<link rel="stylesheet" href="/page/panel.css">\n<script type="module" src="/page/main.js"></script>\n</head>'
#: Of a page: its own scripts run, by a word that is new each time, and no other. A style can fetch nothing elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
#: What a question of a figure may say.
QUESTION = {"text": str | None, "ids": list | None, "prompt": int | None, "batch": int | None}


class Page(Response):
    """A page of the book with the panel's scripts, and with a policy that lets no others run."""

    def __init__(self, path: Path) -> None:
        self.page = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with it."""
        nonce = secrets.token_urlsafe(16)
        html = (await run_in_threadpool(self.page.read_text, encoding="utf-8")).replace("</head>", ADDED, 1)
        html = html.replace("<script", f'<script nonce="{nonce}"')
        await HTMLResponse(html, headers={"Content-Security-Policy": POLICY.format(nonce)})(scope, receive, send)


class Pages(StaticFiles):
    """The files of the book."""

    def file_response(self, full_path: Any, *arguments: Any, **options: Any) -> Response:
        """Return the response for a file."""
        path = Path(full_path)
        return Page(path) if path.suffix == ".html" else super().file_response(full_path, *arguments, **options)


class KeyHolders:
    """Lets requests in that have the key.

    Args:
        app: answers them.
        key: the key.
    """

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.authorization = app, f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or that it has no key."""
        words = "the key is missing or wrong; open the link that `./run book` prints"
        has_key = secrets.compare_digest(dict(scope["headers"]).get(b"authorization", b""), self.authorization)
        await (self.app if has_key else JSONResponse({"error": words}, 401))(scope, receive, send)


class Book:
    """The book in a folder, and the learner's files; threads read and write these, so no request waits for another's.

    Args:
        html: the built book.
        key: what a request for more than the book needs.
        hosts: the names of this server.
    """

    def __init__(self, html: Path, key: str, hosts: list[str]) -> None:
        self.html, self.key, self.hosts = html, key, hosts
        self.model, self.ready = PageModel(), ReadyChild()
        self.turn = asyncio.Lock()  # of what reads a learner's file, and then begins a check or writes
        self.newest_check: BackgroundCheck | None = None
        self.stopped_check: BackgroundCheck | None = None

    def app(self) -> Starlette:
        """Return what answers requests."""
        api = [
            Route("/standings", self.standings),
            Route("/model/{what}", self.ask, methods=["POST"]),
            Route("/steps/{step}", self.file),
            Route("/steps/{step}", partial(self.answer, answers.save), methods=["PUT"]),
            Route("/steps/{step}/check", self.check, methods=["POST"]),
            Route("/steps/{step}/stop", self.stop, methods=["POST"]),
            Route("/steps/{step}/hint", partial(self.answer, answers.next_hint), methods=["POST"]),
            Route("/steps/{step}/compare", partial(self.answer, answers.differences), methods=["POST"]),
            Route("/steps/{step}/reset", partial(self.answer, answers.replace_file), methods=["POST"]),
            Route("/steps/{step}/hunt", partial(self.answer, answers.begin_hunt), methods=["POST"]),
        ]
        reasons = (HTTPException, UserError, Unreadable, OSError, UnicodeEncodeError)
        return Starlette(
            routes=[
                Mount("/api", routes=api, middleware=[Middleware(KeyHolders, key=self.key)]),
                Mount("/page", StaticFiles(directory=ASSETS)),
                Mount("/", Pages(directory=self.html, html=True)),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=self.hosts)],
            exception_handlers={**dict.fromkeys(reasons, _rejected), versions.Conflict: _conflict},
            lifespan=self.lifespan,
        )

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """End the check at the end, and the process of the model."""
        yield
        self.model.close()
        if self.newest_check:
            self.newest_check.cancel()
            self.newest_check.join()
        self.ready.close()

    async def standings(self, request: Request) -> Response:
        """Answer how far each step is, and which to go on with."""
        return JSONResponse(await run_in_threadpool(answers.standings))

    async def ask(self, request: Request) -> Response:
        """Answer what an interactive figure asks the model."""
        question = await body_of(request)
        for name, kind in QUESTION.items():
            field_of(question, name, kind)
        return JSONResponse(await self.model.ask(request.path_params["what"], question))

    async def file(self, request: Request) -> Response:
        """Answer with the learner's file and how far it is; without its text if the page knows this version."""
        step, known_version = await step_of(request), request.query_params.get("known")
        if known_version is None:  # the page was opened, and will ask for a check
            await run_in_threadpool(self.ready.start_spare, step)
        return JSONResponse(await run_in_threadpool(answers.file, step, known_version))

    async def check(self, request: Request) -> Response:
        """Check the file on disk, and answer with records; leaving ends it."""
        step, body = await step_of(request), await body_of(request)
        options = Options(show=field_of(body, "show", str, ""), seed=field_of(body, "seed", int | None))
        if options.seed is not None and options.seed < 0:
            raise HTTPException(400, "a seed is not negative")
        answer = CheckAnswer(self)
        async with self.turn:
            if self.newest_check:
                self.newest_check.cancel()
            background = await run_in_threadpool(answer.begin, step, options)
            self.newest_check = background
        return StreamingResponse(answer.lines(background), media_type="application/x-ndjson")

    async def answer(self, do: Callable[[Step, Json], Json], request: Request) -> Response:
        """Answer with what a function returns for a step and the body of a request."""
        step, body = await step_of(request), await body_of(request)
        async with self.turn:
            return JSONResponse(await run_in_threadpool(do, step, body))

    async def stop(self, request: Request) -> Response:
        """End the check of a step that goes on, if one does; its own answer says so."""
        step = await step_of(request)
        newest = self.newest_check  # another check may have begun while the step was found
        if newest and newest.check.step == step:
            self.stopped_check = newest
            newest.cancel()
        return JSONResponse({})


class CheckAnswer:
    """The records of one check, which its thread sends and its request reads.

    Args:
        book: has a child that is ready, and knows which check was stopped.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.loop, self.records = asyncio.get_running_loop(), asyncio.Queue[Record]()

    def begin(self, step: Step, options: Options) -> BackgroundCheck:
        """Begin the check."""
        view = PageView(self.send)
        check = hunt.check_of_copy(Hunt(step.name), view, options) if step.hunted else Check(step, view, options)
        background = BackgroundCheck(check, self.book.ready, self.notify, compile_seconds=PAGE_COMPILE_SECONDS)
        background.start()
        return background

    def send(self, record: Record) -> None:
        """Have the request read a record."""
        with contextlib.suppress(RuntimeError):  # the server has ended
            self.loop.call_soon_threadsafe(self.records.put_nowait, record)

    def notify(self, background: BackgroundCheck, report: Report) -> None:
        """Send how far the check is, or how it has ended."""
        match report:
            case Report.GOES_ON:
                self.send({"event": "passed"})
            case Report.VERDICT:
                self.send({"event": "verdict", **verdict_record(background.check)})
            case Report.BROKEN:
                self.send({"event": "ended", "text": FAULT})
            case Report.CANCELED:
                reason = "Stopped." if background is self.book.stopped_check else "A newer check has ended this one."
                state = background.check.state
                text = f"{reason} The pass is kept." if state.pass_stands and not state.not_saved else reason
                self.send({"event": "ended", "text": text})

    async def lines(self, background: BackgroundCheck) -> AsyncIterator[bytes]:
        """Yield the records, a line each, up to the last one; whoever stops reading ends the check."""
        try:
            record: Record = {"event": ""}
            while record["event"] not in ("verdict", "ended"):
                record = await self.records.get()
                yield json.dumps(record).encode() + b"\n"
        finally:
            if not background.goes_on:  # else it goes on for the pass that compiling completes
                background.cancel()


async def _rejected(request: Request, error: Exception) -> Response:
    """Answer why something cannot be done."""
    status = error.status_code if isinstance(error, HTTPException) else 409
    words = error.sentence_with(ANEW) if isinstance(error, Unreadable) else str(getattr(error, "detail", error))
    return JSONResponse({"error": words}, status)


async def _conflict(request: Request, error: Exception) -> Response:
    """Answer with the file as it is now, and where it differs from what the page wanted to save."""
    assert isinstance(error, versions.Conflict)
    rows = compare.rows_of_texts(error.file.text, error.text)
    return JSONResponse({**asdict(error.file), "rows": rows}, 412)
