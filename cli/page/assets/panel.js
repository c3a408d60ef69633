// The panel of a chapter: the learner's file in an editor, its check, and what helps on the way.
import { showStandings } from '/page/contents.js';
import { make } from '/page/dom.js';
import { makeEditor } from '/page/editor.js';
import { Refusal, ask, get, post } from '/page/key.js';
import { Verdict } from '/page/verdict.js';

const LOOK = 1000; // milliseconds between looks at the file on disk
const SAVED = 'Saved.';
const NOT_SAVED = 'Not saved yet.';

export class Panel {
    constructor(section) {
        this.section = section;
        this.step = section.dataset.step;
        this.path = `steps/${this.step}`;
        this.draftName = `book-draft:${this.step}`;
        this.undoName = `book-undo:${this.step}`;
        this.sending = null; // a request that may change the file is on its way, until this is done
        this.hasDraft = false; // the draft that the browser keeps is this tab's
        this.conflict = null; // the file as it is on disk, while a reader has to choose
    }

    async open() {
        const file = await get(this.path);
        this.name = file.file;
        this.build();
        this.editor = await makeEditor(this.box, `Your ${this.name}`, {
            changed: () => this.changed(),
            check: () => this.safely(() => this.check()),
            save: () => this.safely(() => this.save()),
        });
        const draft = JSON.parse(localStorage.getItem(this.draftName) ?? 'null');
        this.verdict = new Verdict(this.result, line => this.editor.goTo(line));
        this.accept(file);
        this.editor.put(file.text, true);
        if (draft) this.restore(draft, file);
        this.offerUndo();
        this.section.classList.add('open');
        new IntersectionObserver(([seen], watching) => {
            if (!seen.isIntersecting) return;
            watching.disconnect();
            post(`${this.path}/ready`).catch(() => {}); // so that the first check need not wait for MAX
        }).observe(this.section);
        addEventListener('beforeunload', leaving => this.isDirty && leaving.preventDefault());
        this.look();
    }

    build() {
        const button = (words, does, more = {}) => {
            const onclick = () => {
                if (!this.conflict) this.notice.replaceChildren(); // what was asked last is no longer asked
                this.safely(does);
            };
            return make('button', { type: 'button', onclick, ...more }, words);
        };
        this.box = make('div', { class: 'editor' });
        this.state = make('span', { class: 'state', role: 'status' });
        this.notice = make('div', { class: 'notices' });
        this.result = make('div', { class: 'verdict' });
        this.help = make('div', { class: 'help' });
        this.showButton = button('Show numbers', () => this.check(this.verdict.toShow), { hidden: true });
        this.undoButton = button('Undo reset', () => this.undoReset(), { hidden: true });
        this.tools = make('div', { class: 'tools', role: 'group', 'aria-label': 'What to do with your file' },
            button('Check', () => this.check(), { class: 'first', 'aria-keyshortcuts': 'Control+Enter' }),
            button('Save', () => this.save(), { 'aria-keyshortcuts': 'Control+S' }),
            button('Hint', () => this.hint()),
            this.showButton,
            button('Compare', () => this.compare()),
            button('Reset', () => this.reset()),
            this.undoButton,
        );
        const keys = make('p', { class: 'keys' }, 'Ctrl-Enter checks (on a Mac, Cmd-Enter). Escape, then Tab leaves the editor.');
        const file = this.section.querySelector('p.file');
        this.section.setAttribute('role', 'region');
        this.section.setAttribute('aria-label', `Write ${this.name}`);
        this.section.replaceChildren(file, this.box, this.tools, keys, this.state, this.notice, this.result, this.help);
    }

    /** Do what a button asks for, and say so if it cannot be done. */
    async safely(does) {
        try {
            await does();
        } catch (error) {
            this.say(error instanceof Refusal ? error.message
                : error instanceof TypeError ? 'The server does not answer. Start ./run book again; what you wrote is kept here.'
                    : String(error));
            if (!(error instanceof Refusal || error instanceof TypeError)) throw error;
        }
    }

    say(words) {
        if (this.state.textContent != words) this.state.textContent = words;
    }

    // ------------------------------------------------------------ the file and the text

    get isDirty() {
        return this.editor.text != this.saved;
    }

    /** Take a file as the one that the text begins from. */
    accept({ text, version }) {
        this.saved = text;
        this.version = version;
    }

    changed() {
        if (!this.editor || this.saved === undefined) return;
        this.keepDraft();
        this.say(this.isDirty ? NOT_SAVED : '');
    }

    /** Have the browser keep what is not saved, and nothing else. */
    keepDraft() {
        if (this.isDirty) localStorage.setItem(this.draftName, JSON.stringify({ text: this.editor.text, began: this.version }));
        else if (this.hasDraft) localStorage.removeItem(this.draftName);
        this.hasDraft = this.isDirty;
    }

