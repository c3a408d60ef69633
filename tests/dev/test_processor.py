"""The processor in words: figures of two generations that a cloud calls by one name must not come together."""

import pytest

from checker.processor import instruction_sets, processor_name

CORE = (
    "vendor_id\t: {}\ncpu family\t: {}\nmodel\t\t: {}\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f amx_int8\n"
)


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name"),
    [
        ("AuthenticAMD", 25, 1, "AMD EPYC (Zen 3)"),
        ("AuthenticAMD", 25, 17, "AMD EPYC (Zen 4)"),
        ("GenuineIntel", 6, 143, "AMD EPYC (Sapphire Rapids)"),
        ("AuthenticAMD", 99, 1, "AMD EPYC"),
        ("Somebody", "?", "?", "AMD EPYC"),
    ],
)
def test_the_generation_stands_behind_the_name_and_the_widest_instructions_first(tmp_path, vendor, family, model, name):
    file = tmp_path / "cpuinfo"
    file.write_text("\n".join([CORE.format(vendor, family, model), CORE.format("a second core", 1, 1)]))
    assert processor_name(file) == name
    assert instruction_sets(file) == ["AVX-512", "AVX2", "AMX INT8"]


def test_other_systems(tmp_path):
    file = tmp_path / "cpuinfo"
    assert processor_name(file)
    assert instruction_sets(file) == []
    file.write_text("processor\t: 0\nFeatures\t: fp asimd sve i8mm\n")  # Linux on ARM
    assert instruction_sets(file) == ["NEON", "SVE", "I8MM"]
