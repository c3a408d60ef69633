"""Validation of requests: a clear sentence for each one that the model cannot answer as asked.

MAX 26.7.0 answers many of these with "Value error." or not as asked, and a token id outside the vocabulary ends its
model worker. So each request is validated before MAX sees it (``play/serving/front.py``), and its prompts are tokens.

A trick, ``gc``: Python collects no cycles while it reads a long request.
"""

from __future__ import annotations

import functools
import gc
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_core import from_json
from starlette.exceptions import HTTPException

LONGEST_VALUE = 80  # characters of a value that a message repeats
MOST_CHOICES = 128  # texts that one request may ask for
TOKENS = 16  # that continue a prompt if a request does not say how many, as at OpenAI
ROOM = 1  # token that has to fit if a request does not say how many; MAX ends a text whose context is full
MOST_STOPS = 16  # MAX looks for each of them after every token
LONGEST_STOP = 128  # characters; a text keeps its stops while it waits, and many may wait
MOST_STOP_TOKENS = 128
SEED_OF_ZERO = 1 << 62  # MAX takes seed 0 for no seed at all
ONLY = {  # what these fields may be; MAX ignores most others, since its sampler is compiled without them
    "logit_bias": None,
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "min_tokens", "min_p"), 0),
    "repetition_penalty": 1,
}
ONLY_IN_COMPLETIONS = {"logprobs": None, "suffix": None, "best_of": 1, "echo": False}
ONLY_IN_CHAT = {
    **dict.fromkeys(("top_logprobs", "tools", "tool_choice", "functions", "function_call", "response_format")),
    **dict.fromkeys(("logprobs", "store"), False),
    "n": 1,
}
UNREAD = [{"role": "user", "content": ""}]  # MAX wants messages, and reads the tokens that come with them instead


class InvalidRequest(HTTPException):
    """A request that MAX never sees: the status of the answer, and what to do."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(status, message)


@dataclass(frozen=True)
class ValidRequest:
    """A request in the words that MAX follows."""

    content: dict[str, Any]
    texts: int = 1  # that it asks for
    choices: int = 1  # how many of them for each prompt


@dataclass(frozen=True)
class ModelLimits:
    """The limits of the served model."""

    name: str  # under which requests ask for the model
    n_positions: int
    vocab_size: int
    encode: Callable[[str], list[int]]  # text -> token ids
    longest_token: int  # bytes of text
    most_choices: int = MOST_CHOICES  # texts of one request
    #: Roles and contents -> token ids, up to where the answer begins, if the model was trained to answer.
    encode_chat: Callable[[Sequence[tuple[str, str]]], list[int]] | None = None

    @property
    def served(self) -> str:
        """The names that a request may give for the model, in words."""
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
    "a text, token ids, or a list of either, each of at least one token (<|endoftext|> if you have no other); at most"
)


def _number(kind: Any, least: float, most: float) -> tuple[Any, str]:
    words = f"{'a whole number' if kind is int else 'a number'} from {least} to {most}"
    return Annotated[kind | None, Field(ge=least, le=most)], words


def _only(value: Any) -> tuple[Any, str]:
    if value is None or value is False:
        return Literal[value, None], "left out; it is not offered here"
    return Annotated[float | None, Field(ge=value, le=value)], f"{value} or left out; nothing else is offered here"


Stop = Annotated[str, Field(min_length=1, max_length=LONGEST_STOP)]
StopTexts = Stop | Annotated[list[Stop], Field(max_length=MOST_STOPS)] | None
StopTokens = Annotated[list[int], Field(max_length=MOST_STOP_TOKENS)] | None
StreamOptions = Annotated[dict[Literal["include_usage"], bool] | None, BeforeValidator(_of_one_entry)]


def _of_role_and_content(message: object) -> object:
    """Leave out empty fields, which a server's own messages have; refuse any other field."""
    if not isinstance(message, dict):
        return message
    full = {name: value for name, value in message.items() if value or name in ChatMessage.model_fields}
    if full.keys() > ChatMessage.model_fields.keys():
        raise ValueError
    return full


class TextPart(BaseModel):
    """A part of a message."""

    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[TextPart], NOT_EMPTY]


