"""``python -m cli COMMAND``; where click is broken, which reads arguments, only ``doctor`` works, and says so."""

import sys


def main() -> None:
    """Run a command, and exit with its status."""
    try:
        import click  # noqa: F401
    except Exception as error:
        from checker.course.installed import INSTALL_AGAIN
        from cli.doctor import doctor

        if sys.argv[1:] == ["doctor"]:
            sys.exit(doctor())
        print(f"run: click cannot be imported ({error}). {INSTALL_AGAIN}", file=sys.stderr)
        sys.exit(2)
    from cli import main as command_line

    command_line.main(prog_name="./run")


if __name__ == "__main__":
    main()
