// What `./run book` adds to the pages of the book.
import { showStandings } from '/page/contents.js';
import { make } from '/page/dom.js';
import { NAME, post, reasonOf } from '/page/key.js';
import { Panel } from '/page/panel.js';

const section = document.querySelector('section.panel');
try {
    await showStandings();
    if (section) await new Panel(section).open();
    if (document.readyState != 'complete') await new Promise(loaded => addEventListener('load', loaded));
    if (document.querySelector('section.widget')) widgets.live((what, question) => post(`model/${what}`, question));
} catch (error) {
    const hasNoKey = 'This tab has no key, so it shows the book alone. Open the link that ./run book has printed.';
    const words = error.status == 401 ? hasNoKey : reasonOf(error);
    if (!words) throw error;
    document.querySelector('main').append(make('p', { class: 'panel-note' }, words));
    addEventListener('storage', ({ key }) => key == NAME && location.reload()); // another tab has got one
}
