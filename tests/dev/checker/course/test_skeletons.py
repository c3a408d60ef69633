"""``skeletons`` and the files that a learner has begun."""

import subprocess

from checker.course.blanks import skeleton


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


def test_an_older_skeleton_is_no_work(course):
    """It has a return behind the statement at which it stops, which today's has not."""
    solution, path = course.root / "solutions" / "solution_05.py", course.path("s05")
    newer, untouched = solution.read_text(), path.read_text()
    older = newer.replace("return F.gather(", "rows = F.gather(").replace("axis=0)", "axis=0)\n        return rows")
    solution.write_text(older)
    path.write_text(skeleton(older))
    author = ["-c", "user.name=A learner", "-c", "user.email=learner@example.org"]
    for line in (["init", "-q"], ["add", "-f", "solutions", "steps"], ["commit", "-q", "-m", "A commit"]):
        subprocess.run(["git", "-C", course.root, *author, *line], check=True)
    solution.write_text(newer)
    path.write_text(skeleton(older).replace("return rows", "return self.weight"))
    assert "steps/step_05.py is left alone" in course.check("skeletons", status=0).stdout
    path.write_text(skeleton(older))
    course.check("skeletons", status=0)
    assert path.read_text() == untouched
    assert not list(path.parent.glob("*.kept-*"))
