// How far each step is: beside its chapter in the contents, and on the first page where to go on.
import { make } from '/page/dom.js';
import { get } from '/page/key.js';

const WORDS = { done: 'done', changed: 'changed', 'in progress': 'begun', missing: 'missing' };

export async function showStandings() {
    const { steps, done, next } = await get('standings');
    for (const { name, state, refused } of steps) {
        const words = refused ? 'last check: no' : WORDS[state];
        for (const link of document.querySelectorAll(`#mdbook-sidebar a[href$="${name}.html"]`)) {
            link.querySelector('.standing')?.remove();
            if (words) link.append(make('span', { class: 'standing', 'data-state': refused ? 'fail' : state }, words));
        }
    }
    const landing = document.querySelector('.landing .begin');
    if (!landing || steps.every(({ state }) => state == 'untouched')) return;
    landing.querySelector('.where')?.remove();
    const where = make('p', { class: 'where' }, `${done} of ${steps.length} done. `);
    if (next) {
        const name = next.name.replace('warmup_', 'warm-up ').replace('_', ' ');
        where.append(make('a', { href: `${next.name}.html#write-it` }, `Go on with ${name}: ${next.title}`));
    }
    landing.querySelector('ul').before(where);
}
