"""``python -m tools bench``."""

from tools.main import main

main(prog_name="python -m tools")
