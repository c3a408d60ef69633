"""A missing, another or a broken MAX is called that, by those who must run without it."""

import importlib.metadata

from checker.course import installed

NEEDED = installed.needed_version()


def test_another_version_is_named_and_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "26.6.0")
    why = installed.why_not_usable()
    assert why.startswith(f"MAX 26.6.0 is installed, and {NEEDED} is needed. Delete the folder .venv")
    assert installed.in_words(ImportError("no such module")) == why


def test_doctor_calls_a_broken_max_broken(course, tmp_path, monkeypatch):
    """Its library is missing, say."""
    (tmp_path / "max").mkdir()
    (tmp_path / "max" / "__init__.py").write_text("raise ImportError('libMSupport.so: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = course.check("doctor", status=1)
    broken = f"no: MAX {NEEDED} is installed, but it cannot be imported (ImportError: libMSupport.so: cannot open"
    assert broken in done.stdout
    assert "please report" not in done.stdout
    assert "Traceback" not in done.stdout
