"""Interactive figures: what they show is what Python computes, from recorded runs and from a server's."""

import base64
import gzip
import json

import numpy as np
import pytest

pytest.importorskip("playwright")

from checker.course.progress import digest_of_check, digest_of_code
from checker.course.source import Source
from checker.course.steps import find_step
from play.whale import read as read_whale
from play.widgets.timing import BATCHES, NEW_TOKENS, PROMPTS
from solutions.solution_12 import Sampling
from solutions.warmup_01 import softmax
from tests.dev.helpers.axe import WIDTHS, complaints, open_window
from tools.book_maker import recording
from tools.book_maker.recording import RECORDED, file_of, read
from tools.book_maker.values import training
from tools.book_maker.values.arithmetic import cache_bytes, decode_bytes
from tools.book_maker.values.book_values import config

pytestmark = pytest.mark.slow

PHONE, DESK = WIDTHS
MOST_COMPRESSED = 250_000  # bytes of all that is recorded; nine tenths are logits
HEADS = config.n_layer * config.n_head
MINUS = "\N{MINUS SIGN}"
SOON = 5_000  # milliseconds
FIRST = 60_000  # for the process that answers: it imports MAX
STEP = {"attention": "heads", "sampling": "step_12", "cache": "step_14", "tiles": "step_21", "training": "training"}


def unpacked(packed, *shape):
    levels = np.frombuffer(base64.b64decode(packed["levels"]), "<u2").reshape(shape)
    return packed["low"] + (packed["high"] - packed["low"]) * levels / 65535


@pytest.fixture(scope="module")
def figure_model():  # before the browser starts: MAX cannot run beside Playwright's event loop
    from checker.max_adapter.hooks import install_hooks
    from play.widgets.figure_model import FigureModel

    install_hooks()
    return FigureModel()


def test_what_is_recorded_is_small_and_what_needs_no_model_is_as_it_is_now(monkeypatch, tmp_path):
    assert sum(len(gzip.compress(file_of(name).read_bytes())) for name in RECORDED) < MOST_COMPRESSED
    scripts = {name: file_of(name).read_text() for name in ("tiles", "training")}
    with monkeypatch.context() as patch:
        patch.setattr(recording, "WIDGETS", tmp_path)
        recording.record_widgets([*scripts])
        now = {name: file_of(name).read_text() for name in scripts}
    assert now == scripts, "If that is right: ./run book-widgets tiles training"
    recorded = read("cache")
    assert [(run["prompt"], run["batch"]) for run in recorded["runs"]] == [(p, b) for p in PROMPTS for b in BATCHES]
    assert {len(run[way]) for run in recorded["runs"] for way in ("with", "without")} == {NEW_TOKENS}
    assert (recorded["cached"], recorded["weights"]) == (cache_bytes(config), decode_bytes(config, 0))


def test_the_recorded_attention_and_logits_are_the_models(figure_model):
    recorded = read("attention")
    assert (recorded["layer"], recorded["head"]) == recording.most_decided(figure_model)
    for text in recorded["texts"]:
        now, length = figure_model.attention({"text": text["text"]}), len(text["tokens"])
        assert text["tokens"] == now["tokens"]
        for name, shape, atol in (("scores", (-1, length, length), 1e-3), ("weights", (HEADS, -1), 1e-4)):
            np.testing.assert_allclose(unpacked(text[name], *shape), unpacked(now[name], *shape), atol=atol)
    assert read("sampling")["vocabulary"] == figure_model.vocabulary()
    for text in read("sampling")["texts"]:
        now, shape = figure_model.sampling({"text": text["text"]}), (len(text["ids"]), config.vocab_size)
        assert figure_model.sampling({"ids": now["ids"]}) == now, "tokens can be asked for by their ids"
        assert text["ids"] == now["ids"]
        np.testing.assert_allclose(unpacked(text["logits"], *shape), unpacked(now["logits"], *shape), atol=2e-3)
    for ask in (figure_model.attention, figure_model.sampling):
        with pytest.raises(ValueError, match="token id 5000 is not in the vocabulary"):
            ask({"ids": [5000]})


@pytest.fixture
def phone(browser):
    """A phone's window, in which nothing may go wrong."""
    with open_window(browser, PHONE, "light", "file:") as page:
        yield page
        assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
        assert page.wrong == []


@pytest.fixture
def open_widget(phone, book):
    """Opens the page of a figure as a file, and returns the figure."""

    def open_widget(name):
        phone.goto((book / f"{STEP[name]}.html").as_uri())
        return phone.locator(f"section.widget[data-widget={name}]")

    return open_widget


