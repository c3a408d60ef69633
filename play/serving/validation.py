"""Validation of requests: a clear sentence for each one that the model cannot answer as asked.

MAX 26.7.0 answers many of these with "Value error." or not as asked, and a token id outside the vocabulary ends its
model worker. So each request is validated before MAX sees it (``play/serving/front.py``), and its prompts are tokens.
"""

from __future__ import annotations

import functools
import gc
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_core import from_json
from starlette.exceptions import HTTPException

LONGEST_VALUE = 80  # characters of a value that a message repeats
MOST_CHOICES = 128  # texts that one request may ask for
TOKENS = 16  # that continue a prompt if a request does not say how many, as at OpenAI
MOST_STOPS = 16  # MAX looks for each of them after every token
LONGEST_STOP = 128  # characters; a text keeps its stops while it waits, and many may wait
MOST_STOP_TOKENS = 128
SEED_OF_ZERO = 1 << 62  # MAX takes seed 0 for no seed at all
ONLY = {  # what these fields may be; MAX ignores most others, since its sampler is compiled without them
    **dict.fromkeys(("logprobs", "suffix", "logit_bias")),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "min_tokens", "min_p"), 0),
    **dict.fromkeys(("repetition_penalty", "best_of"), 1),
    "echo": False,
}


class InvalidRequest(HTTPException):
    """A request that MAX never sees: the status of the answer, and what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(status, message)


@dataclass(frozen=True)
class ModelLimits:
    """What the served model can answer."""

    name: str  # under which requests ask for the model
    n_positions: int
    vocab_size: int
    encode: Callable[[str], list[int]]  # text -> token ids
    longest_token: int  # bytes of text
    most_choices: int = MOST_CHOICES  # texts of one request

    @property
    def served(self) -> str:
        """What a request's model may be, in words."""
        return f"{json.dumps(self.name)}, which is served here"


def _as_list(prompt: object) -> object:
    """Put a single prompt into a list."""
    alone = isinstance(prompt, str) or (isinstance(prompt, list) and prompt and isinstance(prompt[0], int))
    return [prompt] if alone else prompt


def _of_one_entry(options: object) -> object:
    """Refuse more than the one option that there is, before each gets an error of its own."""
    if isinstance(options, dict) and len(options) > 1:
        raise ValueError
    return options


NOT_EMPTY = Field(min_length=1, fail_fast=True)
Prompt = Annotated[str, Field(min_length=1)] | Annotated[list[int], NOT_EMPTY]
PROMPTS = (
    "a text, token ids, or a list of either, each of at least one token (<|endoftext|> if you have no other); "
    f"at most {MOST_CHOICES} of them"
)
Prompts = Annotated[list[Prompt], NOT_EMPTY, Field(max_length=MOST_CHOICES), BeforeValidator(_as_list)]


def _number(kind: Any, least: float, most: float) -> tuple[Any, str]:
    words = f"{'a whole number' if kind is int else 'a number'} from {least} to {most}"
    return Annotated[kind | None, Field(ge=least, le=most)], words


def _only(value: Any) -> tuple[Any, str]:
    if value is None or value is False:
        return Literal[value, None], "left out; it is not offered here"
    return Annotated[float | None, Field(ge=value, le=value)], f"{value} or left out; nothing else is offered here"


Stop = Annotated[str, Field(min_length=1, max_length=LONGEST_STOP)]
Stops = Stop | Annotated[list[Stop], Field(max_length=MOST_STOPS)] | None
StopTokens = Annotated[list[int], Field(max_length=MOST_STOP_TOKENS)] | None
StreamOptions = Annotated[dict[Literal["include_usage"], bool] | None, BeforeValidator(_of_one_entry)]


@functools.cache
def completion_request(limits: ModelLimits) -> type[BaseModel]:
    """Make the type of a request to this model; each field's description says what it may be."""
    fields = {
        "model": (Literal[limits.name], limits.served),
        **{name: _only(value) for name, value in ONLY.items()},
        "prompt": (Prompts, PROMPTS),
        "max_tokens": _number(int, 1, limits.n_positions),
        "temperature": _number(float, 0, 2),
        "top_p": (Annotated[float | None, Field(gt=0, le=1)], "a number above 0, up to 1"),
        "top_k": _number(int, -1, limits.vocab_size),
        "seed": _number(int, 0, 2**63 - 1),
        "n": _number(int, 1, limits.most_choices),
        "stop": (Stops, f"a text, or a list of at most {MOST_STOPS} texts, each of 1 to {LONGEST_STOP} characters"),
        "stop_token_ids": (StopTokens, f"a list of at most {MOST_STOP_TOKENS} token ids"),
        "stream": (bool | None, "true or false"),
        "stream_options": (StreamOptions, '{"include_usage": true}, or left out'),
        "ignore_eos": (bool | None, "true or false"),
        "return_token_ids": (bool | None, "true or false"),
        "user": (str | None, "a text; nothing is done with it"),
    }
    config = ConfigDict(strict=True, validate_default=True)
    described: Any = {name: (kind, Field(None, description=words)) for name, (kind, words) in fields.items()}
    return create_model("CompletionRequest", __config__=config, **described)