Messages = Annotated[list[Annotated[ChatMessage, BeforeValidator(_of_role_and_content)]], NOT_EMPTY]
MESSAGES = (
    "a list of one or more messages, each with a role (system, developer, user or assistant) and a text as its "
    "content, and nothing else; at most"
)


def _settings(limits: ModelLimits) -> dict[str, tuple[Any, str]]:
    """Return the fields that both kinds of requests may have, with words for their values."""
    return {
        "max_tokens": _number(int, 1, limits.n_positions),
        "temperature": _number(float, 0, 2),
        "top_p": (Annotated[float | None, Field(gt=0, le=1)], "a number above 0, up to 1"),
        "top_k": _number(int, -1, limits.vocab_size),
        "seed": _number(int, 0, 2**63 - 1),
        "stop": (StopTexts, f"a text, or a list of at most {MOST_STOPS} texts, each of 1 to {LONGEST_STOP} characters"),
        "stop_token_ids": (StopTokens, f"a list of at most {MOST_STOP_TOKENS} token ids"),
        "stream": (bool | None, "true or false"),
        "stream_options": (StreamOptions, '{"include_usage": true}, or left out'),
        "ignore_eos": (bool | None, "true or false"),
        "return_token_ids": (bool | None, "true or false"),
    }


def _request(name: str, limits: ModelLimits, only: dict[str, Any], fields: dict[str, tuple[Any, str]]) -> Any:
    """Make the type of a request to this model; each field's description says what it may be.

    Args:
        name: the name of the type.
        limits: the limits of the model.
        only: fields without an effect, and the only value that each may have.
        fields: the fields that MAX is told.
    """
    served = {"model": (Literal[limits.name], limits.served), **fields}
    unserved = {"user": (str | None, "a text; nothing is done with it")}
    unserved |= {field: _only(value) for field, value in (ONLY | only).items()}
    config = ConfigDict(strict=True, validate_default=True)
    described: Any = {field: (kind, Field(None, description=words)) for field, (kind, words) in served.items()}
    left_out: Any = {
        field: (kind, Field(None, description=words, exclude=True)) for field, (kind, words) in unserved.items()
    }
    return create_model(name, __config__=config, **described, **left_out)


@functools.cache
def completion_request(limits: ModelLimits) -> type[BaseModel]:
    """Make the type of a request to continue texts."""
    most = limits.most_choices
    prompts = Annotated[list[Prompt], NOT_EMPTY, Field(max_length=most), BeforeValidator(_as_list)]
    fields = {"prompt": (prompts, f"{PROMPTS} {most} of them"), **_settings(limits), "n": _number(int, 1, most)}
    return _request("CompletionRequest", limits, ONLY_IN_COMPLETIONS, fields)


@functools.cache
def chat_request(limits: ModelLimits) -> type[BaseModel]:
    """Make the type of a request to answer a conversation."""
    most = limits.n_positions  # since each has a token
    messages = Annotated[Messages, Field(max_length=most)], f"{MESSAGES} {most} of them"
    settings = _settings(limits)
    fields = {"messages": messages, **settings, "max_completion_tokens": settings["max_tokens"]}
    return _request("ChatRequest", limits, ONLY_IN_CHAT, fields)


def valid_completion(body: bytes, limits: ModelLimits) -> ValidRequest:
    """Return the request that MAX will see: its prompts are lists of tokens, and it says how many tokens it wants.

    Nothing takes time that grows with more than the size of the body, and a text is only turned into tokens if it may
    fit.

    Raises:
        InvalidRequest: the model cannot answer the request as asked.
    """
    request = _fields(body, completion_request(limits), limits)
    count, wanted = request.pop("n", 1), request.get("max_tokens", ROOM)
    _check_choices(count, len(request["prompt"]), request.get("stream"), limits.most_choices)
    tokens = [_tokens(prompt, wanted, limits) for prompt in request["prompt"]]
    prompts = [ids for ids in tokens for _ in range(count)]
    return ValidRequest({"max_tokens": TOKENS} | request | {"prompt": prompts}, len(prompts), count)


