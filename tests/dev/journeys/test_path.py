"""The path of a check: two processes, few modules, and nothing that outlives them; Ctrl-C ends whatever runs."""

import json
import os
import signal
import sys
import time

import psutil
import pytest

from tests.dev.helpers.terminal import started

MOST_LOADED, MOST_RUN, LONGEST = 95, 60, 350  # each that is loaded costs about 1 ms
TO_EXPLAIN = 8  # files more that may run to explain a failure
#: Notes every file of ours that is run as a module, or in which a function runs, in all processes that Python starts.
SITECUSTOMIZE = """
import os, sys
noted = os.open({noted!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(frame, event, argument):
    code = frame.f_code
    what = "loads" if code.co_name == "<module>" else "runs" if code.co_flags & 2 and code.co_name[0] != "<" else ""
    if event == "call" and what and code.co_filename.startswith({root!r}):
        os.write(noted, (what + " " + code.co_filename.removeprefix({root!r}) + chr(10)).encode())
sys.setprofile(note)
"""
ENDS = [(signal.SIGTERM, []), (signal.SIGKILL, []), (signal.SIGINT, []), (signal.SIGINT, ["--json"])]
RIGHT = pytest.param({}, id="right", marks=pytest.mark.slow)  # it compiles
WRONG = pytest.param({" / math.sqrt(self.head_dim)": ""}, id="wrong")


@pytest.mark.parametrize("edits", [RIGHT, WRONG])
def test_a_check_goes_through_few_modules_and_loads_none_that_it_does_not_need(course, tmp_path, monkeypatch, edits):
    noted, site = tmp_path / "noted", tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITECUSTOMIZE.format(noted=str(noted), root=f"{course.root}{os.sep}"))
    monkeypatch.setenv("PYTHONPATH", str(site))
    course.write("s07", edits=edits)
    course.check("s07", status=bool(edits))
    lines = {line for line in noted.read_text().splitlines() if " steps" not in line}
    loaded, run = ({line.removeprefix(what) for line in lines if line.startswith(what)} for what in ("loads ", "runs "))
    assert len(loaded) <= MOST_LOADED, sorted(loaded)
    assert {"cli/check.py", "checker/child/main.py"} <= loaded & run
    assert len(run) <= MOST_RUN + bool(edits) * TO_EXPLAIN, sorted(run)
    program = [file for file in loaded if not file.startswith("tests/attempts/")]  # mistakes may be any number
    assert not [file for file in program if len((course.root / file).read_text().splitlines()) > LONGEST]
    assert not [file for file in loaded if file.startswith(("play", "tools", "cli/grade", "cli/shared/problems"))]


@pytest.mark.parametrize(("end", "options"), ENDS)
def test_a_check_that_is_ended_leaves_no_child_and_ctrl_c_gets_a_sentence(course, end, options):
    looping = course.root / "looping"
    loop = f"open({str(looping)!r}, 'w').close(); sum(iter(int, 1))"  # which never lets go of Python's lock
    course.write("w01", edits={"return query @ np.swapaxes(key, -2, -1)": loop})
    with started(course.root, "-m", "cli", "w01", *options) as check:
        while not looping.exists() and check.poll() is None:
            time.sleep(0.05)
        children = psutil.Process(check.pid).children(recursive=True)
        check.send_signal(end)
        shown, errors = check.communicate(timeout=30)
        _, alive = psutil.wait_procs(children, timeout=2)
        running = [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]  # init may be slow to reap
    assert children
    assert running == []
    assert end != signal.SIGTERM or (check.returncode, errors) == (143, ""), "it has closed what was open"
    if end == signal.SIGINT:
        assert (check.returncode, errors) == (130, "")
        assert "Interrupted: there is no verdict." in shown
        assert not options or json.loads(shown)["verdict"] == "interrupted"


@pytest.mark.slow
def test_ctrl_c_ends_what_run_was_told_to_do(course):
    """The program that starts it ignores Ctrl-C: ``nohup … &``, a job of a script, some runners of CI."""
    ignoring = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    with started(course.root, "-m", "cli.start.tasks", "watch", "w01", by=ignoring, PATH=path) as runner:
        while "Ctrl-C ends this." not in (line := runner.stdout.readline()):
            assert line
        os.killpg(runner.pid, signal.SIGINT)
        shown = "".join(runner.communicate(timeout=60))
    assert runner.returncode == 130
    assert shown.strip().endswith("`./run watch` goes on with the next step to do.")
