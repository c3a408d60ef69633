// The panel of a chapter: the learner's file in an editor, its check, and what helps on the way.
import { linkTo, showStandings } from '/page/contents.js';
import { make } from '/page/dom.js';
import { dropDraft, keepDraft, takeDraft } from '/page/drafts.js';
import { makeEditor } from '/page/editor.js';
import { ask, get, noAnswer, post, reasonOf } from '/page/key.js';
import { Verdict } from '/page/verdict.js';

const LOOK = 1000; // milliseconds between looks at the file on disk
const NO_FILE = ''; // the version of a file that does not exist
const NOT_READ = { text: '', version: 'not read' };

const button = (words, onclick, more = {}) => make('button', { type: 'button', onclick, ...more }, words);

export class Panel {
    constructor(section) {
        this.section = section;
        this.step = section.dataset.step;
        this.path = `steps/${this.step}`;
        this.isHunt = this.step.startsWith('hunt'); // in a copy of the solution
        this.original = this.isHunt ? 'another copy' : 'the skeleton'; // what Reset writes
        this.turn = Promise.resolve(); // the last of the requests that may change the file
        this.isGone = false; // the file, since the text was taken from it
        this.trouble = ''; // why the last look at the file failed
        this.conflict = null; // the file as it is on disk, while a reader has to choose
        this.beforeReset = '';
        this.forgotten = {}; // by the reset: the hints and verdicts of the step
    }

    async open() {
        const file = await get(this.path).catch(error => {
            if (error.status != 409) throw error;
            return NOT_READ;
        });
        const draft = await takeDraft(this.step);
        this.build(); // from here on keys are heard, so the text is put in before anything is waited for
        this.accept(file);
        this.editor.begin(draft?.text ?? file.text);
        if (this.isDirty) this.version = draft.began;
        this.changed(file.version == NO_FILE ? `${this.name} is missing. Reset writes ${this.original}.` : '');
        await this.look(); // which says why it cannot be read, or lets the reader choose
        this.lookLater();
    }

    build() {
        const tool = (words, does, more) => button(words, () => this.safely(does), more);
        const box = make('div', { class: 'editor' });
        this.name = this.section.querySelector('p.file').textContent;
        this.state = make('span', { class: 'state', role: 'status' });
        this.seconds = make('span', { class: 'seconds', 'aria-hidden': 'true' });
        this.stopButton = tool('Stop', () => post(`${this.path}/stop`), { hidden: true });
        this.chooser = make('div', { role: 'alert' });
        this.help = make('div', { class: 'help' });
        this.showButton = tool('Show numbers', () => this.showNumbers(), { hidden: true });
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
        const state = make('p', { class: 'now' }, this.state, this.seconds, this.stopButton);
        this.section.replaceChildren(file, box, tools, state, this.chooser, result, about, this.help);
        this.verdict = new Verdict(result, line => this.editor.goTo(line));
        this.editor = makeEditor(box, `Your ${this.name}`, {
            changed: () => this.changed(),
            check: () => this.safely(() => this.check()),
            save: () => this.safely(() => this.save()),
        });
    }

    /** Do what a button asks for, and say so if it cannot be done; return what was said then. */
    async safely(does) {
        try {
            await does();
        } catch (error) {
            const reason = reasonOf(error);
            if (!reason) throw error;
            this.say(reason);
            return reason;
        }
        return '';
    }

    say(words) {
        if (this.state.textContent != words) this.state.textContent = words;
    }

    // ------------------------------------------------------------ the file and the text

    get isDirty() {
        return this.isGone || this.editor.text != this.saved;
    }

    /** Take a file as the one that the text begins from. */
    accept({ text, version }) {
        this.saved = text;
        this.version = version;
        this.isGone = false;
        this.undoButton.hidden = true;
    }

    /** Say whether the text is saved unless a check goes on, and have the browser keep what is not. */
    changed(words = '') {
        if (!this.clock) this.say(this.isDirty ? 'Not saved yet.' : words);
        if (this.isDirty) keepDraft(this.step, this.editor.text, this.version);
        else dropDraft(this.step);
    }

    /** Do something that may change the file after all that came before; nothing while a reader has to choose. */
    inTurn(does) {
        const before = this.turn.catch(() => {});
        return this.turn = before.then(() => this.conflict ? this.chooser.querySelector('button').focus() : does());
    }

    /** Save what is not saved, and before do something with the text; return whether the file is the text now. */
    save(before = () => {}) {
        return this.inTurn(() => {
            before();
            return this.isDirty ? this.store() : true;
        });
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
        this.changed('Saved.');
        return true;
    }

    lookLater() {
        clearTimeout(this.looking);
        this.looking = setTimeout(async () => {
            if (!document.hidden && !this.conflict) await this.look();
            this.lookLater();
        }, LOOK);
    }

    /** Look at the file on disk; what is said if that fails stays until it does not. */
    async look() {
        const before = this.trouble;
        this.trouble = await this.safely(() => this.inTurn(() => this.follow()));
        if (before && !this.trouble && this.state.textContent == before) this.changed();
    }

    /** Follow the file on disk. */
    async follow() {
        const file = await get(`${this.path}?known=${this.version}`);
        if (file.words != this.words) {
            this.words = file.words;
            this.safely(showStandings); // a save need not wait for it
        }
        if (file.text === undefined) return;
        if (file.version == NO_FILE) return this.lose();
        if (this.editor.text != this.saved) return this.store(); // which lets the reader choose
        this.take(file, `${this.name} was saved elsewhere; this is what it is now.`);
    }

    /** Keep the text of a file that does not exist any more. */
    lose() {
        this.version = NO_FILE;
        this.isGone = true;
        this.changed();
        this.say(`${this.name} does not exist any more. Your text is kept here, and Save writes the file again.`);
    }

