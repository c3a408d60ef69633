"""Read a request of the page: its step, its body, and a field of the body."""

from __future__ import annotations

import contextlib
from types import UnionType
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from checker.course.hunts import HuntedStep
from checker.course.steps import Step, all_steps

Json = dict[str, Any]


async def step_of(request: Request) -> Step:
    """Return the step that a request is about."""
    if step := await run_in_threadpool(_step_of_file, request.path_params["step"]):
        return step
    raise HTTPException(404, "there is no such step")


def _step_of_file(name: str) -> Step | None:
    """Return the step, or its copy to hunt in, whose file has this name."""
    steps_and_hunts = (candidate for step in all_steps() for candidate in (step, HuntedStep(step.name)))
    return next((candidate for candidate in steps_and_hunts if candidate.learner_file.stem == name), None)


async def body_of(request: Request) -> Json:
    """Return the object that a request brings."""
    body = None
    with contextlib.suppress(ValueError, RecursionError, ClientDisconnect):
        body = await request.json()
    if not isinstance(body, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return body


def field_of(body: Json, name: str, kind: type | UnionType, otherwise: Any = None) -> Any:
    """Return a field of a body, if it is of the right kind."""
    value = body.get(name, otherwise)
    if not isinstance(value, kind) or isinstance(value, bool):  # no field is a bool, which Python counts as an int
        raise HTTPException(400, f"the body has no fitting {name}")
    return value
