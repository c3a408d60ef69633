"""Run a chapter's Python blocks one after the other in one module, and say what each printed.

A program of its own (``python -P tools/book_maker/blocks.py < job.json``), run in a copy of the course: the job is the
chapter's path and its blocks with their line numbers; the answer, on the last line of standard output, has for
each block that ran what it printed, and for the one that failed its traceback.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import traceback
from types import ModuleType

NEEDS_MAX = ("max.", "solutions.solution", "steps.step", "play")


def main() -> None:
    """Read the job from standard input, run it, and print the answer as one line of JSON."""
    job = json.load(sys.stdin)
    sys.path.insert(0, os.getcwd())
    if any(word in block["source"] for block in job["blocks"] for word in NEEDS_MAX):
        from checker.max_adapter.runtime import prepare

        prepare()  # or an eager operation takes seconds
    module = ModuleType("chapter")
    sys.modules["chapter"] = module
    answers: list[dict[str, str]] = []
    for block in job["blocks"]:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                # Line numbers are the chapter's own, and Python finds the lines there for a traceback.
                tree = ast.parse(block["source"], job["path"])
                ast.increment_lineno(tree, block["line"] - 1)
                exec(compile(tree, job["path"], "exec"), module.__dict__)
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            told = "".join(traceback.format_list(frames) + traceback.format_exception_only(error))
            answers.append({"printed": printed.getvalue(), "error": told})
            break
        answers.append({"printed": printed.getvalue()})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
