"""``python -m cli COMMAND``.

The child of a check imports pytest and MAX, which takes most of the time until a verdict. It is started before this
process imports anything else, so that both import at once.
"""

import sys
from contextlib import nullcontext

from checker.course.steps import find_step
from checker.session.child import Child


def is_check(arguments: list[str]) -> bool:
    """Return whether a command line asks for the check of a step."""
    try:
        return bool(find_step(arguments[arguments[0] == "step"])) and not {"-h", "--help"} & set(arguments)
    except (IndexError, ValueError):
        return False


if __name__ == "__main__":
    with Child() if is_check(sys.argv[1:]) else nullcontext() as child:
        from cli.main import main

        main(prog_name="./run", obj=child)