def valid_chat(body: bytes, limits: ModelLimits) -> ValidRequest:
    """Return the request that MAX will see: it has the tokens of a conversation, and is greedy if it does not say.

    Raises:
        InvalidRequest: the model cannot answer the request as asked, or does not answer at all.
    """
    if limits.encode_chat is None:
        raise InvalidRequest(
            f"{json.dumps(limits.name)} continues texts, at /v1/completions, and does not answer; "
            "`./run serve --model smollm2` serves a model that does"
        )
    request = _fields(body, chat_request(limits), limits)
    messages = [_message(**message) for message in request["messages"]]
    _check_size(sum(len(text.encode()) for _, text in messages), limits)
    wanted = request.get("max_completion_tokens", request.get("max_tokens", ROOM))
    ids = _that_fit(limits.encode_chat(messages), wanted, limits)
    return ValidRequest({"temperature": 0} | request | {"messages": UNREAD, "prompt_tokens": ids})


def _message(role: str, content: str | list[dict[str, str]]) -> tuple[str, str]:
    """Return a message as step 27 has it."""
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    return "system" if role == "developer" else role, text  # OpenAI's newer name for it


def _fields(body: bytes, kind: type[BaseModel], limits: ModelLimits) -> dict[str, Any]:
    """Return the fields of a request that MAX is told.

    Raises:
        InvalidRequest: a field is unknown, or is not what it may be.
    """
    gc.disable()  # which looks through all new lists again and again
    try:
        request = _read(body, kind)
    finally:
        gc.enable()
    if isinstance(request, InvalidRequest):
        raise request
    for token in request.get("stop_token_ids", ()):
        _check_token(token, limits)
    if "seed" in request:
        request["seed"] = request["seed"] or SEED_OF_ZERO
    return request


def _read(body: bytes, kind: type[BaseModel]) -> dict[str, Any] | InvalidRequest:
    """Return the fields of a request, or why there are none; an exception would keep the whole body in memory."""
    try:
        fields = from_json(body, cache_strings=False)  # validate_json takes twice as long for nested lists
    except ValueError as error:
        return _no_object(str(error), kind)
    if not isinstance(fields, dict):
        return _no_object("it is another value", kind)
    for name in fields:
        if name not in kind.model_fields:  # the first; pydantic would make an error of each
            known = ", ".join(field for field, about in kind.model_fields.items() if not about.exclude)
            return InvalidRequest(f"{name[:LONGEST_VALUE]} must be left out; the fields that are served are {known}")
    try:
        return kind.model_validate(fields).model_dump(exclude_unset=True, exclude_none=True)
    except ValidationError as invalid:
        return _invalid_request(invalid, kind)


def _no_object(reason: str, kind: type[BaseModel]) -> InvalidRequest:
    asked = "messages" if "messages" in kind.model_fields else "prompt"
    return InvalidRequest(f'the body must be a JSON object, {{"{asked}": …}}: {reason}')


def _invalid_request(invalid: ValidationError, kind: type[BaseModel]) -> InvalidRequest:
    error = invalid.errors(include_url=False)[0]
    name, value = str(error["loc"][0]), islice(json.JSONEncoder().iterencode(error["input"]), LONGEST_VALUE)
    message = f"{name} = {''.join(value)[:LONGEST_VALUE]} must be {kind.model_fields[name].description}"
    return InvalidRequest(message, 404 if name == "model" else 400)


def _check_token(token: int, limits: ModelLimits) -> None:
    if not 0 <= token < limits.vocab_size:
        raise InvalidRequest(f"token id {token} is not in the vocabulary of {limits.vocab_size} tokens")


def _tokens(prompt: str | list[int], wanted: int, limits: ModelLimits) -> list[int]:
    """Return a prompt's tokens, if they fit."""
    if isinstance(prompt, str):
        _check_size(len(prompt.encode()), limits)
        prompt = limits.encode(prompt)
    return _that_fit(prompt, wanted, limits)


def _check_size(size: int, limits: ModelLimits) -> None:
    """Refuse a text, of so many bytes, that cannot fit, before it is made into tokens."""
    most = limits.n_positions * limits.longest_token
    if size > most:
        raise InvalidRequest(
            f"the prompt has {size:,} bytes; the model's context has room for {limits.n_positions} tokens, "
            f"which are at most {most:,} bytes. Shorten the prompt"
        )


def _that_fit(ids: list[int], wanted: int, limits: ModelLimits) -> list[int]:
    """Return a prompt's tokens. Refuse some that leave no room in the context, or one with no row in the table."""
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
