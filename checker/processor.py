"""The processor of this machine in words: what a record of measured times is kept under."""

from __future__ import annotations

import platform
from collections.abc import Container
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")  # Linux's

#: Words for the flags that a system gives, the widest first.
INSTRUCTION_SETS = {
    "AVX-512": "avx512f",
    "AVX2": "avx2",
    "NEON": "asimd",
    "SVE": "sve",
    "AVX-512 VNNI": "avx512_vnni",
    "AVX VNNI": "avx_vnni",
    "AVX-512 BF16": "avx512_bf16",
    "AMX BF16": "amx_bf16",
    "AMX INT8": "amx_int8",
    "I8MM": "i8mm",
    "BF16": "bf16",
}

#: Generations by vendor, family and models, because a cloud hides the model from the name. Sources: AMD's and
#: Intel's lists of models, as in Linux, ``arch/x86/kernel/cpu/amd.c`` and ``arch/x86/include/asm/intel-family.h``.
GENERATIONS: dict[str, dict[int, list[tuple[str, Container[int]]]]] = {
    "AuthenticAMD": {
        23: [("Zen 1", range(0x10, 0x30)), ("Zen 2", range(0x30, 0x100))],
        25: [("Zen 4", (*range(0x10, 0x20), *range(0x60, 0xB0))), ("Zen 3", range(0x100))],
        26: [("Zen 5", range(0x100))],
    },
    "GenuineIntel": {
        6: [
            ("Skylake to Cooper Lake", [0x55]),
            ("Ice Lake", [0x6A, 0x6C]),
            ("Sapphire Rapids", [0x8F]),
            ("Emerald Rapids", [0xCF]),
            ("Granite Rapids", [0xAD, 0xAE]),
        ],
    },
}


def processor_name(cpuinfo: Path = CPUINFO) -> str:
    """Return the name of the processor and its generation, as far as the system tells them: ``AMD EPYC (Zen 4)``."""
    pairs = (line.partition(":") for line in _first_core(cpuinfo))
    facts = {name.strip(): value.strip() for name, _, value in pairs}
    name = facts.get("model name") or platform.processor() or platform.machine()
    family, model = facts.get("cpu family", ""), facts.get("model", "")
    families = GENERATIONS.get(facts.get("vendor_id", ""), {})
    known = families.get(int(family), []) if family.isdigit() and model.isdigit() else []
    return next((f"{name} ({generation})" for generation, models in known if int(model) in models), name)


def instruction_sets(cpuinfo: Path = CPUINFO) -> list[str]:
    """Return the instructions of this processor that decide how fast products are, as far as the system tells them."""
    flags = line_of_flags(cpuinfo).split()
    return [name for name, flag in INSTRUCTION_SETS.items() if flag in flags]


def line_of_flags(cpuinfo: Path = CPUINFO) -> str:
    """Return the line in which the system lists all instructions of the first core; nothing if it lists none."""
    return next((line for line in _first_core(cpuinfo) if line.startswith(("flags", "Features"))), "")


def _first_core(cpuinfo: Path) -> list[str]:
    """Return the lines about the first core."""
    return (cpuinfo.read_text() if cpuinfo.is_file() else "").partition("\n\n")[0].splitlines()
