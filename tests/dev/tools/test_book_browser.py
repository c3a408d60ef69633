"""The book as a reader sees it: every page in headless Chromium, on a phone and on a desk, light and dark.

A page is loaded once, on a phone. For the other views its window is widened, its sidebar opened, its theme changed.
"""

import itertools
import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest

from checker.course.paths import ROOT
from play.reading.chapters import chapters
from tests.dev.axe import COLORS, EVERYTHING, complaints
from tests.dev.conftest import REPOSITORY
from tools.book_maker.browser import THEMES, WIDTHS, open_page, served
from tools.book_maker.drawing.svg import LEAST_LETTER
from tools.book_maker.drawing.terminal import DARK, LIGHT

pytestmark = pytest.mark.slow

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
    for (const frame of [1, 2]) await new Promise(requestAnimationFrame);  // for what watches the sizes of boxes
}"""

#: What scrolls sideways inside the page: how it can be reached, and what a screen reader calls it.
SCROLLING = """() => [...document.querySelectorAll('main :is(.table-wrapper, .drawing, .formula, pre > code)')]
    .filter(each => each.scrollWidth > each.clientWidth).map(each => ({
        which: each.className || each.tagName,
        words: each.textContent.trim().slice(0, 60),
        tabindex: each.getAttribute('tabindex'),
        role: each.getAttribute('role'),
        label: each.getAttribute('aria-label'),
        note: getComputedStyle(each, '::before').content,
    }))"""

#: The left and right edges of what a reader reads one below the other.
EDGES = """() => [...document.querySelectorAll('main > :is(p, pre, h2, figure, .table-wrapper)')].map(each => {
    const {left, right} = each.getBoundingClientRect();
    return [Math.round(left), Math.round(right)];
})"""

#: The color of every verdict, with the panel below it.
VERDICTS = """() => [...document.querySelectorAll('.console [class^=terminal-]')].map(each =>
    [each.textContent, getComputedStyle(each).color, getComputedStyle(each).fontWeight >= 600])"""

#: How high a pair of parentheses is around what it has to hold, and which fonts have come.
PARENTHESES = """async formula => {
    const made = document.createElement('p');
    made.innerHTML = formula;
    document.querySelector('main').append(made);
    await document.fonts.load('16px "STIX Two Math"');
    await document.fonts.load('16px Iosevka');
    await new Promise(requestAnimationFrame);
    const high = each => each.getBoundingClientRect().height;
    const [open, inside, close] = made.querySelector('mrow').children;
    const found = {
        open: high(open), close: high(close), inside: high(inside),
        fonts: [...document.fonts].filter(font => font.status == 'loaded').map(font => font.family.replaceAll('"', '')),
    };
    made.remove();
    return found;
}"""
TALL = """<math display="block"><mrow><mo>(</mo>
    <mfrac><mfrac><mi>a</mi><mi>b</mi></mfrac><mfrac><mi>c</mi><mi>d</mi></mfrac></mfrac><mo>)</mo></mrow></math>"""

#: Signs that a font does not have: then it depends on what follows in the list of fonts how wide they are.
LACKING = """async () => {
    const canvas = document.createElement('canvas').getContext('2d');
    const wide = (font, sign) => {
        canvas.font = font;
        return canvas.measureText(sign).width;
    };
    const found = [];
    for (const [where, font] of [['main pre > code', 'Iosevka'], ['main math', '"STIX Two Math"']]) {
        await document.fonts.load(`100px ${font}`);
        const signs = new Set([...document.querySelectorAll(where)].flatMap(each => [...each.textContent]));
        // The system has letters of other scripts, and emoji.
        const foreign = /(?![\\u0000-\\u00ff]|\\p{Script=Greek})\\p{L}|\\p{M}|\\p{Emoji_Presentation}|\\ufffd/u;
        const own = [...signs].filter(sign => sign.trim() && !(where == 'main pre > code' && foreign.test(sign)));
        found.push(...own.filter(sign =>
            wide(`100px ${font}, monospace`, sign) != wide(`100px ${font}, serif`, sign)));
    }
    return found;
}"""

CORNERS = ((PHONE, "light"), (DESK, "navy"))  # two views that have both widths and both themes
OTHERS = ((PHONE, "navy"), (DESK, "light"))  # by night: no width depends on a theme, and no color on a width


def by_night(view):
    return pytest.param(view, marks=pytest.mark.nightly)


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


@pytest.fixture(scope="module", params=itertools.product(WIDTHS, THEMES), ids=str)
def view(request, page):
    """A page in a window of some width, in a theme, unfolded: pytest asks all of one before it makes the next."""
    page.width, page.theme = request.param
    page.set_viewport_size({"width": page.width, "height": WIDTHS[page.width]})
    page.evaluate(SHOW, page.theme)
    return page


in_two_views = pytest.mark.parametrize("view", [*CORNERS, *map(by_night, OTHERS)], indirect=True, ids=str)


@cache
def anchors(file):
    return set(re.findall(r'\bid="([^"]+)"', file.read_text()))


def test_what_is_folded_opens_on_a_click(page):
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = false)")
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


def test_every_link_of_a_page_leads_somewhere(page, address, book):
    """Those of the sidebar and of the menu too, which scripts make."""
    for link in page.evaluate("[...document.links].map(link => link.href)"):
        if not link.startswith(f"{address}/"):
            assert urlsplit(link).scheme == "https", link
            continue
        parts = urlsplit(link)
        file = book / unquote(parts.path).removeprefix("/")
        assert file.is_file(), link
        assert not parts.fragment or unquote(parts.fragment) in anchors(file), link


def test_a_page_leads_to_its_source_in_the_repository(page):
    """Both addresses come from one place, the workflow that publishes the book."""
    assert page.get_by_role("link", name="Git repository").get_attribute("href") == REPOSITORY
    edit = page.get_by_role("link", name="Suggest an edit").get_attribute("href")
    assert edit == f"{REPOSITORY}/edit/main/book/src/{page.name}.md"
    assert (ROOT / edit.removeprefix(f"{REPOSITORY}/edit/main/")).is_file()


def test_the_fonts_of_the_book_have_every_sign_of_its_listings_and_formulas(page):
    assert page.evaluate(LACKING) == []


@in_two_views
def test_a_page_is_whole_and_as_wide_as_its_window(view):
    for unfolded in (False, True):
        view.evaluate(
            "unfolded => document.querySelectorAll('details').forEach(each => each.open = unfolded)", unfolded
        )
        assert view.evaluate(OVERFLOW) <= 0, view.evaluate(WIDE)
    assert view.evaluate(WIDE) == []
    assert view.wrong == []


@pytest.mark.parametrize("view", [CORNERS[0], by_night(CORNERS[1])], indirect=True, ids=str)
def test_axe_has_no_complaint(view):
    assert complaints(view, EVERYTHING) == []


@pytest.mark.parametrize("view", [CORNERS[1], *map(by_night, OTHERS)], indirect=True, ids=str)
def test_axe_has_no_complaint_about_colors(view):
    assert complaints(view, COLORS) == []


@in_two_views
def test_the_words_of_figures_are_in_their_place_and_large_enough(view):
    words = view.evaluate(FIGURES)
    assert [word for word in words if word["outside"] > 1] == []
    assert [word for word in words if word["height"] < LEAST_LETTER - 0.01] == []
    assert view.evaluate(OVERLAPS) == []


@in_two_views
def test_what_scrolls_can_be_reached_and_says_so(view):
    for found in view.evaluate(SCROLLING):
        assert found["tabindex"] == "0", found
        if found["which"] in ("table-wrapper", "drawing"):
            assert found["role"] == "region", found
            assert re.match("(Table|Figure): .", found["label"]), found
            assert "Scroll sideways" in found["note"], found


@in_two_views
def test_prose_listings_figures_and_tables_share_one_measure(view):
    edges = view.evaluate(EDGES)
    widest = max(right - left for left, right in edges)
    assert widest <= 768
    (left,) = {left for left, _ in edges}
    assert len({right for _, right in edges}) == 1, f"{widest} from {left}"


@in_two_views
def test_verdicts_have_the_colors_of_a_terminal(view):
    theme = DARK if view.theme == "navy" else LIGHT
    _, red, green, yellow = (f"rgb{tuple(theme.ansi_colors[number])}" for number in range(4))
    wanted = {"pass": (green, False), "fail": (red, True), "todo": (yellow, False)}
    for verdict, color, bold in view.evaluate(VERDICTS):
        assert wanted.get(verdict, (color, bold)) == (color, bold), verdict
        assert verdict in (*wanted, "waits")


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


def test_a_tall_parenthesis_stretches_by_the_font_that_comes_with_the_book(browser, address):
    page = open_page(browser, DESK, "light")
    page.goto(f"{address}/step_07.html")
    found = page.evaluate(PARENTHESES, TALL)
    assert {"STIX Two Math", "Iosevka"} <= set(found["fonts"])
    assert found["inside"] > 60
    assert found["open"] == found["close"] >= 0.9 * found["inside"]
    letters = page.evaluate(
        "getComputedStyle(document.querySelector('main math')).fontFamily + getComputedStyle("
        "document.querySelector('main pre > code')).fontFamily"
    )
    assert letters.startswith('"STIX Two Math"')
    assert "Iosevka" in letters
    page.context.close()


def test_the_first_page_says_where_to_begin(browser, address):
    for width, visible in ((PHONE, 1), (DESK, 4)):
        page = open_page(browser, width, "light")
        page.goto(f"{address}/index.html")
        begin = page.locator(".landing .begin a")
        assert begin.first.get_attribute("href") == "setup.html"
        for link in begin.all()[:visible]:
            assert link.evaluate("link => link.getBoundingClientRect().bottom < innerHeight"), "without scrolling"
        assert page.locator(".landing svg.figure").count() == 1
        page.context.close()


READ = "new DOMMatrix(getComputedStyle(document.querySelector('.reading')).transform).a"


def test_a_line_shows_how_far_a_long_page_is_read(browser, address):
    page = open_page(browser, DESK, "light")
    page.goto(f"{address}/step_07.html")
    line = page.locator(".reading")
    assert line.get_attribute("aria-hidden") == "true"
    assert page.evaluate(READ) == 0
    page.evaluate("scrollTo({top: (document.documentElement.scrollHeight - innerHeight) / 2, behavior: 'instant'})")
    page.wait_for_function(f"Math.abs({READ} - 0.5) < 0.01")
    page.evaluate("scrollTo({top: document.documentElement.scrollHeight, behavior: 'instant'})")
    page.wait_for_function(f"{READ} > 0.999")
    page.goto(f"{address}/404.html")
    assert not line.is_visible(), "a short page needs none"
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
