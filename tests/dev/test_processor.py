"""The processor in words: figures of two generations that a cloud calls by one name must not come together."""

import pytest

from checker.processor import instruction_sets, processor_name

CORE = (
    "vendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f amx_int8\n"
)
ARM = "processor\t: 0\nFeatures\t: fp asimd sve i8mm\n"


@pytest.mark.parametrize(
    ("vendor", "family", "model", "generation"),
    [
        ("AuthenticAMD", 25, 1, " (Zen 3)"),
        ("AuthenticAMD", 25, 17, " (Zen 4)"),
        ("GenuineIntel", 6, 143, " (Sapphire Rapids)"),
        ("AuthenticAMD", 99, 1, ""),
        ("Somebody", "?", "?", ""),
    ],
)
def test_the_generation_and_the_widest_instructions(tmp_path, vendor, family, model, generation):
    file = tmp_path / "cpuinfo"
    file.write_text("\n".join([CORE.format(vendor, family, model), ARM]))
    assert processor_name(file) == "AMD EPYC" + generation
    assert instruction_sets(file) == ["AVX-512", "AVX2", "AMX INT8"]
    file.write_text(ARM)
    assert instruction_sets(file) == ["NEON", "SVE", "I8MM"]
