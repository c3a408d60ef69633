"""The child of a check, when it fails itself."""


def test_an_error_of_the_check_itself_is_no_failure_of_the_file(course):
    course.write("w03")
    recorded = course.root / "tests" / "references" / "warmup_03.npz"
    recorded.write_bytes(b"damaged")
    run = course.check("w03", status=1)
    assert "No verdict: the check itself failed (ValueError: " in run.stdout
    assert "It isn't your file; please report it." in run.stdout
    assert "Look for" not in run.stdout
