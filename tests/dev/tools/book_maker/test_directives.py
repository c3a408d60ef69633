"""What makes the book: every mistake of a writer is told with its place, and nothing is dropped in silence."""

import html
import io
import re

import pytest

from checker.course.skeletons import skeleton_of
from checker.course.steps import find_step
from checker.terminal import STYLES, Terminal
from play.book.chapters import Fault, fences
from tools.book_maker import directives

NAME = '<span class="whole">GPT-2</span>'  # in which no line ends


def expanded(text, chapter="chapter.md"):
    made = directives.expand(chapter, text, faults := [])
    assert faults == []
    return made


@pytest.mark.parametrize(
    ("text", "contains"),
    [
        ("{{skeleton 07}}", f"```python\n{skeleton_of(find_step('07')).rstrip()}\n```"),
        ("{{code solutions/solution_07.py GPT2MultiHeadAttention._merge_heads}}", "```python\ndef _merge_heads(self"),
        ("{{code solutions/solution_01.py GPT2Config.head_dim}}", "@property\ndef head_dim"),
        ("{{code solutions/solution_21.mojo dot}}", "```python\ndef dot(a: Numbers"),
        ("{{= 4 * 768 :,}} or {{= sizes['gpt2'].n_embd}}", "3,072 or 768"),
        ("{{widget tiles: A <name>}}", '<section class="widget" data-widget="tiles" aria-label="A &lt;name&gt;">'),
        ("{{widget attention w03: One head}}", 'data-widget="attention" data-part="w03" aria-label="One head"'),
        ("{{figure introduction.model: What `wte` < is.}}", "<figcaption>What <code>wte</code> &lt; is.</figcaption>"),
        (
            "{{figure introduction.model: Who? Answer: We.}}",
            "Who?<details><summary>Answer</summary><p>We.</p></details>",
        ),
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
    terminal = Terminal(["_attn"])
    terminal.console.file = io.StringIO()
    for verdict in STYLES:
        terminal.row(verdict, "_attn", "What goes into a pipe is not wrapped, where a terminal breaks the line. " * 3)
    shown = f"$ ./run s07\n{terminal.console.file.getvalue()}\nlayer  head  itself\n0      0     19%\na < b\n"
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
        ("{{figure introduction.model: Who?}}", "a caption has either a question and its answer, or neither"),
        ("{{figure introduction.model: So. Answer: We.}}", "a caption has either a question and its answer"),
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
