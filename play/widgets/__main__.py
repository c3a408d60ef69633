"""Answer what the book's page asks the model, in a process of its own: a learner's steps may hang, print and exit.

``python -m play.widgets [STEP …]`` runs the learner's files of the steps that are named, and the solutions of all
others. Each line of its standard input is a question, ``{"what": "attention", "text": …}``, and each line of its
standard output an answer: what was asked for, or an ``error``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from checker.course.steps import all_steps
from checker.events import end_with_the_parent
from play.own_steps import use_steps


def main(names: list[str]) -> None:
    """Answer until there is nothing more to answer."""
    descriptor = os.dup(1)
    os.dup2(2, 1)  # what a step prints is no answer
    end_with_the_parent(descriptor)
    use_steps([step for step in all_steps() if step.name in names])
    from checker.max_adapter.runtime import prepare
    from play.widgets.reading import Reader

    prepare()
    reader = Reader()
    with os.fdopen(descriptor, "wb") as answers:
        for line in sys.stdin:
            asked = json.loads(line)
            answers.write(json.dumps(answer(reader.answers[asked["what"]], asked)).encode() + b"\n")
            answers.flush()


def answer(do: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what there is to answer; what goes wrong, for a step may do anything, is an ``error``."""
    try:
        return do(asked)
    except Exception as error:
        return {"error": str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main(sys.argv[1:])
