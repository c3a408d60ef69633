"""Run a chapter's Python blocks one after another in one module, and say what each printed.

This is a program of its own (``python -P tools/book_maker/blocks.py < job.json``), run in a copy of the course. The job
is the chapter's path and its blocks with their line numbers. The answer, on the last line of standard output, has what
each block printed that ran, and the traceback of the one that failed.
"""

import contextlib
import io
import json
import os
import sys
from typing import Any


def main() -> None:
    """Read the job from standard input, run it, and print the answer as one line of JSON."""
    job = json.load(sys.stdin)
    sys.path.insert(0, os.getcwd())
    from play.reading.blocks import Block, Runner, need_max

    blocks = [Block(**block) for block in job["blocks"]]
    if need_max(blocks):
        from checker.max_adapter.runtime import prepare

        prepare()  # without it, an eager operation takes seconds
    runner, answers = Runner(job["path"]), list[dict[str, Any]]()
    for block in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            error = runner.run(block)
        answers.append({"printed": printed.getvalue(), **({"error": error} if error else {})})
        if error:
            break
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
