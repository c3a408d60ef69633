"""Values of the page on speed."""

import pytest

from tools.book_maker.values import speed
from tools.book_maker.values.book_values import kernels, peers


def test_the_share_of_the_limit_is_the_one_that_was_recorded_with_the_libraries():
    """It was computed from the bytes that the model reads, by the tool that measured; here from the sizes alone."""
    measured = speed.chosen["parts"]["generation"]["1 x 16"]["share"]["this course, with kernels"]
    shares = {row.split("|")[1].strip(): float(row.split("|")[-2].strip(" %")) for row in speed.bounds().splitlines()}
    assert peers.keys() == kernels.keys()
    assert shares.keys() == set(map(speed.short, peers))
    assert shares[speed.short(speed.NAME)] == pytest.approx(measured, abs=0.5)


def test_libraries_that_compute_the_same_have_the_same_limit():
    """A share of the limit times the time that was measured is the time that the limit allows."""
    for row in speed.chosen["parts"]["forward"].values():
        least = {way: share * row["ms"][way] for way, share in row["share"].items() if "bfloat16" not in way}
        del least["llama.cpp, F32"]  # it computes the last token's logits
        assert "OpenVINO" in least
        assert min(least.values()) == pytest.approx(max(least.values()), rel=0.01)


def test_rows_are_of_one_library_the_slowest_first_and_ours_without_the_kernels_says_so():
    assert speed.one_text("this course", "CTranslate2", "this course, Q4_0").splitlines() == [
        "| CTranslate2 | 33 | 30 | 546 |",
        "| this course, without kernels | 36 | 34 | 527 |",
        "| this course, Q4_0 | 117 | 84 | 406 |",
    ]


def test_each_processor_has_a_column_and_a_library_that_was_disturbed_or_not_timed_a_dash(monkeypatch):
    first, bare = {"this course": 8.0, "CTranslate2": 9.4, "llama.cpp, F32": 7.0}, {"llama.cpp, F32": 2.0}
    later = {"this course": 6.0, "CTranslate2": 5.0, "llama.cpp, F32": 9.0}
    parts = {"One, Zen 5": {"1 x 16": first, "1 x 512": later}, "Two, Zen 3": {"1 x 16": bare, "1 x 512": bare}}
    parts["One, Zen 5"]["8 x 16"] = first
    measured = {
        processor: {"parts": {"generation": {work: {"tokens/s": rates} for work, rates in works.items()}}}
        for processor, works in parts.items()
    }
    monkeypatch.setattr(speed, "peers", measured)
    assert speed.by_processor("1 x 16", "after 16").splitlines() == [
        "| after 16 | Zen 5 | Zen 3 |",
        "| --- | --: | --: |",
        f"| this course, without kernels | 8 | {speed.NOT_TIMED} |",
        f"| CTranslate2 | **9** | {speed.NOT_TIMED} |",
        f"| llama.cpp, F32 | {speed.NOT_TIMED} | **2** |",
    ]
    assert speed.by_processor("8 x 16", "8 texts").splitlines()[0] == "| 8 texts | Zen 5 |"


def test_gains_are_ratios_and_those_that_were_not_timed_are_left_out():
    assert speed.gain("this course, Q4_0", "this course, with kernels") == "2.6 | 2.0"
    assert speed.cache_gain() == "1.4 | 12"
    assert speed.saved() == pytest.approx(12 * (17.2 - 6.26) / 1000, abs=1e-3)
    assert speed.prompt("CTranslate2") == pytest.approx(546, abs=0.5)
    assert speed.linear_share() == pytest.approx(24.4 / 30, abs=0.01)
    zen_3 = {line.split("|")[1].strip(): line.split("|")[-2].strip() for line in speed.ideas().splitlines()}
    assert zen_3["times as fast"] == "Zen 3"
    assert zen_3["bfloat16, 16"] == speed.NOT_TIMED
    assert zen_3["linear layers"] == "1.6"


def test_a_pass_is_compared_with_its_limit():
    ours, other = speed.closest().splitlines()
    assert ours == "| this course, with kernels | 68 | 59 | 55 | 65 | 74 | 75 |"
    assert other.endswith(" | 71 | 46 | 49 | 63 | 66 | 65 |")
    *_, limit = speed.prompts().splitlines()
    assert limit == "| the limit in float32 | 16.5 | 16.5 | 42.9 | 86.2 | 355 | 736 |"


def test_who_is_first_is_counted_over_processors_and_prompts(monkeypatch):
    ours = {"this course, with kernels": 10.0}
    rates = ours | {"CTranslate2": 12.0, "this course, Q4_0": 99.0}
    parts = {"1 x 16": {"tokens/s": rates}, "1 x 512": {"tokens/s": ours}}
    monkeypatch.setattr(speed, "peers", {"One": {"parts": {"generation": parts}}})
    assert speed.leads() == {"first": 1, "cases": 2, "percent": pytest.approx(20)}


def test_processors_that_ran_older_kernels_are_named_and_nothing_is_said_if_none_did(monkeypatch):
    old = {"note": "older kernels (May 1); more"}
    monkeypatch.setattr(speed, "peers", {"AMD EPYC (Zen 5), x": old, "Intel(R) Xeon(R) Processor, x": old, "C": {}})
    assert speed.older_kernels() == "Zen 5 and Intel Xeon ran an older, slower version of the kernels."
    monkeypatch.setattr(speed, "peers", {"C": {"note": "of May 1"}})
    assert speed.older_kernels() == ""
