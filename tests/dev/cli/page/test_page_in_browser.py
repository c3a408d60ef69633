"""The page in a real browser: a step solved on it from the skeleton, with the file edited elsewhere meanwhile."""

import re

import pytest

from checker.course.skeletons import skeleton_of
from checker.course.steps import find_step

pytest.importorskip("playwright")
from playwright.sync_api import expect

from tests.dev.cli.page.firefox import firefox
from tests.dev.helpers.axe import THEMES, WIDTHS, complaints, open_page, open_window
from tests.dev.helpers.browsers import chromium

BROWSERS = (chromium, pytest.param(firefox, marks=pytest.mark.nightly))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("browser", BROWSERS, ids=["chromium", "firefox"], indirect=True, scope="module"),
]

PHONE, DESK = WIDTHS
MISTAKE = "The heads are merged without being transposed back"
VERDICT, SOON = 30_000, 5_000  # milliseconds


@pytest.fixture(scope="module")
def desk(browser, site):
    """A desk's window, and what goes wrong in it: what the policy of the pages forbids, and requests elsewhere."""
    with open_window(browser, DESK, "light", site.address) as page:
        page.questions = []
        page.on("dialog", lambda dialog: (page.questions.append(dialog.message), dialog.accept()))
        yield page


@pytest.fixture
def window(desk, site):
    """The desk's window with nothing kept, which answers every question with yes; nothing may go wrong in it."""
    desk.set_viewport_size({"width": DESK, "height": WIDTHS[DESK]})
    desk.goto(f"{site.address}/page/panel.css")
    desk.evaluate("localStorage.clear(), sessionStorage.clear()")
    desk.wrong.clear()
    desk.questions.clear()
    yield desk
    known = ("favicon.ico", "status of 412")  # a save over another version
    assert [wrong for wrong in desk.wrong if not any(words in wrong for words in known)] == []


def open_step(page, site, task, text=None):
    """Open the chapter of a step, whose file has a text: the skeleton if no other is given."""
    site.course.write(task, skeleton_of(find_step(task)) if text is None else text)
    page.goto(f"{site.address}/page/panel.css")  # else another key behind the # is no new page
    page.goto(site.url(task))
    field_of(page).wait_for()
    page.locator("section.panel").scroll_into_view_if_needed()
    return page.locator("section.panel")


def field_of(page):
    return page.locator("section.panel textarea")


def put(page, text):
    """Replace all that stands in the editor, as a person who pastes."""
    field_of(page).press("Control+a")
    page.keyboard.insert_text(text) if text else page.keyboard.press("Delete")


def press(panel, *names):
    for name in names:
        panel.get_by_role("button", name=name, exact=True).click()


def shown(panel, words):
    """Wait until the panel says something, and return it."""
    state = panel.locator(".state").filter(has_text=words)
    state.wait_for(timeout=SOON)
    return state.text_content()


def comes_into_view(element):
    """Wait until a whole element is seen: the page scrolls once the answer has ended, after the verdict."""
    expect(element).to_be_in_viewport(ratio=0.99, timeout=SOON)


def check(panel):
    """Check by the keyboard, and return the verdict."""
    panel.locator("textarea").press("Control+Enter")
    panel.locator(".verdict[data-verdict]").wait_for(timeout=VERDICT)
    return panel.locator(".verdict").get_attribute("data-verdict")


