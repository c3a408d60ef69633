'use strict';
// What every call of a generation runs and reads, with a cache and without it, beside the times that were measured.
{
    const { make, draw, Slider, computedBy } = widgets;
    const WAYS = { without: 'without a cache', with: 'with the cache' };
    const HIGH = 100, WIDE = 640; // of a picture
    const count = number => number.toLocaleString('en-US');
    const megabytes = bytes => `${(bytes / 1e6).toFixed(2)} MB`;
    const add = (sum, value) => sum + value;

    class Cache {
        constructor(section, recorded) {
            this.recorded = recorded;
            const select = (label, name) => {
                const values = [...new Set(recorded.runs.map(run => run[name]))];
                this[name] = make('select', { onchange: () => this.choose() },
                    ...values.map(value => make('option', { value }, count(value))));
                return make('label', {}, label, this[name]);
            };
            this.measure = make('button', { type: 'button', hidden: true, onclick: () => this.ask() }, 'Measure on this machine');
            this.state = make('p', { class: 'state', role: 'status' });
            this.call = new Slider('Call', { min: 1, max: recorded.runs[0].with.length, value: 1 },
                at => at == 1 ? '1, the prompt' : count(at), () => this.show());
            this.tokens = draw('svg', { class: 'picture calls', role: 'img', viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'none' });
            this.times = draw('svg', { class: 'picture calls', role: 'img', viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'none' });
            this.tokensTitle = make('p', {});
            this.timesTitle = make('p', {});
            this.caption = make('caption');
            this.body = make('tbody');
            section.append(
                make('div', { class: 'texts' }, select('Tokens of the prompt', 'prompt'), select('Texts at once', 'batch'), this.measure, this.state),
                make('div', { class: 'sliders' }, this.call.element),
                widgets.key(WAYS),
                this.tokensTitle, this.tokens, this.timesTitle, this.times,
                make('table', {}, this.caption,
                    make('thead', {}, make('tr', {}, make('td'), ...Object.values(WAYS).map(words => make('th', { scope: 'col' }, words)))),
                    this.body),
            );
            this.choose();
        }

        live(ask) {
            this.asking = ask;
            this.measure.hidden = false;
        }

        /** Show the recorded run of this prompt and this batch. */
        choose() {
            const { runs, machine, rounds } = this.recorded;
            this.run = runs.find(run => ['prompt', 'batch'].every(name => run[name] == this[name].value));
            this.state.textContent = `The times are medians of ${rounds} runs on ${machine}.`;
            this.show();
        }

        async ask() {
            const question = { prompt: Number(this.prompt.value), batch: Number(this.batch.value) };
            this.state.textContent = 'The model is compiled and timed. The first time, that may take a minute.';
            this.measure.disabled = true;
            try {
                const answer = await this.asking('cache', question);
                this.run = answer;
                this.state.textContent = `These times were measured on this machine just now. ${computedBy(answer.steps)}`;
                this.show();
            } catch (error) {
                this.state.textContent = error.status ? `That cannot be measured: ${error.message}.` : 'The server does not answer. Start ./run book again.';
            } finally {
                this.measure.disabled = false;
            }
        }

        /** Return how many tokens of each text run in a call, from 0. */
        runs(way, call) {
            return way == 'without' || call == 0 ? this.run.prompt + call : 1;
        }

        show() {
            const { prompt, batch } = this.run, calls = this.run.with.length, at = this.call.value - 1;
            const every = [...Array(calls).keys()], most = prompt + calls - 1;
            const slowest = Math.max(...this.run.with, ...this.run.without);
            const place = call => (call + 0.5) * WIDE / calls;
            const line = (way, value, top) => draw('path', { class: way, d: every.map(call =>
                `${call ? 'L' : 'M'}${place(call).toFixed(1)} ${(HIGH - (HIGH - 4) * value(way, call) / top).toFixed(1)}`).join('') });
            const both = (value, top) => [
                draw('line', { class: 'at', x1: place(at), x2: place(at), y1: 0, y2: HIGH }),
                ...Object.keys(WAYS).map(way => line(way, value, top)),
            ];
            this.tokensTitle.textContent = `Tokens of each text that a call runs, up to ${count(most)}:`;
            this.tokens.replaceChildren(...both((way, call) => this.runs(way, call), most));
            this.tokens.setAttribute('aria-label', `Tokens that run in each of ${calls} calls; the table has the numbers of a call`);
            this.timesTitle.textContent = `Milliseconds that it took, up to ${slowest.toFixed(1)}:`;
            this.times.replaceChildren(...both((way, call) => this.run[way][call], slowest));
            this.times.setAttribute('aria-label', `Milliseconds of each of ${calls} calls; the table has the numbers of a call`);

            const total = prompt + at; // tokens of each text that this call knows
            const kept = way => way == 'with' ? batch * total * this.recorded.cached : 0;
            const rows = [
                ['tokens that run in this call', way => count(batch * this.runs(way, at))],
                ['tokens that ran so far', way => count(every.slice(0, at + 1).map(call => batch * this.runs(way, call)).reduce(add, 0))],
                ['tokens whose keys and values are read', way => count(way == 'with' ? batch * (total - this.runs(way, at)) : 0)],
                ['keys and values that are kept', way => megabytes(kept(way))],
                ['weights and cache that are read', way => megabytes(this.recorded.weights + kept(way))],
                ['time of this call', way => `${this.run[way][at].toFixed(2)} ms`],
                ['time so far', way => `${this.run[way].slice(0, at + 1).reduce(add, 0).toFixed(0)} ms`],
            ];
            this.caption.textContent = `Call ${at + 1} of ${calls}: ${batch == 1 ? 'a text' : `${batch} texts`} of ${count(total)} tokens`;
            this.body.replaceChildren(...rows.map(([name, value]) => make('tr', {}, make('th', { scope: 'row' }, name),
                ...Object.keys(WAYS).map(way => make('td', {}, value(way))))));
        }
    }

    widgets.define('cache', Cache);
}
