"""The processor in words: figures of two generations that a cloud calls by one name must not come together."""

import pytest

from checker.processor import instruction_sets, processor_name
from tools.benchmarks.harness import key

CORE = """processor\t: 0
vendor_id\t: {vendor}
cpu family\t: {family}
model\t\t: {model}
model name\t: {name}
flags\t\t: fpu sse2 avx2 {flags}
"""


def told(folder, *, vendor="AuthenticAMD", family=25, model=17, name="AMD EPYC", flags="avx512f"):
    file = folder / "cpuinfo"
    core = CORE.format(vendor=vendor, family=family, model=model, name=name, flags=flags)
    file.write_text(core + "\n" + core.replace("processor\t: 0", "processor\t: 1"))
    return file


@pytest.mark.parametrize(
    ("vendor", "family", "model", "name"),
    [
        ("AuthenticAMD", 25, 1, "AMD EPYC (Zen 3)"),
        ("AuthenticAMD", 25, 17, "AMD EPYC (Zen 4)"),
        ("AuthenticAMD", 26, 2, "AMD EPYC (Zen 5)"),
        ("GenuineIntel", 6, 143, "AMD EPYC (Sapphire Rapids)"),
        ("GenuineIntel", 6, 1, "AMD EPYC"),
        ("AuthenticAMD", 99, 1, "AMD EPYC"),
        ("Somebody", 25, 17, "AMD EPYC"),
        ("AuthenticAMD", "?", "?", "AMD EPYC"),
    ],
)
def test_the_generation_stands_behind_the_name(tmp_path, vendor, family, model, name):
    assert processor_name(told(tmp_path, vendor=vendor, family=family, model=model)) == name


def test_a_system_without_cpuinfo_still_has_a_name(tmp_path):
    assert processor_name(tmp_path / "none")
    assert instruction_sets(tmp_path / "none") == []


def test_the_widest_instructions_come_first(tmp_path):
    assert instruction_sets(told(tmp_path, flags="amx_int8 avx512f")) == ["AVX-512", "AVX2", "AMX INT8"]


def test_an_arm_processor_tells_features(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd sve i8mm\n")
    assert instruction_sets(file) == ["NEON", "SVE", "I8MM"]
    assert processor_name(file)


def test_figures_are_kept_under_the_generation():
    assert key().startswith(processor_name())
