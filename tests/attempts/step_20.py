"""Step 20, what people write instead: mistakes, each with its sentence, and other right answers."""

RISING = "if step <= warmup_steps:"
RISE = "return peak * step / warmup_steps"
DONE = "done = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))"
FALL = "return peak * (1 + math.cos(math.pi * done)) / 2"
NORM = "norm = F.sqrt(sum(map(sum_of_squares, gradients.values())))"
FACTOR = "factor = max_norm / F.max(norm, max_norm)"
CLIPPED = "return {name: factor * gradient for name, gradient in gradients.items()}, norm"
MEAN = "mean = self.beta1 * mean + (1 - self.beta1) * gradient"
SQUARE = "square = self.beta2 * square + (1 - self.beta2) * gradient * gradient"
CORRECTED_MEAN = "corrected_mean = mean / (1 - self.beta1**step)"
CORRECTED_SQUARE = "corrected_square = square / (1 - self.beta2**step)"
DIRECTION = "direction = corrected_mean / (F.sqrt(corrected_square) + self.epsilon)"
MATRIX = "if weight.rank > 1:"
DECAY = "direction = direction + self.weight_decay * weight"
DOWN = "return weight - rate * direction, mean, square"
ADDED = "total[...] = total + count * gradients[name]"
ADDED_UP = "total, count = total + losses.item(), count + valid.item()"
LOSS = "loss = total / count if count else math.nan"
SCALARS = "scalars = scalar(rate), scalar(state.step + 1), scalar(count if math.isfinite(loss) else math.nan)"
UPDATE = "norm = update(*scalars, state.weights, state.sums, state.means, state.squares).item()"
REFUSED = "if not math.isfinite(norm):"
ERROR = 'raise FloatingPointError(f"the loss of step {state.step + 1} is {loss}, and the norm of its gradients {norm}")'
COUNTED = "state.step += 1"
RESULT = "return loss, norm"

