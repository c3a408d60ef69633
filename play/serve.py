"""Serve GPT-2 through MAX, with OpenAI's interface: ``python -m play.serve [--mine] [--model NAME-OR-FOLDER] …``."""

from __future__ import annotations

import argparse
import gc
import os
import sys

from checker.course.paths import SMALL_MODEL
from play.modules import NotWritten
from play.serving.environment import FILL_IN, MINE, MODULES, CannotServe, check_version, choose_modules


def parser() -> argparse.ArgumentParser:
    """The arguments of ``serve``."""
    parser = argparse.ArgumentParser(prog="serve", description="Serve GPT-2 through MAX, with OpenAI's interface.")
    parser.add_argument("--model", help="a folder, gpt2, gpt2-medium, gpt2-large, gpt2-xl or a name on the hub")
    parser.add_argument("--mine", action="store_true", help="serve your own steps instead of the reference")
    parser.add_argument("--fill-in", action="store_true", help="the reference stands in for steps you have not written")
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 lets other machines in; there is no key")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--device", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--batch", type=int, default=32, help="requests that run at once; each takes memory of its own")
    parser.add_argument("--verbose", action="store_true", help="MAX's own log")
    return parser


def note(text: str) -> None:
    """Say something to who started the server."""
    print(f"serve: {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Serve; the exit status is 2 when the call cannot be carried out."""
    options = parser().parse_args()
    try:
        check_version()
        if options.mine:
            os.environ[MODULES] = FILL_IN if options.fill_in else MINE
        for step in choose_modules():
            note(f"the reference stands in for {step.task}")
        if options.batch < 1:
            raise CannotServe(f"--batch {options.batch} lets no request run; give 1 or more")
        from play.serving.max import server

        model = options.model or SMALL_MODEL
        place = server.Options(model, options.host, options.port, options.device, options.batch, options.verbose)
        server.serve(place, note)
    except (ValueError, NotWritten, CannotServe) as error:
        note(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except SystemExit as ending:
        if ending.code == 1:
            note("the process that runs the model ended; why stands above. `./run s15` checks the model itself")
        raise
    finally:
        gc.freeze()  # else Python looks once more at every object of MAX's, which takes seconds
    return 0


if __name__ == "__main__":
    sys.exit(main())
