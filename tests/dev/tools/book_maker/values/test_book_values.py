"""The values that the pages show."""

import subprocess
import sys

import pytest

from checker.course.steps import ROOT
from tools.book_maker.values.book_values import bounds, kernels, linear_gain, newest, one_text, peers


def test_the_book_needs_nothing_that_only_maintainers_install():
    absent = "import sys; sys.modules.update(dict.fromkeys(['pexpect', 'torch', 'ray', 'playwright']));"
    shown = (
        "from tools.book_maker.values.book_values import *; bench_tables(), loop_tables(), recorded(), serving_tables()"
    )
    subprocess.run([sys.executable, "-c", f"{absent} {shown}"], cwd=ROOT, check=True)


def test_the_share_of_the_limit_is_the_one_that_was_recorded_with_the_libraries():
    """It was computed from the bytes that the model reads, by the tool that measured; here from the sizes alone."""
    recorded = newest["parts"]["generation"]["1 x 16"]["share"]["this course, with kernels"]
    shares = {row.split("|")[1].strip(): float(row.split("|")[-2].strip(" %")) for row in bounds().splitlines()}
    assert shares.keys() == peers.keys() == kernels.keys()
    assert shares[newest["machine"]] == pytest.approx(recorded, abs=0.5)


def test_libraries_that_compute_the_same_have_the_same_limit():
    """A share of the limit times the time that was measured is the time that the limit allows."""
    for row in newest["parts"]["forward"].values():
        least = {way: share * row["ms"][way] for way, share in row["share"].items() if "bfloat16" not in way}
        del least["llama.cpp, F32"]  # it computes the last token's logits
        assert "OpenVINO" in least
        assert min(least.values()) == pytest.approx(max(least.values()), rel=0.01)


def test_a_row_of_the_page_on_speed_is_of_one_library():
    assert one_text("CTranslate2", "this course, Q4_0").splitlines() == [
        "| CTranslate2 | 55 | 47 | 27 | 805 |",
        "| this course, Q4_0 | 208 | 141 | 14 | 298 |",
    ]
    assert linear_gain() == "1.3 to 1.6"
