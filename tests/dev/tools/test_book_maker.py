"""What makes the book: every mistake of a writer is told with its place, and nothing is dropped in silence."""

import html
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checker.course.paths import ROOT
from checker.course.skeletons import expected
from checker.course.steps import find_step
from checker.session.printer import STYLES, Printer
from play.reading.chapters import Fault, fences
from tools.book_maker import directives, formulas
from tools.book_maker.drawing import svg
from tools.book_maker.screens import joined
from tools.book_maker.transcripts import Difference, agrees, commands, order_before, output_of, rewritten, shortened
from tools.course_copy import prepare


def expanded(text):
    faults = []
    made = directives.expand("chapter.md", text, faults)
    assert faults == []
    return made


def faults_of(text):
    faults = []
    directives.expand("chapter.md", text, faults)
    return [str(fault) for fault in faults]


# ---------------------------------------------------------------- directives


def test_a_skeleton_is_the_generators():
    assert f"```python\n{expected(find_step('07')).rstrip()}\n```" in expanded("{{skeleton 07}}\n")


def test_in_its_own_chapter_a_skeleton_is_a_panel_with_the_commands_to_type():
    made = directives.expand("step_07.md", "{{skeleton 07}}\n\n{{skeleton 08}}\n", [])
    panel, _, after = made.partition("</section>")
    assert panel.startswith('<section class="panel" data-step="step_07">\n\n')
    for command in ("s07", "watch s07", "hint s07", "book"):
        assert f"`./run {command}`" in panel
    assert "<section" not in after
    assert "step_08.py" in after


def test_a_definition_is_shown_alone_and_dedented():
    made = expanded("{{code solutions/solution_07.py GPT2MultiHeadAttention._merge_heads}}\n")
    assert "```python\ndef _merge_heads(\n    self, tensor: Tensor" in made
    assert "_attn" not in made


def test_a_definition_has_its_decorator():
    assert "@property\ndef head_dim" in expanded("{{code solutions/solution_01.py GPT2Config.head_dim}}\n")


def test_a_number_is_computed_and_formatted():
    assert (
        expanded("The width is {{= 4 * 768 :,}}, or {{= sizes['gpt2'].n_embd}}.\n") == "The width is 3,072, or 768.\n"
    )


def test_mistakes_are_listed():
    assert expanded("{{mistakes 07}}\n").count("<li>") > 30


def test_a_widget_is_a_section_with_the_scripts_that_it_needs():
    made = expanded("{{widget tiles: A <name>}}\n")
    assert made.startswith('<section class="widget" data-widget="tiles" aria-label="A &lt;name&gt;">')
    assert re.findall(r'src="(.*?)"', made) == [f"widgets/{name}.js" for name in ("widgets", "tiles", "tiles.data")]
    assert "\n\n" not in made


def test_a_figure_is_inlined_without_blank_lines():
    made = expanded("{{figure introduction.model: What `wte` < is.}}\n")
    assert made.startswith('<figure>\n<div class="drawing">\n<svg')
    assert "\n\n" not in made
    assert "<figcaption>What <code>wte</code> &lt; is.</figcaption>" in made


def test_blocks_of_code_are_left_alone():
    text = '```python\nf"{{x}} $y$"\n```\n'
    assert expanded(text) == text


def test_no_line_ends_inside_the_models_name():
    text = "# GPT-2\n\nA GPT-2's `GPT-2`, [GPT-2](https://openai.com/GPT-2) and GPT-20.\n"
    name = '<span class="whole">GPT-2</span>'
    assert expanded(text) == f"# {name}\n\nA {name}'s `GPT-2`, [{name}](https://openai.com/GPT-2) and GPT-20.\n"


def test_a_transcript_sets_its_commands_off():
    made = expanded("<!-- learner: 07 solved -->\n```console\n$ ./run s07\n\na < b\n```\n")
    assert '<span class="prompt">$ </span><span class="command">./run s07</span>\n</span>' in made
    assert words(made) == "\n$ ./run s07\n\na < b\n\n"
    assert "learner" not in made


SENTENCE = "Positions go on where the text before ended, and leave padding out; padding is masked, and finitely."


def words(made):
    return html.unescape(re.sub("<[^>]*>", "", made))


def printed(show):
    """What a check's printer writes, as the lines of a console block."""
    printer = Printer(["__call__", "cached_prefix_length"])
    printer.console.file = io.StringIO()
    show(printer)
    return printer.console.file.getvalue().splitlines()


