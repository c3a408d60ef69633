'use strict';
// What every call of a generation runs and reads, with a cache and without it, beside the times that were measured.
{
    const { make, draw, table, row, button, count, sum, Slider } = widgets;
    const WAYS = { without: 'without a cache', with: 'with the cache' };
    const HIGH = 100, WIDE = 640; // of a picture
    const megabytes = bytes => `${(bytes / 1e6).toFixed(2)} MB`;

    class Cache {
        constructor(section, recorded) {
            this.recorded = recorded;
            this.newest = widgets.newest();
            this.state = make('p', { class: 'state', role: 'status' });
            this.measure = button('Measure on this machine', () => this.ask(), { hidden: true });
            this.call = new Slider('Call', { min: 1, max: recorded.runs[0].with.length, value: 1 },
                at => at == 1 ? '1, the prompt' : count(at), () => this.show());
            [this.tokens, this.times] = [this.picture(), this.picture()];
            [this.tokensTitle, this.timesTitle] = [make('p'), make('p')];
            [this.caption, this.body] = [make('caption'), make('tbody')];
            section.append(
                make('div', { class: 'texts' }, this.select('Tokens of the prompt', 'prompt'),
                    this.select('Texts at once', 'batch'), this.measure, this.state),
                make('div', { class: 'sliders' }, this.call.element),
                widgets.key(WAYS),
                this.tokensTitle, this.tokens,
                this.timesTitle, this.times,
                table(this.caption, ['', ...Object.values(WAYS)], this.body),
            );
            this.choose();
        }

        picture() {
            return draw('svg', {
                class: 'picture calls', role: 'img', viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'none',
            });
        }

        /** Return what chooses among the values that the recorded runs have. */
        select(label, name) {
            const values = [...new Set(this.recorded.runs.map(run => run[name]))];
            this[name] = make('select', { onchange: () => this.choose() },
                ...values.map(value => make('option', { value }, count(value))));
            return make('label', {}, label, this[name]);
        }

        live(ask) {
            this.asking = ask;
            this.measure.hidden = false;
        }

        /** Show the recorded run of this prompt and this batch. */
        choose() {
            this.newest(); // what was asked for is not wanted any more
            this.measure.disabled = false;
            const { runs, machine, rounds } = this.recorded;
            this.run = runs.find(run => run.prompt == this.prompt.value && run.batch == this.batch.value);
            this.state.textContent = `The times are medians of ${rounds} runs on ${machine}.`;
            this.show();
        }

        async ask() {
            const question = { prompt: Number(this.prompt.value), batch: Number(this.batch.value) };
            this.state.textContent = 'The model is compiled and timed. The first time, that may take a minute.';
            this.measure.disabled = true;
            const { answer, error, isLate } = await this.newest(() => this.asking('cache', question));
            if (isLate) return;
            this.measure.disabled = false;
            if (answer) this.run = answer;
            this.show();
            this.state.textContent = error ? widgets.refused(error)
                : `These times were measured on this machine just now. ${widgets.computedBy(answer.steps)}`;
        }

        /** Return how many tokens of each text run in a call, from 0. */
        runs(way, call) {
            return way == 'without' || call == 0 ? this.run.prompt + call : 1;
        }

        show() {
            const calls = this.run.with.length, at = this.call.value - 1;
            const most = this.run.prompt + calls - 1, slowest = Math.max(...this.run.with, ...this.run.without);
            this.tokensTitle.textContent = `Tokens of each text that a call runs, up to ${count(most)}:`;
            this.draw(this.tokens, (way, call) => this.runs(way, call), most, 'Tokens that run');
            this.timesTitle.textContent = `Milliseconds that it took, up to ${slowest.toFixed(1)}:`;
            this.draw(this.times, (way, call) => this.run[way][call], slowest, 'Milliseconds');
            this.tell(at);
        }

        draw(picture, value, most, what) {
            const calls = this.run.with.length, place = call => ((call + 0.5) * WIDE / calls).toFixed(1);
            const height = (way, call) => (HIGH - (HIGH - 4) * value(way, call) / most).toFixed(1);
            const points = way => this.run[way].map((_, call) => `${place(call)} ${height(way, call)}`);
            const now = place(this.call.value - 1);
            picture.setAttribute('aria-label', `${what} in ${calls} calls; the table has the numbers of one`);
            picture.replaceChildren(
                draw('line', { class: 'at', x1: now, x2: now, y1: 0, y2: HIGH }),
                ...Object.keys(WAYS).map(way => draw('path', { class: way, d: `M${points(way).join('L')}` })),
            );
        }

        /** Show the numbers of a call, from 0. */
        tell(at) {
            const { prompt, batch } = this.run, total = prompt + at; // tokens of each text that this call knows
            const sofar = (way, value) => sum(this.run[way].slice(0, at + 1).map((_, call) => value(way, call)));
            const cachedBytes = way => way == 'with' ? batch * total * this.recorded.cached : 0;
            const numbers = {
                'tokens that run in this call': way => count(batch * this.runs(way, at)),
                'tokens that ran so far': way => count(batch * sofar(way, (way, call) => this.runs(way, call))),
                'tokens whose keys and values are read':
                    way => count(way == 'with' ? batch * (total - this.runs(way, at)) : 0),
                'keys and values that are kept': way => megabytes(cachedBytes(way)),
                'weights and cache that are read': way => megabytes(this.recorded.weights + cachedBytes(way)),
                'time of this call': way => `${this.run[way][at].toFixed(2)} ms`,
                'time so far': way => `${sofar(way, (way, call) => this.run[way][call]).toFixed(0)} ms`,
            };
            const texts = batch == 1 ? 'a text' : `${batch} texts`;
            this.caption.textContent = `Call ${at + 1} of ${this.run.with.length}: ${texts} of ${count(total)} tokens`;
            this.body.replaceChildren(...Object.entries(numbers).map(([name, value]) =>
                row(name, Object.keys(WAYS).map(value))));
        }
    }

    widgets.define('cache', Cache);
}
