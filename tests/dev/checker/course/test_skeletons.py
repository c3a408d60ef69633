"""``skeletons`` and the files that a learner has begun."""

import shutil
import subprocess

from checker.course.blanks import skeleton
from checker.course.source import Source


def test_skeletons_never_overwrite_work(course):
    steps = course.root / "steps"
    course.fill("s07", "_split_heads")
    (steps / "step_05.py").write_bytes(b"x = '\xe9'")
    (steps / "step_02.py").write_text((steps / "step_02.py").read_text() + "\n# a note of mine\n")
    mine = {name: (steps / name).read_bytes() for name in ("step_05.py", "step_07.py")}
    run = course.check("skeletons", status=0)
    assert {name: (steps / name).read_bytes() for name in mine} == mine
    assert all(f"steps/{name} is left alone" in run.stdout for name in mine)
    (kept,) = steps.glob("step_02.kept-*.py")
    assert "a note of mine" in kept.read_text()
    assert kept.name in run.stdout
    course.check("skeletons", "--check", status=1)


def test_skeletons_need_neither_a_folder_nor_git_nor_a_locale(course, tmp_path):
    """A slim container has none of them: no program is found, and files are read in ASCII where none says how."""
    steps, alone = course.root / "steps", tmp_path / "programs"
    slim = {"PATH": str(alone), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    untouched = (steps / "step_06.py").read_bytes()
    (steps / "step_02.py").write_text((steps / "step_02.py").read_text() + "\n# a note of mine\n")
    assert "was changed and is kept" in course.check("skeletons", status=0, **slim).stdout
    shutil.rmtree(steps)
    course.check("skeletons", status=0, **slim)
    assert (steps / "step_06.py").read_bytes() == untouched
    course.check("skeletons", "--check", status=0, **slim)
    course.check("w05", "--solution", status=0, **slim)
    assert "06  untouched" in course.check("status", status=0, **slim).stdout
    shutil.rmtree(steps)
    steps.write_text("no folder")
    assert "Is the folder of the course writable?" in course.check("skeletons", status=2).stderr


def test_an_older_skeleton_is_no_work(course):
    """It has a return behind the statement at which it stops, which today's has not."""
    solution, path = course.root / "solutions" / "solution_05.py", course.path("s05")
    newer, untouched = solution.read_text(), path.read_text()
    older = newer.replace("return F.gather(", "rows = F.gather(").replace("axis=0)", "axis=0)\n        return rows")
    solution.write_text(older)
    path.write_text(skeleton(Source(older)))
    author = ["-c", "user.name=A learner", "-c", "user.email=learner@example.org"]
    for line in (["init", "-q"], ["add", "-f", "solutions", "steps"], ["commit", "-q", "-m", "A commit"]):
        subprocess.run(["git", "-C", course.root, *author, *line], check=True)
    solution.write_text(newer)
    path.write_text(skeleton(Source(older)).replace("return rows", "return self.weight"))
    assert "steps/step_05.py is left alone" in course.check("skeletons", status=0).stdout
    path.write_text(skeleton(Source(older)))
    course.check("skeletons", status=0)
    assert path.read_text() == untouched
    assert not list(path.parent.glob("*.kept-*"))
