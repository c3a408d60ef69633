"""Which versions of its packages the course needs, whether MAX is installed in that one, and which are broken.

``pyproject.toml`` alone states the versions. ``python -m checker.packages`` prints which packages cannot be imported.
"""

from __future__ import annotations

import importlib
import tomllib

from checker.files import ROOT

PROJECT = ROOT / "pyproject.toml"
INSTALL_AGAIN = "Delete the folder .venv and run this again, which installs it (with pixi: `pixi install`)."


def needed_versions() -> dict[str, str]:
    """Return the version of each package that every task needs, by the name by which it is imported."""
    with PROJECT.open("rb") as file:
        pins = tomllib.load(file)["project"]["dependencies"]
    return {name.replace("-", "_"): version for name, version in (pin.split("==") for pin in pins)}


def needed_version() -> str:
    """Return the version of MAX that the course is written for."""
    return needed_versions()["max"]


def broken_packages() -> list[str]:
    """Return which of the packages that every task needs, but for MAX, cannot be imported, and the error of each."""
    broken = []
    for name in needed_versions().keys() - {"max"}:
        try:
            importlib.import_module(name)
        except Exception as error:
            broken.append(f"{name} ({type(error).__name__}: {error})")
    return sorted(broken)


def installed_version() -> str:
    """Return the version of MAX that is installed, or nothing if there is none."""
    from importlib import metadata  # a task that does not ask need not wait for it

    try:
        return metadata.version("max")
    except metadata.PackageNotFoundError:
        return ""


def why_not_usable() -> str:
    """Return why the installed MAX cannot be used and what to do about it; nothing if it can."""
    installed, wanted = installed_version(), needed_version()
    what = f"MAX {installed} is installed" if installed else "MAX is not installed"
    return "" if installed == wanted else f"{what}, and {wanted} is needed. {INSTALL_AGAIN}"


def explain_import_error(error: ImportError) -> str:
    """Return why MAX could not be imported, and what to do now."""
    if reason := why_not_usable():
        return reason
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return f"MAX {installed_version()} is installed, but it cannot be imported ({words}). {INSTALL_AGAIN}"


if __name__ == "__main__":
    print(*broken_packages(), sep=", ")
