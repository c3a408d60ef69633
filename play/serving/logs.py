"""What the server says, as one JSON object per line: its own messages, and a line for each request that has ended."""

from __future__ import annotations

import json
import logging
import sys
import time

from play.serving.front.recording import Record

LOGGER = logging.getLogger("play.serving")  # writes nothing until `write_json`


class JsonLines(logging.Formatter):
    """Formats a message, and what was given as ``extra={"fields": …}``, as an object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"
        line = {"time": moment, "level": record.levelname.lower(), "message": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def write_json() -> None:
    """Write what is logged from now on to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    LOGGER.handlers[:] = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


def say(message: str) -> None:
    """Log a message of the server."""
    LOGGER.info(message)


def log_request(record: Record) -> None:
    """Log a request that has ended. Nothing of its text, and no key, is in it."""
    fields = {
        "id": record.id,
        "model_id": record.model_id,
        "method": record.method,
        "path": record.path[:200],
        "status": record.status,
        "complete": record.complete,
        "seconds": round(record.seconds, 4),
        "first_token_seconds": record.first_token and round(record.first_token, 4),
        "texts": record.texts,
        "prompt_tokens": record.prompt_tokens,
        "generated_tokens": record.generated_tokens,
        "ended": record.ended or None,
    }
    kept = {name: value for name, value in fields.items() if value not in (None, "")}
    LOGGER.info("request", extra={"fields": kept})