def test_a_sentence_that_the_terminal_broke_is_joined_again():
    lines = printed(lambda printer: [printer.row(verdict, "__call__", SENTENCE) for verdict in STYLES])
    assert len(lines) == 2 * len(STYLES), "each was broken"
    whole = [f"  {verdict:<8}  {'__call__':<20}  {SENTENCE}" for verdict in STYLES]
    assert list(joined(lines)) == whole
    paragraph = f"{SENTENCE} {SENTENCE}"
    lines = printed(lambda printer: (printer.line(paragraph), printer.line(), printer.line(paragraph)))
    assert list(joined(lines)) == [paragraph, "", paragraph]


@pytest.mark.parametrize(
    "lines",
    [
        ["one", "two"],
        ["", "", "after two empty lines", ""],
        ["  pass      _attn  Short.", "  fail      _attn  Short."],
        ["a" * 110, "    indented"],
        [f"  pass      _attn  {'a' * 91}", "    line 58: weights = F.softmax(scores, dim=-1)"],
        [f"{'a' * 100}.", "A sentence that begins a line of its own."],
        [f"$ {'a' * 110}", "printed below a long command"],
    ],
)
def test_a_line_that_ends_by_itself_stays_alone(lines):
    assert list(joined(lines)) == lines


def test_verdicts_have_the_colors_that_the_terminal_gives_them():
    for verdict, style in STYLES.items():
        made = expanded(f"```console\n$ ./run s07\n  {verdict:<8}  _attn  It says so.\n```\n")
        classes = " ".join(f"terminal-{part}" for part in style.split())
        assert f'  <span class="{classes}">{verdict}</span>' in made
        assert '<span class="sentence">It says so.\n</span>' in made
    made = expanded("```console\n$ echo\nno color  in other lines, yes or no\n```\n")
    assert "terminal-" not in made


def test_a_table_that_is_printed_stays_in_one_piece():
    made = expanded("```console\n$ ./run attention\nlayer  head  itself\n0      0     19%\n  ␣a |++  |\n```\n")
    assert made.count('class="table"') == 3


def test_long_code_in_a_table_may_be_broken_and_is_what_was_written():
    row = '| `F.band_part(x, num_lower=None, a|b, "--exclude...")` | `[batch, seq]` |\n'.replace("a|b", "a\\|b")
    made = expanded(f"| a | b |\n|---|---|\n{row}")
    assert '<code class="long longest">F&#46;<wbr>band&#95;<wbr>part&#40;<wbr>x' in made
    assert 'F.band_part(x, num_lower=None, a|b, "--exclude...")' in words(made)
    assert "`[batch, seq]`" in made
    assert '<code class="long">LayerNorm' in expanded("| `LayerNorm(dim, eps=...)` |\n")
    prose = "Prose with `F.band_part(x, num_lower=None, num_upper=0)` stays.\n"
    assert expanded(prose) == prose


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{skeleton 99}}", "there is no step '99'"),
        ("{{code solutions/nothing.py}}", "there is no file 'solutions/nothing.py'"),
        ("{{code ../../etc/passwd}}", "there is no file"),
        ("{{code solutions/solution_07.py _atn}}", "there is no '_atn'; choose from"),
        ("{{figure nothing.heads: A caption.}}", "there is no function heads() in tools/book_maker/figures/nothing.py"),
        ("{{figure introduction.nothing: A caption.}}", "there is no function nothing()"),
        ("{{figure introduction.model}}", "a figure needs a caption"),
        ("{{widget nothing: A name}}", "there is no nothing.js in book/src/widgets"),
        ("{{widget sampling}}", "a widget needs a name for screen readers"),
        ("{{mistakes 99}}", "there is no step '99'"),
        ("{{drawing x}}", "there is no directive 'drawing'"),
        ("{{#include x.py}}", "braces, but is not a directive"),
        ("In a line {{skeleton 07}} of prose.", "braces, but is not a directive"),
        ("{{= nothing}}", "'nothing' cannot be computed: NameError"),
        ("{{= 1 / 3}}", "say how to round it"),
        ("{{= 'x' :.2f}}", "cannot be computed: ValueError"),
        ("{{= open('x')}}", "cannot be computed: FileNotFoundError"),
        (r"$\nothing{x}$", "\\nothing is unknown to the converter"),
        (r"$\frac{x}$", "an argument is missing"),
        ("$x_{1$", "its braces do not match"),
        ("It costs $5 a day.", "write \\$ for a dollar sign"),
        ("```text\n{{#include x}}\n```", "mdBook's {{#…}} is not used here"),
    ],
)
def test_a_fault_is_told_with_its_place(text, told):
    (fault,) = faults_of(f"# Title\n\n{text}\n")
    assert fault.startswith("book/src/chapter.md:3: ")
    assert told in fault


