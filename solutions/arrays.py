"""Given in step 11: a compiled model, as the code around it sees it, a function of NumPy arrays."""

from collections.abc import Callable

import numpy as np

LogitsFunction = Callable[[np.ndarray], np.ndarray]  # int64 [batch, seq] -> [batch, seq, vocab] or [batch, 1, vocab]
