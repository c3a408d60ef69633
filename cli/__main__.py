"""``python -m cli COMMAND``."""

from cli.main import main

if __name__ == "__main__":
    main(prog_name="./run")
