"""How close is equal: the tolerance of the course, and the larger one for NVIDIA's GPUs."""

from __future__ import annotations

from contextvars import ContextVar

#: Largest accepted difference, for numbers of size one; larger numbers may differ in proportion.
#: Over every claim of the course, MAX and Hugging Face differ by at most 1.1e-6 in these terms (float32,
#: sums in another order); the smallest mistake there is, exact instead of tanh GELU, makes 4.7e-4.
TOLERANCE = 2e-5

#: The tolerance where MAX multiplies float32 matrices in TF32, which keeps 10 bits after the point of each factor:
#: products are off by up to 2**-9, all in one direction if the rest is cut off, which adds up along sums and layers.
#: Solutions differ by 4.7e-3 of the largest value with every factor cut off (``test_gpu.py``), on an H100 by 1.9e-3.
TF32_TOLERANCE = 2**-6

#: Which of them holds while a claim runs: ``fixtures`` sets it for the device that the claim is about.
tolerance_now = ContextVar("tolerance_now", default=TOLERANCE)


def tolerance_in_force(tolerance: float = TOLERANCE) -> float:
    """Return the tolerance on the claim's device, if a claim asks for ``tolerance``: larger in proportion with TF32."""
    return tolerance * tolerance_now.get() / TOLERANCE