MISTAKES = {
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
        CLIPPED: "norms = {name: F.sqrt(sum_of_squares(gradient)) for name, gradient in gradients.items()}\n"
        "    return {name: max_norm / F.max(norms[name], max_norm) * gradients[name] for name in gradients}, norm"
    },
    "Each number is cut off at max_norm, which changes the direction; multiply all by one factor.": {
        CLIPPED: "return {name: F.max(F.min(g, max_norm), -max_norm) for name, g in gradients.items()}, norm"
    },
    "Short gradients are made longer: the factor must be at most 1.": {FACTOR: "factor = max_norm / norm"},
    "The factor is at least 1: divide by the larger of norm and max_norm.": {FACTOR: FACTOR.replace("F.max", "F.min")},
    "The factor is upside down: max_norm over the norm.": {FACTOR: "factor = F.max(norm, max_norm) / max_norm"},
    "The norms are added up; add up the squares, and take one root.": {
        NORM: "norm = sum(F.sqrt(sum_of_squares(gradient)) for gradient in gradients.values())"
    },
    "The root is missing: this is the square of the norm.": {
        NORM: "norm = sum(map(sum_of_squares, gradients.values()))"
    },
    "The norm is that of the first gradient alone; add up the squares of all.": {
        NORM: "norm = F.sqrt(sum_of_squares(next(iter(gradients.values()))))"
    },
    "The squares are averaged; the norm is the root of their sum.": {
        NORM: "norm = F.sqrt(sum(map(sum_of_squares, gradients.values())) / len(gradients))"
    },
    "The norm has the shape [1]; use sum_of_squares, or reshape([]).": {
        NORM: "norm = F.sqrt(sum(F.sum(F.sum(g * g, axis=-1), axis=None) for g in gradients.values()))"
    },
    "All squares of a large table are in one sum, where float32 loses digits; sum its rows first: sum_of_squares.": {
        NORM: "norm = F.sqrt(sum(F.sum(g * g, axis=None).reshape([]) for g in gradients.values()))"
    },
    "The norm that is returned is the one after clipping; return the one before.": {
        CLIPPED: CLIPPED.replace(", norm", ", norm * factor")
    },
    "The gradients are not clipped: multiply each by the factor.": {CLIPPED: "return gradients, norm"},
    "Biases and gains decay too; only weights with two axes do.": {MATRIX: "if weight.rank > 0:"},
    "Only biases and gains decay; it must be the others.": {MATRIX: "if weight.rank < 2:"},
    "A weight whose size is 1 along an axis does not decay; count its axes, not its numbers.": {
        MATRIX: "if weight.rank > 1 and min(map(int, weight.shape)) > 1:"
    },
    "beta1 and beta2 are swapped in the mean of the gradients: it has beta1.": {MEAN: MEAN.replace("beta1", "beta2")},
    "beta1 and beta2 are swapped in the mean of the squares: it has beta2.": {SQUARE: SQUARE.replace("beta2", "beta1")},
    "The gradient is multiplied by beta1, and the old mean by 1 - beta1; it must be the other way round.": {
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
    "The second average forgets at once: add beta2 times the old average.": {SQUARE: "square = gradient * gradient"},
    "The mean is not corrected for its start at 0: divide by 1 - beta1**step.": {
        CORRECTED_MEAN: "corrected_mean = mean"
    },
    "The mean of the squares is not corrected for its start at 0: divide by 1 - beta2**step.": {
        CORRECTED_SQUARE: "corrected_square = square"
    },
    "The averages are returned corrected; return them as they are, or the next step corrects them again.": {
        DOWN: "return weight - rate * direction, corrected_mean, corrected_square"
    },
    "The old averages are returned, so the next step forgets this gradient.": {
        MEAN: f"old = mean, square\n        {MEAN}",
        DOWN: "return weight - rate * direction, *old",
    },
    "Neither average is corrected for its start at 0, so the first steps are too large.": {
        CORRECTED_MEAN: "corrected_mean = mean",
        CORRECTED_SQUARE: "corrected_square = square",
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
        DIRECTION: DIRECTION.replace("F.sqrt(corrected_square)", "corrected_square")
    },
    "epsilon is inside the root; it is added after it.": {
        DIRECTION: "direction = corrected_mean / F.sqrt(corrected_square + self.epsilon)"
    },
    "epsilon is missing: a weight whose gradients were all 0 becomes NaN.": {
        DIRECTION: DIRECTION.replace(" + self.epsilon", "")
    },
    "The decay is inside the gradient, where it is divided by the root too; add it after the division.": {
        DIRECTION: f"{MATRIX}\n            corrected_mean += self.weight_decay * weight\n        {DIRECTION}",
        f"        {MATRIX}\n            {DECAY}\n": "",
    },
    "The decay is missing: add weight_decay times weight to the direction.": {
        f"        {MATRIX}\n            {DECAY}\n": ""
    },
    "The weights grow instead of decaying: the decay is added to the direction, which is subtracted.": {
        DECAY: DECAY.replace("+", "-")
    },
    "The decay is not multiplied by the rate: it is part of the direction.": {
        DECAY: "weight = (1 - self.weight_decay) * weight"
    },
    "The decay is applied twice: it is in the direction already.": {
        DECAY: f"{DECAY}\n            weight = (1 - rate * self.weight_decay) * weight"
    },
    "The step goes up the gradient; subtract it.": {DOWN: DOWN.replace(" - ", " + ")},
    "The rate is missing: multiply the direction by it.": {DOWN: DOWN.replace("rate * ", "")},
    "What is returned is the change; return the weight less the change.": {
        DOWN: "return rate * direction, mean, square"
    },
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
    "The mean of the batches' means is returned; divide the sum of all losses by the number of all labels.": {
        ADDED_UP: "n_batches += 1\n"
        "        total, count = total + losses.item() / max(1, valid.item()), count + valid.item()",
        "for input_ids": "n_batches = 0\n    for input_ids",
        LOSS: "loss = total / n_batches if count else math.nan",
    },
    "Only the last batch's loss is returned: add up all.": {
        ADDED_UP: "total, count = losses.item(), count + valid.item()",
    },
    "Only the last batch's labels are counted: add up all.": {
        ADDED_UP: "total, count = total + losses.item(), valid.item()",
    },
    "The sum of the losses is returned; divide by the number of labels.": {LOSS: "loss = total if count else math.nan"},
    "One batch without a valid label is refused, although another has some; refuse only if none has.": {
        ADDED_UP: 'if not valid.item():\n            raise FloatingPointError(f"step {state.step + 1}")\n'
        f"        {ADDED_UP}"
    },
    "The batches are gone through twice; they may come from a generator, which can be read once.": {
        "for input_ids": "n_batches = len([*batches])\n    for input_ids",
    },
    "A norm that is no number is not refused: raise FloatingPointError after update.": {
        f"    {REFUSED}\n        {ERROR}\n": ""
    },
    "Only NaN is refused; refuse infinity too: math.isfinite.": {REFUSED: "if math.isnan(norm):"},
    "NaN is looked for with ==, which NaN never is, not even to itself: math.isfinite.": {
        REFUSED: "if norm == math.nan or norm == math.inf:"
    },
    "The refused batches stay in the sums, so the next step learns them: let update forget them, with a count of "
    "NaN.": {SCALARS: f"if not math.isfinite(loss):\n        raise FloatingPointError(state.step + 1)\n    {SCALARS}"},
    "An infinite loss goes on to the weights: give update a count of NaN if the loss is not finite.": {
        SCALARS: SCALARS.replace("count if math.isfinite(loss) else math.nan", "count"),
        REFUSED: "if not math.isfinite(loss) or not math.isfinite(norm):",
    },
    "The error is a ValueError; it must be a FloatingPointError.": {
        ERROR: ERROR.replace("FloatingPointError", "ValueError")
    },
    "The error names the step before: state.step is the last step that was taken.": {
        ERROR: ERROR.replace("state.step + 1", "state.step")
    },
    "Without a valid label there is a division by 0; make the loss NaN, and refuse it.": {LOSS: "loss = total / count"},
    "The step is counted after update, which then gets 0 for the first: 1 - beta**0 is 0.": {
        SCALARS: SCALARS.replace("state.step + 1", "state.step")
    },
    "The step is counted before the loss is known to be a number; a refused step does not count.": {
        f"    {COUNTED}\n": "",
        SCALARS: f"{COUNTED}\n    {SCALARS.replace('state.step + 1', 'state.step')}",
        ERROR: ERROR.replace("state.step + 1", "state.step"),
    },
    "The step is not counted: state.step += 1.": {COUNTED: "pass"},
    "update gets the number of batches; it must be the number of labels.": {
        "for input_ids": "n_batches = 0\n    for input_ids",
        ADDED_UP: f"n_batches += 1\n        {ADDED_UP}",
        SCALARS: SCALARS.replace("scalar(count", "scalar(n_batches"),
    },
    "update is called for every batch; it comes once, after all.": {
        ADDED_UP: f"{ADDED_UP}\n        update(scalar(rate), scalar(state.step + 1), valid, state.weights, state.sums, "
        "state.means, state.squares)"
    },
    "means and squares are swapped in the call of update.": {
        UPDATE: UPDATE.replace("state.means, state.squares", "state.squares, state.means")
    },
    "The norm is a Tensor; .item() makes it a number.": {
        UPDATE: UPDATE.removesuffix(".item()"),
        REFUSED: "if not math.isfinite(norm.item()):",
    },
    "The rate is returned in the place of the norm.": {RESULT: "return loss, rate"},
}

