"""What a learner's file may try in order to get a yes that it has not earned.

Every threat is a wrong answer that does something else besides. It is refused, or it is known not to be kept out:
then the expected failure is strict, and says why.
"""

import pytest

from checker.course.steps import find_step

pytestmark = pytest.mark.slow

RIGHT, WRONG = "    return query @ ", "    return 2 * query @ "  # in warm-up 01
NOTHING = "lambda *arguments, **options: None"
TRUE = "lambda *arguments, **options: True"

#: Run when the file is imported.
AT_IMPORT = {
    "require and equal, by name": f"""
import checker.claims, checker.claims.vocabulary
for module in (checker.claims, checker.claims.vocabulary):
    module.equal = module.require = module.is_value = {NOTHING}
""",
    "require and equal, wherever they are": f"""
import sys
for module in list(sys.modules.values()):
    for name in ("equal", "require", "close", "verify", "is_same", "equal_to_four_decimals"):
        if name in getattr(module, "__dict__", {{}}):
            setattr(module, name, {NOTHING})
""",
    "the code of equal": """
from checker.claims import equal
equal.__code__ = (lambda actual, expected, axes=(), *, what="", tolerance=0, whose="": None).__code__
""",
    "the code of allclose": "import numpy\nnumpy.allclose.__code__ = (lambda a, b, rtol=0, atol=0, equal_nan=0: True).__code__\n",
    "the defaults of equal": "from checker.claims import equal\nequal.__kwdefaults__['tolerance'] = 1e9\n",
    "the tolerance": "import checker.numeric.tolerance as t\nt.TOLERANCE = 1e9\nt.close.__defaults__ = (1e9,)\n",
    "the tolerance, through the classes that there are": """
for kind in AssertionError.__subclasses__():
    if kind.__name__ == "Refusal":
        space = kind.__init__.__globals__
        space["close"] = space["is_same"] = lambda *arguments: True
""",
    "pytest's Function.runtest": f"import pytest\npytest.Function.runtest = {NOTHING}\n",
    "pytest's call of a function": f"import _pytest.python\n_pytest.python.pytest_pyfunc_call = {TRUE}\n",
    "pytest's CallInfo": """
from _pytest.runner import CallInfo
genuine = CallInfo.from_call.__func__
def from_call(kind, function, when, reraise=None):
    return genuine(kind, (lambda: None) if when == "call" else function, when, reraise)
CallInfo.from_call = classmethod(from_call)
""",
    "pytest's report": "import _pytest.reports\n_pytest.reports.TestReport.__init__ = lambda self, *a, **o: None\n",
    "pluggy's calls": """
import pluggy._hooks
genuine = pluggy._hooks.HookCaller.__call__
def call(self, **options):
    if "call" in options:
        options["call"].excinfo = None
    return genuine(self, **options)
pluggy._hooks.HookCaller.__call__ = call
""",
    "numpy.testing": f"import numpy.testing as t\nt.assert_allclose = t.assert_array_equal = t.assert_equal = {NOTHING}\n",
    "np.allclose": f"import numpy\nnumpy.allclose = {TRUE}\n",
    "what np.allclose calls": f"import numpy._core.numeric as n\nn.isclose = {TRUE}\nn.allclose = {TRUE}\n",
    "np.array": "import numpy\ngenuine = numpy.array\nnumpy.array = lambda *a, **o: genuine(*a, **o) / 2\n",
    "np.abs and np.array_equal": f"import numpy\nnumpy.abs = lambda x: x * 0\nnumpy.array_equal = {TRUE}\n",
    "builtins.isinstance": f"import builtins\nbuiltins.isinstance = {TRUE}\n",
    "builtins.all and map": f"import builtins\nbuiltins.all = {TRUE}\nbuiltins.map = lambda *a: ()\n",
    "builtins.type": "import builtins\nbuiltins.type = lambda *a: int\n",
    "builtins.AssertionError": "import builtins\nbuiltins.AssertionError = builtins.Exception = OSError\n",
    "the encoder": """
import json
genuine = json.dumps
json.dumps = lambda event, **o: genuine(event, **o).replace('"no"', '"yes"')
""",
    "os.write": """
import os
genuine = os.write
os.write = lambda descriptor, line: genuine(descriptor, line.replace(b'"no"', b'"yes"'))
""",
    "the worker's module": """
import __main__
for name in ("Graded", "grade", "observe", "encode", "Decided"):
    setattr(__main__, name, lambda *arguments, **options: None)
""",
    "the key, from the garbage collector": """
import gc
found = [one for one in gc.get_objects() if isinstance(one, (bytes, str)) and len(one) in (32, 64)]
""",
    "the signers, from the garbage collector": """
import gc
for function in gc.get_objects():
    if getattr(function, "__name__", "") == "tell":
        function.__closure__
""",
    "the key, from frames": """
import sys
frame = sys._getframe()
while frame:
    frame.f_locals.get("key")
    frame = frame.f_back
""",
    "the outcomes, from a traceback": """
try:
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
    while frame:
        frame.f_locals.clear()
        frame = frame.f_back
""",
    "the frames, by inspect": "import inspect\ninspect.stack()\n",
    "the frames, by a generator": "made = (x for x in ())\nmade.gi_frame.f_back\n",
    "the frames, by tracing": "import sys\nsys.settrace(lambda *arguments: None)\n",
    "the frames, by profiling": "import sys\nsys.setprofile(lambda *arguments: None)\n",
    "the frames of all threads": "import sys\nsys._current_frames()\n",
    "an audit hook": "import sys\nsys.addaudithook(lambda *arguments: None)\n",
}