    /** Go on with a draft; if the file is no longer the version that it began from, the reader has to choose. */
    restore({ text, began }, file) {
        if (text == file.text) return;
        this.editor.put(text);
        if (began != file.version) this.safely(() => this.ask());
    }

    async nothingIsSent() {
        while (this.sending) await this.sending;
    }

    async save() {
        await this.nothingIsSent();
        if (!this.conflict && !this.isDirty) return true;
        const answer = await this.send(this.path, {}, { method: 'PUT' });
        if (answer) this.say(SAVED);
        return Boolean(answer);
    }

    /**
     * Send a request with the text, if that is not saved, and the version that it replaces. One is sent at a time, since
     * the answer says which version the next one replaces. Return the answer; none if the reader has to choose first.
     */
    async send(path, body, { method = 'POST', signal } = {}) {
        await this.nothingIsSent();
        if (this.mustChoose()) return null;
        let sent;
        this.sending = new Promise(done => { sent = done; });
        const { text } = this.editor;
        const change = { ...this.isDirty && { text }, replaces: this.version };
        try {
            const answer = await ask(path, { method, body: { ...body, ...change }, signal });
            const version = answer.headers.get('File-Version');
            if (version) { // it was saved
                this.accept({ text, version });
                this.keepDraft();
                this.forgetUndo();
            }
            return answer;
        } catch (error) {
            if (!(error instanceof Refusal && error.status == 412)) throw error;
            this.choose(error.answer);
            return null;
        } finally {
            this.sending = null;
            sent();
        }
    }

    /** Follow the file on disk. */
    async look() {
        if (!document.hidden && !this.sending && !this.conflict) await this.safely(() => this.follow());
        this.lookLater();
    }

    lookLater() {
        clearTimeout(this.looking);
        this.looking = setTimeout(() => this.look(), LOOK);
    }

    async follow() {
        const known = this.version;
        const file = await get(`${this.path}?known=${known}`);
        if (this.sending || this.conflict || known != this.version) return; // it is another one by now
        if (file.words != this.words) {
            this.words = file.words;
            await showStandings();
        }
        if (file.text === undefined) return;
        if (this.isDirty && this.editor.text != file.text) return this.ask();
        this.accept(file);
        this.editor.put(file.text);
        this.changed();
        this.say(`${this.name} was saved elsewhere; this is what it is now.`);
    }

    // ------------------------------------------------------------ changed here and on disk

    async ask() {
        this.choose(await post(`${this.path}/beside`, { text: this.editor.text }));
    }

    /** Show the file and the text side by side, and let the reader say which is to stay. */
    choose(file) {
        if (file.text == this.editor.text) return this.accept(file), this.changed();
        this.conflict = file;
        this.chooser = make('div', { class: 'choice conflict', role: 'alert' },
            make('p', {}, `${this.name} was saved elsewhere, and what is in the editor is not saved. Which is to stay?`),
            make('p', {},
                make('button', { type: 'button', onclick: () => this.decide(true) }, 'Keep what is in the editor'),
                make('button', { type: 'button', onclick: () => this.decide(false) }, 'Take what is on disk')),
            comparison(['on disk', 'in the editor'], file.rows),
        );
        this.notice.replaceChildren(this.chooser);
        this.say('');
    }

    /** Return whether the reader has to choose before anything else, and lead there. */
    mustChoose() {
        if (this.conflict) this.chooser.querySelector('button').focus();
        return Boolean(this.conflict);
    }

    decide(mine) {
        const file = this.conflict;
        this.conflict = null;
        this.notice.replaceChildren();
        this.accept(file);
        if (!mine) this.editor.put(file.text);
        this.changed();
        this.editor.focus();
        if (mine) return this.safely(() => this.save());
        this.say('This is what is on disk. Undo (Ctrl-Z) brings back what was here.');
    }

    // ------------------------------------------------------------ the check

    async check(show = '') {
        this.lookLater(); // what a look costs, the check would wait for
        await this.nothingIsSent(); // a check that is saving is not to be stopped
        if (this.mustChoose()) return;
        this.checking?.abort();
        const { signal } = this.checking = new AbortController();
        const { text } = this.editor;
        const asked = this.send(`${this.path}/check`, { show }, { signal });
        this.verdict.begin(); // after asking, since drawing takes time
        this.editor.mark([]);
        this.showButton.hidden = true;
        this.say('Checking.');
        try {
            const answer = await asked;
            if (!answer) return this.verdict.end();
            for await (const record of records(answer.body)) {
                if (signal.aborted) return; // the verdict is a newer check's by now
                this.verdict.hear(record);
            }
        } catch (error) {
            if (signal.aborted) return;
            this.verdict.end(); // none comes any more
            throw error;
        }
        this.say(this.verdict.words);
        this.showButton.hidden = !this.verdict.toShow;
        if (this.editor.text == text) this.editor.mark(this.verdict.marks);
        await showStandings();
    }

