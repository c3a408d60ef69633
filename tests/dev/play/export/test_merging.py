"""One file of many modules: it does what they do, and what does not fit into one is refused with a sentence."""

import re

import pytest

from play.export.export import INSTALL, are_same, with_version
from play.export.merging import Module, merge

SEVEN = '''"""Step 07: how to double."""

import math
from math import floor as lower


def double(x):  # [n] -> [n]
    """Return twice as much."""
    # TODO: Add it to itself. (1 line)
    # twice, not squared
    return lower(_itself(x) + x)


def _itself(x):
    return x


if __name__ == "__main__":
    print("is never run")
'''


def merged(*modules):
    """The file of step 07 and of steps 08, 09 and so on, of which the last is the program."""
    names = [f"{number:02}" for number in range(7, 8 + len(modules))]
    made = [(f"steps/step_{name}.py", (f"solutions.solution_{name}", f"steps.step_{name}")) for name in names]
    headings = ["Doubling", *("" for _ in modules)]
    parts = zip(made, [SEVEN, *modules], headings, strict=True)
    return merge([Module(*names, text, heading) for names, text, heading in parts], are_same)


@pytest.mark.parametrize("home", ["solutions.solution_07", "steps.step_07"])
def test_the_file_does_what_the_modules_do(home):
    program = f"from {home} import double, math\n\nanswer = double(2), math.pi, [x for x in [5]]\n\n"
    text = merged("import math\n\nx = 3\n", f'"""A program."""\n\n{program}if __name__ == "program":\n    ran = True\n')
    names = {"__name__": "program"}
    exec(compile(text, "program", "exec"), names)
    assert names["answer"][0] == 4
    assert names["ran"]
    assert text.startswith('"""A program."""\n\nfrom __future__ import annotations\n')
    assert "\n\n# --- Doubling ---\n\n\ndef double(x):  # [n] -> [n]\n" in text
    assert "    # twice, not squared\n    return lower" in text
    assert not re.search("solutions|steps|how to double|Add it to itself|is never run", text)


def test_imports_are_at_the_top_once_and_sorted():
    eight = "import numpy as np\nfrom max.driver import Device, CPU\nimport math, os.path\nfrom os import sep\n"
    program = "import os\nfrom posixpath import sep\nfrom max.driver import CPU as cpu, Buffer\nimport numpy as np\n"
    lines = merged(eight, f'"""A program."""\n{program}').partition("annotations\n\n")[2].partition("\n\n#")[0]
    assert lines.split("\n") == [
        "import math",
        "import os",
        "import os.path",
        "from math import floor as lower",
        "from os import sep",
        "",
        "import numpy as np",
        "from max.driver import CPU, Buffer, Device",
        "from max.driver import CPU as cpu",
    ]


UNFIT = "`{}` does not fit into one file; at the top, import from earlier steps what they define"
ALONE = "put each statement on a line of its own"
OTHER = " is one thing in steps/step_08.py and another in {}: rename it in one file"
REFUSED = {
    **{
        each: f"steps/step_08.py, line 1: {UNFIT.format(each)}"
        for each in (
            "from solutions.solution_07 import *",
            "from solutions.solution_07 import double as twice",
            "from steps.step_07 import triple",
            "from steps.step_16 import loss",
            "import steps.step_07",
            "import steps.step_07 as seven",
            "from steps import step_07",
            "from .step_07 import double",
            "import play.whale",
        )
    },
    "def f():\n    import steps.step_07": f"steps/step_08.py, line 2: {UNFIT.format('import steps.step_07')}",
    "import os; x = 1": f"steps/step_08.py, line 1: {ALONE}",
    "x = 1; import os": f"steps/step_08.py, line 1: {ALONE}",
    "def _itself(x): ...": f"_itself{OTHER.format('steps/step_07.py')}",
    "from math import ceil as lower": f"lower{OTHER.format('steps/step_07.py')}",
    "max = 3": f"max{OTHER.format('Python')}",
}


@pytest.mark.parametrize(("eight", "sentence"), REFUSED.items())
def test_what_does_not_fit_into_one_file_is_refused(eight, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        merged(eight)


def test_two_modules_may_make_a_type_if_they_make_the_same():
    pair = "Pair = tuple[int, int]\n"
    assert merged(pair, pair).count(pair) == 2
    with pytest.raises(ValueError, match=r"^Pair is one thing in steps/step_09\.py and another"):
        merged(pair, "Pair = list[int]\n")


def test_what_is_not_used_stays_behind_with_its_decorators_and_comments():
    text = "class Whale:\n    def swim(self): ...\n\n    @property\n    @staticmethod\n    def name(): ...\n"
    text = f"#: The names of all whales,\n#: by their size.\nNAMES = {{\n}}\n\n\n{text}"
    whale = Module("steps/step_07.py", ("solutions.solution_07",), text, unused=("NAMES", "name"))
    assert merge([whale], are_same).endswith("\n\nclass Whale:\n    def swim(self): ...\n")


def test_the_version_of_max_is_named_where_the_program_says_what_to_install_and_not_in_a_step():
    text = f'"""A program: {INSTALL}numpy"""\n\n# {INSTALL}torch was not enough\n'
    assert re.sub(r"max==[\w.]+", "max", with_version(text)) == text
    assert with_version(text).count("max==") == 1
