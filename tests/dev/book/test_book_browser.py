"""The book as a reader sees it: each page is visited once, on a phone and at a desk, in light and in dark colors."""

import itertools
import re
import subprocess
import time
from urllib.parse import unquote, urlsplit

import pytest

from play.book.chapters import chapters
from tests.dev.conftest import REPOSITORY
from tests.dev.helpers.axe import COLORS, EVERYTHING, THEMES, WIDTHS, complaints, open_page, open_window
from tests.dev.helpers.terminal import started
from tools.book_maker.drawing.svg import LEAST_LETTER

pytestmark = pytest.mark.slow

PHONE = min(WIDTHS)
#: Keeps how far things move that nobody has moved, as "layout shift" is defined.
MOVES = """moves = []; new PerformanceObserver(list => moves.push(...list.getEntries().map(each => each.value)))
    .observe({type: 'layout-shift', buffered: true});"""

#: What is wrong with a page as it lies in its window, in words. Nothing may stick out of the window or of a figure, or
#: lie over other words; what scrolls can be reached by key and says so; all that is read has the same two edges.
LAYOUT = """least => {
    const faults = [], place = each => each.getBoundingClientRect();
    const all = which => [...document.querySelectorAll(which)];
    const short = each => each.outerHTML.slice(0, 120);
    const overflow = document.scrollingElement.scrollWidth - innerWidth;
    if (overflow > 0) faults.push(`the page is ${overflow} wider than the window`);
    for (const svg of all('svg.figure')) {
        const frame = place(svg), title = svg.querySelector('title').textContent;
        const across = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const words = [...svg.querySelectorAll('text')].map(text => ({text, shown: text.textContent, at: place(text)}));
        const boxes = [...svg.querySelectorAll('rect, circle')].map(place);
        if (svg.getAttribute('role') != 'img' || !svg.closest('figure').querySelector('figcaption').textContent.trim())
            faults.push(`${title}: no role, or no caption`);
        words.forEach(({text, shown, at}, number) => {
            const outside = Math.max(
                frame.left - at.left, at.right - frame.right, frame.top - at.top, at.bottom - frame.bottom);
            if (outside > 1) faults.push(`${title}: ${shown} sticks out by ${outside}`);
            const letter = parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width;
            if (letter < least - 0.01) faults.push(`${title}: the letters of ${shown} are ${letter} high`);
            for (const {shown: other, at: b} of words.slice(number + 1))
                if (across(at, b) > 2 && down(at, b) > 0.4 * Math.min(at.height, b.height))
                    faults.push(`${title}: ${shown} / ${other}`);
            const middle = (at.top + at.bottom) / 2;
            for (const box of boxes) {
                const inside = at.left >= box.left - 2 && at.right <= box.right + 2;
                if (!inside && across(at, box) > 3 && middle > box.top + 2 && middle < box.bottom - 2)
                    faults.push(`${title}: ${shown} crosses the edge of a box`);
            }
        });
    }
    for (const each of all('main :is(.table-wrapper, .drawing, .formula, pre > code)')) {
        if (each.scrollWidth <= each.clientWidth) continue;
        const named = each.role == 'region' && /^(Table|Figure): ./.test(each.ariaLabel)
            && getComputedStyle(each, '::before').content.includes('Scroll sideways');
        if (each.tabIndex != 0 || each.matches('.table-wrapper, .drawing') && !named)
            faults.push(`scrolls, but cannot be reached or does not say so: ${short(each)}`);
    }
    const edges = all('main > :is(p, pre, h2, figure, .table-wrapper)').map(place);
    if (new Set(edges.map(({left, right}) => `${Math.round(left)} ${Math.round(right)}`)).size > 1)
        faults.push('what is read has several edges');
    if (Math.max(...edges.map(({width}) => width)) > 768.5) faults.push('lines are too long');
    return faults;
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
    for (const frame of [1, 2]) await new Promise(requestAnimationFrame);  // for what watches the sizes of boxes
}"""

