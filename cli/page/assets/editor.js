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

    function draw() {
        const text = `${field.value}\n`;
        numbers.textContent = text.split('\n').slice(1).map((_, at) => at + 1).join('\n');
        try {
            colors.innerHTML = hljs.highlight('python', text, true).value; // which escapes the text
        } catch {
            colors.textContent = text;
        }
    }

    /** Replace a part of the text as if it was typed, so that it can be undone. */
    function type(text, from = field.selectionStart, to = field.selectionEnd) {
        field.focus();
        field.setSelectionRange(from, to);
        document.execCommand(text ? 'insertText' : 'delete', false, text);
    }

    /** Change the indent of the lines that are selected. */
    function shift(change) {
        const { value, selectionStart, selectionEnd } = field;
        const from = value.lastIndexOf('\n', selectionStart - 1) + 1;
        const before = value.slice(from, selectionEnd);
        const after = before.split('\n').map(change).join('\n');
        if (after == before) return;
        type(after, from, selectionEnd);
        field.setSelectionRange(before.includes('\n') ? from : from + after.length, from + after.length);
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
        const { key, ctrlKey, metaKey, altKey, isComposing } = press;
        const isCommand = ctrlKey || metaKey;
        const isPlain = altKey || isComposing || (key == 'Tab' && isTabFree) || (key == 'Backspace' && !isIndent());
        const does = isCommand ? { Enter: hears.check, s: hears.save }[key] : !isPlain && keys[key];
        if (key != 'Shift') isTabFree = key == 'Escape';
        if (!does) return;
        press.preventDefault();
        does(press);
    });

    return {
        get text() {
            return field.value;
        },
        /** Put another text in; where it `canBeUndone`, Ctrl-Z brings back what was there. */
        put(text, canBeUndone = false) {
            const { selectionStart } = field;
            if (canBeUndone) type(text, 0, field.value.length);
            if (field.value != text) field.value = text;
            field.setSelectionRange(selectionStart, selectionStart);
            draw();
        },
        /** Mark lines, each with its sentences. */
        mark(sentences) {
            marks.replaceChildren(...Object.entries(sentences).map(([line, sentence]) => {
                const made = make('div', { title: sentence });
                made.style.top = `${line - 1}lh`;
                return made;
            }));
        },
        goTo(line) {
            const lines = field.value.split('\n');
            const from = lines.slice(0, line - 1).join('\n').length + (line > 1);
            field.focus();
            field.setSelectionRange(from, from);
            box.scrollTop = (line - 0.5) * field.offsetHeight / (lines.length + 1) - box.clientHeight / 2;
        },
        focus: () => field.focus(),
    };
}
