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
        this.beforeReset = '';
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
            this.version = draft.began;
            this.changed();
            if (draft.began != file.version) await this.safely(() => this.store()); // which lets the reader choose
        }
        this.lookLater();
    }

    build() {
        const tool = (words, does, more) => button(words, () => this.safely(does), more);
        const box = make('div', { class: 'editor' });
        this.state = make('span', { class: 'state', role: 'status' });
        this.chooser = make('div', { role: 'alert' });
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
        const about = make('p', { class: 'keys' }, keys);
        this.section.replaceChildren(file, box, tools, about, this.state, this.chooser, result, this.help);
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
        this.undoButton.hidden = true;
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

    /** Save what is not saved; return whether the file is the text now. */
    save() {
        return this.inTurn(() => !this.isDirty || this.store());
    }

    /** Save the text in place of the version that it began from, or let the reader choose which is to stay. */
    async store() {
        const { text } = this.editor;
        try {
            const { version } = await get(this.path, { method: 'PUT', body: { text, replaces: this.version } });
            this.accept({ text, version });
        } catch (error) {
            if (error.status != 412) throw error;
            return this.choose(error.answer);
        }
        this.changed();
        this.say('Saved.');
        return true;
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
        if (this.isDirty) return this.store(); // which lets the reader choose
        this.take(file);
        this.say(`${this.name} was saved elsewhere; this is what it is now.`);
    }

    /** Put a file in place of the text. */
    take(file, canBeUndone = false) {
        this.accept(file);
        this.editor.put(file.text, canBeUndone);
        this.changed();
    }

    /** Show where the file and the text differ, and let the reader say which is to stay. */
    choose(file) {
        if (file.text == this.editor.text) return this.take(file);
        this.conflict = file;
        this.chooser.replaceChildren(
            make('p', {}, `${this.name} was saved elsewhere, and your text here is not saved. Which is to stay?`),
            make('p', { class: 'tools' },
                button('Keep what is in the editor', () => this.decide(true)),
                button('Take what is on disk', () => this.decide(false))),
            comparison(file.rows, 'on disk', 'in the editor'));
        this.say('');
    }

    decide(isMine) {
        const file = this.conflict;
        this.conflict = null;
        this.chooser.replaceChildren();
        this.editor.focus();
        this.accept(file);
        if (isMine) return this.safely(() => this.save());
        this.take(file, true);
        this.say('This is what is on disk. Undo (Ctrl-Z) brings back what was here.');
    }

    // ------------------------------------------------------------ the check

    async check(show = '') {
        this.lookLater(); // what a look costs, the check would wait for
        this.checking?.abort();
        this.checking = new AbortController();
        const { signal } = this.checking;
        const saving = this.save();
        this.verdict.begin(); // after asking, since drawing takes time
        this.editor.mark({});
        this.showButton.hidden = true;
        this.say('Checking.');
        try {
            if (!await saving) return this.verdict.end(), this.say(''); // the reader has to choose first
            const answer = await ask(`${this.path}/check`, { method: 'POST', body: { show }, signal });
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
        if (!this.isDirty) this.editor.mark(this.verdict.marks);
        await showStandings();
    }

    // ------------------------------------------------------------ help

    async hint(sure = false) {
        const { ask: question, number, is_all: isAll } = await post(`${this.path}/hint`, { sure });
        if (question) return confirm(`${question} Show it?`) && this.hint(true);
        const tier = document.querySelectorAll('main > details.hint')[number - 1];
        tier.open = true;
        tier.querySelector('summary').focus(); // which brings it into view
        if (isAll) this.say('These are all the hints.');
    }

    async compare(sure = false) {
        if (!await this.save()) return;
        const { ask: question, differences, count } = await post(`${this.path}/compare`, { sure });
        if (question) return confirm(`${question} Show it?`) && this.compare(true);
        this.help.replaceChildren(
            ...differences.flatMap(({ name, line, rows }) => [
                make('h3', {}, make('code', {}, name), line ? `, line ${line}` : ' is not in your file'),
                comparison(rows, 'yours', 'the solution'),
            ]),
            make('p', {}, `${count - differences.length} of ${count} blanks are written as in the solution.`));
    }

    async reset() {
        const question = `This puts the skeleton in place of ${this.name}. What is there now is kept beside it. Reset?`;
        if (!confirm(question) || !await this.save()) return;
        this.beforeReset = this.saved;
        const file = await this.inTurn(() => post(`${this.path}/reset`));
        this.take(file);
        this.undoButton.hidden = false;
        this.editor.mark({});
        this.verdict.clear();
        this.help.replaceChildren();
        this.say(file.kept ? `Your file is kept as ${file.kept}.` : 'This is the skeleton.');
        await showStandings();
    }

    async undoReset() {
        this.editor.put(this.beforeReset);
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
function comparison(rows, left, right) {
    const code = make('code', { class: 'language-diff', tabindex: 0 }, rows.join('\n'));
    window.hljs?.highlightBlock(code);
    return make('div', { class: 'comparison' }, make('p', {}, `Lines with - are ${left}, those with + ${right}.`),
        make('pre', {}, code));
}