def slide(widget, **values):
    for label, value in values.items():
        widget.get_by_role("slider", name=label.replace("_", " "), exact=True).fill(str(value))


def rows(widget, at=0):
    """The words of a table's cells, row by row."""
    return [
        [cell.strip() for cell in row.locator("th, td").all_text_contents()]
        for row in widget.locator("table").nth(at).locator("tbody tr").all()
    ]


def expected_sampling(logits, temperature, top_k, top_p):
    """The probabilities after temperature, top-k and top-p, by step 12 and by the definition of top-p."""
    probabilities = Sampling(temperature, top_k).probabilities(logits[None])[0]
    order = probabilities.argsort()[::-1]
    before = probabilities[order].cumsum() - probabilities[order]
    kept = np.isin(np.arange(len(order)), order[before < top_p]) if top_p < 1 else probabilities > 0
    return np.where(kept, probabilities, 0) / probabilities[kept].sum()


def test_sampling_shows_what_step_12_computes_and_draws_accordingly(open_widget):
    widget, recorded = open_widget("sampling"), read("sampling")
    text = recorded["texts"][1]
    widget.get_by_role("combobox").select_option("1")
    widget.get_by_role("option", name=f"after {text['tokens'][3]}").click()
    logits = unpacked(text["logits"], -1, config.vocab_size)[3]
    order = logits.argsort()[::-1]
    for temperature, slot, top_k, top_p in ((0.5, 10, None, 0.8), (1.5, 5, 20, 0.9), (1, 10, None, 1)):
        slide(widget, Temperature=temperature, **{"Top-k": slot, "Top-p": top_p})
        now, shown = expected_sampling(logits, temperature, top_k, top_p), rows(widget)
        for (name, _, _, chance, _), token in zip(shown[:-1], order[:12], strict=True):
            assert name.startswith(recorded["vocabulary"][token])
            assert (chance == "cut") == (now[token] == 0)
            assert chance == "cut" or float(chance[:-1]) == pytest.approx(100 * now[token], abs=0.06)
    widget.evaluate("() => { let at = 0; Math.random = () => (at++ % 1000 + 0.5) / 1000; }")
    widget.get_by_role("button", name="Draw 1,000").click()
    counts = [int(row[-1].replace(",", "")) for row in rows(widget)]
    assert sum(counts) == 1000
    assert counts[:-1] == pytest.approx(list(1000 * now[order[:12]]), abs=1.5)
    slide(widget, Temperature=0)
    widget.get_by_role("button", name="Draw a token").click()
    assert "had 100.0%" in widget.locator(".summary").inner_text()
    assert not widget.get_by_role("button", name="go on").is_visible(), "nobody would answer"