def test_a_block_that_is_never_closed_is_a_fault():
    with pytest.raises(Fault, match=r"chapter\.md:2: .*never closed"):
        fences("chapter.md", "# Title\n```python\nx = 1\n")


def mdbook(folder: Path, chapter: str):
    """Build a book of one chapter with the preprocessor of this one."""
    (folder / "SUMMARY.md").write_text("# Summary\n\n- [One](one.md)\n")
    (folder / "one.md").write_text(chapter)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "MDBOOK_BOOK__SRC": str(folder)}
    command = ["mdbook", "build", "book", "--dest-dir", str(folder / "html")]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_fault_stops_the_build(tmp_path):
    run = mdbook(tmp_path, "# One\n\n{{skeleton 99}}\n\n{{= nothing}}\n")
    assert run.returncode != 0
    assert "book/src/one.md:3: " in run.stderr
    assert "book/src/one.md:5: " in run.stderr
    assert not (tmp_path / "html").exists()


def test_a_chapter_that_is_missing_stops_the_build(tmp_path):
    (tmp_path / "SUMMARY.md").write_text("# Summary\n\n- [One](one.md)\n- [Two](two.md)\n")
    run = subprocess.run(
        ["mdbook", "build", "book", "--dest-dir", str(tmp_path / "html")],
        cwd=ROOT,
        env=os.environ
        | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            "MDBOOK_BOOK__SRC": str(tmp_path),
        },
        capture_output=True,
        check=False,
    )
    assert run.returncode != 0
    assert not (tmp_path / "two.md").exists()


# ---------------------------------------------------------------- formulas


def test_formulas_become_mathml_outside_of_code():
    def wrong(at, reason):
        pytest.fail(reason)

    made = formulas.replace("`$HOME` is $d_k$, and \\$5.\n\n$$\nx * y\n$$\n", wrong)
    code, _, rest = made.partition(" is ")
    assert code == "`$HOME`"
    assert "\\$5" in rest
    assert rest.count("<math") == 2
    assert 'display="block"' in rest


def test_nothing_in_a_formula_is_taken_for_markdown():
    assert not set("*_[]~`") & set(formulas.to_mathml(r"[a * b_1] \sim \text{c_d}"))


def test_infinity_is_a_number_and_a_function_stands_apart_from_its_argument():
    assert "<mo>&#x02212;</mo><mi" in formulas.to_mathml(r"-\infty")
    for spaced in (r"\ln p_i", r"\log_2 p", r"\ln 0", r"\ln \sum_j x_j"):
        assert "<mspace" in formulas.to_mathml(spaced), spaced
    assert "<mspace" not in formulas.to_mathml(r"\tanh(u) + \ln(x)")


# ---------------------------------------------------------------- transcripts


def test_times_are_not_compared_and_lines_may_be_left_out():
    assert agrees(["Pass (0.9 s).", "x"], ["Pass (12.3 s).", "x"])
    assert agrees(["a", "...", "z"], ["a", "b", "c", "z"])
    assert agrees(["a", "..."], ["a"])
    assert not agrees(["a", "...", "z"], ["a", "b"])
    assert not agrees(["0.9 ms"], ["1.9 ms"])


def test_what_was_left_out_stays_left_out():
    assert shortened(["a", "...", "z"], ["A", "b", "c", "Z"]) == ["A", "...", "Z"]
    assert shortened(["a"], ["A", "b"]) == ["A", "b"]


CHAPTER = """\
# Title

<!-- learner: 07 mistake: There is no
     causal mask -->

```console
$ ./run s07
old
$ echo one \\
  two
```

```python
print(1)
```

Prose.

```text
old
```
"""


def test_a_chapter_is_read_and_rewritten():
    console, python, text = fences("chapter.md", CHAPTER)
    assert order_before(CHAPTER.splitlines(), console) == "07 mistake: There is no causal mask"
    assert order_before(CHAPTER.splitlines(), python) == ""
    assert commands("chapter.md", console) == [(["$ ./run s07"], ["old"]), (["$ echo one \\", "  two"], [])]
    assert output_of(CHAPTER, [console, python, text], python, printed=True) == text
    assert output_of(CHAPTER, [console, python, text], python, printed=False) is None
    changed = rewritten(CHAPTER, [Difference("chapter.md", text, ("1",))])
    assert changed == CHAPTER.replace("```text\nold", "```text\n1")


def test_a_missing_output_is_put_behind_its_block():
    text = "```python\nprint(1)\n```\n\nProse.\n"
    (python,) = fences("chapter.md", text)
    changed = rewritten(text, [Difference("chapter.md", python, ("1",), insert=True)])
    assert changed == "```python\nprint(1)\n```\n\n```text\n1\n```\n\nProse.\n"


