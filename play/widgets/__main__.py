"""Answer the figures of the book's page, in a process of its own: a learner's steps may hang, print and exit.

``python -m play.widgets [STEP …]`` runs the learner's files of the steps that are named, and the solutions of all
others. It receives questions, ``{"what": "attention", "text": …}``, and answers each with numbers, or an ``error``.
"""

from __future__ import annotations

import sys
from typing import Any

from checker.protocol.processes import ParentProcess, end_with_parent
from play.mine import choice


def main(names: list[str]) -> None:
    """Answer until no more questions come."""
    page = ParentProcess()
    end_with_parent(page.descriptor)
    choice.steps_named(names).install()
    from checker.max_adapter.hooks import install_hooks
    from play.widgets.figure_model import FigureModel

    install_hooks()
    figure_model = FigureModel()
    for question in page.messages():
        page.send(answer(figure_model.answers[question["what"]], question))


def answer(do: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a question; if anything goes wrong, and a step may do anything, an ``error``."""
    try:
        return do(question)
    except Exception as error:
        return {"error": str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main(sys.argv[1:])
