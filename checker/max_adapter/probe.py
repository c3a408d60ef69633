"""Try the accelerator: ``python -m checker.max_adapter.probe`` adds on it, and prints its name if that is right.

It runs in a process of its own, which an unsuitable driver may end. It returns 1, with a sentence, if there is no
accelerator.
"""

from __future__ import annotations

import sys

import numpy as np
from max.driver import CPU

from checker.max_adapter.runtime import open_device, tensor


def main() -> int:
    """Add numbers on the accelerator."""
    try:
        device = open_device("gpu")
    except ValueError as error:
        print(error)
        return 1
    x = tensor(np.arange(6, dtype=np.float32)).to(device)
    twice = np.from_dlpack((x + x).to(CPU())).tolist()
    if twice != [0, 2, 4, 6, 8, 10]:
        print(f"{device} adds [0, 1, 2, 3, 4, 5] to itself and gets {twice}")
        return 2
    print(device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
