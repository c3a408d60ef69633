// The verdict, line by line as it comes. Whatever a learner's code prints is shown as text.
import { make } from '/page/dom.js';

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
        this.words = ''; // the verdict in short
        this.log = make('div', { role: 'log', 'aria-label': 'Verdict' });
        this.progress = make('p', { class: 'progress', hidden: true });
        this.box.replaceChildren(this.log, this.progress);
    }

    begin() {
        const height = this.box.offsetHeight;
        this.clear();
        this.box.style.minHeight = `${height}px`; // what follows need not move, and be drawn again, row by row
    }

    /** Take a record: each kind of event has a method. */
    hear({ event, ...record }) {
        this[event]?.(record);
    }

    row({ verdict, about, sentence, line }) {
        if (verdict == 'fail') this.mark(line, sentence);
        this.into('ul', 'rows').append(make('li', { 'data-verdict': verdict },
            make('span', { class: 'word' }, verdict), ' ',
            about ? make('code', {}, about) : '', ' ',
            make('span', {}, ...coded(sentence)), ' ',
            verdict == 'fail' || verdict == 'todo' ? this.link(line) : ''));
    }

    explanation({ about, sentence, where, line, numbers }) {
        this.mark(line, sentence);
        if (numbers) this.toShow ||= about;
        this.log.append(make('p', { class: 'why' },
            about ? make('strong', {}, `${about}: `) : '', ...coded(sentence), ' ', this.link(line)));
        if (where.length) this.log.append(make('pre', {}, make('code', {}, where.join('\n'))));
    }

    said({ text }) {
        this.log.append(make('p', {}, ...coded(text)));
    }

    shown({ text }) {
        this.into('pre', 'shown').append(`${text}\n`);
    }

    printed({ text }) {
        this.into('pre', 'printed').append(`${text}\n`);
    }

    compiling({ text }) {
        this.progress.hidden = !text;
        this.progress.textContent = text;
    }

    ended() {
        this.words = 'A newer check has ended this one.';
        this.end();
    }

    verdict({ verdict, seconds }) {
        this.words = `${verdict[0].toUpperCase()}${verdict.slice(1)} (${seconds.toFixed(1)} s).`;
        this.end();
        this.box.dataset.verdict = verdict;
    }

    /** Leave nothing behind that waits for a verdict. */
    end() {
        this.progress.hidden = true;
        this.box.style.minHeight = '';
    }

    /** Return the element that records of one kind go into as long as no other comes. */
    into(tag, kind) {
        if (this.log.lastElementChild?.className != kind)
            this.log.append(make(tag, { class: kind, tabindex: tag == 'pre' && 0 }));
        return this.log.lastElementChild;
    }

    mark(line, sentence) {
        if (line) this.marks[line] = [this.marks[line], sentence].filter(Boolean).join(' ');
    }

    link(line) {
        if (!line) return '';
        return make('button', { type: 'button', class: 'line', onclick: () => this.goTo(line) }, `line ${line}`);
    }
}

/** Return a sentence as text and, for what stands between backticks, code. */
function coded(sentence) {
    return sentence.split('`').map((part, at) => at % 2 ? make('code', {}, part) : part);
}
