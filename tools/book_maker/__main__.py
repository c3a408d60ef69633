"""Start the preprocessor for mdBook, which runs ``python ../tools/book_maker`` in ``book/``.

The packages of this repository are not on Python's path there.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from tools.book_maker.preprocess import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
