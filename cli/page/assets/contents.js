// How far each step is: beside its chapter in the contents, and on the first page where to go on.
import { make } from '/page/dom.js';
import { get } from '/page/key.js';

const WORDS = { done: 'done', changed: 'changed', 'in progress': 'begun', missing: 'missing' };

export async function showStandings() {
    const { steps, done, next } = await get('standings');
    document.querySelectorAll('#mdbook-sidebar .standing, .landing .where').forEach(old => old.remove());
    for (const { name, state, refused } of steps) {
        const words = refused ? 'last check: fail' : WORDS[state];
        const link = document.querySelector(`#mdbook-sidebar a[href$="${name}.html"]`);
        if (words) link?.append(make('span', { class: 'standing' }, words));
    }
    const list = document.querySelector('.landing .begin ul');
    if (!list || steps.every(({ state }) => state == 'untouched')) return;
    const where = make('p', { class: 'where' }, `${done} of ${steps.length} done. `);
    if (next) {
        const name = next.name.replace('warmup_', 'warm-up ').replace('_', ' ');
        where.append(make('a', { href: `${next.name}.html#write-it` }, `Go on with ${name}: ${next.title}`));
    }
    list.before(where);
}
