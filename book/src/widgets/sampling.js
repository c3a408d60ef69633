'use strict';
// What may follow a text: the model's logits, the probabilities that temperature, top-k and top-p make of them, and
// draws.
{
    const { make, draw, table, button, percent, count, sum, Choice, Slider, Texts } = widgets;
    const SHOWN = 12; // tokens, each in a row
    const MANY = 1000; // draws at once
    const KEPT = [1, 2, 3, 5, 10, 20, 40, 100, 200, 500]; // what top-k may be, below the size of the vocabulary

    /** Return the probabilities from which step 12 draws, cut by top-p as well; at temperature 0, one token has all. */
    function distribution(logits, temperature, topK, topP) {
        const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a]);
        if (temperature == 0) return { order, after: logits.map((_, id) => Number(id == order[0])), byK: 1, byP: 1 };
        const least = logits[order[Math.min(topK, order.length) - 1]];
        let after = widgets.softmax(logits.map(logit => logit < least ? -Infinity : logit / temperature));
        const byK = after.filter(share => share > 0).length;
        if (topP == 1) return { order, after, byK, byP: byK };
        let before = 0, byP = 0;
        for (; byP < byK && before < topP; byP++) before += after[order[byP]];
        const allowed = new Set(order.slice(0, byP));
        after = after.map((share, id) => allowed.has(id) ? share / before : 0);
        return { order, after, byK, byP };
    }

    class Sampling {
        constructor(section, { texts, vocabulary }) {
            this.vocabulary = vocabulary;
            const changed = () => (this.forget(), this.compute());
            this.texts = new Texts('sampling', texts, reading => this.read(reading));
            this.tokens = new Choice('The tokens of the text', 0, at => this.stand(at));
            this.temperature = new Slider('Temperature', { max: 2, step: 0.05, value: 1 },
                value => value ? value.toFixed(2) : '0: the most likely token', changed);
            this.topK = new Slider('Top-k', { max: KEPT.length, value: KEPT.length },
                at => at < KEPT.length ? String(KEPT[at]) : 'all', changed);
            this.topP = new Slider('Top-p', { min: 0.05, max: 1, step: 0.05, value: 1 },
                value => value < 1 ? value.toFixed(2) : 'all', changed);
            this.summary = make('p', { class: 'summary', role: 'status' });
            this.body = make('tbody');
            this.goOn = button('Append it, and go on', () => this.append(), { hidden: true });
            section.append(
                this.texts.element,
                make('p', {}, 'The model expects something after every token. Choose the token to stand at:'),
                this.tokens.element,
                make('div', { class: 'sliders' }, this.temperature.element, this.topK.element, this.topP.element),
                make('div', { class: 'tools' },
                    button('Draw a token', () => this.draw(1)),
                    button(`Draw ${count(MANY)}`, () => this.draw(MANY)),
                    this.goOn),
                this.summary,
                table(make('caption', {}, 'What may follow, the most likely first'),
                    ['token', '', 'τ = 1', 'now', 'drawn'], this.body),
            );
            this.texts.choose();
        }

        live(ask) {
            this.isLive = true;
            this.texts.live(ask);
            this.forget();
        }

        /** Take in a text: its tokens, and the logits after each. */
        read({ tokens, ids, logits }) {
            Object.assign(this, { names: tokens, ids, logits: [...widgets.unpacked(logits)] });
            this.tokens.fill(tokens.map(token => [`after ${token}`, make('code', {}, token)]));
            this.stand(tokens.length - 1);
        }

        stand(at) {
            this.tokens.mark(at);
            const size = this.vocabulary.length;
            this.now = this.logits.slice(at * size, (at + 1) * size);
            this.forget();
            this.compute();
        }

        /** Forget what was drawn: it was drawn from other probabilities. */
        forget() {
            this.counts = null;
            this.drawn = null;
            this.goOn.hidden = true;
        }

        compute() {
            const topK = KEPT[this.topK.value] ?? this.vocabulary.length;
            Object.assign(this, distribution(this.now, this.temperature.value, topK, this.topP.value));
            this.plain = widgets.softmax(this.now);
            this.show();
        }

        draw(times) {
            this.counts = new Map();
            for (let time = 0; time < times; time++) {
                let rest = Math.random(), at = 0; // a point on a line that has a part for each token
                while (at < this.byP - 1 && rest >= this.after[this.order[at]]) rest -= this.after[this.order[at++]];
                this.drawn = this.order[at];
                this.counts.set(this.drawn, (this.counts.get(this.drawn) ?? 0) + 1);
            }
            this.goOn.hidden = !this.isLive || times > 1;
            this.show();
            if (times == 1) this.summary.textContent = `Drawn: “${this.vocabulary[this.drawn]}”, which is number `
                + `${this.order.indexOf(this.drawn) + 1} in this order and had ${percent(this.after[this.drawn])}.`;
        }

        append() {
            return this.texts.ask({ ids: [...this.ids.slice(0, this.tokens.at + 1), this.drawn] });
        }

        show() {
            const shown = this.order.slice(0, SHOWN), rest = this.order.slice(SHOWN);
            const came = this.ids[this.tokens.at + 1], note = ' comes next in the text';
            const counted = id => this.counts?.get(id) ?? 0;
            this.widest = Math.max(...shown.flatMap(id => [this.plain[id], this.after[id]]));
            this.total = sum([...this.counts?.values() ?? []]);
            this.body.replaceChildren(...shown.map((id, at) => this.row(
                [make('code', {}, this.vocabulary[id]), id === came ? make('small', {}, note) : ''],
                this.plain[id], this.after[id], counted(id), at >= this.byP)));
            const others = this.row(`${count(rest.length)} others`, sum(rest.map(id => this.plain[id])),
                sum(rest.map(id => this.after[id])), sum(rest.map(counted)), this.byP <= SHOWN);
            others.querySelector('svg').remove(); // together they are no token
            this.body.append(others);
            this.summary.textContent = `After “${this.names[this.tokens.at]}”: ${this.words()}`;
        }

        row(name, plain, after, drawn, isCut) {
            const made = widgets.row(name, [
                bar(plain / this.widest, after / this.widest, drawn / this.total / this.widest),
                percent(plain),
                isCut ? 'cut' : percent(after),
                this.total ? count(drawn) : '',
            ], { class: isCut && 'cut' });
            made.cells[1].className = 'bar';
            return made;
        }

        words() {
            const size = this.vocabulary.length, cuts = [];
            if (this.temperature.value == 0) return 'temperature 0 draws nothing; it takes the most likely token.';
            if (this.byK < size) cuts.push(`top-k keeps ${count(this.byK)}`);
            if (this.topP.value < 1) cuts.push(`top-p keeps ${count(this.byP)}${cuts.length ? ' of these' : ''}`);
            if (!cuts.length) return `all ${count(size)} tokens can be drawn.`;
            const share = percent(sum(this.order.slice(0, this.byP).map(id => this.plain[id])));
            const they = this.byP == 1 ? 'it has' : 'they have';
            return `of ${count(size)} tokens, ${cuts.join(', and ')}. At temperature 1, ${they} ${share}.`;
        }
    }

    /** Draw a share as it was and as it is, and with a tick how often it was drawn. */
    function bar(plain, after, drawn) {
        const wide = share => 100 * Math.min(1, share);
        return draw('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': true },
            draw('rect', { class: 'after', y: 1, height: 8, width: wide(after) }),
            draw('rect', { class: 'plain', y: 1, height: 8, width: wide(plain) }),
            drawn ? draw('line', { class: 'drawn', x1: wide(drawn), x2: wide(drawn), y1: 0, y2: 10 }) : null);
    }

    widgets.define('sampling', Sampling);
}
