"""``./run try`` and ``./run python``: the book's blocks, run as a reader runs them."""

import re
from unittest.mock import Mock

import pytest

from checker.course.steps import find_step
from checker.errors import UserError
from play.book.chapters import find_chapter, python_fences
from play.book.trying import try_chapter
from play.mine.stand_ins import file_in_use, steps_by_file

CHAPTER = """```python
x = 1
```

<details class="hint"><summary>A hint</summary>

```python
x = 2
```

</details>

```text
1
```

  ```python
  x = 3
  ```
"""


def test_all_python_is_run_but_hints():
    assert [(fence.first, fence.text) for fence in python_fences("", CHAPTER)] == [(1, "x = 1\n"), (17, "x = 3\n")]


def test_a_chapter_is_found_by_any_of_its_names():
    for name in ("08", "s08", "step_08", "book/src/step_08.md"):
        assert find_chapter(name) == "step_08.md"
    assert (find_chapter("w01"), find_chapter("heads")) == ("warmup_01.md", "heads.md")
    with pytest.raises(UserError, match=r"there is no chapter 'poems'; choose from .*heads"):
        find_chapter("poems")


@pytest.mark.slow
def test_a_chapter_runs_on_the_readers_step_or_on_the_solution(course):
    step = find_step("w01")
    untouched = course.check("try", "w01", status=0)
    assert "steps/warmup_01.py is not written yet, so the solution stands in" in untouched.stderr
    for fence in python_fences("", step.chapter.read_text()):
        assert f"line {fence.first + 1} (" in untouched.stdout
    course.write("w01", step.read_solution().text + "\nprint('this is mine')\nraise OSError('mine')\n")
    failed = course.check("try", "w01")
    assert (failed.returncode, "this is mine" in failed.stdout, "OSError: mine" in failed.stderr) == (1, True, True)
    assert re.search(r'File "book/src/warmup_01.md", line \d+, in <module>\n +(from|import) ', failed.stderr)
    assert "this is mine" not in course.check("try", "w01", "--solution").stdout


def test_blocks_of_the_server_are_refused_without_its_packages(monkeypatch):
    monkeypatch.setattr("play.book.trying.check_version", Mock(side_effect=UserError("not installed")))
    with pytest.raises(UserError, match="not installed"):
        try_chapter("operating", print, solution=True)


def test_a_kernel_is_compiled_from_the_readers_file_if_it_stands_in(monkeypatch):
    step = find_step("21")
    assert file_in_use(step) == step.solution_file
    monkeypatch.setitem(steps_by_file, str(step.learner_file), step)
    assert file_in_use(step) == step.learner_file


@pytest.mark.slow
def test_the_prompt_answers_an_operation_of_max(course):
    line = "print(F.softmax(Tensor.from_dlpack(np.ones((1, 4), np.float32))))\n"
    assert "0.25" in course.check("python", input=line, status=0).stdout
    assert "0.25" in course.check("python", "-c", line, status=0).stdout
