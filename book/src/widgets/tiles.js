'use strict';
// Step 21's two ideas: a softmax that reads a row of scores block by block, and the tiles of scores that are computed.
{
    const { make, draw, Slider } = widgets;
    const HIGH = 90, WIDEST = 50; // of a bar, with its gap
    const count = number => number.toLocaleString('en-US');
    const range = length => [...Array(length).keys()];
    const head = (...names) => make('thead', {}, make('tr', {}, ...names.map(name => make('th', { scope: 'col' }, name))));
    const row = (name, ...cells) => make('tr', {}, make('th', { scope: 'row' }, ...[name].flat()), ...cells.map(cell => make('td', {}, cell)));

    /** Read scores block by block, as step 21's `online_softmax` does: what is known after each block. */
    function online(scores, size) {
        const found = [];
        let maximum = -Infinity, total = 0;
        for (let first = 0; first < scores.length; first += size) {
            const block = scores.slice(first, first + size), larger = Math.max(maximum, ...block);
            const factor = Math.exp(maximum - larger);
            total = block.reduce((sum, score) => sum + Math.exp(score - larger), total * factor);
            maximum = larger;
            found.push({ block, maximum, factor, total });
        }
        return found;
    }

    class Tiles {
        constructor(section, { scores, block, length, queries, keys }) {
            this.readings(section, scores, block);
            this.tiles(section, length, queries, keys);
        }

        // ------------------------------------------------------------ the softmax

        readings(section, scores, block) {
            this.text = make('input', { type: 'text', value: scores.join(', '), maxlength: 80, oninput: () => this.again(), inputmode: 'text' });
            this.block = new Slider('Scores of a block', { min: 1, max: 8, value: block }, String, () => this.again());
            this.read = new Slider('Blocks that are read', { max: 1, value: 0 }, String, () => this.showReading());
            this.bars = draw('svg', { class: 'picture', role: 'img' });
            this.said = make('p', { class: 'said', role: 'status' });
            this.body = make('tbody');
            section.append(
                make('p', {}, make('strong', {}, 'A softmax, block by block.')),
                make('div', { class: 'texts' }, make('label', {}, 'Scores of a row', this.text)),
                make('div', { class: 'sliders' }, this.block.element, this.read.element),
                this.bars,
                this.said,
                make('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'What is known after each block' },
                    make('table', {}, make('caption', {}, 'What is known after each block'),
                        head('block', 'scores', 'maximum', 'factor', 'total'), this.body)),
            );
            this.again();
            widgets.onWidth(this.bars, () => this.showReading());
        }

        /** Begin with other scores, or other blocks: one of them is read. */
        again() {
            const scores = this.text.value.split(/[\s,;]+/).filter(Boolean).map(Number);
            if (!scores.length || !scores.every(Number.isFinite)) {
                this.said.textContent = 'Write numbers, with commas between them.';
                return;
            }
            this.scores = scores.slice(0, 12);
            this.blocks = online(this.scores, this.block.value);
            this.read.input.max = this.blocks.length;
            this.read.input.value = 1;
            this.read.tell();
            this.showReading();
        }

        showReading() {
            const read = this.read.value, size = this.block.value, now = this.blocks[read - 1];
            const seen = Math.min(read * size, this.scores.length);
            const whole = widgets.width(this.bars), wide = Math.max(8, Math.min(WIDEST, whole / this.scores.length));
            this.bars.setAttribute('viewBox', `0 0 ${whole} ${HIGH + 24}`);
            this.bars.setAttribute('aria-label', `Bars of the ${seen} scores that are read, each exp(score - maximum)`);
            this.bars.replaceChildren(...this.scores.flatMap((score, at) => {
                const x = at * wide + 3, width = wide - 6, isRead = at < seen, isNew = isRead && at >= (read - 1) * size;
                const high = isRead ? HIGH * Math.exp(score - now.maximum) : 0;
                return [
                    draw('rect', { class: 'frame', x, y: 1, width, height: HIGH }),
                    draw('rect', { class: isNew ? 'new' : 'old', x, y: 1 + HIGH - high, width, height: high }),
                    draw('text', { x: x + width / 2, y: HIGH + 18 }, String(score)),
                ];
            }));
            this.body.replaceChildren(...this.blocks.slice(0, read).map(({ block, maximum, factor, total }, at) =>
                row(String(at), block.join(', '), String(maximum), factor.toFixed(4), total.toFixed(4))));
            const largest = Math.max(...this.scores), plain = this.scores.reduce((sum, score) => sum + Math.exp(score), 0);
            const all = this.scores.reduce((sum, score) => sum + Math.exp(score - largest), 0);
            this.said.textContent = read == this.blocks.length
                ? `All are read. At once, the total is ${all.toFixed(4)} as well; without a maximum, ${Number.isFinite(plain) ? `it is ${plain.toPrecision(5)}` : 'it overflows'}.`
                : !read ? 'Nothing is read: the maximum is −∞, and the total is 0.'
                    : now.factor == 0 ? 'The first block: the factor is 0, for there was nothing before.'
                        : now.factor < 1 ? `A larger score has come: the total so far, and the bars, become ${now.factor.toFixed(4)} times as large.`
                            : 'No larger score has come: the factor is 1, and nothing is corrected.';
        }

        // ------------------------------------------------------------ the tiles

        tiles(section, length, queries, keys) {
            const slider = (label, max, value) => new Slider(label, { min: 1, max, value }, String, () => this.showTiles());
            this.length = slider('Tokens', 48, length);
            this.queries = slider('Queries of a tile', 16, queries);
            this.keys = slider('Keys of a block', 16, keys);
            this.grid = draw('svg', { class: 'picture grid', role: 'img' });
            this.counts = make('tbody');
            this.held = make('p', { class: 'held', role: 'status' });
            section.append(
                make('p', {}, make('strong', {}, 'The tiles of a sequence.'), ' Rows are queries, columns keys.'),
                make('div', { class: 'sliders' }, this.length.element, this.queries.element, this.keys.element),
                this.grid,
                this.held,
                make('table', {}, make('caption', {}, 'How many tiles, and how many scores lie in them'),
                    head('tiles', 'how many', 'scores in them', 'of all'), this.counts),
            );
            this.showTiles();
        }

        showTiles() {
            const [length, queries, keys] = [this.length, this.queries, this.keys].map(slider => slider.value);
            const found = { past: [], diagonal: [], future: [] };
            for (let first = 0; first < length; first += queries) {
                for (let block = 0; block < length; block += keys) {
                    const kind = block >= first + queries ? 'future' : Math.min(block + keys, length) <= first + 1 ? 'past' : 'diagonal';
                    found[kind].push([first, block, Math.min(queries, length - first), Math.min(keys, length - block)]);
                }
            }
            this.grid.setAttribute('viewBox', `-0.1 -0.1 ${length + 0.2} ${length + 0.2}`);
            const read = found.past.length + found.diagonal.length;
            this.grid.setAttribute('aria-label', `The scores of ${length} tokens in tiles; ${read} are computed, ${found.future.length} are not`);
            this.grid.replaceChildren(
                ...Object.entries(found).flatMap(([kind, tiles]) => tiles.map(([y, x, height, width]) =>
                    draw('rect', { class: kind, x, y, width, height }))),
                ...range(length).map(at => draw('circle', { cx: at + 0.5, cy: at + 0.5, r: 0.12 })),
            );
            const inside = tiles => tiles.reduce((sum, [, , height, width]) => sum + height * width, 0), all = length ** 2;
            const words = { past: 'of the past', diagonal: 'on the diagonal', future: 'of the future, never read' };
            this.counts.replaceChildren(...Object.entries(found).map(([kind, tiles]) =>
                row([make('span', { class: `kind ${kind}`, 'aria-hidden': true }), words[kind]], count(tiles.length), count(inside(tiles)), widgets.percent(inside(tiles) / all))));
            this.held.textContent = `A tile holds ${count(queries * keys)} scores at once, the whole matrix would hold ${count(all)}. `
                + `The mask allows ${count(length * (length + 1) / 2)} of them.`;
        }
    }

    widgets.define('tiles', Tiles);
}