#: Put at the end of the file: the answer takes the place of what the learner wrote.
ANSWERS = {
    "the answer, imported": "from solutions.warmup_01 import *\n",
    "the answer, opened": "exec(open('solutions/warmup_01.py').read())\n",
    "the answer, by os.open": "import os\nexec(os.read(os.open('solutions/warmup_01.py', 0), 99999))\n",
    "the answer, under another name": """
import os
os.link("solutions/warmup_01.py", "notes.txt")
exec(open("notes.txt").read())
""",
    "the answer, through a link": """
import os
os.symlink("solutions", "notes")
exec(open("notes/warmup_01.py").read())
""",
    "the answer, by its loader": """
import importlib.util
spec = importlib.util.spec_from_file_location("x", "solutions/warmup_01.py")
spec.loader.exec_module(importlib.util.module_from_spec(spec))
""",
    "the attempts": "open('tests/attempts/warmup_01.py')\n",
}

#: Objects that lie about themselves, returned in place of the scores.
LIARS = {
    "equal to everything": """
class Liar:
    shape, dtype, ndim, size = (1, 6), np.dtype(float), 2, 6
    __eq__ = __bool__ = __le__ = __ge__ = lambda self, *other: True
    __ne__ = __lt__ = __gt__ = lambda self, other: False
    __float__ = lambda self: 0.0
    __sub__ = __rsub__ = __abs__ = lambda self, *other: np.zeros((1, 6))
""",
    "another array each time": """
class Liar:
    shape, dtype = (1, 6), np.dtype(float)
    __array__ = lambda self, dtype=None, copy=None: np.zeros((1, 6))
""",
    "another memory than its shape": """
class Liar:
    shape, dtype = (1, 6), np.dtype(float)
    __dlpack__ = lambda self, **options: np.zeros((1, 6)).__dlpack__()
    __dlpack_device__ = lambda self: (1, 0)
""",
    "an array whose arithmetic lies": """
class Liar(np.ndarray):
    def __new__(kind):
        return np.zeros((1, 6)).view(kind)
    __array_ufunc__ = lambda self, *arguments, **options: np.ones((1, 6), bool)
    __array_function__ = lambda self, *arguments, **options: True
    __eq__ = __le__ = lambda self, other: np.ones((1, 6), bool)
    __sub__ = __rsub__ = lambda self, other: np.zeros((1, 6))
""",
}

#: For step 01, where plain values are compared: in place of the width, and of a message.
LYING_VALUES = {
    "a number": "class Liar(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n"
    "    __hash__ = int.__hash__\n",
    "anything": "class Liar:\n    def __init__(self, value): pass\n    __eq__ = lambda self, other: True\n"
    "    __ne__ = lambda self, other: False\n    __mul__ = __rmul__ = lambda self, other: self\n",
}

#: For step 07, in which MAX computes.
IN_MAX = {
    "np.from_dlpack": "import numpy\nnumpy.from_dlpack = lambda tensor: numpy.zeros([int(size) for size in tensor.shape])\n",
    "MAX's softmax": "from max.experimental import functional\nfunctional.softmax = lambda x, axis=-1: x\n",
    "MAX's Module.compile": "from max.experimental.nn import Module\nModule.compile = lambda self, *types: self\n",
    "MAX's Tensor": "from max.experimental.tensor import Tensor\nTensor.__add__ = lambda self, other: self\n",
    "the builder of modules": """
import checker.claims.modules as modules
modules.run = lambda function, *arrays: arrays[0]
modules.build = lambda *arguments, **options: None
""",
    "the recorded numbers": "import numpy\nnumpy.load('tests/references/step_07.npz')\n",
}

