"""``python -m cli COMMAND``; where click is broken, which reads arguments, only ``doctor`` works, and says so."""

import sys

from checker.errors import INTERRUPTED

try:
    import click  # noqa: F401
except KeyboardInterrupt:  # before click, which hears of any other
    sys.exit(INTERRUPTED)
except Exception as error:
    from checker.packages import INSTALL_AGAIN
    from cli.doctor import describe_machine

    if sys.argv[1:] == ["doctor"]:
        sys.exit(describe_machine())
    print(f"run: click cannot be imported ({error}). {INSTALL_AGAIN}", file=sys.stderr)
    sys.exit(2)

from cli.main import main

if __name__ == "__main__":
    main(prog_name="./run")
