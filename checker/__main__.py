"""``python -m checker COMMAND``."""

from checker.cli import main

if __name__ == "__main__":
    main(prog_name="./run")