#: Parentheses of formulas that are lower than the fraction between them: they stretch only by a font made for that.
FLAT = """() => [...document.querySelectorAll('main mrow:has(> mfrac)')].filter(row => {
    const [first, ...rest] = row.children, last = rest.pop(), high = each => each.getBoundingClientRect().height;
    return first.textContent == '(' && last?.textContent == ')' && high(first) < 0.9 * Math.max(...rest.map(high));
}).map(row => row.textContent)"""


@pytest.fixture(scope="module")
def address(browser, book):
    """Where the built book is served; there is no server without a browser."""
    # what it tells of each request goes where nobody reads it, for a pipe would fill up
    with started(book, "-m", "http.server", "0", "--bind", "127.0.0.1", errors=subprocess.DEVNULL) as server:
        yield re.search(r"http://[\d.:]+", server.stdout.readline())[0]


@pytest.fixture
def page(browser, address):
    """A phone's window, in which nothing may go wrong."""
    with open_window(browser, PHONE, "light", address) as page:
        yield page
        assert page.wrong == []


@pytest.mark.sampled
@pytest.mark.parametrize("name", [path.stem for path in chapters()])
def test_a_page(name, page, address, book):
    page.goto(f"{address}/{name}.html")
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    faults = page.evaluate(LAYOUT, LEAST_LETTER)
    assert page.locator("details[open]").count() == 0, "folded at first"
    page.evaluate("document.querySelectorAll('main summary').forEach(summary => summary.click())")
    assert page.locator("main summary + :visible").count() == page.locator("main summary").count()
    for width, theme in itertools.product(WIDTHS, THEMES):
        page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        page.evaluate(SHOW, theme)
        faults += page.evaluate(LAYOUT, LEAST_LETTER)
        faults += complaints(page, EVERYTHING if width == PHONE else COLORS)
    assert faults == []
    assert page.evaluate(FLAT) == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert sorted(ids) == sorted(set(ids))
    for link in page.evaluate("[...document.links].map(link => link.href)"):
        parts = urlsplit(link)
        if not link.startswith(f"{address}/"):
            assert parts.scheme == "https", link
            continue
        file = book / unquote(parts.path).removeprefix("/")
        assert file.is_file(), link
        assert not parts.fragment or f'id="{unquote(parts.fragment)}"' in file.read_text(), link
    assert page.get_by_role("link", name="Git repository").get_attribute("href") == REPOSITORY
    edit = page.get_by_role("link", name="Suggest an edit").get_attribute("href")
    assert edit == f"{REPOSITORY}/edit/main/book/src/{name}.md"


@pytest.mark.sampled
@pytest.mark.parametrize("font_delay", [0, 0.5])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["heads", "troubleshooting", "training", "step_12"])
def test_little_moves_while_a_page_is_loaded(name, width, font_delay, browser, address):
    page = open_page(browser, width, "light")
    page.add_init_script(MOVES)
    page.route("**/*.woff2", lambda route: (time.sleep(font_delay), route.continue_()))
    page.goto(f"{address}/{name}.html")
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    assert page.evaluate("moves.reduce((all, one) => all + one, 0)") <= 0.1
    page.context.close()


def test_the_first_page_says_where_to_begin(page, address):
    page.goto(f"{address}/index.html")
    begin = page.locator(".landing .begin a").first
    assert begin.get_attribute("href") == "setup.html"
    assert begin.evaluate("link => link.getBoundingClientRect().bottom < innerHeight"), "without scrolling, on a phone"


def test_keys_reach_what_scrolls_and_the_sidebar(page, address):
    page.goto(f"{address}/step_07.html")
    listing = page.locator("main > pre > code[tabindex='0']").first
    listing.press("ArrowRight")
    page.wait_for_function("listing => listing.scrollLeft > 0", arg=listing.element_handle())
    switch = page.get_by_role("button", name="Toggle Table of Contents")
    assert switch.get_attribute("aria-expanded") == "false"
    switch.press("Enter")
    assert switch.get_attribute("aria-expanded") == "true"
    assert page.get_by_role("navigation", name="Table of contents").is_visible()