@pytest.mark.parametrize(("task", "mistake"), [("w05", MISTAKE), ("s07", "The heads are cut by reshape alone")])
def test_a_step_is_solved_on_the_page(window, site, task, mistake):
    """From the skeleton by hints and a wrong try to the right one, which comes from another editor."""
    site.course.reset()
    site.course.spoil(task, mistake)
    wrong = site.course.path(task).read_text()
    panel = open_step(window, site, task)
    first = check(panel)
    field_of(window).evaluate("field => field.setSelectionRange(0, 0)")
    panel.locator(".rows button.line").first.click()
    line = field_of(window).evaluate("field => field.value.slice(0, field.selectionStart).split('\\n').length")
    assert "raise NotImplementedError" in site.course.path(task).read_text().splitlines()[line - 1]
    for number in range(3):
        press(panel, "Hint")
        window.locator("main > details.hint[open]").nth(number).wait_for()
    assert ["gives away what to write. Show it?" in question for question in window.questions] == [True]
    assert "You have seen all 3 hints" in site.course.check("hint", task).stdout

    put(window, wrong)
    assert panel.locator("pre .hljs-keyword").count() >= 1
    window.set_viewport_size({"width": DESK, "height": 400})  # where a verdict isn't seen unless it is scrolled to
    assert check(panel) == first
    assert site.course.path(task).read_text() == wrong, "what was checked is what is on disk"
    assert mistake in panel.locator(".why").first.text_content()
    comes_into_view(panel.locator(".verdict p:visible").first)
    mark = panel.locator(".marks div").first
    assert mistake in mark.get_attribute("title")
    line = int(re.search(r"\d+", panel.locator(".why button.line").first.text_content())[0])
    boxes = [mark.bounding_box(), panel.locator(".editor").bounding_box()]
    height = panel.locator(".editor").evaluate("box => parseFloat(getComputedStyle(box).lineHeight)")
    scrolled = panel.locator(".editor").evaluate("box => box.scrollTop")
    assert boxes[0]["y"] - boxes[1]["y"] + scrolled == pytest.approx((line - 1) * height, abs=3)
    press(panel, "Show numbers")
    panel.locator(".shown").wait_for(timeout=VERDICT)
    press(panel, "Compare")
    panel.locator(".comparison .hljs-addition", has_text="+ ").first.wait_for(timeout=SOON)

    site.course.write(task)  # in another editor
    shown(panel, "was saved elsewhere")
    assert check(panel) != first
    assert panel.locator(".marks div").count() == 0
    after = panel.locator(".after", has_text=re.compile(r"Go on with step 0\d: .* 1 of 35 steps done"))
    after.get_by_role("button", name="Compare").wait_for(timeout=SOON)
    comes_into_view(after)
    window.locator(f"#mdbook-sidebar a[href$='{find_step(task).name}.html']", has_text="done").wait_for()
    window.goto(site.address)
    assert re.match(r"\d+ of \d+ done\.", window.locator(".landing .where").text_content())


def test_a_hunt_after_a_pass(window, site):
    site.course.reset()
    panel = open_step(window, site, "w05", find_step("w05").read_solution().text)
    check(panel)
    press(panel, "Find a mistake")
    hunted = window.locator("section.panel[data-step=hunt_w05]")
    shown(hunted, "This copy of the solution has one mistake in it.")
    assert check(hunted) == "fail"
    assert complaints(window, {"where": {"include": [".panel"]}, "rules": {}}) == []
    hunted.locator("textarea").press("Control+a")
    window.keyboard.insert_text(find_step("w05").read_solution().text)
    assert check(hunted) == "pass"
    hunted.locator(".verdict", has_text=re.compile(r"Found after (\d+ min )?\d+ s: ")).wait_for(timeout=SOON)
    press(hunted, "Find a mistake")
    shown(hunted, "This is another copy.")
    assert "This puts another copy in place of steps/hunt_w05.py." in window.questions[-1]


