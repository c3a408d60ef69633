"""Step 20, what people write instead: mistakes, each with its sentence, and other right answers."""

BIASES = "weights[name] = np.zeros(shape, np.float32)"
GAINS = "weights[name] = np.ones(shape, np.float32)"
STD = 'std = 0.02 / math.sqrt(2 * config.n_layer) if name.endswith("c_proj.weight") else 0.02'
NOISE = "weights[name] = (std * rng.standard_normal(shape)).astype(np.float32)"
RISING = "if step <= warmup_steps:"
RISE = "return peak * step / warmup_steps"
DONE = "done = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))"
FALL = "return peak * (1 + math.cos(math.pi * done)) / 2"
SQUARES = (
    "squares = [F.sum(F.sum(gradient * gradient, axis=-1), axis=None).reshape([]) for gradient in gradients.values()]"
)
NORM = "norm = F.sqrt(sum(squares[1:], squares[0]))"
FACTOR = "factor = max_norm / F.max(norm, max_norm)"
CLIPPED = "return {name: gradient * factor for name, gradient in gradients.items()}, norm"
DECAY = "return self.weight_decay if weight.rank > 1 else 0.0"
MEAN = "mean = self.beta1 * mean + (1 - self.beta1) * gradient"
SQUARE = "return mean, self.beta2 * square + (1 - self.beta2) * gradient * gradient"
CORRECTED_MEAN = "mean = mean / (1 - self.beta1**step)"
CORRECTED_SQUARE = "square = square / (1 - self.beta2**step)"
DIRECTION = "direction = mean / (F.sqrt(square) + self.epsilon) + self.decay(weight) * weight"
WALK = "return weight - rate * direction"
ADDED = "total[...] = total + count * gradients[name]"
DIVIDED = "gradients = {name: total / count for name, total in sums.items()}"
CLIP = "gradients, norm = clip_by_global_norm(gradients, self.max_norm)"
AVERAGES = "means[name][...], squares[name][...] = mean, square"
UPDATED = "weight[...] = self.optimizer.updated(weight, mean, square, rate, step)"
ZEROED = "sums[name][...] = F.zeros_like(sums[name])"
ADDED_UP = "total, count = total + losses.item(), count + valid.item()"
LOSS = "loss = total / count if count else math.nan"
REFUSED = "if not math.isfinite(loss):"
ERROR = 'raise FloatingPointError(f"the loss of step {state.step + 1} is {loss}")'
COUNTED = "state.step += 1"
AT = "at = scalar(rate), scalar(state.step), scalar(count)"
UPDATE = "norm = update(*at, state.weights, state.sums, state.means, state.squares)"
RESULT = "return loss, norm.item()"
WHILE = "while state.step < n_steps:"
RATE = "rate = rate_of(state.step + 1)"
STEP = "loss, norm = train_step(state, batches_of(state.step + 1), rate, accumulate, update)"
YIELD = "yield Progress(state.step, loss, norm, rate)"

