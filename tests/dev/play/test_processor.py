"""The processor in words: figures of two generations that a cloud calls by one name must not come together."""

import pytest

from checker import machine
from play import processor

CORE = "vendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu {}\n"


@pytest.mark.parametrize(
    ("core", "name", "sets"),
    [
        (CORE.format("AuthenticAMD", 25, "avx2"), "AMD EPYC (Zen 3)", ["AVX2"]),
        (CORE.format("AuthenticAMD", 25, "avx2 avx512f"), "AMD EPYC (Zen 4)", ["AVX-512", "AVX2"]),
        (CORE.format("Somebody", 25, "avx512f"), "AMD EPYC (family 25, model 17)", ["AVX-512"]),
        ("model name: ARM\nFeatures\t: fp asimd sve\n", "ARM", ["NEON", "SVE"]),
    ],
)
def test_the_generation_and_the_widest_instructions(monkeypatch, tmp_path, core, name, sets):
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    machine.CPUINFO.write_text(f"{core}\n{core}")
    assert (processor.processor_name(), processor.instruction_sets()) == (name, sets)
