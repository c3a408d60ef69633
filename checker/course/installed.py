"""Compare the installed MAX with the one that the course is written for, without importing it.

``pyproject.toml`` is the one place that says which version that is.
"""

from __future__ import annotations

import importlib.metadata
import tomllib

from checker.course.steps import ROOT

INSTALL_AGAIN = "Delete the folder .venv and run this again, which installs it (with pixi: `pixi install`)."


def needed_version() -> str:
    """Return the version of MAX that the course is written for."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        pins = tomllib.load(file)["project"]["dependencies"]
    return next(pin.removeprefix("max==") for pin in pins if pin.startswith("max=="))


def installed_version() -> str:
    """Return the version of MAX that is installed, or nothing if there is none."""
    try:
        return importlib.metadata.version("max")
    except importlib.metadata.PackageNotFoundError:
        return ""


def why_not_usable() -> str:
    """Return why the installed MAX cannot be used and what to do about it; nothing if it can."""
    installed, needed = installed_version(), needed_version()
    what = f"MAX {installed} is installed" if installed else "MAX is not installed"
    return "" if installed == needed else f"{what}, and {needed} is needed. {INSTALL_AGAIN}"


def in_words(error: ImportError) -> str:
    """Return what to say when MAX could not be imported, and what to do now."""
    if why := why_not_usable():
        return why
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return f"MAX {installed_version()} is installed, but it cannot be imported ({words}). {INSTALL_AGAIN}"