def test_nothing_is_lost(window, site):
    """Drafts, two tabs, a file that was saved elsewhere, a reset."""
    panel = open_step(window, site, "w05", "old = 1\n")
    put(window, "draft = 1\n")
    shown(panel, "Not saved yet.")
    window.reload()
    shown(panel, "Not saved yet.")
    assert (field_of(window).input_value(), site.course.path("w05").read_text()) == ("draft = 1\n", "old = 1\n")
    press(panel, "Save")
    shown(panel, "Saved.")
    assert site.course.path("w05").read_text() == "draft = 1\n"

    other = window.context.new_page()
    other.goto(f"{site.address}/warmup_05.html")  # without the key, which the other tab has
    field_of(other).wait_for()
    put(other, "there = 1\n")
    put(window, "here = 1\n")
    press(panel, "Save")
    shown(panel, "Saved.")
    choice = other.locator("section.panel").get_by_role("alert")
    choice.locator("code", has_text=re.compile(r"- here = 1\s\+ there = 1")).wait_for(timeout=SOON)
    field_of(other).press("Control+s")
    assert site.course.path("w05").read_text() == "here = 1\n", "not before it is chosen"
    press(choice, "Take what is on disk")
    assert field_of(other).input_value() == "here = 1\n"
    field_of(other).press("Control+z")
    assert field_of(other).input_value() == "there = 1\n"
    shown(other, "Not saved yet.")
    other.close()
    put(window, "newer = 1\n")
    press(panel, "Save")
    shown(panel, "Saved.")
    third = window.context.new_page()
    third.goto(f"{site.address}/warmup_05.html")
    press(third.get_by_role("alert"), "Take what is on disk")
    field_of(third).press("Control+z")
    assert field_of(third).input_value() == "there = 1\n", "the draft that the closed tab has left"
    field_of(third).press("Control+y")
    third.close()

    put(window, "mine = 1\n")
    site.course.path("w05").write_text("theirs = 1\n")
    press(panel.get_by_role("alert"), "Keep what is in the editor")
    shown(panel, "Saved.")
    assert site.course.path("w05").read_text() == "mine = 1\n"
    put(window, "later = 1\n")
    shown(panel, "Not saved yet.")
    window.goto(site.address)
    site.course.path("w05").write_text("theirs = 1\n")
    window.goto(site.url("w05"))
    press(panel.get_by_role("alert"), "Keep what is in the editor")
    shown(panel, "Saved.")
    assert site.course.path("w05").read_text() == "later = 1\n"

    put(window, "same = 1\n")
    site.course.path("w05").write_text("same = 1\n")  # saved elsewhere, as it is in the editor: nothing to choose
    press(panel, "Reset")
    assert "kept as steps/warmup_05.kept-" in shown(panel, "Your file is kept")
    assert "This puts the skeleton in place of steps/warmup_05.py." in window.questions[-1]
    assert site.course.path("w05").read_text() == skeleton_of(find_step("w05"))
    press(panel, "Undo reset")
    shown(panel, "Saved.")
    assert site.course.path("w05").read_text() == "same = 1\n"


def test_a_reset_ends_the_check_that_goes_on(window, site):
    lines = "import time\nwhile True:\n    print('old', flush=True)\n    time.sleep(0.1)\n"
    panel = open_step(window, site, "w05", lines)
    press(panel, "Check")
    panel.locator(".printed", has_text="old").wait_for(timeout=VERDICT)
    press(panel, "Reset")
    said = shown(panel, "Your file is kept")
    window.wait_for_timeout(500)  # in which it would have said more
    assert (panel.locator(".printed").text_content(), panel.locator(".state").text_content()) == ("", said)
    assert panel.get_by_role("button", name="Stop").is_hidden()


def test_control_s_saves_with_caps_lock_and_what_alt_gr_types_is_no_command(window, site):
    panel, field = open_step(window, site, "w05", "old = 1\n"), field_of(window)
    put(window, "new = 1\n")
    for key in ("Control+Alt+s", "Control+Alt+Enter", "Control+Shift+S"):
        field.press(key)
    assert panel.locator(".state").text_content() == "Not saved yet."
    field.press("Control+S")
    shown(panel, "Saved.")
    assert site.course.path("w05").read_text() == "new = 1\n"


def test_a_file_that_is_changed_is_no_text_or_is_gone_leaves_the_text(window, site):
    panel, path = open_step(window, site, "w05", "mine = 1\n"), site.course.path("w05")
    field = field_of(window)
    panel.get_by_role("button", name="Hint").focus()
    path.write_text("more = 0\nmine = 1\n")
    shown(panel, "was saved elsewhere")
    assert window.evaluate("document.activeElement.textContent") == "Hint"
    field.press("Control+z")
    assert field.input_value() == "mine = 1\n"
    press(panel, "Save")
    shown(panel, "Saved.")
    path.write_bytes(b"\xff")
    shown(panel, "is not UTF-8 text")
    field.press("Control+End")
    field.press_sequentially("y = 2")
    press(panel, "Save")
    shown(panel, "is not UTF-8 text")
    window.reload()
    shown(panel, "is not UTF-8 text")
    assert (field.input_value(), path.read_bytes()) == ("mine = 1\ny = 2", b"\xff")
    path.write_text("theirs = 1\n")
    press(panel.get_by_role("alert"), "Keep what is in the editor")
    shown(panel, "Saved.")
    path.unlink()
    shown(panel, "does not exist any more")
    press(panel, "Save")
    shown(panel, "Saved.")
    assert path.read_text() == "mine = 1\ny = 2"
    window.goto(site.address)
    path.unlink()
    window.goto(site.url("w05"))
    shown(panel, "Reset writes the skeleton")
    window.wrong[:] = [wrong for wrong in window.wrong if "status of 409" not in wrong]


