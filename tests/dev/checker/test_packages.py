"""Another MAX than the one that the course is written for."""

import importlib.metadata

from checker import packages

NEEDED = packages.needed_version()


def test_another_version_is_named_and_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "26.6.0")
    why = packages.why_not_usable()
    assert why.startswith(f"MAX 26.6.0 is installed, and {NEEDED} is needed. Delete the folder .venv")
    assert packages.explain_import_error(ImportError("no such module")) == why