    // ------------------------------------------------------------ help

    /** Ask the reader before something is shown or done; it is done where the answer is yes. */
    confirm(question, yes, does) {
        const close = () => this.notice.replaceChildren();
        const first = make('button', { type: 'button', onclick: () => (close(), this.safely(does)) }, yes);
        this.notice.replaceChildren(make('div', { class: 'choice', role: 'alert' },
            make('p', {}, question),
            make('p', {}, first, make('button', { type: 'button', onclick: () => (close(), this.editor.focus()) }, 'Cancel'))));
        first.focus();
    }

    async hint(sure = false) {
        const told = await post(`${this.path}/hint`, { sure });
        if (told.ask) return this.confirm(told.ask, 'Show it', () => this.hint(true));
        const tiers = [...document.querySelectorAll('main > details.hint')].slice(0, told.number);
        const shown = tiers.map((tier, at) => {
            const copy = tier.cloneNode(true);
            copy.open = at + 1 == told.number;
            copy.querySelectorAll('.buttons').forEach(each => each.remove());
            return copy;
        });
        this.help.replaceChildren(...shown);
        if (told.is_all) this.say('These are all the hints.');
        shown.at(-1).querySelector('summary').focus();
    }

    async compare(sure = false) {
        if (!await this.save()) return;
        const { ask: question, pairs, count, additions } = await post(`${this.path}/compare`, { sure });
        if (question) return this.confirm(question, 'Show it', () => this.compare(true));
        const same = count - pairs.length;
        this.help.replaceChildren(
            ...pairs.flatMap(({ name, line, rows }) => [
                make('h3', {}, make('code', {}, name), line ? `, from line ${line}` : ' is not in your file'),
                comparison(['yours', 'solution'], rows),
            ]),
            make('p', {}, `${same} of ${count} blanks are written as in the solution.`),
            additions.length ? make('p', {}, `Your file also has ${additions.join(', ')}.`) : '',
        );
    }

    reset(sure = false) {
        if (sure) return this.resetNow();
        this.confirm(`This puts the skeleton in place of ${this.name}. What is there now is kept beside it.`, 'Reset',
            () => this.resetNow());
    }

    async resetNow() {
        if (!await this.save()) return;
        const before = this.saved;
        const answer = await this.send(`${this.path}/reset`);
        if (!answer) return;
        const now = await answer.json();
        this.accept(now);
        this.editor.put(now.text);
        this.editor.mark([]);
        this.verdict.clear();
        this.help.replaceChildren();
        sessionStorage.setItem(this.undoName, JSON.stringify({ text: before, version: now.version }));
        this.offerUndo();
        this.changed();
        this.say(now.kept ? `Your file is kept as ${now.kept}.` : 'This is the skeleton.');
        await showStandings();
    }

    offerUndo() {
        const undo = JSON.parse(sessionStorage.getItem(this.undoName) ?? 'null');
        this.undoButton.hidden = undo?.version != this.version;
    }

    forgetUndo() {
        sessionStorage.removeItem(this.undoName);
        this.undoButton.hidden = true;
    }

    async undoReset() {
        this.editor.put(JSON.parse(sessionStorage.getItem(this.undoName)).text);
        await this.save();
        this.editor.focus();
    }
}

/** Yield the records of an answer, one per line, as they come. */
async function* records(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        const lines = (rest + value).split('\n');
        rest = lines.pop();
        yield* lines.map(line => JSON.parse(line));
    }
}

const AROUND = 2; // equal lines that are shown before and after those that differ

/** Show where two texts differ: the lines of the one above those of the other, with a few lines around them. */
function comparison([left, right], rows) {
    const differs = rows.map(([, mark]) => mark != ' ');
    const isNear = at => differs.slice(Math.max(0, at - AROUND), at + AROUND + 1).includes(true);
    const row = (kind, who, line) => make('tr', { class: kind },
        who ? make('th', { scope: 'row' }, who) : make('td'), make('td', {}, make('code', {}, line)));
    const made = [];
    for (let at = 0; at < rows.length; at++) {
        if (!differs[at]) {
            if (isNear(at)) made.push(row('', 'both', rows[at][0]));
            else if (made.length && made.at(-1).className != 'gap') made.push(row('gap', '', '…'));
            continue;
        }
        let end = at;
        while (differs[end]) end++;
        for (const [who, side, kind] of [[left, 0, 'left'], [right, 2, 'right']])
            made.push(...rows.slice(at, end).filter(one => one[side] !== null).map(one => row(kind, who, one[side])));
        at = end - 1;
    }
    if (made.at(-1)?.className == 'gap') made.pop();
    const table = make('table', { class: 'comparison' }, make('tbody', {}, ...made));
    const label = `Where they differ: ${left} and ${right}`;
    return make('div', { class: 'table-wrapper', tabindex: 0, role: 'region', 'aria-label': label }, table);
}
