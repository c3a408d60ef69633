'use strict';
// The loss over the steps of a training: the recorded one, or the reader's own while it runs.
{
    const { make, draw, Slider } = widgets;
    const HIGH = 260, LEFT = 34, BOTTOM = 24, TOP = 8; // of the picture
    const LOOK = 3000; // milliseconds between looks at a training that runs
    const count = number => number.toLocaleString('en-US');
    const digits = number => number === null ? '' : number.toFixed(3);

    class Training {
        constructor(section, recorded) {
            this.at = new Slider('Evaluation', { max: 1, value: 0 },
                at => this.run ? `step ${count(this.run.evaluations[at].step)}` : '', () => this.tell());
            this.own = make('button', { type: 'button', hidden: true, onclick: () => this.follow() }, 'Show my own run');
            this.state = make('p', { class: 'state', role: 'status' }, 'This is the recorded run.');
            this.picture = draw('svg', { class: 'picture losses', role: 'img' });
            this.said = make('p', { class: 'said', role: 'status' });
            this.sample = make('pre', {}, make('code'));
            this.body = make('tbody');
            this.table = make('div', { class: 'scroll low', tabindex: 0, role: 'region', 'aria-label': 'Every evaluation' },
                make('table', {}, make('caption', {}, 'Every evaluation, in nats per token'),
                    make('thead', {}, make('tr', {}, ...['step', 'training', 'held out', 'bits per byte'].map(head => make('th', { scope: 'col' }, head)))),
                    this.body));
            section.append(
                make('div', { class: 'texts' }, this.own, this.state),
                widgets.key({ with: 'training', without: 'held-out text', guessing: 'guessing' }),
                this.picture,
                make('div', { class: 'sliders' }, this.at.element),
                this.said, this.sample, this.table,
            );
            this.show(recorded);
            widgets.onWidth(this.picture, () => this.tell());
        }

        live(ask) {
            this.asking = ask;
            this.own.hidden = false;
        }

        /** Show the reader's own training, and look again until it has ended or the reader has left. */
        async follow() {
            clearTimeout(this.timer);
            try {
                const run = await this.asking('training', {});
                this.show(run);
                const last = run.evaluations.at(-1).step, is_over = last >= run.planned;
                this.state.textContent = `Your run in my-gpt2: ${count(last)} of ${count(run.planned)} steps.`;
                if (!is_over) this.timer = setTimeout(() => this.follow(), LOOK);
            } catch (error) {
                this.state.textContent = error.status ? `That cannot be shown: ${error.message}.` : 'The server does not answer. Start ./run book again.';
            }
        }

        /** Show a run; the evaluation that is chosen stays, unless it was the last. */
        show(run) {
            const wasLast = !this.run || this.at.value == this.run.evaluations.length - 1;
            this.run = run;
            this.at.input.max = run.evaluations.length - 1;
            if (wasLast) this.at.input.value = run.evaluations.length - 1;
            this.at.tell();
            this.body.replaceChildren(...run.evaluations.map(one => make('tr', {}, make('th', { scope: 'row' }, count(one.step)),
                ...[one.training, one['held out'], one['bits per byte']].map(value => make('td', {}, digits(value))))));
            this.tell();
        }

        tell() {
            const { run } = this, at = this.at.value, now = run.evaluations[at];
            this.drawCurves(now);
            const best = run.evaluations.reduce((a, b) => b['held out'] < a['held out'] ? b : a);
            this.said.textContent = `After step ${count(now.step)}: ${digits(now['held out'])} on the held-out text`
                + (now.training === null ? '' : `, ${digits(now.training)} in training since the evaluation before`)
                + (now == best ? '. No other evaluation is lower.' : `. The lowest is ${digits(best['held out'])}, after step ${count(best.step)}.`);
            const sample = run.samples.filter(({ step }) => step <= now.step).at(-1);
            this.sample.hidden = !sample;
            this.sample.firstChild.textContent = sample ? `after step ${count(sample.step)}:\n${sample.text}` : '';
            [...this.body.rows].forEach((row, number) => {
                if (number == at) row.setAttribute('aria-current', true);
                else row.removeAttribute('aria-current');
            });
            this.table.scrollTop = this.body.rows[at].offsetTop - this.table.clientHeight / 2; // into the middle
        }

        drawCurves(now) {
            const { losses, evaluations, planned, guessing } = this.run;
            const all = [...losses.map(([, loss]) => loss), ...evaluations.map(one => one['held out']), guessing];
            const low = Math.floor(Math.min(...all)), high = Math.ceil(Math.max(...all)) + Number(low == Math.ceil(Math.max(...all)));
            const wide = widgets.width(this.picture);
            this.picture.setAttribute('viewBox', `0 0 ${wide} ${HIGH}`);
            const x = step => LEFT + (wide - LEFT - 6) * step / planned;
            const y = loss => TOP + (HIGH - TOP - BOTTOM) * (high - loss) / (high - low);
            const path = (kind, points) => draw('path', { class: kind, d: points.map(([step, loss], at) =>
                `${at ? 'L' : 'M'}${x(step).toFixed(1)} ${y(loss).toFixed(1)}`).join('') });
            const held = evaluations.map(one => [one.step, one['held out']]);
            const levels = Array.from({ length: high - low + 1 }, (_, at) => low + at);
            this.picture.setAttribute('aria-label', `The loss over ${count(planned)} steps; the table below has every evaluation`);
            this.picture.replaceChildren(
                ...levels.flatMap(loss => [
                    draw('line', { class: 'level', x1: LEFT, x2: wide - 6, y1: y(loss), y2: y(loss) }),
                    draw('text', { x: LEFT - 12, y: y(loss) + 5 }, String(loss)),
                ]),
                ...[0, 0.5, 1].map(part => draw('text', { x: x(part * planned) - 22 * part, y: HIGH - 4 }, count(part * planned))),
                path('guessing', [[0, guessing], [planned, guessing]]),
                path('with', losses),
                path('without', held),
                ...held.map(([step, loss]) => draw('circle', { class: step == now.step ? 'now' : '', cx: x(step), cy: y(loss), r: step == now.step ? 6 : 3 })),
            );
        }
    }

    widgets.define('training', Training);
}