ALTERNATIVES = {
    "the warm-up without its last step": {RISING: "if step < warmup_steps:"},
    "the squared cosine of half the angle": {FALL: "return peak * math.cos(math.pi * done / 2) ** 2"},
    "NumPy's cosine": {FALL: "import numpy as np\n\n    return float(peak * 0.5 * (1.0 + np.cos(np.pi * done)))"},
    "0 at the end, then the cosine": {
        DONE: "if step >= total_steps:\n        return 0.0\n"
        "    done = (step - warmup_steps) / (total_steps - warmup_steps)"
    },
    "the squares added in a loop": {
        NORM: "total = 0.0\n    for gradient in gradients.values():\n"
        "        total = total + F.sum(F.sum(gradient**2), axis=None).squeeze(0)\n    norm = F.sqrt(total)",
    },
    "a sum that begins with the first": {
        NORM: "first, *rest = [sum_of_squares(gradient) for gradient in gradients.values()]\n"
        "    norm = F.sqrt(sum(rest, first))",
    },
    "the smaller of 1 and a quotient": {FACTOR: "factor = F.min(max_norm / (norm + 1e-12), 1.0)"},
    "F.where for the factor": {FACTOR: "factor = F.where(norm > max_norm, max_norm / norm, 1.0)"},
    "the number of sizes": {MATRIX: "if len(weight.shape) == 2:"},
    "a decay of 0 for vectors": {
        f"        {MATRIX}\n            {DECAY}\n": "        decay = self.weight_decay if weight.rank > 1 else 0.0\n"
        "        direction = direction + decay * weight\n"
    },
    "the mean moved toward the gradient": {MEAN: "mean = mean + (1 - self.beta1) * (gradient - mean)"},
    "the square as a power": {SQUARE: SQUARE.replace("gradient * gradient", "gradient**2")},
    "the decay before the step": {DECAY: "weight = weight * (1 - rate * self.weight_decay)"},
    "the corrections put together, as PyTorch does": {
        f"        {CORRECTED_MEAN}\n": "",
        f"        {CORRECTED_SQUARE}\n": "        root = F.sqrt(square) / F.sqrt(1 - self.beta2**step)\n",
        DIRECTION: "direction = mean / (1 - self.beta1**step) / (root + self.epsilon)",
    },
    "count times the gradient first": {ADDED: "total[...] = gradients[name] * count + total"},
    "F.buffer_store": {ADDED: "F.buffer_store(total, total + count * gradients[name])"},
    "the sums written through the dictionary": {ADDED: "sums[name][...] = sums[name] + count * gradients[name]"},
    "NaN and infinity looked for": {REFUSED: "if math.isnan(norm) or math.isinf(norm):"},
    "the loss looked at as well": {REFUSED: "if not (math.isfinite(loss) and math.isfinite(norm)):"},
    "the batches in a list": {"for input_ids, labels in batches:": "for input_ids, labels in [*batches]:"},
    "the loss as a quotient at the end": {RESULT: "return total / count, norm"},
    "the arguments of update by name": {
        f"    {SCALARS}\n": "",
        UPDATE: "norm = update(\n        rate=scalar(rate),\n        step=scalar(state.step + 1),\n"
        "        count=scalar(count if math.isfinite(loss) else math.nan),\n        weights=state.weights,\n"
        "        sums=state.sums,\n        means=state.means,\n        squares=state.squares,\n    ).item()",
    },
}

