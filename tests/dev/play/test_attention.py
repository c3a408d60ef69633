"""What the heads look at: the weights are Hugging Face's, and the page, the picture and the terminal show them."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from checker.course.paths import ROOT
from checker.course.steps import all_steps
from tests.dev.axe import complaints

pytestmark = pytest.mark.slow

TEXT = (
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, "
    "I thought I would sail about a little and see the watery part of the world. It is a way I have of driving off the "
    "spleen, and regulating the circulation. Whenever I find myself growing grim about the mouth, I go to sea."
)


def attention(*arguments, root=ROOT):
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "cli", "attention", *map(str, arguments)]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def read():
    from checker.max_adapter.runtime import prepare
    from play.attention_weights import read_attention

    prepare()
    return read_attention(TEXT)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("attention") / "page.html"
    run = attention(TEXT, "--out", path, "--layer", "1", "--head", "2")
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    return path


def test_the_weights_are_hugging_faces(read):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from checker.course.paths import SMALL_MODEL
    from play.tokens import load_tokenizer

    model = transformers.GPT2LMHeadModel.from_pretrained(
        SMALL_MODEL, dtype="float32", attn_implementation="eager"
    ).eval()
    ids = load_tokenizer(SMALL_MODEL).encode(TEXT).ids
    assert len(ids) > model.config.n_embd // model.config.n_head, "the text is to need more than one piece"
    with torch.no_grad():
        theirs = model(torch.tensor([ids]), output_attentions=True).attentions
    wanted = np.stack([layer[0].numpy() for layer in theirs])
    np.testing.assert_allclose(read.weights, wanted, atol=2e-5)


def test_rows_sum_to_one_and_nobody_sees_the_future(read):
    np.testing.assert_allclose(read.weights.sum(axis=-1), 1, atol=1e-5)
    assert np.abs(np.triu(read.weights, 1)).max() == 0
    assert "".join(read.tokens) == TEXT


def test_shares_are_what_a_head_by_hand_has():
    from play.attention_weights import pattern, shares

    before = np.eye(4, k=-1)
    before[0, 0] = 1  # the first token has only itself
    first = np.zeros((4, 4))
    first[:, 0] = 1
    measured = shares(np.stack([before, np.eye(4), first]))
    assert measured["the token before"].tolist() == pytest.approx([1, 0, 1 / 3])
    assert measured["itself"].tolist() == pytest.approx([0, 1, 0])
    assert measured["the first token"].tolist() == pytest.approx([1 / 3, 0, 1])
    assert pattern({"the token before": 0.6, "itself": 0.3}) == "mostly the token before"
    assert pattern({"the token before": 0.45, "itself": 0.3}) == ""


def test_the_page_needs_no_other_file(page):
    source = page.read_text()
    assert not re.search(r"""(src|href)\s*=|@import|url\(|https?:(?!//www\.w3\.org/2000/svg)""", source)


@pytest.fixture(scope="module", params=["light", "dark"])
def tab(request, read, page, browser):  # MAX reads before the browser starts: it cannot beside Playwright's event loop
    """The page on a phone in a color scheme, and what it said in its console."""
    tab = browser.new_page(color_scheme=request.param, viewport={"width": 390, "height": 844})
    tab.said = []
    tab.on("console", lambda message: tab.said.append(message.text))
    tab.on("pageerror", lambda error: tab.said.append(str(error)))
    tab.goto(page.as_uri())
    yield tab
    tab.close()


def test_the_page_tells_query_key_and_weight(tab, read):
    assert tab.evaluate("document.scrollingElement.scrollWidth") <= 390
    buttons = tab.get_by_role("listbox", name="Heads").get_by_role("option")
    layers, heads, length, _ = read.weights.shape
    assert buttons.count() == layers * heads
    which, said, large = tab.locator(".which"), tab.locator(".said"), tab.get_by_role("img")
    assert which.inner_text().startswith("Layer 1, head 2")
    large.press("ArrowRight")  # the query in the middle and the first key are chosen at first
    query = length // 2
    taken = re.search(r"takes (\S+) from “all” \(query (\d+), key 1\)", said.inner_text())
    assert float(taken[1]) == pytest.approx(read.weights[1, 2, query, 1], abs=1e-4)
    assert int(taken[2]) == query
    row = tab.locator("tbody tr").nth(1).locator("td").all_text_contents()
    assert float(row[0].replace("\N{MINUS SIGN}", "-")) == pytest.approx(read.scores[1, 2, query, 1], abs=0.006)
    buttons.nth(0).click()
    tab.keyboard.press("ArrowDown")
    assert which.inner_text().startswith("Layer 1, head 0")
    for _ in range(length):
        large.press("ArrowUp")
    large.press("ArrowLeft")
    assert "takes 1.0000 from" in said.inner_text()
    assert tab.said == []


def test_axe_has_no_complaint_about_the_page(tab):
    assert complaints(tab) == []


def test_light_and_dark_differ(tab):
    backgrounds = set()
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function("dark => document.documentElement.matches('.navy') == dark", arg=scheme == "dark")
        backgrounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 2


def test_the_terminal_shows_a_row_a_token_and_what_was_measured(read):
    from play.attention_weights import shares

    run = attention(TEXT, "--text", "--layer", "0", "--head", "1")
    assert run.returncode == 0, run.stderr
    rows = [line for line in run.stdout.splitlines() if line.endswith("|")]
    assert len(rows) == len(read.tokens)
    assert "layer 0, head 1" in run.stdout
    share = shares(read.weights)["the token before"][0, 1]
    assert re.search(rf"^0 +1 +{share:.0%}", run.stdout, re.MULTILINE)


@pytest.mark.slow
def test_a_picture_is_written(tmp_path):
    run = attention("The cat sat", "--png", tmp_path / "heads.png")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "heads.png").read_bytes().startswith(b"\x89PNG")
    assert not (ROOT / "attention.html").exists()


@pytest.mark.slow
def test_a_single_token_and_odd_characters_are_drawn(tmp_path):
    for text in ("", "<b>\n\té☃"):
        run = attention(text, "--out", tmp_path / "page.html", "--text")
        assert run.returncode == 0, run.stderr
        data = re.search(r"widgets\.record\('attention', (.*)\);\n</script>", (tmp_path / "page.html").read_text())[1]
        assert json.loads(data)["texts"][0]["tokens"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--layer", "9"), "there is no layer 9, head 0: there are layers 0 to 4, with heads 0 to 3"),
        (("--model", "tests"), "tests has no tokenizer.json"),
        (("--out", "no/such/folder/page.html"), "No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, said):
    run = attention("The cat", *arguments)
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_text_that_is_too_long_is_refused():
    run = attention("word " * 600)
    assert run.returncode == 2
    assert "512" in run.stderr


@pytest.mark.slow
def test_mine_shows_the_learners_own_heads(course, tmp_path):
    for step in all_steps():
        if step.name.startswith("step"):
            course.write(step.task)
    wanted = attention("The cat sat", "--text").stdout
    assert attention("The cat sat", "--text", "--mine", root=course.root).stdout == wanted
    course.write("s07", edits={"scores = scores / math": "scores = scores * math"})
    other = attention("The cat sat", "--text", "--mine", root=course.root)
    assert other.returncode == 0, other.stderr
    assert other.stdout != wanted
