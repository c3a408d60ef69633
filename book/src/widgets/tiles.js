'use strict';
// Step 21's two ideas: a softmax that reads a row of scores block by block, and the tiles of scores that are computed.
{
    const { make, draw, table, row, scrolling, count, sum, Slider } = widgets;
    const HIGH = 90, WIDEST = 50, NARROWEST = 8; // of a bar, with its gap
    const MOST = 12; // scores
    const KINDS = { past: 'of the past', diagonal: 'on the diagonal', future: 'of the future, never read' };

    /** Read scores block by block, as step 21's `online_softmax` does: what is known after each block. */
    function online(scores, size) {
        const states = [];
        let maximum = -Infinity, rowSum = 0;
        for (let first = 0; first < scores.length; first += size) {
            const block = scores.slice(first, first + size), larger = Math.max(maximum, ...block);
            const factor = Math.exp(maximum - larger);
            rowSum = rowSum * factor + sum(block.map(score => Math.exp(score - larger)));
            maximum = larger;
            states.push({ block, maximum, factor, rowSum });
        }
        return states;
    }

    class Reading {
        constructor(section, { scores, block }) {
            const oninput = () => this.again();
            this.text = make('input', { type: 'text', value: scores.join(', '), maxlength: 80, oninput });
            this.size = new Slider('Scores of a block', { min: 1, max: 8, value: block }, String, () => this.again());
            this.read = new Slider('Blocks that are read', { max: 1, value: 0 }, String, () => this.show());
            this.bars = draw('svg', { class: 'picture', role: 'img' });
            this.said = make('p', { class: 'said', role: 'status' });
            this.body = make('tbody');
            const known = 'What is known after each block';
            section.append(
                make('p', {}, make('strong', {}, 'A softmax, block by block.')),
                make('div', { class: 'texts' }, make('label', {}, 'Scores of a row', this.text)),
                make('div', { class: 'sliders' }, this.size.element, this.read.element),
                this.bars,
                this.said,
                scrolling(known, table(make('caption', {}, known),
                    ['block', 'scores', 'row_max', 'factor', 'row_sum'], this.body)),
            );
            this.again();
            widgets.onWidth(this.bars, () => this.show());
        }

        /** Begin with other scores, or other blocks: one of them is read. */
        again() {
            const scores = this.text.value.split(/[\s,;]+/).filter(Boolean).map(Number);
            if (!scores.length || !scores.every(Number.isFinite)) {
                this.said.textContent = 'Write numbers, with commas between them.';
                return;
            }
            this.scores = scores.slice(0, MOST);
            this.blocks = online(this.scores, this.size.value);
            this.read.input.max = this.blocks.length;
            this.read.input.value = 1;
            this.read.tell();
            this.show();
        }

        show() {
            const read = this.read.value, now = this.blocks[read - 1];
            this.body.replaceChildren(...this.blocks.slice(0, read).map(({ block, maximum, factor, rowSum }, at) =>
                row(String(at), [block.join(', '), String(maximum), factor.toFixed(4), rowSum.toFixed(4)])));
            this.said.textContent = this.words(read, now);

            const size = this.size.value, seen = Math.min(read * size, this.scores.length);
            const whole = widgets.width(this.bars);
            const wide = Math.max(NARROWEST, Math.min(WIDEST, whole / this.scores.length)), width = wide - 6;
            this.bars.setAttribute('viewBox', `0 0 ${whole} ${HIGH + 24}`);
            this.bars.setAttribute('aria-label', `Bars of the ${seen} scores that are read, each exp(score - row_max)`);
            this.bars.replaceChildren(...this.scores.flatMap((score, at) => {
                const x = at * wide + 3, high = at < seen ? HIGH * Math.exp(score - now.maximum) : 0;
                const kind = at >= (read - 1) * size ? 'new' : 'old';
                return [
                    draw('rect', { class: 'frame', x, y: 1, width, height: HIGH }),
                    draw('rect', { class: kind, x, y: 1 + HIGH - high, width, height: high }),
                    draw('text', { x: x + width / 2, y: HIGH + 18 }, String(score)),
                ];
            }));
        }

        words(read, now) {
            if (!read) return 'Nothing is read: the maximum is −∞, and the sum is 0.';
            if (read == this.blocks.length) {
                const largest = Math.max(...this.scores);
                const rowSum = sum(this.scores.map(score => Math.exp(score - largest)));
                const plain = sum(this.scores.map(Math.exp));
                return `All are read. At once, the sum is ${rowSum.toFixed(4)} as well; without a maximum, `
                    + (Number.isFinite(plain) ? `it is ${plain.toPrecision(5)}.` : 'it overflows.');
            }
            if (now.factor == 0) return 'The first block: the factor is 0, for there was nothing before.';
            if (now.factor == 1) return 'No larger score has come: the factor is 1, and nothing is corrected.';
            return 'A larger score has come: the sum so far, and the bars, become '
                + `${now.factor.toFixed(4)} times as large.`;
        }
    }

    class Grid {
        constructor(section, { length, queries, keys }) {
            const slider = (label, max, value) => new Slider(label, { min: 1, max, value }, String, () => this.show());
            this.length = slider('Tokens', 48, length);
            this.queries = slider('Queries of a tile', 16, queries);
            this.keys = slider('Keys of a block', 16, keys);
            this.grid = draw('svg', { class: 'picture grid', role: 'img' });
            this.held = make('p', { class: 'held', role: 'status' });
            this.body = make('tbody');
            section.append(
                make('p', {}, make('strong', {}, 'The tiles of a sequence.'), ' Rows are queries, columns keys.'),
                make('div', { class: 'sliders' }, this.length.element, this.queries.element, this.keys.element),
                this.grid,
                this.held,
                table(make('caption', {}, 'How many tiles, and how many scores lie in them'),
                    ['tiles', 'how many', 'scores in them', 'of all'], this.body),
            );
            this.show();
        }

        /** Return the tiles of each kind: first query, first key, and how many of each. */
        tiles(length, queries, keys) {
            const byKind = { past: [], diagonal: [], future: [] };
            for (let first = 0; first < length; first += queries) {
                for (let block = 0; block < length; block += keys) {
                    const end = Math.min(block + keys, length);
                    const kind = block >= first + queries ? 'future' : end <= first + 1 ? 'past' : 'diagonal';
                    byKind[kind].push([first, block, Math.min(queries, length - first), end - block]);
                }
            }
            return byKind;
        }

        show() {
            const [length, queries, keys] = [this.length, this.queries, this.keys].map(slider => slider.value);
            const byKind = this.tiles(length, queries, keys), all = length ** 2;
            const read = byKind.past.length + byKind.diagonal.length;
            this.grid.setAttribute('viewBox', `-0.1 -0.1 ${length + 0.2} ${length + 0.2}`);
            this.grid.setAttribute('aria-label', `The scores of ${length} tokens in tiles; `
                + `${read} are computed, ${byKind.future.length} are not`);
            this.grid.replaceChildren(
                ...Object.entries(byKind).flatMap(([kind, tiles]) => tiles.map(([y, x, height, width]) =>
                    draw('rect', { class: kind, x, y, width, height }))),
                ...Array.from({ length }, (_, at) => draw('circle', { cx: at + 0.5, cy: at + 0.5, r: 0.12 })),
            );
            const inside = tiles => sum(tiles.map(([, , height, width]) => height * width));
            this.body.replaceChildren(...Object.entries(byKind).map(([kind, tiles]) => row(
                [make('span', { class: `kind ${kind}`, 'aria-hidden': true }), KINDS[kind]],
                [count(tiles.length), count(inside(tiles)), widgets.percent(inside(tiles) / all)])));
            this.held.textContent = `A tile holds ${count(queries * keys)} scores at once, the whole matrix would hold `
                + `${count(all)}. The mask allows ${count(length * (length + 1) / 2)} of them.`;
        }
    }

    widgets.define('tiles', class {
        constructor(section, recorded) {
            new Reading(section, recorded);
            new Grid(section, recorded);
        }
    });
}