def test_attention_shows_scores_the_mask_and_weights_and_keys_move(open_widget, phone):
    widget, recorded = open_widget("attention"), read("attention")
    text = recorded["texts"][0]
    length = len(text["tokens"])
    scores = unpacked(text["scores"], config.n_layer, config.n_head, length, length)
    weights = np.zeros_like(scores)
    weights[..., *np.tril_indices(length)] = unpacked(text["weights"], config.n_layer, config.n_head, -1)

    def check(layer, head, query):
        for key, row in enumerate(rows(widget)):
            score = f"{scores[layer, head, query, key]:.2f}".replace("-", MINUS)
            masked = f"{MINUS}∞" if key > query else score
            assert row == [text["tokens"][key], score, masked, f"{weights[layer, head, query, key]:.4f}"]

    check(recorded["layer"], recorded["head"], length // 2)
    heads, large = widget.get_by_role("listbox", name="Heads"), widget.get_by_role("img")
    assert heads.get_by_role("option").count() == HEADS
    heads.get_by_role("option", name="layer 1, head 2").click()
    for key in ("ArrowDown", "ArrowRight"):
        phone.keyboard.press(key)
    for key in ("ArrowUp", "ArrowUp"):
        large.press(key)
    check(2, 3, length // 2 - 2)
    large.press("ArrowRight")
    weight = f"takes {weights[2, 3, length // 2 - 2, 1]:.4f} from “{text['tokens'][1]}”"
    assert weight in widget.locator(".said").inner_text()
    assert phone.url.endswith("heads.html"), "no arrow has turned the page"
    widget.get_by_label("After the mask").check()
    assert large.get_attribute("aria-label").startswith("After the mask of layer 2, head 3")
    large.scroll_into_view_if_needed()
    box = large.bounding_box()
    large.hover(position={"x": box["width"] - 6, "y": box["height"] - 6}, force=True)
    assert "query 8, key 8" in widget.locator(".said").inner_text()


@pytest.mark.parametrize("page", ["warmup_01", "warmup_02", "warmup_03", "step_07"])
def test_attention_in_its_steps_shows_our_sentence_as_each_of_them_sees_it(book, phone, page):
    whale = read_whale()
    at, normalized = whale["tokens"].index(" it"), whale["h.0.ln_1"]
    scores = normalized @ normalized[at] if page == "warmup_01" else whale["h.0.attn.scores"][3, at]
    masked = page in ("warmup_03", "step_07")
    weights = whale["h.0.attn.weights"][3, at] if masked else softmax(scores)
    phone.goto((book / f"{page}.html").as_uri())
    widget = phone.locator("section.widget")
    for key, (_, score, *after, weight) in enumerate(rows(widget)):
        assert float(score.replace(MINUS, "-")) == pytest.approx(scores[key], abs=0.006)
        assert after == ([f"{MINUS}∞" if key > at else score] if masked else [])
        assert float(weight) == pytest.approx(weights[key], abs=1e-4)
    assert widget.get_by_role("radio").count() == 2 + masked
    assert widget.get_by_role("listbox").count() == (page == "step_07"), "of one head, there is nothing to choose"


def test_the_cache_shows_tokens_bytes_and_the_recorded_times(open_widget):
    widget, recorded = open_widget("cache"), read("cache")
    for prompt, batch, call in ((16, 1, 1), (64, 4, 2), (128, 8, 64)):
        widget.get_by_label("Tokens of the prompt").select_option(str(prompt))
        widget.get_by_label("Texts at once").select_option(str(batch))
        slide(widget, Call=call)
        run = next(run for run in recorded["runs"] if (run["prompt"], run["batch"]) == (prompt, batch))
        total, new = prompt + call - 1, prompt if call == 1 else 1
        kept = cache_bytes(config, batch * total)
        assert [row[1:] for row in rows(widget)] == [
            [f"{batch * total:,}", f"{batch * new:,}"],
            [f"{batch * sum(range(prompt, total + 1)):,}", f"{batch * total:,}"],
            ["0", f"{batch * (total - new):,}"],
            ["0.00 MB", f"{kept / 1e6:.2f} MB"],
            [f"{(decode_bytes(config, 0) + more) / 1e6:.2f} MB" for more in (0, kept)],
            [f"{run[way][call - 1]:.2f} ms" for way in ("without", "with")],
            [f"{sum(run[way][:call]):.0f} ms" for way in ("without", "with")],
        ]
    assert recorded["machine"] in widget.locator(".state").inner_text()


def test_tiles_have_the_numbers_of_the_chapter_and_are_counted_as_the_mask_has_them(open_widget):
    widget = open_widget("tiles")
    slide(widget, Blocks_that_are_read=3)
    assert rows(widget) == [  # block, scores, maximum, factor, total
        ["0", "1, 3", "3", "0.0000", "1.1353"],
        ["1", "2, 5", "5", "0.1353", "1.2034"],
        ["2", "4", "5", "1.0000", "1.5713"],
    ]
    widget.get_by_label("Scores of a row").fill("1, whale")
    assert "Write numbers" in widget.locator(".said").inner_text()
    slide(widget, Tokens=7, Queries_of_a_tile=3, Keys_of_a_block=5)
    allowed = np.tril(np.ones((7, 7), bool))
    tiles = [allowed[first : first + 3, block : block + 5] for first in range(0, 7, 3) for block in range(0, 7, 5)]
    full, empty = [tile for tile in tiles if tile.all()], [tile for tile in tiles if not tile.any()]
    partly = [tile for tile in tiles if tile.any() and not tile.all()]
    assert [row[1:3] for row in rows(widget, 1)] == [
        [str(len(kind)), f"{sum(tile.size for tile in kind):,}"] for kind in (full, partly, empty)
    ]


def test_the_loss_of_every_evaluation_is_shown(open_widget):
    widget = open_widget("training")
    history, before, expected = training.history, 0, []
    for evaluation in history.evaluations:
        step, loss, bits = (evaluation[name] for name in ("step", "loss", "bits_per_byte"))
        recent = f"{np.mean(history.losses[before:step]):.3f}" if step else ""
        expected.append([f"{step:,}", recent, f"{loss:.3f}", f"{bits:.3f}"])
        before = step
    assert rows(widget) == expected
    slide(widget, Evaluation=11)
    (sample,) = (text for text in training.history.samples if text["step"] == 500)
    assert widget.locator("pre").inner_text() == f"after step 500:\n{sample['text']}".rstrip()


def passed(site, *tasks):
    """Keep that these steps have passed, as their checks do; and forget every other pass."""
    passes = {}
    for task in tasks:
        step, source = find_step(task), Source(site.course.path(task).read_text())
        passes[step.name] = {"code": digest_of_code(step, source), "check": digest_of_check(step), "compiled": True}
    (site.course.root / ".course").mkdir(exist_ok=True)
    progress = {"hints": {}, "pass": passes, "fail": {}}
    (site.course.root / ".course" / "progress.json").write_text(json.dumps(progress))


@pytest.fixture
def desk(browser, site):
    """A desk's window, in which nothing goes wrong but what cannot be computed."""
    with open_window(browser, DESK, "navy", site.address) as page:
        yield page
        assert [wrong for wrong in page.wrong if "status of 409" not in wrong] == []
    passed(site)


def test_the_model_reads_the_readers_text_with_the_readers_steps(desk, site):
    """The step that has passed is right and prints; what it says of itself shows that it has run."""
    desk.goto(f"{site.address}/step_12.html#key={site.key}")
    widget = desk.locator("section.widget")
    own = widget.get_by_label("Your own text")
    own.fill("Call me")
    own.press("Enter")
    widget.locator(".texts .state", has_text="The solutions computed this").wait_for(timeout=FIRST)
    slide(widget, Temperature=0)
    widget.get_by_role("button", name="Draw a token").click()
    greedy = rows(widget)[0][0]
    widget.get_by_role("button", name="go on").click()
    widget.get_by_role("option", name=f"after {greedy}").wait_for(timeout=FIRST)
    assert complaints(desk, {"where": {"include": ["section.widget"]}, "rules": {}}) == []
    site.course.write("s07", edits={"def _attn(": "print('<img onerror=1>')\n    def _attn("})
    passed(site, "s07")
    desk.goto(f"{site.address}/heads.html#key={site.key}")
    own.fill("<b>whale")
    own.press("Enter")
    widget.locator(".texts .state", has_text="Your step 07 computed this").wait_for(timeout=FIRST)
    assert "".join(row[0] for row in rows(widget)) == "<b>whale"
    assert widget.locator("b, img").count() == 0
    own.fill("whale " * 70)
    own.press("Enter")
    widget.locator(".texts .state", has_text="a picture shows 64 at most").wait_for(timeout=FIRST)


def test_a_late_answer_is_not_shown_in_place_of_a_newer_choice(desk, site):
    desk.goto(f"{site.address}/heads.html#key={site.key}")
    widget, texts, held = desk.locator("section.widget"), read("attention")["texts"], []
    desk.route("**/api/model/*", lambda route: held.append(route))
    own = widget.get_by_label("Your own text")
    for typed in ("Call me", "whale"):
        with desk.expect_request("**/api/model/*"):
            own.fill(typed)
            own.press("Enter")
    desk.wait_for_timeout(200)  # until both routes are held
    widget.get_by_role("combobox").select_option("1")
    for route, number in zip(held, (2, 0), strict=True):
        route.fulfill(json={**texts[number], "steps": []})
    desk.wait_for_timeout(500)
    assert [row[0] for row in rows(widget)] == texts[1]["tokens"]
    assert widget.locator(".texts .state").inner_text() == ""
    desk.unroute_all()


@pytest.mark.sampled
def test_own_times_and_an_own_training_take_the_place_of_the_recorded_ones(desk, site):
    desk.goto(f"{site.address}/step_14.html#key={site.key}")
    widget = desk.locator("section.widget")
    recorded = rows(widget)[-1]
    widget.get_by_role("button", name="Measure").click(timeout=SOON)
    measured = "on this machine just now. The solutions computed this"
    widget.locator(".state", has_text=measured).wait_for(timeout=FIRST)
    assert rows(widget)[-1] != recorded

    folder = site.course.root / "my-gpt2"
    folder.mkdir(exist_ok=True)
    evaluations = training.history.evaluations[:3]
    last = evaluations[-1]["step"]
    own = {"losses": training.RECORDED["losses"][:last], "evaluations": evaluations}
    own["samples"] = [{"step": last, "text": "<b>whale</b>"}]
    (folder / "training.json").write_text(json.dumps({**training.RECORDED, **own}))
    desk.goto(f"{site.address}/training.html#key={site.key}")
    widget.get_by_role("button", name="my own run").click(timeout=SOON)
    widget.locator(".state", has_text="Your run in my-gpt2: 100 of 1,000 steps").wait_for(timeout=2 * SOON)
    assert (len(rows(widget)), widget.locator("b").count()) == (len(evaluations), 0)
    (folder / "training.json").write_text(json.dumps(training.RECORDED))
    widget.locator(".state", has_text="1,000 of 1,000").wait_for(timeout=2 * SOON)
