"""What the heads look at is shown on a page and in the terminal, of the reference and of the learner's own steps."""

import json
import re

import numpy as np
import pytest

from checker.course.steps import CHAT, SERVER, steps_up_to
from tests.attempts.step_25 import ALTERNATIVES
from tests.dev.helpers.axe import complaints
from tests.dev.play.attention.conftest import TEXT

pytestmark = pytest.mark.slow

INLINE = "F.softmax(query @ key.T / math.sqrt(self.head_dim) + mask, axis=-1) @ value"


def attention(course, *arguments, status=0):
    return course.check("attention", *arguments, status=status, timeout=600)


def test_the_page_needs_no_other_file_and_tells_query_key_and_weight(read, course, request):
    """MAX reads before the browser starts: it cannot beside Playwright's event loop."""
    page = course.root / "page.html"
    assert attention(course, TEXT, "--out", page, "--layer", "1", "--head", "2").stdout == ""
    assert not re.search(r"""(src|href)\s*=|@import|url\(|https?:(?!//www\.w3\.org/2000/svg)""", page.read_text())
    tab = request.getfixturevalue("browser").new_page(viewport={"width": 390, "height": 844})
    tab.goto(page.as_uri())
    assert tab.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert tab.locator(".which").inner_text().startswith("Layer 1, head 2")
    tab.get_by_role("img").press("ArrowRight")  # the query in the middle and the first key are chosen at first
    words = tab.locator(".said").inner_text()
    weight, query = re.search(r"takes (\S+) from “all” \(query (\d+), key 1\)", words).groups()
    assert float(weight) == pytest.approx(read.weights[1, 2, int(query), 1], abs=1e-4)
    assert complaints(tab) == []
    tab.close()


def test_terminal_picture_and_odd_texts(read, course):
    done = attention(course, TEXT, "--text", "--layer", "0", "--head", "1")
    assert sum(line.endswith("|") for line in done.stdout.splitlines()) == len(read.tokens)
    assert "layer 0, head 1" in done.stdout
    head = read.weights[0, 1]
    shares = [np.diagonal(head, -1).mean(), np.diagonal(head)[1:].mean(), head[1:, 0].mean()]
    (row,) = re.findall(r"^0 +1 +(.*)", done.stdout, re.MULTILINE)
    assert row.split()[:3] == [f"{share:.0%}" for share in shares]
    for line in re.findall(r"^\d .*%.*", done.stdout, re.MULTILINE):
        assert ("mostly" in line) == any(int(share) > 50 for share in re.findall(r"(\d+)%", line)), line
    assert not (course.root / "attention.html").exists()
    for text in ("", "<b>\n\té☃"):
        attention(course, text)
        page = (course.root / "attention.html").read_text()
        data = re.search(r"widgets\.record\('attention', (.*)\);\n</script>", page)[1]
        assert json.loads(data)["texts"][0]["tokens"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("The cat", "--layer", "9"), "there is no layer 9, head 0: there are layers 0 to 4, with heads 0 to 3"),
        (("The cat", "--out", "no/such/folder/page.html"), "no/such/folder/page.html cannot be written; give a"),
        (("word " * 600,), "512"),
        (("The cat", "--model", "LLAMA", "--head", "6"), "there is no layer 0, head 6: there are layers 0 to 1, with"),
        (("x" * 513, "--model", "LLAMA"), "512"),
    ],
)
def test_what_cannot_be_done_is_said(course, llama, arguments, message):
    arguments = [llama if argument == "LLAMA" else argument for argument in arguments]
    assert message in attention(course, *arguments, status=2).stderr


def test_mine_shows_the_learners_own_heads(course):
    for step in steps_up_to(SERVER):
        course.write(step.task)
    expected = attention(course, "The cat sat", "--text").stdout
    assert attention(course, "The cat sat", "--text", "--mine").stdout == expected
    course.write("s07", edits={"key.T / math": "key.T * math"})
    assert attention(course, "The cat sat", "--text", "--mine").stdout != expected


def test_attention_that_never_calls_for_its_weights_is_said(course):
    course.write("s07", edits={"self._attention_weights(query, key, mask) @ value": INLINE})
    said = attention(course, "The cat sat", "--text", "--mine", "--fill-in", "--anyway", status=2).stderr
    assert "and the model never calls it; call self._attention_weights(query, key, mask) in _attn of step 07\n" in said
    assert "Error" not in said


def test_mine_shows_the_learners_own_heads_of_a_llama(course, llama):
    for step in steps_up_to(CHAT):
        course.write(step.task)
    ask = "The cat sat", "--text", "--layer", "1", "--head", "4", "--model", llama
    expected = attention(course, *ask).stdout
    course.write("s25", edits=ALTERNATIVES["a group after the other"])
    assert attention(course, *ask, "--mine").stdout == expected
    course.write("s24", edits={"first * cos - second": "first * cos + second"})
    assert attention(course, *ask, "--mine").stdout != expected
