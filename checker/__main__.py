"""``python -m checker 07``."""

import sys

from checker.cli import main

sys.exit(main())