def test_a_check_tells_its_seconds_and_can_be_stopped_and_marks_follow_their_lines(window, site):
    site.course.spoil("w05", MISTAKE)
    wrong = site.course.path("w05").read_text()
    panel = open_step(window, site, "w05", f"{wrong}\nwhile True: pass\n")
    press(panel, "Check")
    panel.locator(".now", has_text=re.compile(r"Checking… [12] s")).wait_for(timeout=SOON)
    put(window, wrong)
    press(panel, "Stop")
    shown(panel, "Stopped. Not saved yet.")
    assert panel.get_by_role("button", name="Stop").is_hidden()
    check(panel)
    mark = panel.locator(".marks div").first
    line = int(mark.evaluate("mark => parseInt(mark.style.top)"))
    field_of(window).press("Control+Home")
    for key, now in (("Enter", line + 1), ("Enter", line + 2), ("Backspace", line + 1), ("Control+End", line + 1)):
        field_of(window).press(key)
        assert mark.evaluate("mark => parseInt(mark.style.top)") == now
    panel.locator(".why button.line").first.click()
    chosen = field_of(window).evaluate("field => field.value.slice(0, field.selectionStart).split('\\n').length")
    assert chosen == line + 2
    put(window, "x = 1\n")
    assert mark.count() == 0


def test_a_key_that_is_pressed_at_once_saves_no_empty_file(window, site):
    """The browser takes its time to say which tabs are open, and so which draft nobody has."""
    site.course.write("w05", "old = 1\n")
    slow = "navigator.locks.query = () => new Promise(answer => setTimeout(answer, 1000, {held: []}))"
    other = window.context.new_page()
    other.add_init_script(slow)
    other.goto(site.url("w05"))
    field_of(other).press("Control+s")
    expect(field_of(other)).to_have_value("old = 1\n")
    assert site.course.path("w05").read_text() == "old = 1\n"
    other.close()


def test_one_request_after_another_and_a_check_that_has_no_answer(window, site):
    """A save waits for the answer to the one before, which says the version that it is to replace."""
    if window.context.browser.browser_type.name == "firefox":
        pytest.skip("Playwright gets no body of a request from it")
    panel = open_step(window, site, "w05", "")
    window.route("**/warmup_05", lambda route: route.fulfill(response=route.fetch()))
    for typed in ("first = 1\n", "second = 2\n", "third = 3\n"):
        window.keyboard.insert_text(typed) if typed[0] != "f" else put(window, typed)
        window.keyboard.press("Control+Enter")
    panel.locator(".verdict[data-verdict]").wait_for(timeout=VERDICT)
    assert site.course.path("w05").read_text() == "first = 1\nsecond = 2\nthird = 3\n"
    assert panel.locator(".comparison").count() == 0
    full = {"status": 409, "json": {"error": "The disk is full."}}
    for answer, words in (
        (lambda route: route.abort(), "The server does not answer."),
        (lambda route: route.fulfill(**full), "The disk is full."),
    ):
        window.route("**/check", answer)
        field_of(window).press("Control+Enter")
        shown(panel, words)
        assert panel.locator(".progress").is_hidden()
        window.unroute("**/check")
    window.unroute_all()
    assert window.wrong, "the answers that did not come"
    window.wrong.clear()


