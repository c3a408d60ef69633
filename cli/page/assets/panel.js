// The panel of a chapter: the learner's file in an editor, its check, and what helps on the way.
import { showStandings } from '/page/contents.js';
import { make } from '/page/dom.js';
import { makeEditor } from '/page/editor.js';
import { Refusal, ask, get, post } from '/page/key.js';
import { Verdict } from '/page/verdict.js';

const LOOK = 1000; // milliseconds between looks at the file on disk

const button = (words, onclick, more = {}) => make('button', { type: 'button', onclick, ...more }, words);

export class Panel {
    constructor(section) {
        this.section = section;
        this.path = `steps/${section.dataset.step}`;
        this.draftName = `book-draft:${section.dataset.step}`;
        this.turn = Promise.resolve(); // the last of the requests that may change the file
        this.hasDraft = false; // the draft that the browser keeps is this tab's
        this.conflict = null; // the file as it is on disk, while a reader has to choose
        this.undo = null; // the text before a reset, and the version that the reset has made
    }

    async open() {
        const file = await get(this.path);
        this.name = file.file;
        this.build();
        this.accept(file);
        this.editor.put(file.text);
        const draft = JSON.parse(localStorage.getItem(this.draftName) ?? 'null');
        if (draft && draft.text != file.text) {
            this.editor.put(draft.text);
            this.changed();
            if (draft.began != file.version) await this.safely(() => this.askWhich());
        }
        this.lookLater();
    }

    build() {
        const tool = (words, does, more) => button(words, () => {
            if (!this.conflict) this.notice.replaceChildren(); // what was asked last is no longer asked
            this.safely(does);
        }, more);
        const box = make('div', { class: 'editor' });
        this.state = make('span', { class: 'state', role: 'status' });
        this.notice = make('div', { class: 'notices' });
        this.help = make('div', { class: 'help' });
        this.showButton = tool('Show numbers', () => this.check(this.verdict.toShow), { hidden: true });
        this.undoButton = tool('Undo reset', () => this.undoReset(), { hidden: true });
        const tools = make('div', { class: 'tools', role: 'group', 'aria-label': 'What to do with your file' },
            tool('Check', () => this.check(), { class: 'first', 'aria-keyshortcuts': 'Control+Enter' }),
            tool('Save', () => this.save(), { 'aria-keyshortcuts': 'Control+S' }),
            tool('Hint', () => this.hint()),
            this.showButton,
            tool('Compare', () => this.compare()),
            tool('Reset', () => this.reset()),
            this.undoButton);
        const keys = 'Ctrl-Enter checks (on a Mac, Cmd-Enter). Escape, then Tab leaves the editor.';
        const result = make('div', { class: 'verdict' });
        this.section.setAttribute('role', 'region');
        this.section.setAttribute('aria-label', `Write ${this.name}`);
        const file = this.section.querySelector('p.file');
        const hint = make('p', { class: 'keys' }, keys);
        this.section.replaceChildren(file, box, tools, hint, this.state, this.notice, result, this.help);
        this.verdict = new Verdict(result, line => this.editor.goTo(line));
        this.editor = makeEditor(box, `Your ${this.name}`, {
            changed: () => this.changed(),
            check: () => this.safely(() => this.check()),
            save: () => this.safely(() => this.save()),
        });
    }

