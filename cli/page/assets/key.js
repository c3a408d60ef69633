// The key that `./run book` hands to the browser: it comes behind the # of the link, which no server and no other page
// sees, and is kept for all tabs of this address. A server that is started again makes another.
const NAME = 'book-key';

const handed = new URLSearchParams(location.hash.slice(1)).get('key');
if (handed) {
    localStorage.setItem(NAME, handed);
    history.replaceState(null, '', location.pathname + location.search);
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
export async function ask(path, { method = 'GET', body, signal } = {}) {
    const headers = { Authorization: `Bearer ${localStorage.getItem(NAME)}`, 'Content-Type': 'application/json' };
    const response = await fetch(`/api/${path}`, { method, signal, headers, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})));
    return response;
}

/** Ask the server for an object. */
export const get = async (path, options) => (await ask(path, options)).json();

/** Ask the server to do something, and get its answer. */
export const post = (path, body = {}) => get(path, { method: 'POST', body });
