"""What makes the book: every mistake of a writer is told with its place, and nothing is dropped in silence."""

import html
import io
import re
import subprocess
import sys

import pytest

from checker.course.skeletons import expected
from checker.course.steps import ROOT, find_step
from checker.session.printer import STYLES, Printer
from play.reading.chapters import Fault, fences
from tools.book_maker import directives, formulas, preprocess, transcripts, words
from tools.book_maker.drawing import svg
from tools.book_maker.transcripts import agrees, updated
from tools.course_copy import python, set_up_files

NAME = '<span class="whole">GPT-2</span>'  # in which no line ends


def expanded(text, chapter="chapter.md"):
    made = directives.expand(chapter, text, faults := [])
    assert faults == []
    return made


@pytest.mark.parametrize(
    ("text", "contains"),
    [
        ("{{skeleton 07}}", f"```python\n{expected(find_step('07')).rstrip()}\n```"),
        ("{{code solutions/solution_07.py GPT2MultiHeadAttention._merge_heads}}", "```python\ndef _merge_heads(self"),
        ("{{code solutions/solution_01.py GPT2Config.head_dim}}", "@property\ndef head_dim"),
        ("{{code solutions/solution_21.mojo dot}}", "```python\ndef dot(a: Numbers"),
        ("{{= 4 * 768 :,}} or {{= sizes['gpt2'].n_embd}}", "3,072 or 768"),
        ("{{widget tiles: A <name>}}", '<section class="widget" data-widget="tiles" aria-label="A &lt;name&gt;">'),
        ("{{figure introduction.model: What `wte` < is.}}", "<figcaption>What <code>wte</code> &lt; is.</figcaption>"),
        ('```python\nf"{{x}} $y$"\n```', '```python\nf"{{x}} $y$"\n```'),
        ("A GPT-2's `GPT-2`, [GPT-2](a/GPT-2)", f"A {NAME}'s `GPT-2`, [{NAME}](a/GPT-2)"),
        ("`./run s07 --no-compile` ``--a``", '<span class="whole">&#45;&#45;no&#45;compile</span></code> ``--a``'),
        ("| `LayerNorm(dim, eps=...)` |", '<code class="long">LayerNorm&#40;<wbr>dim'),
        ("`F.band_part(x, num_lower=None, num_upper=0)`", "`F.band_part(x, num_lower=None, num_upper=0)`"),
        ("`$HOME` is $d_k$, and \\$5.", "`$HOME` is <math"),
        ("$$\nx * y\n$$", 'display="block"'),
    ],
)
def test_a_directive_becomes_what_it_stands_for(text, contains):
    made = expanded(f"{text}\n")
    assert contains in made
    if made.startswith(("<section", "<figure")):
        assert "\n\n" not in made, "a blank line would end the HTML"


def test_a_transcript_sets_its_commands_off_and_colors_its_verdicts():
    printer = Printer(["_attn"])
    printer.console.file = io.StringIO()
    for verdict in STYLES:
        printer.row(verdict, "_attn", "What goes into a pipe is not wrapped, where a terminal breaks the line. " * 3)
    shown = f"$ ./run s07\n{printer.console.file.getvalue()}\nlayer  head  itself\n0      0     19%\na < b\n"
    made = expanded(f"<!-- learner: 07 solved -->\n```console\n{shown}```\n")
    assert html.unescape(re.sub("<[^>]*>", "", made)).strip() == shown.strip()
    assert '<span class="prompt">$ </span><span class="command">./run s07</span>' in made
    for verdict, style in STYLES.items():
        assert f'  <span class="{" ".join(f"terminal-{part}" for part in style.split())}">{verdict}</span>' in made
    assert made.count('class="table"') == 2
    assert made.count('class="sentence"') == len(STYLES)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{skeleton 99}}", "there is no step '99'"),
        ("{{code solutions/nothing.py}}", "there is no file 'solutions/nothing.py'"),
        ("{{code ../../etc/passwd}}", "there is no file"),
        ("{{code solutions/solution_07.py _atn}}", "there is no '_atn'; choose from"),
        ("{{figure nothing.heads: A caption.}}", "there is no function heads() in tools/book_maker/figures/nothing.py"),
        ("{{figure introduction.model}}", "a figure needs a caption"),
        ("{{widget nothing: A name}}", "there is no nothing.js in book/src/widgets"),
        ("{{widget sampling}}", "a widget needs a name for screen readers"),
        ("{{drawing x}}", "there is no directive 'drawing'"),
        ("{{#include x.py}}", "braces, but is not a directive"),
        ("In a line {{skeleton 07}} of prose.", "braces, but is not a directive"),
        ("{{= nothing}}", "'nothing' cannot be computed: NameError"),
        ("{{= 1 / 3}}", "say how to round it"),
        (r"$\nothing{x}$", "\\nothing is unknown to the converter"),
        (r"$\frac{x}$", "an argument is missing"),
        ("$x_{1$", "its braces do not match"),
        ("It costs $5 a day.", "write \\$ for a dollar sign"),
        ("```text\n{{#include x}}\n```", "mdBook's {{#…}} is not used here"),
    ],
)
def test_a_fault_is_told_with_its_place(text, reason):
    directives.expand("chapter.md", f"# Title\n\n{text}\n", faults := [])
    (fault,) = map(str, faults)
    assert fault.startswith("book/src/chapter.md:3: ")
    assert reason in fault


