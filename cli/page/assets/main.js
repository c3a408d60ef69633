// What `./run book` adds to the pages of the book.
import { showStandings } from '/page/contents.js';
import { Refusal, post } from '/page/key.js';
import { Panel } from '/page/panel.js';

/** Let the pictures that can be touched ask the model, once their scripts have run. */
async function touch() {
    if (document.readyState != 'complete') await new Promise(loaded => addEventListener('load', loaded));
    widgets.live((what, question) => post(`model/${what}`, question));
}

const section = document.querySelector('section.panel');
try {
    await showStandings();
    await Promise.all([section && new Panel(section).open(), document.querySelector('section.widget') && touch()]);
} catch (error) {
    if (!(error instanceof Refusal && error.status == 401)) throw error;
    const note = document.createElement('p');
    note.className = 'panel-note';
    note.textContent = 'This tab has no key, so it shows the book alone. Open the link that ./run book has printed.';
    (section ?? document.querySelector('main')).prepend(note);
}
