"""The book as a reader sees it: every page in headless Chromium, on a phone and on a desk, light and dark.

A page is loaded once, on a phone. For the other views its window is widened, its sidebar opened, its theme changed.
"""

import itertools
import re

import pytest

from tests.dev.axe import complaints
from tools.book_maker.browser import THEMES, WIDTHS, open_page, served
from tools.book_maker.chapters import chapters

PAGES = [path.stem for path in chapters()]
PHONE, DESK = WIDTHS

OVERFLOW = "document.scrollingElement.scrollWidth - window.innerWidth"

#: What sticks out to the right of the window although nothing around it scrolls or cuts it off.
WIDE = """() => [...document.querySelectorAll('main *')].filter(each => {
    if (each.getBoundingClientRect().right <= window.innerWidth + 1) return false;
    for (let up = each; up && up.tagName != 'MAIN'; up = up.parentElement)
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(up).overflowX)) return false;
    return true;
}).map(each => each.outerHTML.slice(0, 120))"""

#: By how much every word of a figure sticks out of it, and how high its letters are.
FIGURES = """() => [...document.querySelectorAll('svg.figure text')].map(text => {
    const svg = text.ownerSVGElement, frame = svg.getBoundingClientRect(), place = text.getBoundingClientRect();
    return {
        title: svg.querySelector('title').textContent,
        words: text.textContent,
        outside: Math.max(frame.left - place.left, place.right - frame.right, frame.top - place.top,
                          place.bottom - frame.bottom),
        height: parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width,
    };
})"""

#: Words of a figure that are drawn over other words, or across the edge of a box.
OVERLAPS = """() => {
    const found = [];
    const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    for (const svg of document.querySelectorAll('svg.figure')) {
        const place = each => each.getBoundingClientRect();
        const title = svg.querySelector('title').textContent;
        const words = [...svg.querySelectorAll('text')].map(text => [text.textContent, place(text)]);
        const boxes = [...svg.querySelectorAll('rect, circle')].map(place);
        words.forEach(([one, a], at) => {
            for (const [other, b] of words.slice(at + 1))
                if (across(a, b) > 2 && down(a, b) > 0.4 * Math.min(a.height, b.height))
                    found.push(`${title}: ${one} / ${other}`);
            for (const box of boxes) {
                const inside = a.left >= box.left - 2 && a.right <= box.right + 2;
                const middle = (a.top + a.bottom) / 2;
                if (!inside && across(a, box) > 3 && middle > box.top + 2 && middle < box.bottom - 2)
                    found.push(`${title}: ${one} crosses the edge of a box`);
            }
        });
    }
    return found;
}"""

#: Chooses a theme, opens or closes the sidebar as a page loaded that wide does, unfolds all, and lets all settle.
SHOW = """async theme => {
    document.getElementById(`mdbook-theme-${theme}`).click();
    const sidebar = document.getElementById('mdbook-sidebar-toggle-anchor');
    if (sidebar.checked != innerWidth >= 1080) document.getElementById('mdbook-sidebar-toggle').click();
    document.querySelectorAll('details').forEach(each => each.open = true);
    document.getAnimations().forEach(each => each.finish());
    await new Promise(requestAnimationFrame);
    for (const style of document.querySelectorAll('link[rel=stylesheet]'))
        if (!style.disabled && !style.sheet) await new Promise(loaded => style.onload = loaded);
}"""

SMALLEST = 7  # pixels: the height of a figure's letters on a phone


@pytest.fixture(scope="module")
def address(book):
    with served(book) as where:
        yield where


