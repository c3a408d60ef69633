"""The processor of this machine in words, under which measured times are recorded."""

from __future__ import annotations

import platform

from checker import machine

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

#: AMD's generations by family and widest instructions, because a cloud hides the model from the name.
GENERATIONS = {("25", "AVX2"): "Zen 3", ("25", "AVX-512"): "Zen 4", ("26", "AVX-512"): "Zen 5"}


def processor_name() -> str:
    """Return the name of the processor and its generation, as far as the system tells: ``EPYC (Zen 4)``."""
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in _first_core())}
    name = facts.get("model name") or platform.processor() or platform.machine()
    family, widest = facts.get("cpu family", ""), next(iter(instruction_sets()), "")
    generation = GENERATIONS.get((family, widest)) if facts.get("vendor_id") == "AuthenticAMD" else ""
    which = generation or (f"family {family}, model {facts.get('model')}" if family else "")
    return f"{name} ({which})" if which else name


def instruction_sets() -> list[str]:
    """Return the instructions of this processor that decide how fast products are, as far as the system tells them."""
    flags = machine.instruction_line().split()
    return [name for name, flag in INSTRUCTION_SETS.items() if flag in flags]


def _first_core() -> list[str]:
    return (machine.CPUINFO.read_text() if machine.CPUINFO.is_file() else "").partition("\n\n")[0].splitlines()
