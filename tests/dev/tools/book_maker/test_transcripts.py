"""What the pages show is run again, compared and renewed."""

import pytest

from tools.book_maker import preprocess, transcripts
from tools.book_maker.transcripts import agrees, updated


def test_times_are_not_compared_and_lines_may_be_left_out():
    assert agrees(["Pass (0.9 s).", "x"], ["Pass (12.3 s).", "x"])
    assert agrees(["a", "...", "z"], ["a", "b", "c", "z"])
    assert agrees(["a", "..."], ["a"])
    assert not agrees(["a", "...", "z"], ["a", "b"])
    assert not agrees(["0.9 ms"], ["1.9 ms"])
    assert updated(["a", "...", "z"], ["A", "b", "c", "Z"]) == ["A", "...", "Z"]
    assert updated(["a", ""], ["A", "b"]) == ["A", "b"]
    assert updated(["1 s", ""], ["2 s"]) == ["1 s", ""]


CHAPTER = """\
# Title

<!-- learner: 07 fill: __init__,
     _attn -->

```console
$ grep -c NotImplementedError \\
  steps/step_07.py
0
```

<details><summary>The program</summary>

```python
x = 1
print(x)
```

</details>

```text
old
```

```python
print(x + 1)
```

Prose.

```text
nothing that is printed
```
"""


@pytest.mark.slow
def test_a_chapter_is_checked_run_again_and_rewritten(monkeypatch, tmp_path, capsys):
    for module in (preprocess, transcripts):
        monkeypatch.setattr(module, "SRC", tmp_path)
    chapter = tmp_path / "one.md"
    chapter.write_text(CHAPTER)
    assert transcripts.update(["one.md"]) == 0
    wanted = CHAPTER.replace("07.py\n0\n", "07.py\n5\n").replace("\nold\n", "\n1\n")
    assert chapter.read_text() == wanted.replace("+ 1)\n```", "+ 1)\n```\n\n```text\n2\n```")
    assert transcripts.update(["one.md"]) == preprocess.check(["one.md"]) == 0
    chapter.write_text("word " * 1_201)
    assert preprocess.check(["one.md"]) == 1
    chapter.write_text("# Title\n\n{{skeleton 99}}\n\n```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    assert transcripts.update(["one.md"]) == preprocess.check(["one.md"]) == 1
    printed = capsys.readouterr().out
    assert "one.md:9: this Python block fails" in printed
    assert 'one.md", line 10' in printed
    assert "ZeroDivisionError" in printed
    assert "one.md:3: {{skeleton 99}}: there is no step" in printed
