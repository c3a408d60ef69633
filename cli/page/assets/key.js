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

others.addEventListener('message', ({ data }) => {
    const key = sessionStorage.getItem(NAME);
    if (data.ask && key) others.postMessage({ key });
    if (data.key && !key) sessionStorage.setItem(NAME, data.key);
});

/** Wait until this tab has the key, or until no other tab has one either. */
async function have() {
    if (sessionStorage.getItem(NAME)) return;
    others.postMessage({ ask: true });
    await new Promise(done => setTimeout(done, WAIT));
}

/** A refusal of the server: `status`, and what it said. */
export class Refusal extends Error {
    constructor(status, answer) {
        super(answer.error ?? `the server answered ${status}`);
        this.status = status;
        this.answer = answer;
    }
}

/** Ask the server; the answer is a response that is a success. */
export async function ask(path, { method = 'GET', body, signal } = {}, isFirst = true) {
    await have();
    const key = sessionStorage.getItem(NAME);
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const response = await fetch(`/api/${path}`, { method, signal, headers, body: body && JSON.stringify(body) });
    if (response.status == 401 && key && isFirst) {
        sessionStorage.removeItem(NAME); // the server was started again, and another tab may have its new key
        return ask(path, { method, body, signal }, false);
    }
    if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})));
    return response;
}

/** Ask the server for an object. */
export const get = async (path, options) => (await ask(path, options)).json();

/** Ask the server to do something, and get its answer. */
export const post = (path, body = {}) => get(path, { method: 'POST', body });
