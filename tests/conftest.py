"""What the check files share."""

import pytest


@pytest.fixture(scope="module")
def config(reference):
    """The awkward configuration that the reference was recorded with."""
    from solutions.solution_01 import GPT2Config  # not before it is asked for: it is the answer to step 01

    return GPT2Config(**reference.config)
