"""Where MAX cannot run, ``./run`` and ``doctor`` say so."""

import pytest

from checker import machine as this_machine
from checker.machine import why_max_cannot_run

V3 = "flags\t\t: fpu sse4_2 avx avx2 bmi1 bmi2 f16c fma movbe"

MACHINES = [
    ("Linux", "x86_64", "glibc 2.34", V3, ""),
    ("Linux", "x86_64", "glibc 2.100", "", ""),  # a system that does not list instructions
    ("Linux", "aarch64", "glibc 2.39", "Features\t: fp asimd", ""),
    ("Darwin", "arm64", "26.1", "arm", ""),
    ("Linux", "x86_64", "glibc 2.31", V3, "glibc 2.34, as in Debian 12 or Ubuntu 22.04; here is glibc 2.31."),
    ("Linux", "x86_64", "", V3, "here is another C library."),
    ("Linux", "x86_64", "glibc 2.39", V3.replace(" avx2", ""), "AVX2 (x86-64-v3), which this one"),
    ("Darwin", "arm64", "14.7.1", "arm", "MAX needs macOS 15; here is 14.7.1."),
    ("Darwin", "x86_64", "15.2", "i386", "or macOS on Apple silicon; here is Darwin on x86_64."),
]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_without_what_max_needs(machine):
    *facts, why = machine
    said = why_max_cannot_run(*facts)
    assert (said == "") == (why == "")
    assert why in said


def test_a_program_that_hangs_answers_nothing(monkeypatch):
    monkeypatch.setattr(this_machine, "ANSWER_SECONDS", 0.1)
    assert this_machine.output_of("sleep", "60") == ""