MISTAKES = {
    "The biases are noise; they begin as 0.": {
        BIASES: "weights[name] = (0.02 * rng.standard_normal(shape)).astype(np.float32)"
    },
    "The gains begin as 0, which lets nothing through a norm; they begin as 1.": {GAINS: BIASES},
    "The gains are noise around 0; only tables and matrices are, and gains begin as 1.": {
        GAINS: "weights[name] = (0.02 * rng.standard_normal(shape)).astype(np.float32)"
    },
    "All matrices have the same spread; that of c_proj is divided by sqrt(2 n_layer).": {STD: "std = 0.02"},
    "The spread of c_proj is divided by sqrt(n_layer); two of them add to the stream in each block: 2 n_layer.": {
        STD: STD.replace("2 * config", "config")
    },
    "The spread of c_proj is divided by 2 n_layer; divide by the root of it.": {
        STD: STD.replace("math.sqrt(2 * config.n_layer)", "(2 * config.n_layer)")
    },
    "Only the c_proj of attention is scaled; that of the feed-forward network adds to the stream too.": {
        STD: STD.replace('"c_proj', '"attn.c_proj')
    },
    "The spread of the other projection is divided; c_proj is the one that adds to the residual stream.": {
        STD: STD.replace("c_proj", "c_fc")
    },
    "The noise has a standard deviation of 1; multiply by std.": {
        NOISE: "weights[name] = rng.standard_normal(shape).astype(np.float32)"
    },
    "The variance is 0.02; that is what the standard deviation must be.": {
        NOISE: NOISE.replace("std *", "math.sqrt(std) *")
    },
    "The noise is uniform; it must be normal: rng.standard_normal.": {
        NOISE: "weights[name] = (std * math.sqrt(3) * rng.uniform(-1, 1, shape)).astype(np.float32)"
    },
    "The noise is float64; add .astype(np.float32).": {NOISE: NOISE.replace(".astype(np.float32)", "")},
    "Every matrix begins with the same noise: use the one rng that is given.": {
        NOISE: NOISE.replace("rng.standard_normal", "np.random.default_rng(seed).standard_normal")
    },
    "The noise does not depend on the seed: use the rng that is given.": {
        NOISE: NOISE.replace("rng.standard_normal", "np.random.RandomState(len(weights)).standard_normal")
    },
    "The warm-up counts from 0, so the first step has a rate of 0 and learns nothing.": {
        RISE: "return peak * (step - 1) / warmup_steps"
    },
    "The warm-up does not reach the peak: divide by warmup_steps, not by one more.": {
        RISE: "return peak * step / (warmup_steps + 1)"
    },
    "There is no warm-up: every early step has the peak.": {RISE: "return peak"},
    "The cosine begins at step 0; it begins where the warm-up ends.": {DONE: "done = min(1.0, step / total_steps)"},
    "The cosine ends too late: its length is total_steps - warmup_steps.": {
        DONE: "done = min(1.0, (step - warmup_steps) / total_steps)"
    },
    "After total_steps the rate rises again, as the cosine does; let done be 1 at most.": {
        DONE: "done = (step - warmup_steps) / (total_steps - warmup_steps)"
    },
    "The rate falls in a straight line; it must fall along a cosine.": {FALL: "return peak * (1 - done)"},
    "This is a whole wave, which rises again; half a wave is math.cos(math.pi * done).": {
        FALL: FALL.replace("math.pi", "2 * math.pi")
    },
    "The rate jumps to 0 after the warm-up and rises: the sign before the cosine must be a plus.": {
        FALL: FALL.replace("1 + math", "1 - math")
    },
    "The rate falls to minus peak: 1 + cosine goes from 2 to 0, and half of it from 1 to 0.": {
        FALL: "return peak * math.cos(math.pi * done)"
    },
    "The rate jumps to twice the peak: take half of 1 + cosine.": {FALL: FALL.replace(" / 2", "")},
    "Each gradient is clipped by its own norm, which changes their direction; one factor is for all.": {
        CLIPPED: "return {\n"
        "        name: gradient * (max_norm / F.max(F.sqrt(square), max_norm))\n"
        "        for (name, gradient), square in zip(gradients.items(), squares, strict=True)\n"
        "    }, norm"
    },
    "Each number is cut off at max_norm, which changes the direction; multiply all by one factor.": {
        CLIPPED: "return {name: F.max(F.min(g, max_norm), -max_norm) for name, g in gradients.items()}, norm"
    },
    "Short gradients are made longer: the factor must be at most 1.": {FACTOR: "factor = max_norm / norm"},
    "The factor is at least 1: divide by the larger of norm and max_norm.": {FACTOR: FACTOR.replace("F.max", "F.min")},
    "The factor is upside down: max_norm over the norm.": {FACTOR: "factor = F.max(norm, max_norm) / max_norm"},
    "The norms are added up; add up the squares, and take one root.": {
        NORM: "norm = sum([F.sqrt(square) for square in squares[1:]], F.sqrt(squares[0]))"
    },
    "The root is missing: this is the square of the norm.": {NORM: "norm = sum(squares[1:], squares[0])"},
    "The norm is that of the first gradient alone; add up the squares of all.": {NORM: "norm = F.sqrt(squares[0])"},
    "The squares are averaged; the norm is the root of their sum.": {
        NORM: "norm = F.sqrt(sum(squares[1:], squares[0]) / len(squares))"
    },
    "The norm has the shape [1]; reshape([]) makes it one number.": {SQUARES: SQUARES.replace(".reshape([])", "")},
    "The norm that is returned is the one after clipping; return the one before.": {
        CLIPPED: CLIPPED.replace(", norm", ", norm * factor")
    },
    "The gradients are not clipped: multiply each by the factor.": {CLIPPED: "return gradients, norm"},
    "Biases and gains decay too; only weights with two axes do.": {DECAY: "return self.weight_decay"},
    "Only biases and gains decay; it must be the others.": {DECAY: DECAY.replace("> 1", "< 2")},
    "Nothing decays; weights with two axes must.": {DECAY: "return 0.0"},
    "A weight whose size is 1 along an axis does not decay; count its axes, not its numbers.": {
        DECAY: "return self.weight_decay if weight.rank > 1 and min(map(int, weight.shape)) > 1 else 0.0"
    },
    "beta1 and beta2 are swapped in the mean of the gradients: it has beta1.": {MEAN: MEAN.replace("beta1", "beta2")},
    "beta1 and beta2 are swapped in the mean of the squares: it has beta2.": {SQUARE: SQUARE.replace("beta2", "beta1")},
    "What is new is multiplied by beta1, and what there was by 1 - beta1; it must be the other way round.": {
        MEAN: "mean = (1 - self.beta1) * mean + self.beta1 * gradient"
    },
    "The new gradient is added whole, which makes the mean too large: multiply it by 1 - beta1.": {
        MEAN: "mean = self.beta1 * mean + gradient"
    },
    "The gradient is not squared: the second average is of gradient * gradient.": {
        SQUARE: SQUARE.replace("gradient * gradient", "gradient")
    },
    "The new mean is squared; the second average is of the squared gradient.": {
        SQUARE: SQUARE.replace("gradient * gradient", "mean * mean")
    },
    "The second average forgets at once: add beta2 times what there was.": {SQUARE: "return mean, gradient * gradient"},
    "The mean is not corrected for its start at 0: divide by 1 - beta1**step.": {CORRECTED_MEAN: "mean = mean"},
    "The mean of the squares is not corrected for its start at 0: divide by 1 - beta2**step.": {
        CORRECTED_SQUARE: "square = square"
    },
    "Neither average is corrected for its start at 0, so the first steps are too large.": {
        CORRECTED_MEAN: "mean = mean",
        CORRECTED_SQUARE: "square = square",
    },
    "The corrections are swapped: the mean's has beta1, that of the squares beta2.": {
        CORRECTED_MEAN: CORRECTED_MEAN.replace("beta1", "beta2"),
        CORRECTED_SQUARE: CORRECTED_SQUARE.replace("beta2", "beta1"),
    },
    "The averages are corrected as in the first step; beta must be raised to the power of step.": {
        CORRECTED_MEAN: CORRECTED_MEAN.replace("**step", ""),
        CORRECTED_SQUARE: CORRECTED_SQUARE.replace("**step", ""),
    },
    "beta is multiplied by step; it is raised to that power: **.": {
        CORRECTED_MEAN: CORRECTED_MEAN.replace("**step", " * step"),
        CORRECTED_SQUARE: CORRECTED_SQUARE.replace("**step", " * step"),
    },
    "The correction counts steps from 0; the first is step 1 already.": {
        CORRECTED_MEAN: CORRECTED_MEAN.replace("**step", "**(step + 1)"),
        CORRECTED_SQUARE: CORRECTED_SQUARE.replace("**step", "**(step + 1)"),
    },
    "The root is missing: the mean is divided by the root of the mean square.": {
        DIRECTION: DIRECTION.replace("F.sqrt(square)", "square")
    },
    "epsilon is inside the root; it is added after it.": {
        DIRECTION: DIRECTION.replace("F.sqrt(square) + self.epsilon", "F.sqrt(square + self.epsilon)")
    },
    "epsilon is missing: a weight whose gradients were all 0 becomes NaN.": {
        DIRECTION: DIRECTION.replace(" + self.epsilon", "")
    },
    "The decay is inside the gradient, where it is divided by the root too; add it after the division.": {
        DIRECTION: "direction = (mean + self.decay(weight) * weight) / (F.sqrt(square) + self.epsilon)"
    },
    "The decay is missing: add decay times weight to the direction.": {
        DIRECTION: DIRECTION.replace(" + self.decay(weight) * weight", "")
    },
    "The weights grow instead of decaying: the decay is added to the direction, which is subtracted.": {
        DIRECTION: DIRECTION.replace(" + self.decay", " - self.decay")
    },
    "The decay is not multiplied by the rate: it is part of the direction.": {
        DIRECTION: DIRECTION.replace(" + self.decay(weight) * weight", ""),
        WALK: "return (1 - self.decay(weight)) * weight - rate * direction",
    },
    "The decay is applied twice: it is in the direction already.": {
        WALK: "return (1 - rate * self.decay(weight)) * weight - rate * direction"
    },
    "weight_decay is used as it is, so biases and gains decay too: ask self.decay(weight).": {
        DIRECTION: DIRECTION.replace("self.decay(weight)", "self.weight_decay")
    },
    "The step goes up the gradient; subtract it.": {WALK: "return weight + rate * direction"},
    "The rate is missing: multiply the direction by it.": {WALK: "return weight - direction"},
    "What is returned is the change; return the weight less the change.": {WALK: "return rate * direction"},
    "The mean gradient is added, not the sum: multiply by count, or a batch of few tokens says as much as a large "
    "one.": {ADDED: ADDED.replace("count * ", "")},
    "The gradient is divided by count; it is a mean, and times count a sum.": {
        ADDED: ADDED.replace("count * gradients[name]", "gradients[name] / count")
    },
    "What other batches have added is overwritten: add to total.": {ADDED: ADDED.replace("total + ", "")},
    "total is multiplied by count too; only the new gradient is.": {
        ADDED: "total[...] = (total + gradients[name]) * count"
    },
    "`total += …` gives the name total to a new tensor, and the sum stays as it was: write total[...] = total + ….": {
        ADDED: "total += count * gradients[name]"
    },
    "The dictionary gets another tensor; a compiled graph needs the one it was given: write into it with [...].": {
        ADDED: "sums[name] = total + count * gradients[name]",
        "for name, total in sums.items():\n        sums": "for name, total in list(sums.items()):\n        sums",
    },
    "The sums are not divided by count, so the step depends on how many tokens there are.": {
        DIVIDED: "gradients = dict(sums)"
    },
    "The gradients are not clipped before they are used.": {
        CLIP: "_, norm = clip_by_global_norm(gradients, self.max_norm)"
    },
    "The sums are clipped before they are divided by count; divide first.": {
        DIVIDED: "gradients = sums",
        CLIP: CLIP + "\n        gradients = {name: gradient / count for name, gradient in gradients.items()}",
    },
    "The averages are not kept for the next step: write them into means and squares.": {
        f"            {AVERAGES}\n": ""
    },
    "The averages are swapped: means gets the mean, squares the square.": {
        AVERAGES: AVERAGES.replace("= mean, square", "= square, mean")
    },
    "The weight is made of the old averages; take the new ones.": {
        UPDATED: UPDATED.replace("mean, square", "before[0], before[1]"),
        "            mean, square = self": "            before = 1 * means[name], 1 * squares[name]\n"
        "            mean, square = self",
    },
    "`weight = …` gives a name to a new tensor, and the model's weight stays as it was: write weight[...] = ….": {
        UPDATED: UPDATED.replace("[...]", "")
    },
    "The sums are not set to 0, so the next step learns these batches again.": {f"            {ZEROED}\n": ""},
    "rate and step are swapped: updated takes the rate first.": {UPDATED: UPDATED.replace("rate, step", "step, rate")},
    "The mean of the batches' means is returned; divide the sum of all losses by the number of all labels.": {
        ADDED_UP: "total, count = total + losses.item() / valid.item(), count + valid.item()",
        LOSS: "loss = total / len([*batches]) if count else math.nan",
    },
    "Only the last batch's loss is returned: add up all.": {
        ADDED_UP: "total, count = losses.item(), count + valid.item()",
    },
    "Only the last batch's labels are counted: add up all.": {
        ADDED_UP: "total, count = total + losses.item(), valid.item()",
    },
    "The sum of the losses is returned; divide by the number of labels.": {LOSS: "loss = total if count else math.nan"},
    "A loss that is NaN goes on to the weights: raise FloatingPointError before update.": {
        f"    {REFUSED}\n        {ERROR}\n": ""
    },
    "Only NaN is refused; refuse infinity too: math.isfinite.": {REFUSED: "if math.isnan(loss):"},
    "NaN is looked for with ==, which NaN never is, not even to itself: math.isfinite.": {
        REFUSED: "if loss == math.nan or loss == math.inf:"
    },
    "The error is a ValueError; it must be a FloatingPointError.": {
        ERROR: ERROR.replace("FloatingPointError", "ValueError")
    },
    "The error names the step before: state.step is the last step that was taken.": {
        ERROR: ERROR.replace("state.step + 1", "state.step")
    },
    "The loss is checked after update, when the weights are already spoiled.": {
        f"    {REFUSED}\n        {ERROR}\n": "",
        COUNTED: "number = state.step + 1",
        AT: AT.replace("state.step", "number"),
        UPDATE: f"{UPDATE}\n    {REFUSED}\n        {ERROR}\n    {COUNTED}",
    },
    "Without a valid label there is a division by 0; make the loss NaN, and refuse it.": {LOSS: "loss = total / count"},
    "The loss of nothing is 0, and the weights are divided by it; make it NaN, and refuse it.": {
        LOSS: "loss = total / count if count else 0.0"
    },
    "The step is counted after update, which then gets 0 for the first: 1 - beta**0 is 0.": {
        COUNTED: "pass",
        UPDATE: f"{UPDATE}\n    {COUNTED}",
    },
    "The step is not counted: state.step += 1.": {COUNTED: "pass", AT: AT.replace("state.step", "state.step + 1")},
    "update gets the number of batches; it must be the number of labels.": {
        AT: AT.replace("scalar(count)", "scalar(len([*batches]))")
    },
    "update is called for every batch; it comes once, after all.": {
        ADDED_UP: f"{ADDED_UP}\n        update(scalar(rate), scalar(state.step + 1), valid, state.weights, state.sums, "
        "state.means, state.squares)"
    },
    "means and squares are swapped in the call of update.": {
        UPDATE: UPDATE.replace("state.means, state.squares", "state.squares, state.means")
    },
    "The norm is a Tensor; .item() makes it a number.": {RESULT: "return loss, norm"},
    "The rate is returned in the place of the norm.": {RESULT: "return loss, rate"},
    "A training that goes on begins at step 1 again: begin at state.step.": {
        WHILE: "for number in range(1, n_steps + 1):",
        RATE: "rate = rate_of(number)",
        STEP: STEP.replace("state.step + 1", "number"),
    },
    "n_steps more steps are taken; it is the number of the last one.": {
        WHILE: "for _ in range(n_steps):",
    },
    "There is one step too many: stop when state.step is n_steps.": {WHILE: WHILE.replace("<", "<=")},
    "The last step is missing.": {WHILE: "while state.step < n_steps - 1:"},
    "The rate is that of the step before: ask for state.step + 1.": {RATE: "rate = rate_of(state.step)"},
    "The batches are those of the step before: ask for state.step + 1.": {
        STEP: STEP.replace("state.step + 1", "state.step")
    },
    "All steps are taken before the first report; yield each as it comes.": {
        f"    {WHILE}": f"    reports = []\n    {WHILE}",
        YIELD: YIELD.replace("yield Progress(", "reports.append(Progress(") + ")\n    return iter(reports)",
    },
    "The report has the number of the next step: after train_step, state.step is the one that was taken.": {
        YIELD: YIELD.replace("state.step", "state.step + 1")
    },
    "Loss and norm are swapped in the report.": {YIELD: YIELD.replace("loss, norm", "norm, loss")},
}

