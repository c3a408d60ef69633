"""Where an error is, and what the numbers were there."""

import numpy as np
import pytest

from checker.diagnosis.exceptions import location_of

SOURCE = """\
def f(x, k):
    import numpy as np
    return np.zeros(k) @ x
"""


def test_values_are_told_but_no_module(tmp_path):
    """NumPy has a function that is called shape."""
    file, space = tmp_path / "step_07.py", {}
    file.write_text(SOURCE)
    exec(compile(SOURCE, file, "exec"), space)
    with pytest.raises(ValueError, match="mismatch") as raised:
        space["f"](np.ones((2, 3)), 5)
    location = location_of(raised.value, str(file))
    assert location.line == 3
    assert location.more[-1] == "where k is 5, x is [2, 3]"
