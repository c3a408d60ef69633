"""The values that the pages show."""

import subprocess
import sys

from checker.files import ROOT


def test_the_book_needs_nothing_that_only_maintainers_install():
    absent = "import sys; sys.modules.update(dict.fromkeys(['pexpect', 'torch', 'ray', 'playwright']));"
    shown = "from tools.book_maker.values.book_values import *; bench_tables(), recorded(), serving_tables()"
    subprocess.run([sys.executable, "-c", f"{absent} {shown}"], cwd=ROOT, check=True)
