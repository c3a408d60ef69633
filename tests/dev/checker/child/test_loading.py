"""How the file of a step is run: what lies beside it, and what else a file may import."""

import pytest

IMPORT = "import numpy as np\n"
HELPER = "import numpy as np\n\n\ndef exponentials(x):\n    return np.exp(x - x.max(axis=-1, keepdims=True))\n"
WITH_HELPER = "exponentials(scores)"


@pytest.mark.parametrize("line", ["from helper import exponentials", "from .helper import exponentials"])
def test_what_lies_beside_a_step_can_be_imported_also_where_a_function_is_judged_alone(course, line):
    (course.root / "steps" / "helper.py").write_text(HELPER)
    edits = {IMPORT: f"{IMPORT}\n{line}\n", "np.exp(shifted)": WITH_HELPER}
    course.write("w01", edits=edits)
    course.check("w01", status=0)
    course.write(
        "w01", edits={**edits, "return query @ np.swapaxes(key, -2, -1)": "return key @ np.swapaxes(query, -2, -1)"}
    )
    assert "\nattention_scores: " in course.check("w01", status=1).stdout


@pytest.mark.parametrize("step", ["s12", "w03"])
def test_a_file_may_import_earlier_solutions_and_max_where_the_step_does_not(course, monkeypatch, tmp_path, step):
    """As the source tutorial's step 12 does; nor does it matter what else is on the path, or told to pytest."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    (tmp_path / "foreign.py").write_text("import sys\nsys._getframe()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    imports = "import foreign\nimport numpy as np\nfrom max import nn, graph\n"
    course.write(step, edits={IMPORT: imports})
    course.check(step, "--no-compile", status=0)


def test_what_a_file_warns_of_is_nothing_that_it_prints(course):
    course.write("w01", edits={IMPORT: f"import warnings\n{IMPORT}\nwarnings.warn('as it is loaded')\n"})
    assert "as it is loaded" not in course.check("w01", status=0).stdout


def test_a_file_is_compiled_as_python_alone_compiles_it(course):
    """Under none of the ``__future__`` of the module that runs it: what a check passes, ``--mine`` can import."""
    future = "from __future__ import annotations\n"
    course.write("w01", edits={future: "", "def softmax(": "def note(x: Missing): ...\n\n\ndef softmax("})
    assert "Missing" in course.check("w01", status=1).stdout
