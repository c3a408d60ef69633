// How far each step is: beside its chapter in the contents, and on the first page where to go on.
import { make } from '/page/dom.js';
import { get } from '/page/key.js';

const WORDS = { done: 'done', changed: 'changed', 'in progress': 'begun', missing: 'missing' };

/** Show how far each step is, and return it. */
export async function showStandings() {
    const standings = await get('standings');
    const { steps, done, next } = standings;
    document.querySelectorAll('#mdbook-sidebar .standing, .landing .where').forEach(old => old.remove());
    for (const { name, state, failed } of steps) {
        const words = failed ? 'last check: fail' : WORDS[state];
        const link = document.querySelector(`#mdbook-sidebar a[href$="${name}.html"]`);
        if (words) link?.append(make('span', { class: 'standing' }, words));
    }
    const list = document.querySelector('.landing .begin ul');
    if (list && steps.some(({ state }) => state != 'untouched')) {
        const where = `${done} of ${steps.length} done. `;
        list.before(make('p', { class: 'where' }, where, next && linkTo(next, '#write-it')));
    }
    return standings;
}

/** Return a link to the step to go on with. */
export function linkTo({ name, title }, place = '') {
    const words = name.replace('warmup_', 'warm-up ').replace('_', ' ');
    return make('a', { href: `${name}.html${place}` }, `Go on with ${words}: ${title}`);
}
