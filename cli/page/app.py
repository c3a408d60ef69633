"""The server's routes: the book's pages, and under ``/api/`` the answers to the panel.

This server reads and runs a learner's code, on a machine that others may use, too. So a request must name this machine
as its host (else a page elsewhere could have its own name lead here), and all requests but those for the book itself
need the key, in a header that no other page can send. A request names a step as in the list of all steps, and never a
path. Every answer is JSON; a check answers with one record per line, as they come.
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

from checker.course.hunts import HuntedStep
from checker.course.reading import Unreadable
from checker.course.steps import Step
from checker.errors import UserError
from checker.parent.check import Check
from checker.parent.records import Record, RecordView, verdict_record
from checker.protocol.job import Options
from cli import compare, hunt
from cli.page import answers, versions
from cli.page.model import PageModel
from cli.page.offers import ON_PAGE, WRITER
from cli.page.requests import Json, body_of, field_of, step_of
from cli.shared.background import FAULT, BackgroundCheck, ReadyChild, Report

ASSETS = Path(__file__).with_name("assets")
ADDED = '<link rel="stylesheet" href="/page/panel.css">\n<script type="module" src="/page/main.js"></script>\n</head>'
#: The policy of a page: only its own scripts run, marked with a word that is new each time, and no style fetches.
POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
COMPILE_SECONDS = 900.0  # for compiling one thing: the page may be closed, and nobody wait for it any more
#: The fields that a figure's question may have.
QUESTION = {"text": str | None, "ids": list | None, "prompt": int | None, "batch": int | None}


class Page(Response):
    """A page of the book with the panel's scripts, and with a policy that lets no others run."""

    def __init__(self, path: Path) -> None:
        self.page = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the page."""
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
    """Lets only requests in that have the key.

    Args:
        app: the application that answers them.
        key: the key.
    """

    def __init__(self, app: ASGIApp, key: str) -> None:
        self.app, self.authorization = app, f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; refuse it if it lacks the key."""
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
        self.turn = asyncio.Lock()  # held while a learner's file is read, and a check begun or the file written
        self.newest_check: BackgroundCheck | None = None
        self.stopped_check: BackgroundCheck | None = None

    def app(self) -> Starlette:
        """Return the application that answers requests."""
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
            Route("/steps/{step}/undo-reset", partial(self.answer, answers.undo_reset), methods=["POST"]),
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
            exception_handlers={**dict.fromkeys(reasons, _answer_refusal), versions.Conflict: _answer_conflict},
            lifespan=self.lifespan,
        )

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """When the server ends, end its check and the process of the model."""
        yield
        self.model.close()
        if self.newest_check:
            self.newest_check.cancel()
            self.newest_check.join()
        self.ready.close()

    async def standings(self, request: Request) -> Response:
        """Answer how far each step is, and with the step to go on with."""
        return JSONResponse(await run_in_threadpool(answers.describe_standings))

    async def ask(self, request: Request) -> Response:
        """Answer the question of an interactive figure."""
        question = await body_of(request)
        for name, kind in QUESTION.items():
            field_of(question, name, kind)
        return JSONResponse(await self.model.ask(request.path_params["what"], question))

    async def file(self, request: Request) -> Response:
        """Answer with the learner's file and how far the step is; without the text if the page knows this version."""
        step, known_version = await step_of(request), request.query_params.get("known")
        if known_version is None:  # the page was opened, and will ask for a check
            await run_in_threadpool(self.ready.start_spare, step)
        return JSONResponse(await run_in_threadpool(answers.describe_file, step, known_version))

    async def check(self, request: Request) -> Response:
        """Check the file on disk, and answer with records; the check ends if the page is left."""
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
        """Answer with the result of a function of a step and a request's body."""
        step, body = await step_of(request), await body_of(request)
        async with self.turn:
            return JSONResponse(await run_in_threadpool(do, step, body))

    async def stop(self, request: Request) -> Response:
        """End the check of a step that goes on, if there is one; the answer to that check says so."""
        step = await step_of(request)
        newest = self.newest_check  # another check may have begun while the step was found
        if newest and newest.check.step == step:
            self.stopped_check = newest
            newest.cancel()
        return JSONResponse({})


class CheckAnswer:
    """The records of one check, which its thread sends and its request reads.

    Args:
        book: the book, which has a child that is ready, and knows which check was stopped.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.loop, self.records = asyncio.get_running_loop(), asyncio.Queue[Record]()

    def begin(self, step: Step, options: Options) -> BackgroundCheck:
        """Begin the check."""
        view = RecordView(self.send)
        if isinstance(step, HuntedStep):
            check = hunt.check_of_copy(hunt.hunt_in(step), view, options, ON_PAGE)
        else:
            check = Check(step, view, options, offers=ON_PAGE)
        background = BackgroundCheck(check, self.book.ready, self.notify, compile_seconds=COMPILE_SECONDS)
        background.start()
        return background

    def send(self, record: Record) -> None:
        """Have the request read a record."""
        with contextlib.suppress(RuntimeError):  # the server has ended
            self.loop.call_soon_threadsafe(self.records.put_nowait, record)

    def notify(self, background: BackgroundCheck, report: Report) -> None:
        """Send a record of a report: how far the check is, or how it has ended."""
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
                text = f"{reason} The pass is kept." if state.pass_stands and not state.why_not_saved else reason
                self.send({"event": "ended", "text": text})

    async def lines(self, background: BackgroundCheck) -> AsyncIterator[bytes]:
        """Yield the records, a line each, up to the last; if nobody reads on, end the check."""
        try:
            record: Record = {"event": ""}
            while record["event"] not in ("verdict", "ended"):
                record = await self.records.get()
                yield json.dumps(record).encode() + b"\n"
        finally:
            if not background.goes_on:  # else it goes on, and compiling completes the pass
                background.cancel()


async def _answer_refusal(request: Request, error: Exception) -> Response:
    """Answer why a request cannot be carried out."""
    status = error.status_code if isinstance(error, HTTPException) else 409
    words = error.sentence_with(WRITER) if isinstance(error, Unreadable) else str(getattr(error, "detail", error))
    return JSONResponse({"error": words}, status)


async def _answer_conflict(request: Request, error: Exception) -> Response:
    """Answer with the file as it is now, and where it differs from the text that the page wanted to save."""
    assert isinstance(error, versions.Conflict)
    rows = compare.rows_of_texts(error.file.text, error.text)
    return JSONResponse({**asdict(error.file), "rows": rows}, 412)
