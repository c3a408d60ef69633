"""``python -m tools bench``."""

from tools.cli import main

main(prog_name="python -m tools")