#: What people bring along from PyTorch; the check shows the line to write instead.
HABITS = {
    "the cosine of torch": {FALL: "return peak * (1 + torch.cos(math.pi * done)) / 2"},
    "the norm as a method": {
        NORM: "norm = F.sqrt(sum(gradient.norm() ** 2 for gradient in gradients.values()))",
    },
    "clip_grad_norm_": {NORM: "norm = torch.nn.utils.clip_grad_norm_(gradients.values(), max_norm)"},
    "clamp with max": {FACTOR: "factor = F.clamp(max_norm / norm, max=1.0)"},
    "Python's min": {FACTOR: "factor = min(max_norm / norm, 1.0)"},
    "dim as a method": {MATRIX: "if weight.dim() > 1:"},
    "ndim": {MATRIX: "if weight.ndim >= 2:"},
    "mul_ and add_": {MEAN: "mean = mean.mul_(self.beta1).add_(gradient, alpha=1 - self.beta1)"},
    "lerp_": {MEAN: "mean = mean.lerp_(gradient, 1 - self.beta1)"},
    "addcmul_": {SQUARE: "square = square.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)"},
    "sqrt as a method": {DIRECTION: DIRECTION.replace("F.sqrt(corrected_square)", "corrected_square.sqrt()")},
    "math.sqrt": {DIRECTION: DIRECTION.replace("F.sqrt(corrected_square)", "math.sqrt(corrected_square)")},
    "weight.data": {DOWN: DOWN.replace("weight -", "weight.data -")},
    "add with alpha": {DOWN: DOWN.replace("weight - rate * direction", "weight.add(direction, alpha=-rate)")},
    "add_ to a sum": {ADDED: "total.add_(count * gradients[name])"},
    "copy_ to a sum": {ADDED: "total.copy_(total + count * gradients[name])"},
    "torch.isfinite": {REFUSED: "if not torch.isfinite(norm):"},
}