ALTERNATIVES = {
    "noise by rng.normal": {NOISE: "weights[name] = rng.normal(0.0, std, shape).astype(np.float32)"},
    "zeros and ones by np.full": {
        BIASES: "weights[name] = np.full(shape, 0.0, np.float32)",
        GAINS: 'weights[name] = np.full(shape, float("weight" in name), dtype="float32")',
    },
    "the axes counted first": {
        'if name.endswith("bias"):': "if len(shape) == 1:",
        BIASES: 'weights[name] = (np.zeros if name.endswith("bias") else np.ones)(shape, np.float32)',
        "elif len(shape) == 1:": "elif len(shape) == 0:",
    },
    "a power in place of the root": {
        STD: STD.replace("/ math.sqrt(2 * config.n_layer)", "* (2 * config.n_layer) ** -0.5")
    },
    "the warm-up without its last step": {RISING: "if step < warmup_steps:"},
    "the squared cosine of half the angle": {FALL: "return peak * math.cos(math.pi * done / 2) ** 2"},
    "NumPy's cosine": {FALL: "return float(peak * 0.5 * (1.0 + np.cos(np.pi * done)))"},
    "0 at the end, then the cosine": {
        DONE: "if step >= total_steps:\n        return 0.0\n"
        "    done = (step - warmup_steps) / (total_steps - warmup_steps)"
    },
    "a sum that begins with 0": {NORM: "norm = F.sqrt(sum(squares))"},
    "all squares of a gradient in one sum": {
        SQUARES: "squares = [F.sum(gradient * gradient, axis=None).reshape([]) for gradient in gradients.values()]"
    },
    "the squares as powers, added in a loop": {
        SQUARES: "total = 0.0\n    for gradient in gradients.values():\n"
        "        total = total + F.sum(gradient**2, axis=None).squeeze(0)",
        NORM: "norm = F.sqrt(total)",
    },
    "the smaller of 1 and a quotient": {FACTOR: "factor = F.min(max_norm / (norm + 1e-12), 1.0)"},
    "F.where for the factor": {FACTOR: "factor = F.where(norm > max_norm, max_norm / norm, 1.0)"},
    "the number of sizes": {DECAY: "return self.weight_decay * (len(weight.shape) == 2)"},
    "the mean moved toward the gradient": {MEAN: "mean = mean + (1 - self.beta1) * (gradient - mean)"},
    "the square as a power": {SQUARE: "return mean, self.beta2 * square + (1 - self.beta2) * gradient**2"},
    "the decay before the step": {
        DIRECTION: DIRECTION.replace(" + self.decay(weight) * weight", ""),
        WALK: "return weight * (1 - rate * self.decay(weight)) - rate * direction",
    },
    "the corrections put together, as PyTorch does": {
        f"        {CORRECTED_MEAN}\n": "",
        f"        {CORRECTED_SQUARE}\n": "        root = F.sqrt(square) / F.sqrt(1 - self.beta2**step)\n",
        DIRECTION: "direction = mean / (1 - self.beta1**step) / (root + self.epsilon) + self.decay(weight) * weight",
    },
    "count times the gradient first": {ADDED: "total[...] = gradients[name] * count + total"},
    "F.buffer_store": {ADDED: "F.buffer_store(total, total + count * gradients[name])"},
    "the sums written through the dictionary": {ADDED: "sums[name][...] = sums[name] + count * gradients[name]"},
    "the sums divided in a loop": {
        DIVIDED: "gradients = {}\n        for name in sums:\n            gradients[name] = sums[name] / count"
    },
    "the averages written one by one": {AVERAGES: "means[name][...] = mean\n            squares[name][...] = square"},
    "zeros by a product": {ZEROED: "sums[name][...] = sums[name] * 0.0"},
    "zeros by Tensor.zeros_like": {ZEROED: "sums[name][...] = Tensor.zeros_like(sums[name])"},
    "NaN and infinity looked for": {REFUSED: "if math.isnan(loss) or math.isinf(loss):"},
    "the loss as a quotient at the end": {RESULT: "return total / count, float(norm.item())"},
    "the scalars in the call": {
        f"    {AT}\n": "",
        UPDATE: "norm = update(\n        scalar(rate), scalar(state.step), scalar(count), state.weights, state.sums, "
        "state.means, state.squares\n    )",
    },
    "a loop over numbers": {
        WHILE: "for number in range(state.step + 1, n_steps + 1):",
        RATE: "rate = rate_of(number)",
        STEP: STEP.replace("state.step + 1", "number"),
        YIELD: YIELD.replace("state.step", "number"),
    },
}