def validated(body: bytes, limits: ModelLimits) -> dict[str, Any]:
    """Return the request that MAX will see: its prompts are lists of tokens, and it says how many tokens it wants.

    Nothing takes time that grows with more than the size of the body, and a text is only turned into tokens if it may
    fit.

    Raises:
        InvalidRequest: the model cannot answer the request as asked.
    """
    gc.disable()  # which looks through all new lists again and again
    try:
        request = _read(body, completion_request(limits))
    finally:
        gc.enable()
    if isinstance(request, InvalidRequest):
        raise request
    count, wanted = request.setdefault("n", 1), request.get("max_tokens", 1)
    _check_choices(count, len(request["prompt"]), request.get("stream"), limits.most_choices)
    tokens = [_tokens(prompt, wanted, limits) for prompt in request["prompt"]]
    for token in request.get("stop_token_ids", ()):
        _check_token(token, limits)
    for name in ("user", *ONLY):
        request.pop(name, None)
    if "seed" in request:
        request["seed"] = request["seed"] or SEED_OF_ZERO
    return {"max_tokens": TOKENS} | request | {"prompt": [ids for ids in tokens for _ in range(count)]}


def _read(body: bytes, kind: type[BaseModel]) -> dict[str, Any] | InvalidRequest:
    """Return the fields of a request, or why there are none; an exception would keep all that was read of the body."""
    try:
        fields = from_json(body, cache_strings=False)  # validate_json takes twice as long for nested lists
    except ValueError as error:
        return _no_object(str(error))
    if not isinstance(fields, dict):
        return _no_object("it is another value")
    for name in fields:
        if name not in kind.model_fields:  # the first; pydantic would make an error of each
            known = ", ".join(field for field in kind.model_fields if field not in ONLY)
            return InvalidRequest(f"{name[:LONGEST_VALUE]} must be left out; the fields that are served are {known}")
    try:
        return kind.model_validate(fields).model_dump(exclude_unset=True, exclude_none=True)
    except ValidationError as invalid:
        return _in_words(invalid, kind)


def _no_object(why: str) -> InvalidRequest:
    return InvalidRequest(f'the body must be a JSON object, {{"prompt": …}}: {why}')


def _in_words(invalid: ValidationError, kind: type[BaseModel]) -> InvalidRequest:
    error = invalid.errors(include_url=False)[0]
    name, value = str(error["loc"][0]), islice(json.JSONEncoder().iterencode(error["input"]), LONGEST_VALUE)
    message = f"{name} = {''.join(value)[:LONGEST_VALUE]} must be {kind.model_fields[name].description}"
    return InvalidRequest(message, 404 if name == "model" else 400)


def _check_token(token: int, limits: ModelLimits) -> None:
    if not 0 <= token < limits.vocab_size:
        raise InvalidRequest(f"token id {token} is not in the vocabulary of {limits.vocab_size} tokens")


def _tokens(prompt: str | list[int], wanted: int, limits: ModelLimits) -> list[int]:
    """Return a prompt's tokens. Refuse one that leaves no room in the context, or a token with no row in the table."""
    size, most = len(prompt.encode()) if isinstance(prompt, str) else 0, limits.n_positions * limits.longest_token
    if size > most:
        raise InvalidRequest(
            f"the prompt has {size:,} bytes; the model's context has room for {limits.n_positions} tokens, "
            f"which are at most {most:,} bytes. Shorten the prompt"
        )
    ids = limits.encode(prompt) if isinstance(prompt, str) else prompt
    if len(ids) + wanted > limits.n_positions:
        raise InvalidRequest(
            f"the prompt has {len(ids)} tokens and {wanted} more are asked for; "
            f"the model's context has {limits.n_positions}. Shorten the prompt, or lower max_tokens"
        )
    for token in ids:
        _check_token(token, limits)
    return ids


def _check_choices(count: int, prompts: int, stream: bool | None, most: int) -> None:
    """Refuse more texts than one request may ask for, or than one stream can have."""
    if count * prompts > most:
        raise InvalidRequest(f"{count} texts for each of {prompts} prompts are more than {most}; split the request")
    if count * prompts > 1 and stream:
        raise InvalidRequest("one request streams one text; send a request for each")
