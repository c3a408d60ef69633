"""The kinds of devices that MAX compiles for."""

from __future__ import annotations

from enum import StrEnum


class DeviceKind(StrEnum):
    """A kind of device, in the word that a learner types and that a claim's name has."""

    CPU = "cpu"
    GPU = "gpu"