    /** Put a file in place of the text, which can be undone. */
    take(file, words) {
        this.accept(file);
        this.editor.put(file.text);
        this.changed(words);
    }

    /** Show where the file and the text differ, and let the reader say which is to stay; return whether they agree. */
    choose(file) {
        if (file.text == this.editor.text) {
            this.take(file);
            return true;
        }
        this.conflict = file;
        this.chooser.replaceChildren(
            make('p', {}, `${this.name} was saved elsewhere, and your text here is not saved. Which is to stay?`),
            make('p', { class: 'tools' },
                button('Keep what is in the editor', () => this.decide(true)),
                button('Take what is on disk', () => this.decide(false))),
            comparison(file.rows, 'on disk', 'in the editor'));
        this.say('');
        return false;
    }

    decide(isMine) {
        const file = this.conflict;
        this.conflict = null;
        this.chooser.replaceChildren();
        this.editor.focus();
        this.accept(file);
        if (isMine) return this.safely(() => this.save());
        this.take(file, 'This is what is on disk. Undo (Ctrl-Z) brings back what was here.');
    }

    // ------------------------------------------------------------ the check

    /** Check again, on the same numbers, and show those of the function that an explanation is about. */
    showNumbers() {
        return this.check({ show: this.verdict.toShow, seed: this.verdict.seed });
    }

    async check({ show, seed } = {}) {
        this.lookLater(); // what a look costs, the check would wait for
        this.checking?.abort();
        this.checking = new AbortController();
        const { signal } = this.checking;
        this.tell('Checking…', true);
        this.state.scrollIntoView({ block: 'nearest' });
        const saving = this.save(() => this.editor.number());
        this.verdict.begin(); // after asking, since drawing takes time
        this.editor.mark({});
        this.showButton.hidden = true;
        try {
            if (!await saving) { // the reader has to choose first
                this.verdict.end();
                this.tell('');
                return;
            }
            const answer = await ask(`${this.path}/check`, { method: 'POST', body: { show, seed }, signal });
            for await (const record of records(answer.body)) {
                if (signal.aborted) return; // the verdict is a newer check's by now
                this.verdict.hear(record);
                if (record.event == 'passed') await this.goOn();
            }
        } catch (error) {
            if (signal.aborted) return;
            this.verdict.end(); // none comes any more
            this.tell('');
            throw error;
        }
        this.tell(`${this.verdict.words}${this.isDirty ? ' Not saved yet.' : ''}`);
        this.showButton.hidden = !this.verdict.toShow;
        this.editor.mark(this.verdict.marks);
        this.verdict.reveal();
        await this.goOn();
    }

    /** Say what is to be said of a check and, while it goes on, the seconds, with a button to stop it. */
    tell(words, goesOn = false) {
        const begun = Date.now();
        const count = () => this.seconds.textContent = ` ${Math.round((Date.now() - begun) / 1000)} s`;
        clearInterval(this.clock);
        this.clock = goesOn && setInterval(count, 1000);
        this.seconds.textContent = '';
        this.stopButton.hidden = !goesOn;
        this.say(words);
    }

    /** Show how far the course is and, after a pass, what comes next. */
    async goOn() {
        const { steps, done, next } = await showStandings();
        if (this.verdict.hasPassed) this.verdict.offer(
            next && linkTo(next),
            button('Compare with the solution', () => this.safely(() => this.compare())),
            button('Find a mistake', () => this.safely(() => this.hunt())),
            `${done} of ${steps.length} steps done.`);
    }

    // ------------------------------------------------------------ help

    async hint(sure = false) {
        const { ask: question, number, words } = await post(`${this.path}/hint`, { sure });
        if (question) return confirm(`${question} Show it?`) && this.hint(true);
        const tier = document.querySelectorAll('main > details.hint')[number - 1];
        tier.open = true;
        tier.querySelector('summary').focus(); // which brings it into view
        if (words) this.say(words);
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
        this.help.scrollIntoView({ block: 'nearest' });
    }

    async reset() {
        const does = `This puts ${this.original} in place of ${this.name}.`;
        if (!confirm(`${does} What is there now is kept beside it. Reset?`) || !await this.save()) return;
        this.beforeReset = this.saved;
        const file = await this.inTurn(() => post(`${this.path}/reset`));
        if (!file) return; // the reader has to choose first: it was saved elsewhere meanwhile
        this.checking?.abort(); // it is about what was there before
        this.tell('');
        this.take(file, file.kept ? `Your file is kept as ${file.kept}.` : `This is ${this.original}.`);
        this.forgotten = file.forgotten;
        this.undoButton.hidden = !this.beforeReset;
        this.editor.mark({});
        this.verdict.clear();
        this.verdict.end();
        this.help.replaceChildren();
        await showStandings();
    }

    /** Open a panel below for a copy of the solution with a mistake; from there, begin with another. */
    async hunt() {
        if (this.isHunt) return this.reset();
        const { name, file, words } = await post(`${this.path}/hunt`);
        if (!this.below) {
            const section = make('section', { class: 'panel', 'data-step': name }, make('p', { class: 'file' }, file));
            this.section.after(section);
            const below = new Panel(section);
            await below.open();
            this.below = below;
        }
        this.below.say(words);
        this.below.section.scrollIntoView();
    }

    async undoReset() {
        this.editor.put(this.beforeReset);
        this.editor.focus();
        if (!await this.save()) return; // the reader has to choose first
        await post(`${this.path}/undo-reset`, { forgotten: this.forgotten });
        await showStandings();
    }
}

/** Yield the records of an answer, one per line, as they come. */
async function* records(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
        const { value, done } = await reader.read().catch(noAnswer);
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
