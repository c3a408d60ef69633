"""What the server answers: the book's pages, and under ``/api/`` what the panel asks for.

A step is named as in the list of all steps; no path comes from the page. Every answer is JSON; a check answers with
one record per line, as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from checker.course import progress
from checker.course.blanks import blanks_of
from checker.course.languages import Unreadable
from checker.course.paths import relative_path
from checker.course.standing import next_to_do, standing, title
from checker.course.steps import Step, all_steps
from checker.session.recording import Record
from cli import compare, hint, reset
from cli.page import editor, files, pages
from cli.page.checks import Checks
from cli.page.model import ASKED, Model, NoAnswer, training

ASSETS = Path(__file__).with_name("assets")
JSON_LINES = "application/x-ndjson"
FILE_VERSION = "File-Version"  # the header of an answer that says which version of the learner's file it saved
Answer = dict[str, Any]


class Book:
    """The book in a folder, and the learner's files.

    Args:
        html: the built book.
    """

    def __init__(self, html: Path) -> None:
        self.html = html
        self.checks = Checks()
        self.model = Model()

    def app(self) -> Starlette:
        """Return what answers requests."""
        steps = "/api/steps/{step}"
        return Starlette(
            routes=[
                Route("/api/standings", self.standings),
                Route("/api/model/training", self.training, methods=["POST"]),
                Route("/api/model/{what}", self.ask, methods=["POST"]),
                Route(steps, self.file),
                Route(steps, self.save, methods=["PUT"]),
                Route(f"{steps}/check", self.check, methods=["POST"]),
                *(
                    Route(f"{steps}/{name}", partial(self.answer, do), methods=["POST"])
                    for name, do in (
                        ("ready", self.ready),
                        ("beside", self.beside),
                        ("hint", self.hint),
                        ("compare", self.compare),
                        ("reset", self.reset),
                    )
                ),
                Mount("/page", StaticFiles(directory=ASSETS)),
                Mount("/editor", StaticFiles(directory=editor.folder(), check_dir=False)),
                Route("/{path:path}", self.page),
            ],
            exception_handlers={
                HTTPException: _refused,
                files.Refused: _refused,
                files.Conflict: _conflict,
                hint.NoHints: _refused,
                NoAnswer: _refused,
                OSError: _refused,
            },
            lifespan=self.lifespan,
        )

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """End every check at the end, and the process of the model."""
        yield
        await run_in_threadpool(self.model.close)
        await run_in_threadpool(self.checks.close)

    # ------------------------------------------------------------ the book

    async def page(self, request: Request) -> Response:
        """Answer with a page or another file of the book."""
        root = self.html.resolve()
        try:
            file = (root / (request.path_params["path"] or "index.html")).resolve()
            is_there = file.is_relative_to(root) and file.is_file() and not file.name.startswith(".")
        except (OSError, ValueError):  # a name that is too long, or has a null byte
            is_there = False
        if not is_there:
            raise HTTPException(404, "there is no such page")
        if file.suffix == ".html":
            return await run_in_threadpool(pages.page, file, editor.modules())
        return FileResponse(file)

    async def standings(self, request: Request) -> Response:
        """Answer how far each step is, and which to go on with."""
        return JSONResponse(await run_in_threadpool(standings))

    async def ask(self, request: Request) -> Response:
        """Answer what a picture asks the model about a text."""
        what, question = request.path_params["what"], await _body(request)
        if what not in ASKED:
            raise HTTPException(404, "there is no such picture")
        return JSONResponse(await run_in_threadpool(self.model.ask, what, question))

    async def training(self, request: Request) -> Response:
        """Answer with the losses of the learner's own training."""
        return JSONResponse(await run_in_threadpool(training))

    # ------------------------------------------------------------ a step

    async def file(self, request: Request) -> Response:
        """Answer with the learner's file; without its text if it is the version that the page knows."""
        step = _step(request)
        known = request.query_params.get("known")
        return JSONResponse(await run_in_threadpool(described, step, known))

    async def save(self, request: Request) -> Response:
        """Save the learner's file in place of the version that the page began from."""
        step, asked = _step(request), await _body(request)
        return Response(status_code=204, headers=await _save(request, step, asked))

    async def check(self, request: Request) -> Response:
        """Save the text that comes with it, check the file on disk, and answer with records; leaving ends it."""
        step, asked = _step(request), await _body(request)
        show = asked.get("show", "")
        if show and show not in (blank.label for blank in blanks_of(step)):
            raise HTTPException(400, f"there is no function {show!r} to show")
        saved = await _save(request, step, asked) if "text" in asked else None
        loop, records = asyncio.get_running_loop(), asyncio.Queue[Record]()

        def tell(record: Record) -> None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(records.put_nowait, record)

        running = self.checks.begin(tell)
        threading.Thread(target=self.checks.run, args=(running, step, show), daemon=True).start()

        async def lines() -> AsyncIterator[bytes]:
            try:
                while True:
                    record = await records.get()
                    yield json.dumps(record).encode() + b"\n"
                    if record["event"] in ("verdict", "ended"):
                        return
            finally:
                running.leave()

        return StreamingResponse(lines(), media_type=JSON_LINES, headers=saved)

    async def answer(self, do: Callable[[Step, Answer], Answer], request: Request) -> Response:
        """Answer with what a function returns that may wait."""
        return JSONResponse(await run_in_threadpool(do, _step(request), await _body(request)))

    def ready(self, step: Step, asked: Answer) -> Answer:
        """Have a child get ready for the next check."""
        self.checks.prepare(step)
        return {}

    def beside(self, step: Step, asked: Answer) -> Answer:
        """Return the file on disk beside the text that the page has."""
        return beside(files.read(step), str(asked.get("text", "")))

    def hint(self, step: Step, asked: Answer) -> Answer:
        """Return the next hint, or the last again; before the last, what it would give away unless one is ``sure``."""
        tier = hint.next_tier(step)
        if tier is None:
            return {"number": len(hint.hints_of(step)), "count": len(hint.hints_of(step)), "is_all": True}
        if tier.warning and not asked.get("sure"):
            return {"ask": tier.warning}
        hint.note_seen(step, tier.number)
        return {"number": tier.number, "count": tier.count, "is_all": False}

    def compare(self, step: Step, asked: Answer) -> Answer:
        """Return the functions that are written differently from the solution, row by row."""
        if standing(step).state != "done" and not asked.get("sure"):
            return {"ask": "This step has no yes yet, and comparing shows the solution."}
        source = files.read(step).text
        try:
            step.language.refuse(source, str(step.learner_file))
        except Unreadable as error:
            raise files.Refused(str(error)) from error
        different = list(compare.pairs(step, source, whole=False))
        return {
            "pairs": [
                {"name": one.name, "line": one.line, "rows": compare.aligned(one.yours, one.theirs)}
                for one in different
            ],
            "count": len(blanks_of(step)),
            "additions": compare.additions(step, source),
        }

    def reset(self, step: Step, asked: Answer) -> Answer:
        """Put the skeleton in place of the version that the page has; say under which name it is kept."""
        kept: list[Path] = []

        def begin_again() -> None:
            kept.extend(filter(None, [reset.begin_again(step)]))
            progress.forget(step)

        now = files.changing(step, str(asked.get("replaces")), begin_again)
        return {**as_answer(now), "kept": relative_path(kept[0]) if kept else ""}


