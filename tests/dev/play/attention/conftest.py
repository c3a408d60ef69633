"""A text that the small model has read, and a Llama, which the tests of attention share."""

import pytest

from tests.dev.play.serving import tiny_llama

TEXT = (
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, "
    "I thought I would sail about a little and see the watery part of the world. It is a way I have of driving off the "
    "spleen, and regulating the circulation. Whenever I find myself growing grim about the mouth, I go to sea."
)


@pytest.fixture(scope="module")
def read():
    from checker.max_adapter.hooks import install_hooks
    from play.attention.weights import read_attention

    install_hooks()
    return read_attention(TEXT)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The file of a tiny Llama, with 3 heads of queries to one of keys."""
    return tiny_llama.write(tmp_path_factory.mktemp("llama") / "tiny.gguf")
