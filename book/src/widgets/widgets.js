'use strict';
// What the interactive figures share. A section of class "widget" names its figure; it shows what was
// recorded and, once a server answers (`./run book`), what the model says about a reader's own text. It is a classic
// script, and the recorded data are scripts as well: a page that is opened as a file may load nothing else.

const widgets = (() => {
    const kinds = {}, records = {}, made = [];

    /** Make an element of HTML: from `on` on, a property is what is heard; children are text or elements. */
    function make(tag, properties = {}, ...children) {
        return filled(document.createElement(tag), properties, children);
    }

    /** Make an element of SVG. */
    function draw(tag, properties = {}, ...children) {
        return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children);
    }

    function filled(element, properties, children) {
        for (const [name, value] of Object.entries(properties)) {
            if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
            else if (value === true) element.setAttribute(name, '');
            else if (value !== false && value != null) element.setAttribute(name, value);
        }
        element.append(...children.filter(child => child != null)); // text is never read as HTML
        return element;
    }

    /** Return a table: what it is, what its columns are ('' has no name), and its body, which is filled later. */
    function table(caption, columns, body) {
        const heads = columns.map(name => name ? make('th', { scope: 'col' }, name) : make('td'));
        return make('table', {}, caption, make('thead', {}, make('tr', {}, ...heads)), body);
    }

    /** Return a row of a table: its name, in text or elements, and its cells. */
    function row(name, cells, properties = {}) {
        const head = make('th', { scope: 'row' }, ...[name].flat());
        return make('tr', properties, head, ...cells.map(cell => make('td', {}, cell)));
    }

    /** Return a box that scrolls, with a name for those who reach it by Tab. */
    const scrolling = (label, ...inside) =>
        make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label }, ...inside);

    /** Return a button. */
    const button = (words, onclick, properties = {}) =>
        make('button', { type: 'button', onclick, ...properties }, words);

    /** Return the numbers of an array that Python's `packed` has made. */
    function unpacked({ low, high, levels }) {
        const bytes = Uint8Array.from(atob(levels), letter => letter.charCodeAt(0)), view = new DataView(bytes.buffer);
        return Float64Array.from({ length: bytes.length / 2 }, (_, at) =>
            low + (high - low) * view.getUint16(2 * at, true) / 65535);
    }

    /** Return the probabilities of a row of logits; of none or of -Infinity, 0. */
    function softmax(logits) {
        const largest = Math.max(...logits), powers = logits.map(logit => Math.exp(logit - largest));
        const total = sum(powers);
        return powers.map(power => power / total);
    }

    const percent = share => `${(100 * share).toFixed(1)}%`;
    const count = number => number.toLocaleString('en-US');
    const sum = numbers => numbers.reduce((total, number) => total + number, 0);

    /** Return the value of a color of the page, for what is drawn on a canvas. */
    const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

    const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

    /** Move a place in a grid by an arrow key; null for other keys. */
    function moved(press, [row, column], [rows, columns]) {
        const move = !(press.ctrlKey || press.metaKey || press.altKey) && MOVES[press.key];
        if (!move) return null;
        press.preventDefault();
        const within = (at, most) => Math.max(0, Math.min(most - 1, at));
        return [within(row + move[0], rows), within(column + move[1], columns)];
    }

    /** A list of buttons, one of which is chosen: one stop of Tab, and arrow keys move. */
    class Choice {
        constructor(label, columns, chosen) {
            this.columns = columns;
            this.chosen = chosen; // called with the number of a button
            this.at = 0;
            this.element = make('div', {
                class: 'choices', role: 'listbox', 'aria-label': label, 'aria-orientation': 'horizontal',
                onkeydown: press => this.press(press),
            });
        }

        /** Put buttons in place of those there are; each is its name for a screen reader, and what it shows. */
        fill(buttons) {
            this.buttons = buttons.map(([name, ...inside], at) => make('button', {
                type: 'button', role: 'option', 'aria-label': name, title: name, onclick: () => this.choose(at),
            }, ...inside));
            this.element.replaceChildren(...this.buttons);
        }

        /** Mark a button as the chosen one. */
        mark(at) {
            this.at = at;
            this.buttons.forEach((button, number) => {
                button.setAttribute('aria-selected', number == at);
                button.tabIndex = number == at ? 0 : -1;
            });
        }

        choose(at) {
            this.mark(at);
            this.chosen(at);
        }

        press(press) {
            const columns = this.columns || this.buttons.length, rows = Math.ceil(this.buttons.length / columns);
            const to = moved(press, [Math.floor(this.at / columns), this.at % columns], [rows, columns]);
            if (!to) return;
            const at = Math.min(this.buttons.length - 1, to[0] * columns + to[1]);
            this.choose(at);
            this.buttons[at].focus();
        }
    }

    /** A slider with its name and its value in words. */
    class Slider {
        constructor(label, { min = 0, max, step = 1, value }, words, changed) {
            this.words = words;
            this.output = make('output', {});
            this.input = make('input', {
                type: 'range', min, max, step, value, 'aria-label': label,
                oninput: () => (this.tell(), changed()),
            });
            this.element = make('label', { class: 'slider' }, make('span', {}, label), this.input, this.output);
            this.tell();
        }

        get value() {
            return Number(this.input.value);
        }

        tell() {
            const words = this.words(this.value);
            this.output.textContent = words;
            this.input.setAttribute('aria-valuetext', words);
        }
    }

    /** Where the text comes from: recorded ones and, once a server answers, the reader's own. */
    class Texts {
        constructor(what, texts, show) {
            Object.assign(this, { what, texts, show, newest: newest() });
            this.state = make('p', { class: 'state', role: 'status' });
            this.select = make('select', { onchange: () => this.choose() },
                ...texts.map(({ text }, at) => make('option', { value: at }, text)));
            this.own = make('input', { type: 'text', maxlength: 400, size: 28, autocomplete: 'off' });
            const onsubmit = event => {
                event.preventDefault();
                this.ask({ text: this.own.value });
            };
            this.form = make('form', { hidden: true, onsubmit },
                make('label', {}, 'Your own text', this.own), make('button', { type: 'submit' }, 'Read it'));
            const recorded = make('label', { hidden: texts.length < 2 }, 'Text', this.select);
            this.element = make('div', { class: 'texts' }, recorded, this.form, this.state);
        }

        /** Show the recorded text that is chosen. */
        choose() {
            this.forget();
            this.show(this.texts[this.select.value || 0]);
        }

        live(ask) {
            this.asking = ask;
            this.form.hidden = false;
            this.own.value = this.texts[0].text ?? '';
        }

        /** Have the model read what is asked for, and show it unless the reader has chosen something else by then. */
        async ask(question) {
            this.said('The model is reading. The first time, it has to start.');
            this.element.setAttribute('aria-busy', true);
            const { answer, error, isLate } = await this.newest(() => this.asking(this.what, question));
            if (isLate) return;
            this.element.removeAttribute('aria-busy');
            if (error) return this.said(refused(error));
            this.show(answer);
            this.select.selectedIndex = -1; // it is none of those
            this.said(computedBy(answer.steps));
        }

        /** Wait for no answer any more. */
        forget() {
            this.newest();
            this.element.removeAttribute('aria-busy');
            this.said('');
        }

        said(words) {
            this.state.textContent = words;
        }
    }

    /**
     * Return what asks one question after another: an answer that comes after the next question is late. What went
     * wrong is an answer, too. Without a question, it makes the last one's answer late.
     */
    function newest() {
        let last = 0;
        return async asks => {
            const number = ++last, isLate = () => number != last;
            try {
                return { answer: await asks?.(), isLate: isLate() };
            } catch (error) {
                return { error, isLate: isLate() };
            }
        };
    }

    /** Return why a question has no answer: the server has refused it, or there is none. */
    const refused = error => error.status
        ? `That cannot be shown: ${error.message}.`
        : 'The server does not answer. Start ./run book again.';

    /** Return whose steps have computed an answer. */
    function computedBy(steps) {
        if (!steps.length) return 'The solutions computed this. Steps of yours that pass will take their place.';
        const numbers = steps.map(step => step.slice(-2)), last = numbers.pop();
        const which = numbers.length ? `steps ${numbers.join(', ')} and ${last}` : `step ${last}`;
        return `Your ${which} computed this; the solutions stand in for the others.`;
    }

    /** Make what a section of the page asks for, from what was recorded for it. */
    function open(section) {
        const kind = kinds[section.dataset.widget], recorded = records[section.dataset.widget];
        if (!kind || !recorded) return;
        section.setAttribute('role', 'group');
        section.replaceChildren();
        section.addEventListener('keydown', press => press.stopPropagation()); // an arrow would turn mdBook's page
        made.push(new kind(section, recorded));
    }

    /** Return how wide an element is: what is drawn in this width has letters of the page's size. */
    const width = element => Math.round(element.getBoundingClientRect().width) || 640;

    /** Call something whenever an element gets another width. */
    function onWidth(element, does) {
        let before = width(element);
        new ResizeObserver(() => {
            if (width(element) == before) return;
            before = width(element);
            does();
        }).observe(element);
    }

    /** Return what says which line is whose. */
    const key = lines => make('p', { class: 'key' }, ...Object.entries(lines).map(([kind, words]) =>
        make('span', {}, make('span', { class: `swatch ${kind}`, 'aria-hidden': true }), words)));

    return {
        make, draw, table, row, scrolling, button, unpacked, softmax, percent, count, sum, color, moved,
        newest, refused, computedBy, width, onWidth, key, Choice, Slider, Texts,
        /** Say what draws the sections of a name: a class that is made with a section and what was recorded. */
        define: (name, kind) => kinds[name] = kind,
        /** Take in what was recorded for the sections of a name. */
        record(name, recorded) {
            records[name] = recorded;
            document.querySelectorAll(`section.widget[data-widget=${name}]`).forEach(open);
        },
        /** From now on somebody answers: `ask(what, question)` promises an answer. */
        live: ask => made.forEach(one => one.live?.(ask)),
    };
})();