def _step(request: Request) -> Step:
    """Return the step that a request is about."""
    for step in all_steps():
        if step.name == request.path_params["step"]:
            return step
    raise HTTPException(404, "there is no such step")


async def _body(request: Request) -> Answer:
    """Return the object that a request brings; nothing is an empty one."""
    try:
        asked = json.loads(await request.body() or b"{}")
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return asked


async def _save(request: Request, step: Step, asked: Answer) -> dict[str, str]:
    """Save a text in place of the version that the page began from; return the header with its own version."""
    text, replaces = asked.get("text"), asked.get("replaces")
    if not isinstance(text, str) or not isinstance(replaces, str):
        raise HTTPException(400, "a save needs a text, and the version that it replaces")
    request.state.text = text  # should there be a conflict
    return {FILE_VERSION: (await run_in_threadpool(files.save, step, text, replaces)).version}


def as_answer(file: files.File) -> Answer:
    """Return a file as the page gets it."""
    return {"text": file.text, "version": file.version}


def beside(file: files.File, text: str) -> Answer:
    """Return a file, and its lines beside those of another text."""
    return {**as_answer(file), "rows": compare.aligned(file.text.splitlines(), text.splitlines())}


def described(step: Step, known: str | None) -> Answer:
    """Return a learner's file with how far it is; without its text if ``known`` is its version."""
    file, now = files.read(step), standing(step)
    said = {
        "file": relative_path(step.learner_file),
        "version": file.version,
        "state": now.state,
        "words": now.words,
        "functions": [blank.label for blank in blanks_of(step)],
        "hints": progress.hints_seen(step),
    }
    return said if file.version == known else {**said, "text": file.text}


def standings() -> Answer:
    """Return how far each step is, and which to go on with."""
    steps = all_steps()
    found = [standing(step) for step in steps]
    following = next_to_do(steps)
    return {
        "steps": [
            {"name": one.step.name, "state": one.state, "words": one.words, "refused": one.refused} for one in found
        ],
        "done": sum(one.state == "done" for one in found),
        "next": {"name": following.name, "title": title(following), "task": following.task} if following else None,
    }


async def _refused(request: Request, error: Exception) -> Response:
    """Answer why something cannot be done."""
    status = error.status_code if isinstance(error, HTTPException) else 409
    return JSONResponse({"error": str(getattr(error, "detail", error))}, status)


async def _conflict(request: Request, error: Exception) -> Response:
    """Answer with the file as it is now, beside what the page wanted to save."""
    now = await run_in_threadpool(files.read, _step(request))
    return JSONResponse(beside(now, getattr(request.state, "text", now.text)), 412)