def test_the_learners_files_are_set_as_ordered(course):
    prepare(course, "07 fill: __init__, _attn; w01 solved")
    written = (course.root / "steps" / "step_07.py").read_text()
    assert written.count("raise NotImplementedError") == 3
    assert "NotImplementedError" not in (course.root / "steps" / "warmup_01.py").read_text()
    prepare(course, "07 mistake: The scores are divided by head_dim itself; it is its square root.")
    assert "scores / int(value.shape[-1])" in (course.root / "steps" / "step_07.py").read_text()
    assert "NotImplementedError" in (course.root / "steps" / "warmup_01.py").read_text()


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("07", "is not an instruction"),
        ("99 solved", "there is no step '99'"),
        ("07 mistake: Nobody says this", "0 mistakes of step_07 start with"),
        ("07 mistake: The", "mistakes of step_07 start with"),
        ("07 fill: _atn", "step 07 has no blank '_atn'; it has"),
    ],
)
def test_an_order_that_cannot_be_followed_is_refused(course, order, told):
    with pytest.raises(ValueError, match=told):
        prepare(course, order)


def test_a_command_runs_as_in_a_terminal(course):
    assert course.shell("./run s01").startswith("steps/step_01.py\n")
    assert course.shell("echo one; echo two >&2") == "one\ntwo\n"


def test_python_blocks_share_a_module_and_name_the_line_that_fails(course):
    job = {"path": "chapter.md", "blocks": [{"line": 3, "source": "x = 1\nprint(x)"}, {"line": 9, "source": "\nx / 0"}]}
    run = course.python(str(ROOT / "tools" / "book_maker" / "blocks.py"), input=json.dumps(job))
    first, second = json.loads(run.stdout)
    assert first == {"printed": "1\n"}
    assert 'File "chapter.md", line 10' in second["error"]
    assert "ZeroDivisionError" in second["error"]


# ---------------------------------------------------------------- figures


@pytest.fixture
def draw():
    return svg.Drawing("x")


@pytest.mark.parametrize(
    ("method", "arguments", "options", "reason"),
    [
        ("box", (0, 0, 20, 20, "too long"), {}, "does not fit into a box"),
        ("box", (0, 0, 20, 20), {"kind": "querry"}, "there is no kind 'querry'"),
        ("matrix", (0, 0, [1, 2]), {}, "a matrix has 2 axes"),
        ("matrix", (0, 0, [[1, 2]]), {"rows": ["a", "b"]}, "2 labels for 1 rows"),
        ("matrix", (0, 0, [[123456.789]]), {}, "does not fit into a cell"),
        ("bars", (0, 0, 50, [("a", 1.0)]), {}, "more width"),
        ("arrow", ((1, 1), (1, 1)), {}, "two different ends"),
    ],
)
def test_a_drawing_that_cannot_be_read_is_refused(draw, method, arguments, options, reason):
    with pytest.raises(ValueError, match=reason):
        getattr(draw, method)(*arguments, **options)


def test_a_figure_needs_a_title_and_is_not_too_wide(draw):
    with pytest.raises(ValueError, match="needs a title"):
        svg.Drawing(" ")
    draw.box(0, 0, 900, 10)
    with pytest.raises(ValueError, match="910 wide; at most 640"):
        draw.svg()


@pytest.mark.parametrize(("size", "least"), [("small", 508), ("normal", 440), ("large", 367)])
def test_a_figure_is_never_drawn_so_small_that_its_letters_cannot_be_read(draw, size, least):
    draw.box(0, 0, 590, 40)
    draw.text(300, 20, "words", size=size)
    draw.text(60, 20, "larger", size="large")
    assert f'style="min-width: {least}px"' in draw.svg()


def test_a_figure_is_as_large_as_what_is_drawn(draw):
    first, second = draw.box(-50, 10, 100, 40, "a"), draw.box(100, 10, 20, 40, "b")
    draw.arrow(first.right, second.left)
    assert 'viewBox="-55 5 180 50" width="180" height="50"' in draw.svg()


def test_a_matrix_colors_by_share_and_grays_what_is_masked(draw):
    draw.matrix(0, 0, [[1.0, -0.5, float("-inf")]], spec=".1f")
    assert re.findall(r"cell ((?:heat|cool|cell)-\w+)", draw.svg()) == ["heat-9", "cool-4", "cell-masked"]
    assert "\N{MINUS SIGN}\N{INFINITY}" in draw.svg()


def test_numbers_have_a_true_minus_and_no_negative_zero():
    assert svg.number(-1.25) == "\N{MINUS SIGN}1.25"
    assert svg.number(-0.001) == "0.00"
