"""What is wrong with a page although its directives expand is told with its line."""

import pytest

from tools.book_maker.page_faults import page_faults, places


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("| a |\n|---|\n| b |", []),
        ("| a |\n|---|\n| b |\n\n| c |", ["5: this row has no head"]),
        ("| a |\n\n|---|\n| b |", ["1: this row has no head", "3: this row has no head"]),
        ("[a](setup.md), [b](setup.md#what-it-costs), [c](glossary.md#bits-per-byte), [d](https://a.b/c.md#d)", []),
        ("[a](nothing.md)", ["1: there is no page nothing.md"]),
        ("[a](step_07.md#nothing)", ["1: there is no #nothing in step_07.md; choose from step-07-"]),
        ("[a](classroom.md#all-submissions-counts-in-adajson-says-how-many-steps-pass)", ["1: there is no #all-sub"]),
        ("[a](no-thing.md)", ["1: there is no page no-thing.md"]),
        ("It is in commit `HEAD`, and not a commit `{{=`.", []),
        ("It has the tag `weight-before`.", ["1: there is no commit or tag 'weight-before'"]),
        ("{{= 2**20 :,}} bytes are `1 MiB`, or 4% of {{= 3 * 9 }} MB.", ["1: 4 is typed"]),
        ("{{= 72 }} KiB, {{= 72 }} %", ["1: write % right after its number", "1: write kB, MB or GB"]),
        ("A third is {{= 1 / 3 :.2f}}, a step 0.01, $0.44715$, Python 3.11 new; this is 0.12.", ["1: 0.12 is typed"]),
        ("It printed 0.12.\n```text\n0.12\n```", []),
        ("{{figure a.b: A share is {{= 1 / 8 }}, or 0.15.}}", ["1: 0.15 is typed"]),
    ],
)
def test_what_a_page_may_not_say_is_told_with_its_line(line, faults):
    found = [str(fault).removeprefix("book/src/setup.md:") for fault in page_faults("setup.md", line)]
    assert [fault[: len(start)] for fault, start in zip(found, faults, strict=True)] == faults


def test_places_are_headings_and_words_that_are_explained_outside_blocks():
    page = "# A b\n```sh\n# no place\n```\n## A, b\n\nA term\n: what it is\n"
    assert places("setup.md", page) == ["a-b", "a-b-1", "a-term"]
