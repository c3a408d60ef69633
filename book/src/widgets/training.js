'use strict';
// The loss over the steps of a training: the recorded one, or the reader's own while it runs.
{
    const { make, draw, table, row, scrolling, button, count, Slider } = widgets;
    const HIGH = 260, LEFT = 34, RIGHT = 6, TOP = 8, BOTTOM = 24; // of the picture
    const LOOK = 3000; // milliseconds between looks at a training that runs
    const digits = number => number === null ? '' : number.toFixed(3);

    class Training {
        constructor(section, recorded) {
            this.newest = widgets.newest();
            this.own = button('Show my own run', () => this.follow(), { hidden: true });
            this.state = make('p', { class: 'state', role: 'status' });
            this.picture = draw('svg', { class: 'picture losses', role: 'img' });
            this.at = new Slider('Evaluation', { max: 1, value: 0 },
                at => this.run ? `step ${count(this.run.evaluations[at].step)}` : '', () => this.tell());
            this.said = make('p', { class: 'said', role: 'status' });
            this.words = make('code', { class: 'nohighlight' });
            this.sample = make('pre', {}, this.words); // in which mdBook puts a button
            this.body = make('tbody');
            this.table = scrolling('All evaluations', table(make('caption', {}, 'All evaluations, in nats per token'),
                ['step', 'training', 'held out', 'bits per byte'], this.body));
            this.table.classList.add('low');
            section.append(
                make('div', { class: 'texts' }, this.own, this.state),
                widgets.key({ with: 'training', without: 'held-out text', guessing: 'guessing' }),
                this.picture,
                make('div', { class: 'sliders' }, this.at.element),
                this.said, this.sample, this.table,
            );
            this.show(recorded);
            widgets.onWidth(this.picture, () => this.draw());
        }

        live(ask) {
            this.asking = ask;
            this.own.hidden = false;
        }

        /** Show the reader's own training, and look again until it has ended. */
        async follow() {
            clearTimeout(this.timer);
            const { answer, error, isLate } = await this.newest(() => this.asking('training', {}));
            if (isLate) return;
            if (error) return void (this.state.textContent = widgets.refused(error));
            this.show(answer);
            if (this.reached < this.run.planned) this.timer = setTimeout(() => this.follow(), LOOK);
        }

        /** Show a run; the evaluation that is chosen stays, unless it was the last. */
        show(run) {
            const wasLast = !this.run || this.at.value == this.run.evaluations.length - 1;
            this.run = run;
            this.at.input.max = run.evaluations.length - 1;
            if (wasLast) this.at.input.value = run.evaluations.length - 1;
            this.at.tell();
            this.state.textContent = !run.folder ? 'This is the recorded run.'
                : `Your run in ${run.folder}: ${count(this.reached)} of ${count(run.planned)} steps.`;
            this.body.replaceChildren(...run.evaluations.map(({ step, training, ...losses }) =>
                row(count(step), [training, losses['held out'], losses['bits per byte']].map(digits))));
            this.tell();
        }

        /** The last step that was evaluated. */
        get reached() {
            return this.run.evaluations.at(-1).step;
        }

        get now() {
            return this.run.evaluations[this.at.value];
        }

        /** Say what the chosen evaluation has found. */
        tell() {
            const { run, now } = this;
            const best = run.evaluations.reduce((a, b) => b['held out'] < a['held out'] ? b : a);
            this.said.textContent = `After step ${count(now.step)}: ${digits(now['held out'])} on the held-out text`
                + (now.training === null ? '' : `, ${digits(now.training)} in training since the evaluation before`)
                + (now == best ? '. No other evaluation is lower.'
                    : `. The lowest is ${digits(best['held out'])}, after step ${count(best.step)}.`);
            const sample = run.samples.filter(({ step }) => step <= now.step).at(-1);
            this.sample.hidden = !sample;
            this.words.textContent = sample ? `after step ${count(sample.step)}:\n${sample.text}` : '';
            [...this.body.rows].forEach((row, at) => {
                if (at == this.at.value) row.setAttribute('aria-current', true);
                else row.removeAttribute('aria-current');
            });
            this.table.scrollTop = this.body.rows[this.at.value].offsetTop - this.table.clientHeight / 2;
            this.draw();
        }

        draw() {
            const { losses, evaluations, planned, guessing } = this.run;
            const held = evaluations.map(evaluation => [evaluation.step, evaluation['held out']]);
            const all = [...losses, ...held].map(([, loss]) => loss).concat(guessing);
            const low = Math.floor(Math.min(...all)), high = Math.floor(Math.max(...all)) + 1;
            const wide = widgets.width(this.picture);
            const x = step => LEFT + (wide - LEFT - RIGHT) * step / planned;
            const y = loss => TOP + (HIGH - TOP - BOTTOM) * (high - loss) / (high - low);
            const point = ([step, loss]) => `${x(step).toFixed(1)} ${y(loss).toFixed(1)}`;
            const path = (kind, points) => draw('path', { class: kind, d: `M${points.map(point).join('L')}` });
            const levels = Array.from({ length: high - low + 1 }, (_, at) => low + at);
            this.picture.setAttribute('viewBox', `0 0 ${wide} ${HIGH}`);
            this.picture.setAttribute('aria-label',
                `The loss over ${count(planned)} steps; the table below has the evaluations`);
            this.picture.replaceChildren(
                ...levels.flatMap(loss => [
                    draw('line', { class: 'level', x1: LEFT, x2: wide - RIGHT, y1: y(loss), y2: y(loss) }),
                    draw('text', { x: LEFT - 12, y: y(loss) + 5 }, String(loss)),
                ]),
                ...[0, 0.5, 1].map(part =>
                    draw('text', { x: x(part * planned) - 22 * part, y: HIGH - 4 }, count(part * planned))),
                path('guessing', [[0, guessing], [planned, guessing]]),
                path('with', losses),
                path('without', held),
                ...held.map(([step, loss]) => {
                    const isNow = step == this.now.step;
                    return draw('circle', { class: isNow && 'now', cx: x(step), cy: y(loss), r: isNow ? 6 : 3 });
                }),
            );
        }
    }

    widgets.define('training', Training);
}
