// What one writes in: a text field on top of the same text in colors, with line numbers and marks. The browser's own
// field brings undo, selection, phones' keyboards and screen readers; mdBook ships highlight.js, which colors.
import { make } from '/page/dom.js';

const INDENT = '    ';

/** Make an editor in a box. `hears` has `changed`, `check` and `save`. */
export function makeEditor(box, label, hears) {
    const field = make('textarea', {
        'aria-label': label, spellcheck: 'false', wrap: 'off',
        autocapitalize: 'off', autocomplete: 'off', autocorrect: 'off',
    });
    const colors = make('code');
    const numbers = make('div', { class: 'numbers', 'aria-hidden': 'true' });
    const marks = make('div', { class: 'marks' });
    box.append(numbers, make('pre', { 'aria-hidden': 'true' }, colors), field, marks);
    let isTabFree = false; // after Escape, Tab leaves the field
    let drawn = []; // the lines, as they were drawn last
    let places = []; // where the lines are now that the text had when a check began; null for one that is gone
    let sentences = {}; // of the lines to mark, as they were numbered then

    function draw() {
        const text = `${field.value}\n`;
        const lines = field.value.split('\n');
        places = moved(places, drawn, lines);
        drawn = lines;
        showMarks();
        numbers.textContent = text.split('\n').slice(1).map((_, at) => at + 1).join('\n');
        try { // Mojo has no colors of its own in highlight.js, and looks much like Python
            colors.innerHTML = hljs.highlight('python', text, true).value; // which escapes the text
        } catch {
            colors.textContent = text;
        }
    }

    function showMarks() {
        marks.replaceChildren(...Object.entries(sentences).filter(([line]) => places[line]).map(([line, sentence]) => {
            const made = make('div', { title: sentence });
            made.style.top = `${places[line] - 1}lh`;
            return made;
        }));
    }

    /** Replace a part of the text as if it was typed, so that it can be undone. */
    function type(text, from = field.selectionStart, to = field.selectionEnd) {
        field.focus({ preventScroll: true });
        field.setSelectionRange(from, to);
        document.execCommand(text ? 'insertText' : 'delete', false, text);
    }

    /** Change the indent of the lines that are selected, from their beginning to their end. */
    function shift(change) {
        const { value, selectionStart, selectionEnd } = field;
        const from = value.lastIndexOf('\n', selectionStart - 1) + 1;
        const last = selectionEnd - (selectionEnd > selectionStart && value[selectionEnd - 1] == '\n');
        const to = (value + '\n').indexOf('\n', last);
        const before = value.slice(from, to), after = before.split('\n').map(change).join('\n');
        if (after == before) return;
        type(after, from, to);
        const movedTo = place => Math.max(from, place + after.length - before.length);
        if (before.includes('\n')) field.setSelectionRange(from, movedTo(selectionEnd));
        else field.setSelectionRange(movedTo(selectionStart), movedTo(selectionEnd));
    }

    const keys = {
        Tab({ shiftKey }) {
            const { value, selectionStart, selectionEnd } = field;
            if (shiftKey) shift(line => line.replace(/^ {1,4}/, ''));
            else if (value.slice(selectionStart, selectionEnd).includes('\n')) shift(line => line && INDENT + line);
            else type(INDENT.slice(lineBefore().length % INDENT.length));
        },
        Enter() {
            const [indent] = lineBefore().match(/^ */);
            type(`\n${indent}${/[:([{]\s*$/.test(lineBefore()) ? INDENT : ''}`);
        },
        Backspace() {
            const at = field.selectionStart;
            type('', at - (lineBefore().length % INDENT.length || INDENT.length), at);
        },
    };
    const lineBefore = () => field.value.slice(0, field.selectionStart).split('\n').at(-1);
    const isIndent = () => field.selectionStart == field.selectionEnd && /^ +$/.test(lineBefore());

    field.addEventListener('input', () => {
        draw();
        hears.changed();
    });
    field.addEventListener('keydown', press => {
        press.stopPropagation(); // the keys that turn mdBook's pages are keys of the text here
        const { key, ctrlKey, metaKey, altKey, shiftKey, isComposing } = press;
        const isCommand = (ctrlKey || metaKey) && !altKey; // AltGr, which types a character, may come as Ctrl-Alt
        const isPlain = altKey || isComposing || (key == 'Tab' && isTabFree) || (key == 'Backspace' && !isIndent());
        const commands = { Enter: hears.check, s: hears.save, S: !shiftKey && hears.save }; // S by Caps Lock
        const does = isCommand ? commands[key] : !isPlain && keys[key];
        if (key != 'Shift') isTabFree = key == 'Escape';
        if (!does) return;
        press.preventDefault();
        does(press);
    });

    return {
        get text() {
            return field.value;
        },
        /** Begin with a text. */
        begin(text) {
            field.value = text;
            field.setSelectionRange(0, 0);
            draw();
        },
        /** Put another text in, so that it can be undone; what both texts have stays as it is, and so does the view. */
        put(text) {
            const old = field.value, { selectionStart, selectionEnd } = field, { scrollTop } = box;
            const { activeElement } = document, { scrollX, scrollY } = window, [from, end] = common(old, text);
            if (old != text) type(text.slice(from, text.length - end), from, old.length - end);
            if (field.value != text) field.value = text;
            const at = place => place <= from ? place : Math.max(from, place + text.length - old.length);
            field.setSelectionRange(at(selectionStart), at(selectionEnd));
            if (activeElement != field) field.blur(), activeElement.focus({ preventScroll: true });
            box.scrollTop = scrollTop;
            window.scrollTo(scrollX, scrollY);
            draw();
        },
        /** From now on, lines are called by the numbers that they have now. */
        number() {
            places = [null, ...drawn.map((_, at) => at + 1)];
        },
        /** Mark lines, each with its sentences. */
        mark(marked) {
            sentences = marked;
            showMarks();
        },
        goTo(number) {
            const lines = field.value.split('\n'), line = places[number] ?? Math.min(number, lines.length);
            const from = lines.slice(0, line - 1).join('\n').length + (line > 1);
            field.focus();
            field.setSelectionRange(from, from);
            box.scrollTop = (line - 0.5) * field.offsetHeight / (lines.length + 1) - box.clientHeight / 2;
        },
        focus: () => field.focus(),
    };
}

/** Return how many items two texts, or lists, have in common at their beginning, and how many at their end. */
function common(one, other) {
    const most = Math.min(one.length, other.length);
    let first = 0, last = 0;
    while (first < most && one[first] == other[first]) first++;
    while (last < most - first && one.at(-1 - last) == other.at(-1 - last)) last++;
    return [first, last];
}

/** Return where lines are after a change between two lists of lines; those that are gone have no place. */
function moved(places, old, now) {
    const [first, last] = common(old, now), end = now.length - last;
    return places.map(line => {
        if (!line || line <= first) return line;
        if (line > old.length - last) return line + now.length - old.length;
        return line <= end ? line : null;
    });
}
