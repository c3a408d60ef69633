"""Tests here that are coroutines run in a loop of asyncio's (``pytest.mark.anyio``)."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
