"""``skeletons`` and the files that a learner has begun."""


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