#: Known not to be kept out: what a process can do because its user can, and what no look at objects can see.
READ_ALL_THE_SAME = {
    "the answer, by a program": (
        "import subprocess\nexec(subprocess.run(['cat', 'solutions/warmup_01.py'], capture_output=True, text=True).stdout)\n",
        "a file may start programs, and programs may read files",
    ),
    "the answer, by C": (
        """
import ctypes
libc = ctypes.CDLL(None)
place = ctypes.create_string_buffer(1 << 16)
libc.read(libc.open(b"solutions/warmup_01.py", 0), place, len(place))
exec(place.value.decode())
""",
        "a file may call C, which Python's audit events do not see",
    ),
}

TAKES_ITSELF_BACK = """
def reach():
    for kind in AssertionError.__subclasses__():
        if kind.__name__ == "Refusal":
            return kind.__init__.__globals__
def once(space, name, made):
    genuine = space[name]
    def instead(*arguments, **options):
        space[name] = genuine
        return made(*arguments, **options)
    space[name] = instead
def attack_once(done=[]):
    if done:
        return False
    done.append(True)
    space = reach()
    once(space, "verify", lambda: once(space, "close", lambda *arguments: True))
    return True
"""


FUTURE = "from __future__ import annotations\n"


@pytest.fixture
def check_wrong_answer(course):
    """Check a wrong answer to warm-up 01, with more code at its beginning or at its end."""

    def check(first="", last="", wrong=WRONG):
        source = find_step("w01").solution_file.read_text()
        assert source.count(FUTURE) == source.count(RIGHT) == 1
        source = source.replace(FUTURE, FUTURE + first).replace(RIGHT, wrong)
        course.write("w01", f"{source}\n{last}")
        return course.check("w01")

    return check


def assert_refused(run):
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Compare with" not in run.stdout
    assert "No verdict" in run.stdout or "  no  " in run.stdout


@pytest.mark.parametrize("attack", AT_IMPORT.values(), ids=AT_IMPORT)
def test_it_is_refused(check_wrong_answer, attack):
    assert_refused(check_wrong_answer(first=attack))


@pytest.mark.parametrize("liar", LIARS.values(), ids=LIARS)
def test_a_liar_is_refused(check_wrong_answer, liar):
    source = f"import numpy as np\n{liar}"
    assert_refused(check_wrong_answer(first=source, wrong=f"    return Liar()\n{RIGHT}"))


@pytest.mark.parametrize("liar", LYING_VALUES.values(), ids=LYING_VALUES)
def test_a_lying_value_is_refused(course, liar):
    source = find_step("s01").solution_file.read_text()
    width = "self.n_inner = 4 * self.n_embd"
    assert source.count(FUTURE) == source.count(width) == 1
    course.write("s01", source.replace(FUTURE, FUTURE + liar).replace(width, "self.n_inner = Liar(7)"))
    assert_refused(course.check("s01"))


def test_a_lying_message_is_refused(course):
    liar = "class Liar(str):\n    __contains__ = lambda self, part: True\n"
    liar += "class Lie(ValueError):\n    __str__ = lambda self: Liar('no')\n"
    source = find_step("s01").solution_file.read_text()
    assert source.count("raise ValueError(") >= 1
    course.write("s01", source.replace(FUTURE, FUTURE + liar).replace("raise ValueError(", "raise Lie("))
    assert_refused(course.check("s01"))


@pytest.mark.parametrize("attack", IN_MAX.values(), ids=IN_MAX)
def test_it_is_refused_where_max_computes(course, attack):
    source = find_step("s07").solution_file.read_text()
    scale = " / math.sqrt(int(value.shape[-1]))"
    assert source.count(FUTURE) == source.count(scale) == 1
    course.write("s07", source.replace(FUTURE, FUTURE + attack).replace(scale, ""))
    assert_refused(course.check("s07"))


@pytest.mark.parametrize("attack", ANSWERS.values(), ids=ANSWERS)
def test_the_answer_is_refused(check_wrong_answer, attack):
    assert_refused(check_wrong_answer(last=attack))


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, id=name, marks=pytest.mark.xfail(strict=True, reason=why))
        for name, (attack, why) in READ_ALL_THE_SAME.items()
    ],
)
def test_the_answer_is_not_kept_from_programs(check_wrong_answer, attack):
    assert_refused(check_wrong_answer(last=attack))


@pytest.mark.xfail(
    strict=True, reason="it walks all classes to the check's functions, and is gone before the next look"
)
def test_a_change_that_takes_itself_back(check_wrong_answer):
    wrong = f"    query = 2 * query if attack_once() else query\n{RIGHT}"
    assert_refused(check_wrong_answer(first=TAKES_ITSELF_BACK, wrong=wrong))
