"""How a file is read, whoever has written it."""

from checker.course.steps import find_step


def test_a_file_as_windows_editors_write_it_is_accepted_and_no_attempt_is_read_for_that(course):
    (course.root / "tests" / "attempts" / "warmup_01.py").write_text("raise RuntimeError('these were read')\n")
    path = course.path("w01")
    path.write_bytes(b"\xef\xbb\xbf" + find_step("w01").solution_file.read_bytes().replace(b"\n", b"\r\n"))
    course.check("w01", status=0)
