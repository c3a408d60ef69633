// The key that `./run book` hands to the browser: it comes behind the # of the link, which no server and no other page
// sees, and is kept for all tabs of this address. A server that is started again makes another.
export const NAME = 'book-key';

/** Take the key out of the address; return whether there was one. */
function takeKey() {
    const handed = new URLSearchParams(location.hash.slice(1)).get('key');
    if (!handed) return false;
    localStorage.setItem(NAME, handed);
    history.replaceState(null, '', location.pathname + location.search);
    return true;
}

takeKey();
addEventListener('hashchange', () => takeKey() && location.reload()); // to a browser, the link is a place on this page

/** A refusal of the server: `status`, which is 0 if no answer came, and what it said. */
export class Refusal extends Error {
    constructor(status, answer) {
        super(answer.error ?? `the server answered ${status}`);
        this.status = status;
        this.answer = answer;
    }
}

/** Return what to say about a request that failed; nothing if that is a fault of the page. */
export function reasonOf(error) {
    const isKept = 'what you wrote is kept here.';
    if (error.status === 0) return `The server does not answer. Start ./run book again; ${isKept}`;
    if (error.status == 401) return `The server was started again. Open its new link, in any tab; ${isKept}`;
    return error instanceof Refusal ? error.message : '';
}

/** Say so where no answer came, unless nobody waits for it. */
export function noAnswer(error) {
    throw error.name == 'AbortError' ? error : new Refusal(0, {});
}

/** Ask the server; the answer is a response that is a success. */
export async function ask(path, { method = 'GET', body, signal } = {}) {
    const headers = { Authorization: `Bearer ${localStorage.getItem(NAME)}`, 'Content-Type': 'application/json' };
    const asked = fetch(`/api/${path}`, { method, signal, headers, body: body && JSON.stringify(body) });
    const response = await asked.catch(noAnswer);
    if (!response.ok) throw new Refusal(response.status, await response.json().catch(() => ({})));
    return response;
}

/** Ask the server for an object. */
export const get = async (path, options) => (await ask(path, options)).json();

/** Ask the server to do something, and get its answer. */
export const post = (path, body = {}) => get(path, { method: 'POST', body });
