// Texts that are not saved yet. Every page keeps its own in the browser, so that no tab loses another's. A page holds a
// lock while it is open; a draft without one was left by a page that was closed, and goes to the next.
const NAME = 'book-page';

const page = String(Math.random());
const before = sessionStorage.getItem(NAME); // the page that this tab had before, such as this one before a reload
sessionStorage.setItem(NAME, page);
const hold = () => navigator.locks?.request(page, () => new Promise(end => addEventListener('pagehide', end)));
hold();
addEventListener('pageshow', ({ persisted }) => persisted && hold());

const keyOf = (step, page) => `book-draft:${step}:${page}`;

/** Keep the text of a step that began from a version of its file. */
export function keepDraft(step, text, began) {
    localStorage.setItem(keyOf(step, page), JSON.stringify({ text, began, at: Date.now() }));
}

export function dropDraft(step) {
    localStorage.removeItem(keyOf(step, page));
}

/** Take the draft that this tab had before, or else the newest that a closed page has left, if there is one. */
export async function takeDraft(step) {
    const open = (await navigator.locks?.query())?.held.map(({ name }) => name); // undefined without encryption
    const [draft] = Object.keys(localStorage).filter(key => key.startsWith(keyOf(step, '')))
        .map(key => ({ key, page: key.split(':')[2], ...JSON.parse(localStorage.getItem(key)) }))
        .filter(({ page }) => open ? !open.includes(page) : page == before)
        .sort((a, b) => (b.page == before) - (a.page == before) || b.at - a.at);
    if (draft) localStorage.removeItem(draft.key);
    return draft;
}
