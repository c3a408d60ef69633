"""The book as a reader sees it: every page in headless Chromium, on a desk and on a phone, light and dark."""

import json
import re

import pytest

from tools.book_maker.browser import THEMES, WIDTHS, chromium, open_page, served
from tools.book_maker.chapters import chapters

PAGES = [f"{path.stem}.html" for path in chapters()]

OVERFLOW = "document.scrollingElement.scrollWidth - window.innerWidth"

#: What sticks out to the right of the window although nothing around it scrolls or cuts it off.
WIDE = """() => [...document.querySelectorAll('main *')].filter(each => {
    if (each.getBoundingClientRect().right <= window.innerWidth + 1) return false;
    for (let up = each; up && up.tagName != 'MAIN'; up = up.parentElement)
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(up).overflowX)) return false;
    return true;
}).map(each => each.outerHTML.slice(0, 120))"""

#: Every word of a figure whose contrast with what lies below it is too small, and every one that is cut off.
FIGURES = """() => {
    const parse = colour => {
        const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
        return [r, g, b, a];
    };
    const over = (below, [r, g, b], share) => below.map((value, at) => value * (1 - share) + [r, g, b][at] * share);
    const luminance = colour => {
        const [r, g, b] = colour.map(value => value / 255).map(
            value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = [];
    for (const svg of document.querySelectorAll('svg.figure')) {
        let page = [255, 255, 255];
        const around = [];
        for (let up = svg; up; up = up.parentElement) around.unshift(getComputedStyle(up).backgroundColor);
        for (const colour of around) { const [r, g, b, a] = parse(colour); page = over(page, [r, g, b], a); }
        const frame = svg.getBoundingClientRect();
        const drawn = [...svg.querySelectorAll('rect, circle, text')];
        drawn.forEach((text, at) => {
            if (text.tagName != 'text') return;
            const place = text.getBoundingClientRect();
            const x = (place.left + place.right) / 2, y = (place.top + place.bottom) / 2;
            let below = page;
            for (const shape of drawn.slice(0, at)) {
                if (shape.tagName == 'text') continue;
                const box = shape.getBoundingClientRect();
                if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
                const style = getComputedStyle(shape), [r, g, b, a] = parse(style.fill);
                below = over(below, [r, g, b], a * Number(style.fillOpacity));
            }
            const [one, other] = [luminance(parse(getComputedStyle(text).fill).slice(0, 3)), luminance(below)];
            const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            const words = text.textContent;
            found.push({
                words, contrast, title: svg.querySelector('title').textContent,
                outside: Math.max(frame.left - place.left, place.right - frame.right, frame.top - place.top,
                                  place.bottom - frame.bottom),
                height: parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width,
            });
        });
    }
    return found;
}"""

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

#: Words of a page whose contrast with their background is too small.
PROSE = """() => {
    const parse = colour => { const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
    const luminance = colour => {
        const [r, g, b] = colour.map(value => value / 255).map(
            value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = {};
    for (const each of document.querySelectorAll('main *:not(svg *)')) {
        if (![...each.childNodes].some(node => node.nodeType == 3 && node.textContent.trim())) continue;
        const around = [];
        for (let up = each; up; up = up.parentElement) around.unshift(getComputedStyle(up).backgroundColor);
        let below = [255, 255, 255];
        for (const colour of around) {
            const [r, g, b, a] = parse(colour);
            below = below.map((value, at) => value * (1 - a) + [r, g, b][at] * a);
        }
        const [one, other] = [luminance(parse(getComputedStyle(each).color).slice(0, 3)), luminance(below)];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        const name = `${each.tagName}.${each.className} ${getComputedStyle(each).color} on ${below.map(Math.round)}`;
        if (contrast < 4.5) found[name] = contrast;
    }
    return found;
}"""

SMALLEST = 7  # pixels: the height of a figure's letters on a phone


@pytest.fixture(scope="module")  # not "session": Playwright's event loop would run beside every later test
def browser(browser_path):
    with chromium(browser_path) as started:
        yield started


@pytest.fixture(scope="module")
def address(book):
    with served(book) as where:
        yield where


@pytest.fixture(scope="module", params=[(width, theme) for width in WIDTHS for theme in THEMES], ids=str)
def window(request, browser, address):
    """A window, and what went wrong in it: errors in its console, requests that fail or leave this machine."""
    page = open_page(browser, *request.param)
    page.wrong = []
    page.on("console", lambda message: message.type == "error" and page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("requestfailed", lambda asked: page.wrong.append(f"{asked.url} failed"))
    page.on("response", lambda answer: answer.status >= 400 and page.wrong.append(f"{answer.url}: {answer.status}"))

    def stay_here(route):
        if not route.request.url.startswith(address):
            page.wrong.append(f"{route.request.url} is not on this machine")
            route.abort()
        else:
            route.continue_()

    page.route(re.compile("^http"), stay_here)
    yield page
    page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_readable(window, address, name):
    window.wrong.clear()
    window.goto(f"{address}/{name}")
    window.wait_for_load_state("networkidle")
    assert window.wrong == []
    assert window.evaluate(OVERFLOW) <= 0, window.evaluate(WIDE)
    assert window.evaluate("document.querySelectorAll('details[open]').length") == 0, "folded at first"
    window.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert window.evaluate(OVERFLOW) <= 0, window.evaluate(WIDE)
    assert window.evaluate(WIDE) == []
    assert window.evaluate(PROSE) == {}
    figures = window.evaluate(FIGURES)
    assert [figure for figure in figures if figure["contrast"] < 4.5] == []
    assert [figure for figure in figures if figure["outside"] > 1] == []
    assert [figure for figure in figures if figure["height"] < SMALLEST] == []
    assert window.evaluate(OVERLAPS) == []


@pytest.fixture
def phone(browser, address):
    page = open_page(browser, 390, "light")
    yield page
    page.context.close()


STEPS = [name for name in PAGES if name.startswith(("step", "warmup"))]


@pytest.mark.parametrize("name", STEPS)
def test_hints_and_solution_open_on_a_click(phone, address, name):
    phone.goto(f"{address}/{name}")
    folded = phone.locator("main details")
    assert folded.count() == 5  # three hints, the solution, the mistakes
    for at in range(folded.count()):
        one = folded.nth(at)
        inside = one.locator("> :not(summary)").first
        assert not inside.is_visible()
        one.locator("summary").click()
        assert inside.is_visible()


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
    page = open_page(browser, 1280, "light")
    page.goto(f"{address}/{PAGES[0]}")
    light = page.evaluate("getComputedStyle(document.body).color")
    page.locator("#mdbook-theme-toggle").click()
    page.locator("#mdbook-theme-navy").click()
    assert page.evaluate("getComputedStyle(document.body).color") != light
    page.context.close()


def test_a_figure_is_read_aloud_by_its_title(browser, address):
    page = open_page(browser, 1280, "light")
    for name in PAGES:
        page.goto(f"{address}/{name}")
        figures = page.evaluate(
            "[...document.querySelectorAll('figure svg')].map(svg => [svg.getAttribute('role'), "
            "svg.querySelector('title').textContent, svg.parentElement.querySelector('figcaption').textContent])"
        )
        for role, title, caption in figures:
            assert role == "img"
            assert title.strip(), json.dumps(caption)
            assert caption.strip(), title
    page.context.close()
