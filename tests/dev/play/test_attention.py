"""What the heads look at: the weights are Hugging Face's, and the page, the picture and the terminal show them."""

import json
import re

import numpy as np
import pytest

from checker.course.steps import CHAT, SERVER, SMALL_MODEL, steps_up_to
from tests.attempts.step_25 import ALTERNATIVES
from tests.dev.axe import complaints
from tests.dev.play.serving import tiny_llama

pytestmark = pytest.mark.slow

TEXT = (
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, "
    "I thought I would sail about a little and see the watery part of the world. It is a way I have of driving off the "
    "spleen, and regulating the circulation. Whenever I find myself growing grim about the mouth, I go to sea."
)
INLINE = "F.softmax(query @ key.T / math.sqrt(self.head_dim) + mask, axis=-1) @ value"


@pytest.fixture(scope="module")
def read():
    from checker.max_adapter.hooks import install_hooks
    from play.attention.weights import read_attention

    install_hooks()
    return read_attention(TEXT)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The file of a tiny Llama, with 3 heads of queries to one of keys."""
    return tiny_llama.write(tmp_path_factory.mktemp("llama") / "tiny.gguf")


def attention(course, *arguments, status=0):
    return course.check("attention", *arguments, status=status, timeout=600)


def test_weights_and_scores_are_hugging_faces(read):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from play.tokens import load_tokenizer

    model = transformers.GPT2LMHeadModel.from_pretrained(SMALL_MODEL, attn_implementation="eager").float().eval()
    ids = load_tokenizer(SMALL_MODEL).encode(TEXT).ids
    assert len(ids) > model.config.n_embd // model.config.n_head, "the text is to need more than one piece"
    with torch.no_grad():
        expected = np.stack([layer[0] for layer in model(torch.tensor([ids]), output_attentions=True).attentions])
    np.testing.assert_allclose(read.weights, expected, atol=2e-5)
    assert np.abs(np.triu(read.weights, 1)).max() == 0
    assert "".join(read.tokens) == TEXT
    powers = np.tril(np.exp(read.scores))
    np.testing.assert_allclose(powers / powers.sum(axis=-1, keepdims=True), expected, atol=1e-4)


def test_the_weights_of_a_llama_are_hugging_faces_head_by_head(llama):
    torch = pytest.importorskip("torch")
    from checker.max_adapter.hooks import install_hooks
    from play.attention.weights import read_attention_of_llama
    from solutions.gguf_tokenizer import tokenizer_of
    from solutions.llama_files import read_llama
    from tools.hugging_face import hugging_face_llama, load

    install_hooks()
    read = read_attention_of_llama(TEXT, llama)
    config, weights, fields = read_llama(llama)
    model = hugging_face_llama(**vars(config))
    load(model, weights)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        layers = model(torch.tensor([tokenizer_of(fields).encode(TEXT).ids]), output_attentions=True).attentions
    np.testing.assert_allclose(read.weights, np.stack([layer[0] for layer in layers]), atol=2e-5)
    powers = np.tril(np.exp(read.scores - read.scores.max()))
    np.testing.assert_allclose(powers / powers.sum(axis=-1, keepdims=True), read.weights, atol=1e-4)
    assert "".join(read.tokens) == TEXT


def test_smollm2_looks_at_the_ship_as_the_page_about_heads_says(smollm2_file):
    from checker.max_adapter.hooks import install_hooks
    from play.attention.weights import read_attention_of_llama
    from tools.book_maker.values.smollm2 import TEXT, look, taken

    install_hooks()
    read, head = read_attention_of_llama(TEXT, smollm2_file), look(" ship")
    weights = read.weights[head["layer"], head["head"], -1]
    np.testing.assert_allclose(weights, head["weights"], atol=1e-3)
    assert weights[read.tokens.index(" ship")] == pytest.approx(taken(" ship"), abs=1e-3)


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
