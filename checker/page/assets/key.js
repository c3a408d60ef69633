// The key that `./run book` hands to the browser: it comes behind the # of the link, which no server and no other page
// sees, and is kept for as long as this tab is open. Another tab of the same origin may ask for it.
const NAME = 'book-key';
const others = new BroadcastChannel(NAME);
const WAIT = 300; // milliseconds for another tab to answer

const given = new URLSearchParams(location.hash.slice(1)).get('key');
if (given) {
    sessionStorage.setItem(NAME, given);
    history.replaceState(null, '', location.pathname + location.search);
}

const asked = sessionStorage.getItem(NAME) ? Promise.resolve() : new Promise(resolve => {
    others.addEventListener('message', ({ data }) => {
        if (data.key && !sessionStorage.getItem(NAME)) sessionStorage.setItem(NAME, data.key);
        if (data.key) resolve();
    });
    others.postMessage({ ask: true });
    setTimeout(resolve, WAIT);
});
others.addEventListener('message', ({ data }) => {
    const key = sessionStorage.getItem(NAME);
    if (data.ask && key) others.postMessage({ key });
});

/** A refusal of the server: `status`, and what it said. */
export class Refusal extends Error {
    constructor(status, answer) {
        super(answer.error ?? `the server answered ${status}`);
        this.status = status;
        this.answer = answer;
    }
}

/** Ask the server; the answer is a response that is a success. */
export async function ask(path, { method = 'GET', body, signal } = {}) {
    await asked;
    const response = await fetch(`/api/${path}`, {
        method,
        signal,
        headers: {
            Authorization: `Bearer ${sessionStorage.getItem(NAME)}`,
            ...body && { 'Content-Type': 'application/json' },
        },
        body: body && JSON.stringify(body),
    });
    if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})));
    return response;
}

/** Ask the server for an object. */
export const get = async (path, options) => (await ask(path, options)).json();

/** Ask the server to do something, and get its answer. */
export const post = (path, body = {}) => get(path, { method: 'POST', body });
