"""The page in a real browser: steps solved on it from the skeleton to a yes, with the file edited elsewhere meanwhile."""

import re

import pytest

from checker.course.skeletons import expected
from checker.course.steps import find_step
from cli.page.pages import hashed
from tests.dev.axe import complaints
from tools.book_maker.browser import THEMES, WIDTHS, open_page

pytestmark = pytest.mark.slow

PHONE, DESK = WIDTHS
MISTAKES = {
    "w05": "The heads are merged without being transposed back",
    "s02": "The mask is transposed",
    "s07": "The heads are cut by reshape alone",
}
VERDICT, SOON = 30_000, 5_000  # milliseconds
#: Chromium gives what is typed over a string that string's color, the policy refuses it, and the editor mends it anyway.
TYPED_OVER = hashed("color: rgb(31, 107, 57);")


def url(task):
    kind = "step" if task.startswith("s") else "warmup"
    return f"{kind}_{task[1:]}.html"


@pytest.fixture(scope="module")
def desk(browser, site):
    """A desk's window, and what goes wrong in it: what the policy of the pages refuses, and requests elsewhere."""
    page = open_page(browser, DESK, "light")
    page.wrong = []
    page.on("console", lambda message: message.type == "error" and page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on(
        "request", lambda asked: asked.url.startswith(site.address) or page.wrong.append(f"{asked.url} is elsewhere")
    )
    page.on("dialog", lambda dialog: dialog.accept())  # a page with a draft asks before it is left
    yield page
    page.context.close()


@pytest.fixture
def window(desk, site):
    """The desk's window with nothing kept; nothing may go wrong in it."""
    desk.goto(f"{site.address}/page/panel.css")
    desk.evaluate("localStorage.clear(), sessionStorage.clear()")
    desk.wrong.clear()
    yield desk
    assert [wrong for wrong in desk.wrong if TYPED_OVER not in wrong] == []


def open_step(page, site, task, text=None):
    """Open the chapter of a step, whose file has a text: the skeleton if no other is given."""
    site.course.write(task, expected(find_step(task)) if text is None else text)
    page.goto(f"{site.address}/{url(task)}#key={site.key}")
    page.locator("section.panel .cm-content").wait_for()
    page.locator("section.panel").scroll_into_view_if_needed()
    return page.locator("section.panel")


def put(panel, text):
    """Replace all that stands in the editor, as a person who pastes."""
    panel.locator(".cm-content").click()
    while text_of(panel):  # on a busy machine, the click may be taken in late, and end the selection
        panel.page.keyboard.press("Control+a")
        panel.page.keyboard.press("Delete")
    panel.page.keyboard.insert_text(text)


def check(panel):
    """Check by the keyboard, and return the verdict."""
    panel.locator(".cm-content").press("Control+Enter")
    return said(panel, re.compile(r"^(Yes|No|Interrupted) "), VERDICT)


def said(panel, words, milliseconds=SOON):
    """Wait until the panel says something, and return it."""
    state = panel.locator(".state").filter(has_text=words)
    state.wait_for(timeout=milliseconds)
    return state.text_content()


def text_of(panel):
    return "\n".join(panel.locator(".cm-line").all_text_contents())


@pytest.mark.parametrize("task", MISTAKES)
def test_a_step_is_solved_on_the_page(window, site, task):
    """From the skeleton by a wrong try to a yes; the last lines come from another editor, and the page follows."""
    step = find_step(task)
    panel = open_step(window, site, task)
    assert check(panel).startswith("No")
    to_write = panel.locator(".rows [data-verdict='to write']")
    assert to_write.count() == len(site.get(f"/api/steps/{step.name}")["functions"])
    to_write.first.get_by_role("button").click()
    assert "raise NotImplementedError" in window.evaluate(
        "getSelection().anchorNode.parentElement.closest('.cm-line').textContent"
    )

    site.course.spoil(task, MISTAKES[task])
    wrong = site.path(task).read_text()
    site.course.write(task, expected(step))
    put(panel, wrong)
    assert check(panel).startswith("No")
    assert site.path(task).read_text() == wrong, "what was checked is what is on disk"
    why = panel.locator(".why").first.text_content()
    assert MISTAKES[task] in why
    marked = panel.locator(".cm-no")
    assert marked.count() >= 1
    assert MISTAKES[task] in marked.first.get_attribute("title")
    window.locator(f"#mdbook-sidebar a[href$='{url(task)}']", has_text="last check: no").wait_for()

    site.course.write(task)  # in another editor
    said(panel, "was saved elsewhere")
    assert check(panel).startswith("Yes")
    assert panel.locator(".rows [data-verdict='no']").count() == 0
    assert panel.locator(".cm-no").count() == 0
    window.locator(f"#mdbook-sidebar a[href$='{url(task)}']", has_text="done").wait_for()


def test_nothing_moves_while_a_step_is_checked_again(window, site):
    """What moves is drawn anew many times a second, and the check waits for that."""
    panel = open_step(window, site, "w05")
    check(panel)
    below = panel.evaluate_handle("panel => panel.nextElementSibling")
    window.evaluate(
        """below => {
            window.places = new Set();
            new MutationObserver(() => places.add(below.offsetTop))
                .observe(document.querySelector('section.panel .verdict'), { childList: true, subtree: true });
        }""",
        below,
    )
    check(panel)
    for _ in range(2):  # the newer ends the older
        panel.locator(".cm-content").press("Control+Enter")
    said(panel, re.compile(r"^No "), VERDICT)
    assert window.evaluate("places.size") == 1
    panel.locator(".cm-content").click()
    assert window.evaluate("document.getAnimations().length") == 0


def test_what_is_written_while_a_check_saves_is_checked_next(window, site):
    """The next save waits for the answer to the one before, which says the version that it is to replace."""
    panel = open_step(window, site, "w05")
    window.route("**/check", lambda route: route.fulfill(response=route.fetch()))  # when the check is over
    put(panel, "first = 1\n")
    for typed in ("", "second = 2\n", "third = 3\n"):
        window.keyboard.insert_text(typed)
        with window.expect_request("**/check"):
            window.keyboard.press("Control+Enter")
    said(panel, re.compile(r"^No "), VERDICT)
    assert site.path("w05").read_text() == "first = 1\nsecond = 2\nthird = 3\n"
    assert panel.get_by_role("alert").count() == 0
    window.unroute("**/check")


@pytest.mark.parametrize("answer", [None, {"status": 409, "json": {"error": "The disk is full."}}])
def test_a_check_without_a_verdict_leaves_nothing_that_waits_for_one(window, site, answer):
    panel = open_step(window, site, "w05")
    check(panel)
    window.route("**/check", lambda route: route.fulfill(**answer) if answer else route.abort())
    panel.locator(".cm-content").press("Control+Enter")
    said(panel, "The disk is full." if answer else "The server does not answer.")
    assert panel.locator(".progress").is_hidden()
    assert panel.locator(".verdict").evaluate("verdict => verdict.style.minHeight") == ""
    window.unroute("**/check")
    assert window.wrong, "the answer that did not come"
    window.wrong.clear()
    assert check(panel).startswith("No")


def test_the_first_page_says_where_to_go_on(window, site):
    site.course.write("w01")
    site.check("warmup_01")
    window.goto(site.link)
    where = window.locator(".landing .where")
    assert re.match(r"\d+ of \d+ done\.", where.text_content())
    where.get_by_role("link").click()
    window.locator("section.panel .cm-content").wait_for()


# ---------------------------------------------------------------- nothing is lost


def test_a_draft_survives_a_reload_and_is_not_saved_by_it(window, site):
    panel = open_step(window, site, "w05")
    put(panel, "draft = 1\n")
    said(panel, "Not saved yet.")
    window.reload()
    panel.locator(".cm-content", has_text="draft = 1").wait_for()
    said(panel, "Not saved yet.")
    assert site.path("w05").read_text() == expected(find_step("w05"))
    panel.get_by_role("button", name="Save").click()
    said(panel, "Saved.")
    assert site.path("w05").read_text() == "draft = 1\n"


@pytest.mark.parametrize(("mine", "reload"), [(True, False), (False, True)])
def test_changed_here_and_on_disk_it_shows_both_and_asks(window, site, mine, reload):
    panel = open_step(window, site, "w05", "old = 1\n")
    put(panel, "mine = 1\n")
    said(panel, "Not saved yet.")
    if reload:
        window.goto(f"{site.address}/index.html")
    site.path("w05").write_text("theirs = 1\n")
    if reload:
        window.goto(f"{site.address}/{url('w05')}")
    choice = panel.get_by_role("alert")
    choice.wait_for(timeout=SOON)
    assert choice.locator("tr").all_text_contents() == ["on disktheirs = 1", "in the editormine = 1"]
    panel.locator(".cm-content").press("Control+s")
    assert site.path("w05").read_text() == "theirs = 1\n", "not before it is chosen"
    choice.get_by_role("button", name="Keep what is in the editor" if mine else "Take what is on disk").click()
    if mine:
        said(panel, "Saved.")
        assert site.path("w05").read_text() == "mine = 1\n"
        kept = sorted((site.course.root / ".course" / "saved" / "warmup_05").glob("*.py"))[-1]
        assert kept.read_text() == "theirs = 1\n"
    else:
        said(panel, "This is what is on disk")
        assert text_of(panel) == "theirs = 1\n"
        panel.locator(".cm-content").press("Control+z")
        assert "mine = 1" in text_of(panel)


def test_two_tabs_share_the_key_and_do_not_overwrite_each_other(window, site):
    panel = open_step(window, site, "w05", "old = 1\n")
    other = window.context.new_page()
    other.goto(f"{site.address}/{url('w05')}")  # without the key
    there = other.locator("section.panel")
    there.locator(".cm-content").wait_for()
    put(there, "there = 1\n")
    put(panel, "here = 1\n")
    panel.locator(".cm-content").press("Control+s")
    said(panel, "Saved.")
    there.locator(".cm-content").press("Control+s")
    there.get_by_role("alert").wait_for(timeout=SOON)
    assert site.path("w05").read_text() == "here = 1\n"
    there.get_by_role("button", name="Take what is on disk").click()
    other.close()


def test_without_the_key_a_page_is_the_book_alone(browser, site):
    page = open_page(browser, DESK, "light")
    page.goto(f"{site.address}/{url('w05')}")
    page.locator(".panel-note", has_text="This tab has no key").wait_for()
    assert page.locator("section.panel .hljs").count() >= 1, "the listing is there"
    page.context.close()


def test_reset_is_asked_for_and_undone_even_after_a_reload(window, site):
    panel = open_step(window, site, "w05", "mine = 1\n")
    panel.get_by_role("button", name="Reset", exact=True).click()
    choice = panel.get_by_role("alert")
    choice.get_by_role("button", name="Cancel").click()
    assert site.path("w05").read_text() == "mine = 1\n"
    panel.get_by_role("button", name="Reset", exact=True).click()
    choice.get_by_role("button", name="Reset").click()
    assert "kept as steps/warmup_05.kept-" in said(panel, "Your file is kept")
    assert site.path("w05").read_text() == expected(find_step("w05"))
    window.reload()
    panel.get_by_role("button", name="Undo reset").click()
    said(panel, "Saved.")
    assert site.path("w05").read_text() == "mine = 1\n"
    assert not panel.get_by_role("button", name="Undo reset").is_visible()


# ---------------------------------------------------------------- help


def test_hints_show_one_tier_more_each_time(window, site):
    version = site.get("/api/steps/warmup_05")["version"]
    site.ask("/api/steps/warmup_05/reset", {"replaces": version}, "POST")
    panel = open_step(window, site, "w05")
    hints = panel.locator("details.hint")
    for number in (1, 2):
        panel.get_by_role("button", name="Hint").click()
        hints.nth(number - 1).wait_for()
        assert hints.count() == number
        assert hints.nth(number - 1).get_attribute("open") is not None
        assert f"Hint {number} of 3" in hints.nth(number - 1).locator("summary").text_content()
    panel.get_by_role("button", name="Hint").click()
    panel.get_by_role("button", name="Show it").click()
    hints.nth(2).wait_for()


def test_compare_and_show_put_numbers_and_lines_side_by_side(window, site):
    site.course.spoil("w05", MISTAKES["w05"])
    panel = open_step(window, site, "w05", site.path("w05").read_text())
    assert not panel.get_by_role("button", name="Show numbers").is_visible()
    check(panel)
    panel.get_by_role("button", name="Show numbers").click()
    panel.locator(".shown").wait_for(timeout=VERDICT)
    panel.get_by_role("button", name="Compare").click()
    panel.get_by_role("button", name="Show it").click()
    panel.locator(".comparison").first.wait_for()
    (line,) = panel.locator(".comparison .right").all_text_contents()
    assert line.startswith("solution")
    assert "merge_heads(" in line


def test_what_a_step_prints_is_text(window, site):
    evil = "<img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
    source = find_step("w05").solution_file.read_text()
    panel = open_step(window, site, "w05", f'{source}\nprint("""{evil}""")\nraise ValueError("""{evil}""")\n')
    assert check(panel).startswith("No")
    assert evil in panel.locator(".printed").text_content()
    assert panel.locator(".verdict :is(img, script)").count() == 0
    assert window.evaluate("window.hit") is None


# ---------------------------------------------------------------- reach, and speed


@pytest.mark.parametrize(("width", "theme"), list(zip(WIDTHS, THEMES, strict=True)))
def test_axe_has_no_complaint_and_nothing_is_wider_than_the_window(browser, site, width, theme):
    """With all that a panel can show at once."""
    site.course.spoil("w05", MISTAKES["w05"])
    wrong = site.path("w05").read_text()
    page = open_page(browser, width, theme)
    panel = open_step(page, site, "w05", wrong)
    check(panel)
    panel.get_by_role("button", name="Show numbers").click()
    panel.locator(".shown").wait_for(timeout=VERDICT)
    panel.get_by_role("button", name="Compare").click()
    panel.get_by_role("button", name="Show it").click()
    panel.locator(".comparison").first.wait_for()
    put(panel, f"{wrong}\nmine = 1\n")
    site.path("w05").write_text(f"{wrong}\ntheirs = 1\n")
    panel.locator(".conflict").wait_for(timeout=SOON)
    assert complaints(page, {"where": {"include": [".panel", "#mdbook-sidebar"]}, "rules": {}}) == []
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    page.context.close()


def test_keys_are_the_editors_and_escape_frees_tab(window, site):
    panel = open_step(window, site, "w05")
    editor = panel.locator(".cm-content")
    editor.click()
    window.keyboard.press("Control+Home")
    window.keyboard.press("Tab")
    assert text_of(panel).startswith("    "), "it indents"
    window.keyboard.press("Control+z")
    window.keyboard.press("Escape")
    window.keyboard.press("Tab")
    assert panel.get_by_role("button", name="Check").evaluate("button => button == document.activeElement")
    put(panel, "")
    window.keyboard.type("s/?")  # for mdBook they search and help, and an arrow turns the page
    window.keyboard.press("ArrowLeft")
    window.keyboard.type("x")
    assert text_of(panel) == "s/x?"
    assert window.url.endswith(url("w05"))


def test_search_still_works_under_the_policy(window, site):
    window.goto(site.link)
    window.locator("#mdbook-search-toggle").click()
    window.locator("#mdbook-searchbar").press_sequentially("causal")
    window.locator("#mdbook-searchresults a").first.click()
    window.wait_for_load_state("load")
    assert "causal" in window.locator("main").inner_text().lower()


def test_the_plain_file_shows_the_commands_to_type(browser, book):
    page = open_page(browser, PHONE, "light")
    page.goto((book / url("w05")).as_uri())
    panel = page.locator("section.panel")
    assert "./run w05" in panel.inner_text()
    assert "def multi_head_attention" in panel.locator("pre").inner_text()
    assert panel.get_by_role("button", name="Check").count() == 0
    page.context.close()


def test_without_the_editors_packages_a_plain_field_does(window, site):
    window.route("**/editor/*.js", lambda route: route.abort())
    site.course.write("w05")
    window.goto(f"{site.address}/{url('w05')}#key={site.key}")
    field = window.locator("section.panel textarea")
    field.wait_for()
    field.press("Control+Enter")
    window.locator(".verdict[data-verdict='yes']").wait_for(timeout=VERDICT)
    window.unroute("**/editor/*.js")
    window.wrong.clear()  # the scripts that were kept from it
