'use strict';
// What the heads look at: every head small, one large, and of the token that is chosen all numbers, from the scores to
// the weights. `./run attention` writes the same picture into a page of its own. On the pages of attention's steps it
// shows our sentence alone: as one head that there is in the step, before there is a mask, say.
{
    const { make, table, row, scrolling, color, percent, moved, Choice, Texts } = widgets;
    const SMALL = 64; // pixels of a small map, at most
    const WIDE = 560; // of the large one, if the cells can be seen then
    const STAGES = { scores: 'Scores', masked: 'After the mask', weights: 'Weights' };

    class Attention {
        constructor(section, { texts, layer, head, steps }) {
            const step = steps?.[section.dataset.part];
            if (step) texts = [step];
            const [layers, heads] = texts[0].shape;
            this.isOne = layers * heads == 1; // head, so there is none to choose
            this.isWhole = texts[0].isWhole; // without a mask
            Object.assign(this, { layer, head, stage: 'weights', ...step?.first });
            this.texts = new Texts('attention', texts, reading => this.read(reading));
            this.heads = new Choice('Heads', 1, at => this.choose(Math.floor(at / this.shape[1]), at % this.shape[1]));
            this.which = make('p', { class: 'which', role: 'status' });
            this.said = make('p', { class: 'said', role: 'status' });
            this.large = make('canvas', {
                tabindex: 0, role: 'img',
                onkeydown: press => this.press(press),
                onpointermove: event => this.hover(event),
                onpointerdown: event => this.hover(event),
            });
            this.caption = make('caption');
            this.body = make('tbody');
            const there = Object.entries(STAGES).filter(([stage]) => stage != 'masked' || !this.isWhole);
            const stages = there.map(([stage, words]) => {
                const onchange = () => {
                    this.stage = stage;
                    this.drawLarge();
                };
                const checked = stage == this.stage;
                return make('label', {}, make('input', { type: 'radio', name: 'stage', checked, onchange }), words);
            });
            const choice = [make('p', {}, 'Every head, one row per layer. Choose one; the arrow keys move.'),
                this.heads.element, this.which];
            section.append(
                this.texts.element,
                ...this.isOne ? [] : choice,
                make('fieldset', {}, make('legend', {}, 'The large map shows'), ...stages),
                make('div', { class: 'scroll' }, this.large),
                this.said,
                scrolling('The numbers of the chosen token',
                    table(this.caption, ['key', ...there.map(([, words]) => words.toLowerCase().replace(/s$/, ''))],
                        this.body)),
            );
            this.heads.element.classList.add('heads');
            widgets.onWidth(section, () => this.drawLarge());
            const theme = new MutationObserver(() => this.drawAll());
            theme.observe(document.documentElement, { attributeFilter: ['class'] });
            this.texts.choose();
        }

        live(ask) {
            if (!this.isOne) this.texts.live(ask); // the model has no such head to answer with
        }

        read({ tokens, shape, scores, weights, shares, patterns }) {
            Object.assign(this, { tokens, shape, shares, patterns });
            this.scores = widgets.unpacked(scores);
            this.weights = widgets.unpacked(weights);
            this.cell = [this.row ?? Math.floor(tokens.length / 2), 0]; // a row with a past and a future
            const [layers, heads] = shape;
            this.heads.columns = heads;
            this.heads.element.style.setProperty('--columns', heads);
            this.heads.fill(Array.from({ length: layers * heads }, (_, at) =>
                [`layer ${Math.floor(at / heads)}, head ${at % heads}`, make('canvas')]));
            this.choose(Math.min(this.layer, layers - 1), Math.min(this.head, heads - 1));
            this.drawAll();
        }

        // ------------------------------------------------------------ numbers

        /** Return one number of a stage; a weight that the mask forbids is 0. */
        value(stage, layer, head, query, key) {
            const length = this.tokens.length, which = layer * this.shape[1] + head;
            if (stage == 'weights' && this.isWhole) return this.weights[query * length + key];
            if (stage == 'weights') return key > query ? 0
                : this.weights[which * length * (length + 1) / 2 + query * (query + 1) / 2 + key];
            return stage == 'masked' && key > query ? -Infinity : this.scores[(which * length + query) * length + key];
        }

        /** Return how dark a number is drawn, from 0 to 1: scores by their place between the least and the greatest. */
        shade(stage, layer, head, query, key) {
            const value = this.value(stage, layer, head, query, key);
            if (stage == 'weights') return Math.sqrt(value);
            return value == -Infinity ? 0 : (value - this.least) / (this.greatest - this.least || 1);
        }

        // ------------------------------------------------------------ drawing

        drawAll() {
            const ink = color('--ink-query');
            this.heads.buttons.forEach((button, at) =>
                this.drawSmall(button.firstChild, Math.floor(at / this.shape[1]), at % this.shape[1], ink));
            this.drawLarge();
        }

        drawSmall(canvas, layer, head, ink) {
            const length = this.tokens.length, size = canvas.width = canvas.height = Math.min(length, SMALL);
            const context = canvas.getContext('2d');
            context.fillStyle = ink;
            for (let row = 0; row < size; row++) {
                for (let column = 0; column <= row; column++) {
                    const [query, key] = [row, column].map(at => Math.floor(at * length / size));
                    context.globalAlpha = this.shade('weights', layer, head, query, key);
                    context.fillRect(column, row, 1, 1);
                }
            }
        }

        drawLarge() {
            const { layer, head, stage, tokens } = this, length = tokens.length;
            const font = size => `${Math.min(14, size)}px ui-monospace, monospace`;
            const scale = window.devicePixelRatio || 1;
            let context = this.large.getContext('2d');
            context.font = font(14);
            const widest = Math.max(...tokens.map(token => context.measureText(token).width));
            const margin = this.margin = Math.ceil(widest) + 8;
            const room = Math.min(WIDE, this.large.parentElement.clientWidth - margin - 1);
            const size = this.size = Math.max(8, Math.min(38, Math.floor(room / length)));
            const whole = margin + size * length + 1;
            this.large.width = this.large.height = Math.ceil(whole * scale);
            this.large.style.width = this.large.style.height = `${whole}px`;
            const all = [];
            for (let query = 0; query < length; query++)
                for (let key = 0; key < length; key++) all.push(this.value('scores', layer, head, query, key));
            [this.least, this.greatest] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];

            context = this.large.getContext('2d');
            context.scale(scale, scale);
            context.font = font(size);
            context.textBaseline = 'middle';
            const [ink, mark] = [color('--ink'), color('--ink-accent')];
            const [full, none] = [color('--ink-query'), color('--fill-masked')];
            for (let query = 0; query < length; query++) {
                context.fillStyle = query == this.cell[0] ? mark : ink;
                context.textAlign = 'right';
                context.fillText(tokens[query], margin - 4, margin + size * (query + 0.5));
                context.save();
                context.translate(margin + size * (query + 0.5), margin - 4);
                context.rotate(-Math.PI / 2);
                context.fillStyle = query == this.cell[1] ? mark : ink;
                context.textAlign = 'left';
                context.fillText(tokens[query], 0, 0);
                context.restore();
                for (let key = 0; key < length; key++) {
                    const isMasked = key > query && stage != 'scores' && !this.isWhole;
                    context.fillStyle = isMasked ? none : full;
                    context.globalAlpha = isMasked ? 1 : this.shade(stage, layer, head, query, key);
                    context.fillRect(margin + size * key, margin + size * query, size, size);
                    context.globalAlpha = 1;
                }
            }
            context.strokeStyle = color('--line');
            context.strokeRect(margin + 0.5, margin + 0.5, size * length, size * length);
            context.strokeStyle = mark;
            context.lineWidth = 2;
            const [query, key] = this.cell;
            context.strokeRect(margin + 1, margin + size * query + 1, size * length - 2, size - 2);
            context.strokeRect(margin + size * key + 2, margin + size * query + 2, size - 4, size - 4);
            const which = this.isOne ? '' : ` of layer ${layer}, head ${head}`;
            this.large.setAttribute('aria-label', `${STAGES[stage]}${which}: a row for each of `
                + `${length} tokens; the table below has the numbers of a row`);
        }

        // ------------------------------------------------------------ choosing

        choose(layer, head) {
            Object.assign(this, { layer, head });
            this.heads.mark(layer * this.shape[1] + head);
            if (this.isOne) return this.show();
            const shares = Object.entries(this.shares[layer][head]);
            const measured = shares.map(([name, share]) => `${percent(share)} to ${name}`);
            const pattern = this.patterns[layer][head];
            this.which.textContent = `Layer ${layer}, head ${head}${pattern && `: ${pattern}`}.`
                + (measured.length ? ` On average, a token gives ${measured.join(', ')}.` : '');
            this.show();
        }

        show() {
            this.drawLarge();
            this.tell();
        }

        press(press) {
            const length = this.tokens.length, to = moved(press, this.cell, [length, length]);
            if (to) this.point(to);
        }

        hover({ offsetX, offsetY }) {
            const [query, key] = [offsetY, offsetX].map(at => Math.floor((at - this.margin) / this.size));
            const length = this.tokens.length;
            if (query >= 0 && query < length && key < length) this.point([query, Math.max(0, key)]);
        }

        point(cell) {
            if (cell.every((at, axis) => at == this.cell[axis])) return;
            this.cell = cell;
            this.show();
        }

        /** Say what stands in the chosen cell, and show its row from the scores to the weights. */
        tell() {
            const [query, key] = this.cell, { layer, head, tokens } = this;
            const number = (stage, at) => this.value(stage, layer, head, query, at);
            const short = value => value == -Infinity ? '−∞' : value.toFixed(2).replace('-', '−');
            const [asker, asked, where] = [`“${tokens[query]}”`, `“${tokens[key]}”`, `(query ${query}, key ${key})`];
            this.said.textContent = key > query && !this.isWhole
                ? `${asker} may not look at ${asked}, which comes later ${where}.`
                : `${asker} takes ${number('weights', key).toFixed(4)} from ${asked} ${where}.`;
            const which = this.isOne ? '' : `layer ${layer}, head ${head}, `;
            this.caption.textContent = `${asker} asks: ${which}row ${query}`;
            this.body.replaceChildren(...tokens.map((token, at) => row(make('code', {}, token),
                [short(number('scores', at)), ...this.isWhole ? [] : [short(number('masked', at))],
                    number('weights', at).toFixed(4)],
                { class: at > query && !this.isWhole && 'cut' })));
        }
    }

    widgets.define('attention', Attention);
}
