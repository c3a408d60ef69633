"""What is wrong with a page in the browser: what axe-core finds, and what goes wrong while it is open."""

import contextlib

from axe_playwright_python.base import AXE_SCRIPT

WIDTHS = {390: 844, 1280: 900}  # of a phone and of a desktop window, with their heights
THEMES = ("light", "navy")

#: A line for each complaint. What axe leaves undecided, for it knows no fill of a figure, nothing below what is
#: scrolled out of its box, and no sign that is not a letter, is decided here by axe's arithmetic.
COMPLAINTS = """async asked => {
    const {violations, incomplete} = await axe.run(asked.where, {
        elementRef: true, resultTypes: ['violations', 'incomplete'], ...asked.rules,
    });
    const {Color, flattenColors, getContrast} = axe.commons.color;
    const color = css => new Color().parseString(css);
    const beneath = (word, shapes) => {
        const {left, right, top, bottom} = word.getBoundingClientRect();
        const x = (left + right) / 2, y = (top + bottom) / 2;
        const colors = shapes.filter(({box}) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom)
            .map(shape => shape.color);
        for (let up = word; up; up = up.parentElement) colors.unshift(color(getComputedStyle(up).backgroundColor));
        return colors.reduce((below, above) => flattenColors(above, below), color('white'));
    };
    const faint = (word, ink, shapes = []) => {
        const contrast = getContrast(beneath(word, shapes), color(getComputedStyle(word)[ink]));
        return contrast < 4.5 ? [`Contrast ${contrast.toFixed(2)}: ${word.textContent}`] : [];
    };
    const words = incomplete.filter(rule => rule.id == 'color-contrast').flatMap(rule => rule.nodes)
        .map(node => node.element).filter(word => !word.ownerSVGElement);
    const found = words.flatMap(word => faint(word, 'color'));
    for (const svg of document.querySelectorAll('svg.figure')) {
        const shapes = [];  // drawn up to here
        for (const drawn of svg.querySelectorAll('rect, circle, text')) {
            if (drawn.tagName == 'text') {
                found.push(...faint(drawn, 'fill', shapes));
                continue;
            }
            const {fill, fillOpacity} = getComputedStyle(drawn), shape = color(fill);
            shape.alpha *= fillOpacity;
            shapes.push({box: drawn.getBoundingClientRect(), color: shape});
        }
    }
    return [...violations.flatMap(rule => rule.nodes.map(node => `${rule.help}: ${node.html}`)), ...found];
}"""

EVERYTHING = {"where": {"include": ["html"]}, "rules": {}}
#: The one rule that depends on the theme. Listings are left out: their colors are the same at every width.
COLORS = {"where": {"include": ["html"], "exclude": ["pre span", "math"]}, "rules": {"runOnly": ["color-contrast"]}}


def complaints(page, asked=EVERYTHING):
    """Return a line for everything that axe finds wrong."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(COMPLAINTS, asked)


def open_page(browser, width, theme):
    """Open a new window for a reader who has chosen ``theme``; mdBook keeps the choice in the browser."""
    context = browser.new_context(viewport={"width": width, "height": WIDTHS[width]})
    keep = f"localStorage.setItem('mdbook-theme', '{theme}')"
    context.add_init_script(f"try {{ {keep} }} catch {{}}")  # an empty page can keep nothing
    return context.new_page()


@contextlib.contextmanager
def open_window(browser, width, theme, address):
    """Open a window, and keep in its ``wrong`` the errors in its console and what it asks for elsewhere."""
    page = open_page(browser, width, theme)
    page.wrong = []
    page.on("console", lambda told: told.type == "error" and page.wrong.append(f"{told.text} {told.location}"))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith(address) or page.wrong.append(asked.url))
    yield page
    page.context.close()