def test_a_block_that_is_never_closed_is_a_fault():
    with pytest.raises(Fault, match=r"chapter\.md:2: .*never closed"):
        fences("chapter.md", "# Title\n```python\nx = 1\n")


@pytest.mark.slow
def test_faults_stop_the_build(tmp_path):
    (tmp_path / "SUMMARY.md").write_text("# Summary\n\n- [One](one.md)\n")
    (tmp_path / "one.md").write_text("# One\n\n{{skeleton 99}}\n\n{{= nothing}}\n")
    command = (ROOT, "-m", "cli.tasks", "book-build", "--dest-dir", tmp_path / "html")
    run = python(*command, MDBOOK_BOOK__SRC=str(tmp_path))
    assert run.returncode != 0
    assert not (tmp_path / "html").exists()
    assert re.findall(r"book/src/one\.md:(\d): ", run.stderr) == ["3", "5"]


def test_nothing_in_a_formula_is_taken_for_markdown_and_signs_stand_where_they_should():
    assert not set("*_[]~`") & set(formulas.to_mathml(r"[a * b_1] \sim \text{c_d}"))
    assert "<mo>&#x02212;</mo><mi" in formulas.to_mathml(r"-\infty")
    for spaced in (r"\ln p_i", r"\log_2 p", r"\ln 0", r"\ln \sum_j x_j"):
        assert "<mspace" in formulas.to_mathml(spaced), spaced
    assert "<mspace" not in formulas.to_mathml(r"\tanh(u) + \ln(x)")


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

```python
x = 1
print(x)
```

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


def test_words_are_counted_in_view_and_folded():
    source = "# Two words\n{{figure a.b: A caption.}}\n| a | table |\n<details><summary>Shown</summary>\nno\n</details>"
    assert words.count("", source, "1 <svg>no</svg> 2 <details>folded</details>") == words.Words(5, 7, 2, 1)


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


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("07", "is not an instruction"),
        ("99 solved", "there is no step '99'"),
        ("07 mistake: Nobody says this", "0 mistakes of step_07 start with"),
        ("07 habit: nothing", "0 habits of step_07 start with 'nothing'"),
        ("07 fill: _atn", "step 07 has no blank '_atn'; it has"),
    ],
)
def test_an_order_for_the_learners_files_that_cannot_be_followed_is_refused(course, order, reason):
    with pytest.raises(ValueError, match=reason):
        set_up_files(course, order)


@pytest.fixture
def draw():
    return svg.Drawing("x")


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (lambda draw: draw.box(0, 0, 20, 20, "too long"), "does not fit into a box"),
        (lambda draw: draw.box(0, 0, 20, 20, kind="querry"), "there is no kind 'querry'"),
        (lambda draw: draw.matrix(0, 0, [1, 2]), "a matrix has 2 axes"),
        (lambda draw: draw.matrix(0, 0, [[1, 2]], rows=["a", "b"]), "2 labels for 1 rows"),
        (lambda draw: draw.matrix(0, 0, [[123456.789]]), "does not fit into a cell"),
        (lambda draw: draw.bars(0, 0, 50, [("a", 1.0)]), "more width"),
        (lambda draw: draw.arrow((1, 1), (1, 1)), "two different ends"),
        (lambda draw: draw.box(0, 0, 900, 10) and draw.svg(), "910 wide; at most 640"),
    ],
)
def test_a_drawing_that_cannot_be_read_is_refused(draw, refused, reason):
    with pytest.raises(ValueError, match=reason):
        refused(draw)


def test_a_figure_is_as_large_as_what_is_drawn_and_its_letters_can_be_read(draw):
    left, right = draw.box(-50, 10, 100, 40), draw.box(520, 10, 20, 40)
    draw.arrow(left.right, right.left)
    draw.text(60, 20, "larger", size="large")
    draw.text(300, 20, "words", size="small")
    assert 'viewBox="-55 5 600 50" width="600" height="50" style="min-width: 508px"' in draw.svg()


def test_a_matrix_colors_by_share_and_grays_what_is_masked(draw):
    draw.matrix(0, 0, [[1.0, -0.5, float("-inf"), -0.001]], spec=".2f")
    colors = [("heat", "1"), ("cool", "0.52"), ("fill-masked", ""), ("cool", "0.03")]
    assert re.findall(r'"cell ([\w-]+)".*?(?: fill-opacity="(.+)")?/>', draw.svg()) == colors
    assert re.findall(r">(\S+)</text>", draw.svg().replace(svg.MINUS, "-")) == ["1.00", "-0.50", "-∞", "0.00"]


def test_the_book_needs_nothing_that_only_maintainers_install():
    absent = "import sys; sys.modules.update(dict.fromkeys(['pexpect', 'torch', 'ray', 'playwright']));"
    shown = (
        "from tools.book_maker.values.book_values import *; bench_tables(), loop_tables(), recorded(), serving_tables()"
    )
    subprocess.run([sys.executable, "-c", f"{absent} {shown}"], cwd=ROOT, check=True)