def test_keys_are_the_editors(window, site):
    panel = open_step(window, site, "w05", "")
    field = field_of(window)
    field.press_sequentially("def f(x):\nif x:\nreturn 1\n")
    assert field.input_value() == "def f(x):\n    if x:\n        return 1\n        "
    field.press("Backspace")
    field.press_sequentially("y = 2")
    field.press("Control+a")
    field.press("Tab")
    assert field.input_value().endswith("    def f(x):\n        if x:\n            return 1\n        y = 2")
    field.press("Shift+Tab")
    assert field.input_value().startswith("def f(x):\n    if x:\n        return 1\n    y = 2")
    field.press("Control+z")
    assert field.input_value().startswith("    def")
    put(window, "        first()\n        second()\n    third()\n")
    for begin, end, shifted in (
        (4, 4, "    first()\n        second()\n    third()\n"),  # where the caret stands in the line does not matter
        (0, 0, "first()\n        second()\n    third()\n"),
        (2, 12, "first()\n    second()\n    third()\n"),
        (3, 21, "first()\nsecond()\n    third()\n"),  # the end of a selection is the beginning of the third line
    ):
        field.evaluate("(field, [begin, end]) => field.setSelectionRange(begin, end)", [begin, end])
        field.press("Shift+Tab")
        assert field.input_value() == shifted
    field.press_sequentially("4")
    assert field.input_value() == "4    third()\n", "what is selected are the lines that were shifted"
    put(window, "")
    window.keyboard.type("s/?")  # for mdBook they search and help, and an arrow turns the page
    window.keyboard.press("ArrowLeft")
    window.keyboard.type("x")
    assert field.input_value() == "s/x?"
    assert "warmup_05" in window.url
    for key in ("Escape", "Tab"):
        field.press(key)
    assert panel.get_by_role("button", name="Check").evaluate("button => button == document.activeElement")


@pytest.mark.parametrize(("width", "theme"), list(zip(WIDTHS, THEMES, strict=True)))
def test_axe_has_no_complaint_and_nothing_is_wider_than_the_window(browser, site, width, theme):
    """With all that a panel can show at once, what a step prints as text, and without mdBook's script for colors."""
    site.course.spoil("w05", MISTAKE)
    evil = "<img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
    wrong = f'{site.course.path("w05").read_text()}\nprint("""{evil}""")\n'
    page = open_page(browser, width, theme)
    page.on("dialog", lambda dialog: dialog.accept())
    panel = open_step(page, site, "w05", wrong)
    check(panel)
    assert evil in panel.locator(".printed").text_content()
    assert page.evaluate("window.hit") is None
    press(panel, "Show numbers")
    panel.locator(".shown").wait_for(timeout=VERDICT)
    press(panel, "Compare")
    panel.locator(".comparison").first.wait_for()
    put(page, f"{wrong}\nmine = 1\n")
    site.course.path("w05").write_text(f"{wrong}\ntheirs = 1\n")
    panel.get_by_role("alert").locator(".comparison").wait_for(timeout=SOON)
    assert complaints(page, {"where": {"include": [".panel", "#mdbook-sidebar"]}, "rules": {}}) == []
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    page.evaluate("localStorage.clear()")
    page.route("**/highlight*.js", lambda route: route.abort())
    panel = open_step(page, site, "w05", wrong)
    assert panel.locator("pre .hljs-keyword").count() == 0
    letters = panel.locator(".editor pre").text_content()
    assert letters.strip() == wrong.strip(), "the letters of the field have no color"
    check(panel)
    assert MISTAKE in page.locator(".why").first.text_content()
    page.context.close()


def test_without_the_key_or_a_server_a_page_is_the_book_alone(browser, site, book):
    page = open_page(browser, PHONE, "light")
    page.goto(f"{site.address}/warmup_05.html")
    page.locator(".panel-note", has_text="This tab has no key").wait_for()
    other = page.context.new_page()
    other.goto(site.address)
    other.locator(".panel-note").wait_for()
    other.evaluate(f"location.hash = '#key={site.key}'")  # which to a browser is a place on the same page
    for tab in (page, other):
        tab.locator(".panel-note").wait_for(state="detached")
    field_of(page).wait_for()
    page.goto((book / "warmup_05.html").as_uri())
    panel = page.locator("section.panel")
    assert "./run w05" in panel.inner_text()
    panel.locator("summary").click()
    assert "def multi_head_attention" in panel.locator("pre").inner_text()
    assert panel.get_by_role("button", name="Check").count() == 0
    page.context.close()
