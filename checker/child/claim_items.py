"""What pytest's item of a claim says: its subject, the function that it is about, its name, and its sentence."""

from __future__ import annotations

import pytest

from checker.device import DeviceKind


def subject_of(item: pytest.Function) -> str:
    """Return the name of the subject that a claim runs on."""
    return str(item.callspec.params["step"])


def about_of(item: pytest.Function) -> str:
    """Return the label of the function that a claim is about."""
    return getattr(item.function, "about", "")


def claim_of(item: pytest.Function) -> str:
    """Return the name of a claim: its function's name and its parameters, except for the subject."""
    values = [str(value) for name, value in item.callspec.params.items() if name != "step"]
    return item.originalname + (f"[{'-'.join(values)}]" if values else "")


def sentence_of(item: pytest.Function) -> str:
    """Return the claim in words: the first line of its docstring, and what it means on a GPU."""
    sentence = (item.function.__doc__ or item.name).strip().splitlines()[0]
    if item.callspec.params.get("device") is not DeviceKind.GPU:
        return sentence
    from checker.max_adapter.runtime import uses_tf32

    share = " to the share that TF32 allows" if uses_tf32(DeviceKind.GPU) else ""
    return f"{sentence.rstrip('.')}, on this GPU{share}."