#: What people bring along from PyTorch; the check shows the line to write instead.
HABITS = {
    "the cosine of torch": {FALL: "return peak * (1 + torch.cos(math.pi * done)) / 2"},
    "the norm as a method": {
        SQUARES: "squares = [gradient.norm() ** 2 for gradient in gradients.values()]",
    },
    "clip_grad_norm_": {
        f"    {SQUARES}\n": "",
        NORM: "norm = torch.nn.utils.clip_grad_norm_(gradients.values(), max_norm)",
    },
    "clamp with max": {FACTOR: "factor = F.clamp(max_norm / norm, max=1.0)"},
    "Python's min": {FACTOR: "factor = min(max_norm / norm, 1.0)"},
    "dim as a method": {DECAY: "return self.weight_decay if weight.dim() > 1 else 0.0"},
    "ndim": {DECAY: "return self.weight_decay if weight.ndim >= 2 else 0.0"},
    "mul_ and add_": {MEAN: "mean = mean.mul_(self.beta1).add_(gradient, alpha=1 - self.beta1)"},
    "lerp_": {MEAN: "mean = mean.lerp_(gradient, 1 - self.beta1)"},
    "addcmul_": {SQUARE: "return mean, square.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)"},
    "sqrt as a method": {DIRECTION: DIRECTION.replace("F.sqrt(square)", "square.sqrt()")},
    "math.sqrt": {DIRECTION: DIRECTION.replace("F.sqrt(square)", "math.sqrt(square)")},
    "weight.data": {WALK: "return weight.data - rate * direction"},
    "add with alpha": {WALK: "return weight.add(direction, alpha=-rate)"},
    "add_ to a sum": {ADDED: "total.add_(count * gradients[name])"},
    "copy_ to a weight": {UPDATED: UPDATED.replace("weight[...] = ", "weight.copy_(") + ")"},
    "zero_": {ZEROED: "sums[name].zero_()"},
    "a number written into a tensor": {ZEROED: "sums[name][...] = 0.0"},
    "torch.zeros_like": {ZEROED: "sums[name][...] = torch.zeros_like(sums[name])"},
    "torch.isfinite": {REFUSED: "if not torch.isfinite(loss):"},
}
