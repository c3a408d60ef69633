// What one writes in: CodeMirror where it could be fetched, else a plain text field with the same methods.

/** Make an editor in a box. `hears` has `changed`, `check` and `save`. */
export async function makeEditor(box, label, hears) {
    try {
        return await codeMirror(box, label, hears);
    } catch (error) {
        console.info(`a plain text field instead of the editor: ${error.message}`);
        return plainField(box, label, hears);
    }
}

async function codeMirror(box, label, hears) {
    const [
        { EditorState, RangeSetBuilder, StateEffect, StateField, Transaction },
        { Decoration, EditorView, highlightActiveLine, keymap, lineNumbers },
        { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory },
        { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting },
        { pythonLanguage },
        { classHighlighter },
    ] = await Promise.all([
        import('@codemirror/state'),
        import('@codemirror/view'),
        import('@codemirror/commands'),
        import('@codemirror/language'),
        import('@codemirror/lang-python'),
        import('@lezer/highlight'),
    ]);

    const setMarks = StateEffect.define();
    const marks = StateField.define({
        create: () => Decoration.none,
        update(found, change) {
            let now = found.map(change.changes);
            for (const effect of change.effects) if (effect.is(setMarks)) now = decorated(effect.value, change.state.doc);
            return now;
        },
        provide: field => EditorView.decorations.from(field),
    });
    function decorated(rows, doc) {
        const made = new RangeSetBuilder();
        for (const { line, sentence } of rows) {
            if (line > doc.lines) continue;
            const { from } = doc.line(line);
            made.add(from, from, Decoration.line({ class: 'cm-no', attributes: { title: sentence } }));
        }
        return made.finish();
    }

    const bound = (key, what) => ({ key, run: () => (hears[what](), true), preventDefault: true });
    const view = new EditorView({
        parent: box,
        state: EditorState.create({
            extensions: [
                keymap.of([bound('Mod-Enter', 'check'), bound('Mod-s', 'save')]),
                keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]), // Escape frees Tab for two seconds
                lineNumbers(),
                history(),
                highlightActiveLine(),
                bracketMatching(),
                indentOnInput(),
                indentUnit.of('    '),
                pythonLanguage,
                syntaxHighlighting(classHighlighter),
                marks,
                EditorView.cspNonce.of(document.querySelector('script[nonce]').nonce),
                EditorView.contentAttributes.of({ 'aria-label': label, tabindex: 0 }),
                EditorView.updateListener.of(update => update.docChanged && hears.changed()),
            ],
        }),
    });
    // The keys that turn mdBook's pages are keys of the text here.
    box.addEventListener('keydown', press => press.stopPropagation());
    return {
        get text() {
            return view.state.doc.toString();
        },
        /** Put another text in; what was there can be had again by undoing, unless it `begins`. */
        put(text, begins = false) {
            const [from, to, insert] = difference(view.state.doc.toString(), text);
            view.dispatch({
                changes: { from, to, insert },
                annotations: begins ? Transaction.addToHistory.of(false) : isolateHistory.of('full'),
            });
        },
        mark: rows => view.dispatch({ effects: setMarks.of(rows) }),
        goTo(line) {
            const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
            view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
            view.focus();
        },
        focus: () => view.focus(),
    };
}

/** Where two texts differ, so that a cursor outside of that stays where it is. */
function difference(before, after) {
    let start = 0;
    while (start < Math.min(before.length, after.length) && before[start] == after[start]) start++;
    let end = 0;
    const most = Math.min(before.length, after.length) - start;
    while (end < most && before[before.length - 1 - end] == after[after.length - 1 - end]) end++;
    return [start, before.length - end, after.slice(start, after.length - end)];
}

function plainField(box, label, hears) {
    const field = document.createElement('textarea');
    Object.assign(field, { spellcheck: false, autocapitalize: 'off', wrap: 'off', rows: 24 });
    field.setAttribute('aria-label', label);
    field.addEventListener('input', hears.changed);
    field.addEventListener('keydown', press => {
        press.stopPropagation();
        if (!(press.ctrlKey || press.metaKey) || !['Enter', 's'].includes(press.key)) return;
        press.preventDefault();
        hears[press.key == 's' ? 'save' : 'check']();
    });
    box.append(field);
    return {
        get text() {
            return field.value;
        },
        put(text) {
            if (field.value != text) field.value = text;
        },
        mark() {},
        goTo(line) {
            const from = field.value.split('\n').slice(0, line - 1).join('\n').length + (line > 1);
            field.focus();
            field.setSelectionRange(from, from);
        },
        focus: () => field.focus(),
    };
}
