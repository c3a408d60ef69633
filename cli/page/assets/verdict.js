// The verdict as it comes: first what to do, then the claims. Whatever a learner's code prints is shown as text.
import { make } from '/page/dom.js';

const FEW = 3; // claims that pass and are shown one by one

export class Verdict {
    constructor(box, goTo) {
        this.box = box;
        this.goTo = goTo;
        this.clear();
    }

    clear() {
        delete this.box.dataset.verdict;
        this.marks = {}; // lines to mark, each with its sentences
        this.toShow = ''; // the function whose numbers can be shown
        this.seed = null; // of the numbers that were drawn
        this.words = ''; // the verdict in short
        this.before = null; // what is said before the explanation to begin with
        this.hasPassed = false; // though it may still be compiled
        this.progress = make('p', { class: 'progress', hidden: true });
        this.why = make('div');
        this.says = make('div');
        this.rows = make('ul', { class: 'rows' });
        this.passes = make('ul', { class: 'rows' });
        this.count = make('summary');
        this.fold = make('details', { hidden: true }, this.count, this.passes);
        this.last = make('pre', { class: 'printed', tabindex: 0, hidden: true });
        const log = { role: 'log', 'aria-label': 'Verdict' };
        this.box.replaceChildren(this.progress, make('div', log, this.why, this.says, this.rows, this.fold, this.last));
    }

    begin() {
        const height = this.box.offsetHeight;
        this.clear();
        this.box.style.minHeight = `${height}px`; // what follows need not move, and be drawn again, row by row
    }

    /** Take a record; of other events than these, nothing is shown. */
    hear({ event, ...record }) {
        switch (event) {
            case 'row': return this.row(record);
            case 'explanation': return this.explanation(record);
            case 'said': return this.said(record);
            case 'lead': return this.lead(record);
            case 'shown': return this.shown(record);
            case 'printed': return this.printed(record);
            case 'compiling': return this.compiling(record);
            case 'passed': return this.passed();
            case 'ended': return this.ended(record);
            case 'verdict': return this.verdict(record);
        }
    }

    row({ mark, about, sentence, line, tells_line: tellsLine }) {
        if (mark == 'fail') this.mark(line, sentence);
        const list = mark == 'pass' ? this.passes : this.rows;
        const link = mark == 'fail' || mark == 'todo' ? this.link(line) : '';
        const words = coded(tellsLine ? sentence.slice(`line ${line}`.length) : sentence);
        list.append(make('li', { 'data-mark': mark },
            make('span', { class: 'word' }, mark), ' ',
            about ? make('code', {}, about) : '', ' ',
            ...(tellsLine ? [link, ...words] : [...words, ' ', link])));
        const passed = this.passes.children.length;
        this.fold.hidden = !passed;
        this.fold.open = passed <= FEW;
        this.count.textContent = `${passed} ${passed == 1 ? 'claim passes' : 'claims pass'}`;
    }

    /** Show an explanation above those before it: the one to begin with comes last. */
    explanation({ about, sentence, where, line, numbers }) {
        this.mark(line, sentence);
        if (numbers) this.toShow = about;
        const name = about ? make('strong', {}, `${about}: `) : '';
        this.why.prepend(
            make('p', { class: 'why' }, name, ...coded(sentence), ' ', this.link(line)),
            where.length ? make('pre', {}, make('code', {}, where.join('\n'))) : '');
        if (this.before) this.why.prepend(this.before);
    }

    /** Show a sentence below the explanations. */
    said({ text }) {
        if (text) this.says.append(make('p', {}, ...coded(text)));
    }

    /** Show a sentence above the explanation that comes next. */
    lead({ text }) {
        this.before = make('p', {}, ...coded(text));
    }

    shown({ text }) {
        if (this.says.lastElementChild?.className != 'shown')
            this.says.append(make('pre', { class: 'shown', tabindex: 0 }));
        this.says.lastElementChild.append(`${text}\n`);
    }

    printed({ text }) {
        this.last.hidden = false;
        this.last.append(`${text}\n`);
    }

    compiling({ text }) {
        this.progress.hidden = !text;
        this.progress.textContent = text;
    }

    passed() {
        this.hasPassed = true;
    }

    ended({ text }) {
        this.words = text;
        this.end();
    }

    verdict({ verdict, seconds, seed }) {
        this.words = `${verdict[0].toUpperCase()}${verdict.slice(1)} (${seconds.toFixed(1)} s).`;
        this.seed = seed;
        this.hasPassed = verdict == 'pass';
        this.end();
        this.box.dataset.verdict = verdict;
    }

    /** Say what comes after a pass, in place of what was said before. */
    offer(...things) {
        this.says.querySelector('.after')?.remove();
        const parts = things.filter(Boolean).flatMap(thing => [thing, ' ']);
        this.says.append(make('p', { class: 'after' }, ...parts));
    }

    /** Bring what to do into view, if the reader is still here. */
    reveal() {
        const { top, bottom } = this.box.parentElement.getBoundingClientRect();
        const first = [...this.why.children, ...this.says.children].slice(0, 2);
        if (top < innerHeight && bottom > 0) first.reverse().forEach(part => part.scrollIntoView({ block: 'nearest' }));
    }

    /** Leave nothing behind that waits for a verdict. */
    end() {
        this.progress.hidden = true;
        this.box.style.minHeight = '';
    }

    mark(line, sentence) {
        if (line) this.marks[line] = [this.marks[line], sentence].filter(Boolean).join(' ');
    }

    link(line) {
        if (!line) return '';
        return make('button', { type: 'button', class: 'line', onclick: () => this.goTo(line) }, `line ${line}`);
    }
}

/** Return a sentence as text and, for what stands between backticks, code, in which no option is broken. */
function coded(sentence) {
    const whole = (part, at) => at % 2 ? make('span', { class: 'whole' }, part) : part;
    return sentence.split('`').map((part, at) =>
        at % 2 ? make('code', {}, ...part.split(/(?<!\S)(--\w[\w-]*)/).map(whole)) : part);
}