    /** Do what a button asks for, and say so if it cannot be done. */
    async safely(does) {
        try {
            await does();
        } catch (error) {
            this.say(error instanceof TypeError
                ? 'The server does not answer. Start ./run book again; what you wrote is kept here.' : error.message);
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
        this.undoButton.hidden = this.undo?.version != version;
    }

    /** Say whether the text is saved, and have the browser keep what is not. */
    changed() {
        this.say(this.isDirty ? 'Not saved yet.' : '');
        const draft = { text: this.editor.text, began: this.version };
        if (this.isDirty) localStorage.setItem(this.draftName, JSON.stringify(draft));
        else if (this.hasDraft) localStorage.removeItem(this.draftName);
        this.hasDraft = this.isDirty;
    }

    /** Do something that may change the file after all that came before; nothing while a reader has to choose. */
    inTurn(does) {
        const before = this.turn.catch(() => {});
        return this.turn = before.then(() => this.conflict ? this.chooser.querySelector('button').focus() : does());
    }

    /**
     * Send a request with the text, if that is not saved, and with the version that it replaces; in turn, since the
     * answer says which version the next one replaces. Return the answer, or nothing if the reader has to choose first.
     */
    async send(path, body, options = {}) {
        const { text } = this.editor;
        const change = { ...this.isDirty && { text }, replaces: this.version };
        try {
            const answer = await ask(path, { method: 'POST', body: { ...body, ...change }, ...options });
            const version = answer.headers.get('File-Version');
            if (version) { // it was saved
                this.accept({ text, version });
                this.changed();
            }
            return answer;
        } catch (error) {
            if (error.status != 412) throw error;
            this.choose(error.answer);
        }
    }

    /** Save what is not saved; return whether the file is the text now. */
    save() {
        return this.inTurn(async () => {
            if (!this.isDirty) return true;
            const answer = await this.send(this.path, {}, { method: 'PUT' });
            if (answer) this.say('Saved.');
            return Boolean(answer);
        });
    }

    lookLater() {
        clearTimeout(this.looking);
        this.looking = setTimeout(async () => {
            if (!document.hidden && !this.conflict) await this.safely(() => this.inTurn(() => this.follow()));
            this.lookLater();
        }, LOOK);
    }

    /** Follow the file on disk. */
    async follow() {
        const file = await get(`${this.path}?known=${this.version}`);
        if (file.words != this.words) {
            this.words = file.words;
            await showStandings();
        }
        if (file.text === undefined) return;
        if (this.isDirty && this.editor.text != file.text) return this.askWhich();
        this.accept(file);
        this.editor.put(file.text);
        this.changed();
        this.say(`${this.name} was saved elsewhere; this is what it is now.`);
    }

    // ------------------------------------------------------------ changed here and on disk

    async askWhich() {
        this.choose(await post(`${this.path}/beside`, { text: this.editor.text }));
    }

    /** Show the file and the text side by side, and let the reader say which is to stay. */
    choose(file) {
        if (file.text == this.editor.text) return this.accept(file), this.changed();
        this.conflict = file;
        this.chooser = make('div', { class: 'choice conflict', role: 'alert' },
            make('p', {}, `${this.name} was saved elsewhere, and your text here is not saved. Which is to stay?`),
            make('p', { class: 'tools' },
                button('Keep what is in the editor', () => this.decide(true)),
                button('Take what is on disk', () => this.decide(false))),
            comparison('on disk', 'in the editor', file.rows));
        this.notice.replaceChildren(this.chooser);
        this.say('');
    }

    decide(isMine) {
        const file = this.conflict;
        this.conflict = null;
        this.notice.replaceChildren();
        this.accept(file);
        if (isMine) return this.editor.focus(), this.safely(() => this.save());
        this.editor.put(file.text, true);
        this.changed();
        this.say('This is what is on disk. Undo (Ctrl-Z) brings back what was here.');
    }

    // ------------------------------------------------------------ the check

    async check(show = '') {
        this.lookLater(); // what a look costs, the check would wait for
        let text, signal;
        const asked = this.inTurn(() => { // not before, since a check that is saving is not to be stopped
            this.checking?.abort();
            this.checking = new AbortController();
            ({ text } = this.editor);
            ({ signal } = this.checking);
            return this.send(`${this.path}/check`, { show }, { signal });
        });
        this.verdict.begin(); // after asking, since drawing takes time
        this.editor.mark({});
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
            if (signal?.aborted) return;
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
        const first = button(yes, () => (close(), this.safely(does)));
        const cancel = button('Cancel', () => (close(), this.editor.focus()));
        this.notice.replaceChildren(make('div', { class: 'choice', role: 'alert' },
            make('p', {}, question), make('p', { class: 'tools' }, first, cancel)));
        first.focus();
    }

    async hint(isSure = false) {
        const { ask: question, number, is_all: isAll } = await post(`${this.path}/hint`, { sure: isSure });
        if (question) return this.confirm(question, 'Show it', () => this.hint(true));
        const ofPage = [...document.querySelectorAll('main > details.hint')];
        const tiers = ofPage.slice(0, number).map(tier => tier.cloneNode(true));
        tiers.forEach(tier => tier.querySelectorAll('.buttons').forEach(each => each.remove()));
        tiers.at(-1).open = true;
        this.help.replaceChildren(...tiers);
        if (isAll) this.say('These are all the hints.');
        tiers.at(-1).querySelector('summary').focus();
    }

    async compare(isSure = false) {
        if (!await this.save()) return;
        const { ask: question, differences, count } = await post(`${this.path}/compare`, { sure: isSure });
        if (question) return this.confirm(question, 'Show it', () => this.compare(true));
        this.help.replaceChildren(
            ...differences.flatMap(({ name, line, rows }) => [
                make('h3', {}, make('code', {}, name), line ? `, line ${line}` : ' is not in your file'),
                comparison('yours', 'solution', rows),
            ]),
            make('p', {}, `${count - differences.length} of ${count} blanks are written as in the solution.`));
    }

    reset() {
        this.confirm(`This puts the skeleton in place of ${this.name}. What is there now is kept beside it.`, 'Reset',
            async () => {
                if (!await this.save()) return;
                const before = this.saved;
                const answer = await this.inTurn(() => this.send(`${this.path}/reset`));
                if (!answer) return;
                const now = await answer.json();
                this.undo = { text: before, version: now.version };
                this.accept(now);
                this.editor.put(now.text);
                this.editor.mark({});
                this.verdict.clear();
                this.help.replaceChildren();
                this.changed();
                this.say(now.kept ? `Your file is kept as ${now.kept}.` : 'This is the skeleton.');
                await showStandings();
            });
    }

    async undoReset() {
        this.editor.put(this.undo.text);
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

/** Show where two texts differ: the lines of the one, those of the other, and the equal lines next to them. */
function comparison(left, right, rows) {
    const kinds = { '-': ['minus', left], '+': ['plus', right] };
    const lines = rows.map(([mark, line]) => {
        const [kind, who] = kinds[mark] ?? ['', mark == ' ' ? 'both' : ''];
        return make('tr', { class: kind },
            who ? make('th', { scope: 'row' }, who) : make('td'), make('td', {}, make('code', {}, line)));
    });
    const label = `Where they differ: ${left} and ${right}`;
    return make('div', { class: 'comparison', tabindex: 0, role: 'region', 'aria-label': label },
        make('table', {}, make('tbody', {}, ...lines)));
}
