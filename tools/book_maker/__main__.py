"""What mdBook starts, in ``book/``, as ``python maker``: the course's packages are not on Python's path there."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tools.book_maker.preprocess import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