@pytest.fixture(scope="module")
def window(browser, address):
    """A phone's window, and what went wrong in it: errors in its console, requests that fail or leave this machine."""
    page = open_page(browser, PHONE, "light")
    page.wrong = []
    page.on("console", lambda message: message.type == "error" and page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("requestfailed", lambda asked: page.wrong.append(f"{asked.url} failed"))
    page.on("response", lambda answer: answer.status >= 400 and page.wrong.append(f"{answer.url}: {answer.status}"))
    page.on("request", lambda asked: asked.url.startswith(address) or page.wrong.append(f"{asked.url} is elsewhere"))
    yield page
    page.context.close()


@pytest.fixture(scope="module", params=PAGES)
def page(request, window, address):
    """A page as it is loaded on a phone, once for all tests."""
    window.wrong.clear()
    window.set_viewport_size({"width": PHONE, "height": WIDTHS[PHONE]})
    window.goto(f"{address}/{request.param}.html")
    assert window.locator("details[open]").count() == 0, "folded at first"
    window.name = request.param
    return window


@pytest.fixture(params=itertools.product(WIDTHS, THEMES), ids=str)
def view(request, page):
    """A page in a window of some width, in a theme, unfolded."""
    width, theme = request.param
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.evaluate(SHOW, theme)
    return page


def test_what_is_folded_opens_on_a_click(page):
    folded = page.locator("main summary").all()
    opened = page.locator("main summary + :visible")
    if page.name.startswith(("step", "warmup")):
        answers = page.locator("summary", has_text=re.compile("^Answer$")).count()
        assert answers >= 2
        assert len(folded) == 5 + answers  # three hints, the solution, the mistakes
    assert opened.count() == 0
    for count, summary in enumerate(folded, start=1):
        summary.click()
        assert opened.count() == count


def test_a_figure_is_read_aloud_and_has_a_caption(page):
    for figure in page.locator("figure").all():  # axe asks what has the role for its title
        assert figure.locator("svg").get_attribute("role") == "img"
        assert figure.locator("figcaption").inner_text().strip()


def test_a_page_is_whole_and_as_wide_as_its_window(view):
    for unfolded in (False, True):
        view.evaluate(
            "unfolded => document.querySelectorAll('details').forEach(each => each.open = unfolded)", unfolded
        )
        assert view.evaluate(OVERFLOW) <= 0, view.evaluate(WIDE)
    assert view.evaluate(WIDE) == []
    assert view.wrong == []


@pytest.mark.parametrize("view", [(PHONE, "light"), (DESK, "navy")], indirect=True, ids=str)
def test_axe_has_no_complaint(view):  # no color depends on the width, no place on the theme
    assert complaints(view) == []


def test_the_words_of_figures_are_in_their_place_and_large_enough(view):
    words = view.evaluate(FIGURES)
    assert [word for word in words if word["outside"] > 1] == []
    assert [word for word in words if word["height"] < SMALLEST] == []
    assert view.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_search_finds_causal_and_leads_to_it(browser, address, width):
    page = open_page(browser, width, "light")
    page.goto(f"{address}/index.html")
    page.locator("#mdbook-search-toggle").click()
    page.locator("#mdbook-searchbar").press_sequentially("causal")
    result = page.locator("#mdbook-searchresults a").first
    result.wait_for()
    result.click()
    page.wait_for_load_state("load")
    assert "causal" in page.locator("main").inner_text().lower()
    assert not page.url.startswith(f"{address}/index.html")
    page.context.close()


def test_the_theme_can_be_chosen_and_is_kept(browser, address):
    page = browser.new_page()
    page.goto(f"{address}/index.html")
    light = page.evaluate("getComputedStyle(document.body).color")
    page.locator("#mdbook-theme-toggle").click()
    page.locator("#mdbook-theme-navy").click()
    dark = page.evaluate("getComputedStyle(document.body).color")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).color") == dark != light
    page.context.close()


def test_keys_reach_what_scrolls_and_the_sidebar(browser, address):
    page = open_page(browser, PHONE, "light")
    page.goto(f"{address}/step_07.html")
    listing = page.locator("main > pre > code[tabindex='0']").first
    listing.press("ArrowRight")
    page.wait_for_function("listing => listing.scrollLeft > 0", arg=listing.element_handle())
    assert page.url == f"{address}/step_07.html"
    switch = page.get_by_role("button", name="Toggle Table of Contents")
    assert switch.get_attribute("aria-expanded") == "false"
    switch.press("Enter")
    assert switch.get_attribute("aria-expanded") == "true"
    assert page.get_by_role("navigation", name="Table of contents").is_visible()
    page.context.close()
