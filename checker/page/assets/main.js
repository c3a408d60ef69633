// What `./run book` adds to the pages of the book.
import { showStandings } from '/page/contents.js';
import { Refusal } from '/page/key.js';
import { Panel } from '/page/panel.js';

const section = document.querySelector('section.panel');
try {
    await showStandings();
    if (section) await new Panel(section).open();
} catch (error) {
    if (!(error instanceof Refusal && error.status == 401)) throw error;
    const note = document.createElement('p');
    note.className = 'panel-note';
    note.textContent = 'This tab has no key, so it shows the book alone. Open the link that ./run book has printed.';
    (section ?? document.querySelector('main')).prepend(note);
}
