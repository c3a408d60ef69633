"""Step 20, what people write instead: mistakes, each with its sentence, and other right answers."""

RISING = "if step <= warmup_steps:"
BEFORE_PEAK = "if step < warmup_steps:"  # as right as RISING, unless the cosine is wrong
RISE = "return peak * step / warmup_steps"
DONE = "progress = min(1.0, (step - warmup_steps) / (total_steps - warmup_steps))"
FALL = "return peak * (1 + math.cos(math.pi * progress)) / 2"
NORM = "norm = F.sqrt(sum(sum_of_squares(grad) for grad in grads.values()))"
FACTOR = "factor = max_norm / F.max(norm, max_norm)"
CLIPPED = "return {name: factor * grad for name, grad in grads.items()}, norm"
M = "m = self.beta1 * m + (1 - self.beta1) * grad"
V = "v = self.beta2 * v + (1 - self.beta2) * grad * grad"
M_HAT = "m_hat = m / (1 - self.beta1**step)"
V_HAT = "v_hat = v / (1 - self.beta2**step)"
DIRECTION = "direction = m_hat / (F.sqrt(v_hat) + self.eps)"
DECAY = "decay = self.weight_decay if weight.rank > 1 else 0.0"
DOWN = "return weight - lr * (direction + decay * weight), m, v"
UNDECAYED = "return weight - lr * direction, m, v"
ADDED = "sums[name][...] = sums[name] + count * grad"
ACCUMULATED = "loss_sum, count = accumulate_batches(state, batches, accumulate)"
MEAN = "loss = loss_sum / count if count else math.nan"
LOSS_CHECKED = 'check_finite(step, "loss", loss)'
UPDATE = "norm = update(scalar(step), scalar(lr), scalar(count), state).item()"
NORM_CHECKED = 'check_finite(step, "norm", norm)'
RETURNED = "return loss, norm"

MISTAKES = {
    "The warm-up counts from 0, so the first step has a rate of 0 and learns nothing.": {
        RISE: "return peak * (step - 1) / warmup_steps"
    },
    "The warm-up does not reach the peak: divide by warmup_steps, not by one more.": {
        RISE: "return peak * step / (warmup_steps + 1)"
    },
    "There is no warm-up: every early step has the peak.": {RISE: "return peak"},
    "The warm-up is missing: up to warmup_steps, return peak * step / warmup_steps.": {
        f"    {RISING}\n        {RISE}\n": ""
    },
    "The warm-up counts from 0; the first step is 1, so don't subtract 1.": {
        RISING: BEFORE_PEAK,
        RISE: "return peak * (step - 1) / warmup_steps",
    },
    "1 is added to the step; the first step is 1 already: peak * step / warmup_steps.": {
        RISING: BEFORE_PEAK,
        RISE: "return peak * (step + 1) / warmup_steps",
    },
    "The warm-up is nanoGPT's, which counts steps from 0; ours begin at 1: peak * step / warmup_steps.": {
        RISE: "return peak * (step + 1) / (warmup_steps + 1)"
    },
    "The cosine begins at step 0; it must begin after the warm-up: subtract warmup_steps from step.": {
        RISING: BEFORE_PEAK,
        DONE: "progress = min(1.0, step / total_steps)",
    },
    "The sign before the cosine is a minus, so the rate jumps to 0 at the peak; 1 + cosine falls from 2 to 0.": {
        RISING: BEFORE_PEAK,
        FALL: FALL.replace("1 + math", "1 - math"),
    },
    "The rate is twice the peak where the cosine begins: take half of 1 + cosine.": {
        RISING: BEFORE_PEAK,
        FALL: FALL.replace(" / 2", ""),
    },
    "pi is missing, so the rate stops at 77% of the peak: math.cos(math.pi * progress).": {
        FALL: FALL.replace("math.pi * ", "")
    },
    "The cosine begins at step 0; it must begin where the warm-up ends.": {
        DONE: "progress = min(1.0, step / total_steps)"
    },
    "The warm-up is subtracted twice, so the cosine begins too late: once from step, once from total_steps.": {
        DONE: "progress = (step - 2 * warmup_steps) / (total_steps - warmup_steps)\n"
        "    progress = max(0.0, min(1.0, progress))"
    },
    "The warm-up is subtracted twice from the cosine's length, so it ends too early: total_steps - warmup_steps.": {
        DONE: "progress = min(1.0, (step - warmup_steps) / (total_steps - 2 * warmup_steps))"
    },
    "The cosine ends too late: its length must be total_steps - warmup_steps.": {
        DONE: "progress = min(1.0, (step - warmup_steps) / total_steps)"
    },
    "After total_steps, the rate rises again with the cosine; cap the fraction of the way down at 1: min(1.0, …).": {
        DONE: "progress = (step - warmup_steps) / (total_steps - warmup_steps)"
    },
    "The rate falls in a straight line; it must fall along a cosine.": {FALL: "return peak * (1 - progress)"},
    "This is a whole wave, which rises again; half a wave is the cosine of pi times the fraction of the way down.": {
        FALL: FALL.replace("math.pi", "2 * math.pi")
    },
    "The rate jumps to 0 after the warm-up and rises: the sign before the cosine must be a plus.": {
        FALL: FALL.replace("1 + math", "1 - math")
    },
    "The rate falls to minus peak: 1 + cosine goes from 2 to 0, and half of it from 1 to 0.": {
        FALL: "return peak * math.cos(math.pi * progress)"
    },
    "The rate jumps to twice the peak: take half of 1 + cosine.": {FALL: FALL.replace(" / 2", "")},
    "Each gradient is clipped by its own norm, which changes the direction; use one factor for all.": {
        CLIPPED: "norms = {name: F.sqrt(sum_of_squares(grad)) for name, grad in grads.items()}\n"
        "    return {name: max_norm / F.max(norms[name], max_norm) * grads[name] for name in grads}, norm"
    },
    "Each number is clipped at max_norm, which changes the direction; multiply all by one factor.": {
        CLIPPED: "return {name: F.max(F.min(g, max_norm), -max_norm) for name, g in grads.items()}, norm"
    },
    "Short gradients are made longer: the factor must be at most 1.": {FACTOR: "factor = max_norm / norm"},
    "The factor is at least 1: divide by the larger of norm and max_norm.": {FACTOR: FACTOR.replace("F.max", "F.min")},
    "The factor is upside down: max_norm over the norm.": {FACTOR: "factor = F.max(norm, max_norm) / max_norm"},
    "max_norm is missing, so longer gradients get a norm of 1: the factor is max_norm over the norm, at most 1.": {
        FACTOR: FACTOR.replace("max_norm /", "1.0 /")
    },
    "The norms are added up; add up the squares, and take one root.": {
        NORM: "norm = sum(F.sqrt(sum_of_squares(grad)) for grad in grads.values())"
    },
    "The root is missing: this is the square of the norm.": {
        NORM: "norm = sum(sum_of_squares(grad) for grad in grads.values())"
    },
    "The norm is that of the first gradient alone; add up the squares of all.": {
        NORM: "norm = F.sqrt(sum_of_squares(next(iter(grads.values()))))"
    },
    "The squares are averaged; the norm is the root of their sum.": {
        NORM: "norm = F.sqrt(sum(sum_of_squares(g) for g in grads.values()) / len(grads))"
    },
    "The norm has the shape [1]; use sum_of_squares, or reshape([]).": {
        NORM: "norm = F.sqrt(sum(F.sum(F.sum(g * g, axis=-1), axis=None) for g in grads.values()))"
    },
    "A large table's squares are summed all at once, where float32 loses digits; sum rows first: sum_of_squares.": {
        NORM: "norm = F.sqrt(sum(F.sum(g * g, axis=None).reshape([]) for g in grads.values()))"
    },
    "The norm that is returned is the one after clipping; return the one before.": {
        CLIPPED: CLIPPED.replace(", norm", ", norm * factor")
    },
    "The caller's dictionary is changed; return a new one.": {
        CLIPPED: "for name in grads:\n        grads[name] *= factor\n    return grads, norm"
    },
    "The gradients are not clipped: multiply each by the factor.": {CLIPPED: "return grads, norm"},
    "Biases and gains decay too; only weights with two axes do.": {DECAY: DECAY.replace("> 1", "> 0")},
    "Only biases and gains decay; it must be the other weights.": {DECAY: DECAY.replace("> 1", "< 2")},
    "A weight whose size is 1 along an axis does not decay; count its axes, not its numbers.": {
        DECAY: DECAY.replace("> 1", "> 1 and min(map(int, weight.shape)) > 1")
    },
    "beta1 and beta2 are swapped in m: it has beta1.": {M: M.replace("beta1", "beta2")},
    "beta1 and beta2 are swapped in v: it has beta2.": {V: V.replace("beta2", "beta1")},
    "The gradient is multiplied by beta1, and the old m by 1 - beta1; it must be the other way around.": {
        M: "m = (1 - self.beta1) * m + self.beta1 * grad"
    },
    "The new gradient is added whole, which makes m too large: multiply it by 1 - beta1.": {
        M: "m = self.beta1 * m + grad"
    },
    "The gradient is not squared: v is the average of grad * grad.": {V: V.replace("grad * grad", "grad")},
    "m is squared; v is the average of the squared gradient.": {V: V.replace("grad * grad", "m * m")},
    "v forgets at once: add beta2 times the old v.": {V: "v = grad * grad"},
    "m is not corrected for its start at 0: divide by 1 - beta1**step.": {M_HAT: "m_hat = m"},
    "v is not corrected for its start at 0: divide by 1 - beta2**step.": {V_HAT: "v_hat = v"},
    "m and v are returned corrected; return them as they are, or the next step corrects them again.": {
        DOWN: DOWN.replace(", m, v", ", m_hat, v_hat")
    },
    "The old m and v are returned, so the next step forgets this gradient.": {
        M: f"old = m, v\n        {M}",
        DOWN: DOWN.replace(", m, v", ", *old"),
    },
    "Neither m nor v is corrected for its start at 0, so the first steps are too large.": {
        M_HAT: "m_hat = m",
        V_HAT: "v_hat = v",
    },
    "The corrections are swapped: m's has beta1, v's has beta2.": {
        M_HAT: M_HAT.replace("beta1", "beta2"),
        V_HAT: V_HAT.replace("beta2", "beta1"),
    },
    "m and v are corrected as in the first step; beta must be raised to the power of step.": {
        M_HAT: M_HAT.replace("**step", ""),
        V_HAT: V_HAT.replace("**step", ""),
    },
    "The corrections end after some steps; they must not, though 1 - beta**step comes close to 1.": {
        M_HAT: "late = step > 100.0\n        m_hat = m / F.where(late, 1.0, 1 - self.beta1**step)",
        V_HAT: "v_hat = v / F.where(late, 1.0, 1 - self.beta2**step)",
    },
    "The corrections stop changing after some steps; they must change with every step.": {
        M_HAT: "step = F.min(step, 100.0)\n        " + M_HAT,
    },
    "beta is multiplied by step; raise it to that power: **.": {
        M_HAT: M_HAT.replace("**step", " * step"),
        V_HAT: V_HAT.replace("**step", " * step"),
    },
    "The correction counts steps from 0; the first is step 1 already.": {
        M_HAT: M_HAT.replace("**step", " ** (step + 1)"),
        V_HAT: V_HAT.replace("**step", " ** (step + 1)"),
    },
    **{
        f"{average}'s correction counts steps from 0; the first is step 1 already.": {
            code: code.replace("**step", " ** (step + 1)")
        }
        for average, code in (("m", M_HAT), ("v", V_HAT))
    },
    "The root is missing: m_hat is divided by the root of v_hat.": {
        DIRECTION: DIRECTION.replace("F.sqrt(v_hat)", "v_hat")
    },
    "eps is inside the root; add it after the root.": {
        DIRECTION: DIRECTION.replace("(F.sqrt(v_hat) + self.eps)", "F.sqrt(v_hat + self.eps)")
    },
    "eps is added to the quotient; it belongs to the root: (F.sqrt(v_hat) + self.eps).": {
        DIRECTION: "direction = m_hat / F.sqrt(v_hat) + self.eps"
    },
    "eps is added before v is corrected; add it to the root of v_hat.": {
        DIRECTION: "direction = m_hat * F.sqrt(1 - self.beta2**step) / (F.sqrt(v) + self.eps)"
    },
    "eps is missing: a weight whose gradients were all 0 becomes NaN.": {
        DIRECTION: DIRECTION.replace("(F.sqrt(v_hat) + self.eps)", "F.sqrt(v_hat)")
    },
    "The decay is inside the gradient, where it is divided by the root too; add it to the direction.": {
        M: f"if weight.rank > 1:\n            grad = grad + self.weight_decay * weight\n        {M}",
        DOWN: UNDECAYED,
    },
    "The decay is in the gradient as well as in the direction; it belongs in the direction alone.": {
        M: f"grad = grad + decay * weight\n        {M}"
    },
    "The decay is missing: add weight_decay * weight to the direction of a matrix.": {DOWN: UNDECAYED},
    "The weights grow instead of decaying: add the decay to the direction, which is subtracted.": {
        DOWN: DOWN.replace("+ decay", "- decay")
    },
    "The decay is not multiplied by lr.": {DOWN: "return weight - lr * direction - decay * weight, m, v"},
    "The decay shrinks the step as well; it must be a fraction of the old weight alone.": {
        DOWN: "weight = weight - lr * direction\n        return weight - lr * decay * weight, m, v"
    },
    "The decay is applied twice.": {DOWN: DOWN.replace("decay * weight", "2 * decay * weight")},
    "The step goes up the gradient; subtract it.": {DOWN: DOWN.replace(" - ", " + ")},
    "lr is missing: multiply the direction by it.": {DOWN: DOWN.replace("lr * ", "")},
    "The change is returned; return the weight minus the change.": {DOWN: DOWN.replace("weight - ", "")},
    "The mean gradient is added, not the sum: multiply by count, or a small batch counts as much as a large one.": {
        ADDED: ADDED.replace("count * ", "")
    },
    "The gradient is divided by count; multiply it by count, which turns the mean into a sum.": {
        ADDED: ADDED.replace("count * grad", "grad / count")
    },
    "The sums of other batches are overwritten: add to sums[name].": {ADDED: ADDED.replace("= sums[name] + ", "= ")},
    "The sum is multiplied by count, too; multiply only the new gradient.": {
        ADDED: "sums[name][...] = (sums[name] + grad) * count"
    },
    "`+=` binds the name to a new tensor, and the sum stays as it was: write into it with [...].": {
        ADDED: "total = sums[name]\n        total += count * grad"
    },
    "The dictionary gets another tensor; a compiled graph needs the one it was given: write sums[name][...] = ….": {
        ADDED: "sums[name] += count * grad"
    },
    "The loss is the sum of all losses: divide it by count.": {MEAN: "loss = loss_sum"},
    "Without a valid label, 0 / 0 raises ZeroDivisionError; make the loss math.nan then.": {
        MEAN: "loss = loss_sum / count"
    },
    "Without a valid label, the loss is 0 here, and the step goes on; make it math.nan then.": {
        MEAN: "loss = loss_sum / max(count, 1)"
    },
    "Nothing checks the loss, so a NaN reaches the weights: call check_finite.": {f"    {LOSS_CHECKED}\n": ""},
    "The loss is checked after the update, when a NaN is in the weights; check it before.": {
        f"{LOSS_CHECKED}\n    {UPDATE}": f"{UPDATE}\n    {LOSS_CHECKED}"
    },
    "Nothing checks the norm: call check_finite.": {f"    {NORM_CHECKED}\n": ""},
    "update gets the step as lr, and lr as the step: the step comes first.": {
        UPDATE: UPDATE.replace("scalar(step), scalar(lr)", "scalar(lr), scalar(step)")
    },
    "update divides the sums by count; give it the number of losses, not 1.": {
        UPDATE: UPDATE.replace("scalar(count)", "scalar(1)")
    },
    "The weights are updated after each batch; accumulate the gradients of all batches first.": {
        ACCUMULATED: "for batch in batches:\n        loss_sum, count = accumulate_batches(state, [batch], accumulate)\n"
        f"        {UPDATE}",
        f"    {UPDATE}\n    {NORM_CHECKED}": f"    {NORM_CHECKED}",
    },
    "The norm is returned as a tensor; item() makes it a number.": {
        UPDATE: UPDATE.removesuffix(".item()"),
        NORM_CHECKED: 'check_finite(step, "norm", norm.item())',
    },
    "The norm comes first; the loss must.": {RETURNED: "return norm, loss"},
    "update gets plain numbers; it takes tensors, scalar(step), scalar(lr) and scalar(count).": {
        UPDATE: "norm = update(step, lr, count, state).item()"
    },
    "The norm that update returns is a tensor; .item() makes a number of it.": {UPDATE: UPDATE.removesuffix(".item()")},
    "update gets a plain number; it takes tensors, as for the step: scalar(lr) and scalar(count).": {
        UPDATE: UPDATE.replace("scalar(lr)", "lr")
    },
    "beta1 is multiplied by step; raise it to that power: **.": {M_HAT: M_HAT.replace("**step", " * step")},
    "The corrections count steps from 0, so the first divides by 0; the first step is 1: beta1**step.": {
        M_HAT: M_HAT.replace("**step", " ** (step - 1)"),
        V_HAT: V_HAT.replace("**step", " ** (step - 1)"),
    },
    "m's correction counts steps from 0, so the first divides by 0; the first step is 1: beta1**step.": {
        M_HAT: M_HAT.replace("**step", " ** (step - 1)")
    },
    "v's correction counts steps from 0, so the first divides by 0; the first step is 1: beta2**step.": {
        V_HAT: V_HAT.replace("**step", " ** (step - 1)")
    },
    "The loss is the sum of all losses, and must be their mean: loss_sum / count.": {
        MEAN: "loss = loss_sum if count else math.nan"
    },
}

ALTERNATIVES = {
    "the warm-up without its last step": {RISING: BEFORE_PEAK},
    "the squared cosine of half the angle": {FALL: "return peak * math.cos(math.pi * progress / 2) ** 2"},
    "NumPy's cosine": {FALL: "import numpy as np\n\n    return float(peak * 0.5 * (1.0 + np.cos(np.pi * progress)))"},
    "0 at the end, then the cosine": {
        DONE: "if step >= total_steps:\n        return 0.0\n"
        "    progress = (step - warmup_steps) / (total_steps - warmup_steps)"
    },
    "the squares added in a loop": {
        NORM: "total = 0.0\n    for grad in grads.values():\n"
        "        total = total + F.sum(F.sum(grad**2), axis=None).squeeze(0)\n    norm = F.sqrt(total)",
    },
    "a sum that begins with the first": {
        NORM: "first, *rest = [sum_of_squares(grad) for grad in grads.values()]\n    norm = F.sqrt(sum(rest, first))",
    },
    "the smaller of 1 and a quotient": {FACTOR: "factor = F.min(max_norm / (norm + 1e-12), 1.0)"},
    "F.where for the factor": {FACTOR: "factor = F.where(norm > max_norm, max_norm / norm, 1.0)"},
    "the number of sizes": {DECAY: DECAY.replace("weight.rank > 1", "len(weight.shape) == 2")},
    "a direction that has the decay, if it is a matrix's": {
        DOWN: "if weight.rank > 1:\n            direction = direction + self.weight_decay * weight\n"
        f"        {UNDECAYED}"
    },
    "the decay first, as PyTorch does": {
        M: f"if weight.rank > 1:\n            weight = weight - lr * self.weight_decay * weight\n        {M}",
        DOWN: UNDECAYED,
    },
    "m moved toward the gradient": {M: "m = m + (1 - self.beta1) * (grad - m)"},
    "the square as a power": {V: V.replace("grad * grad", "grad**2")},
    "the corrections put together, as PyTorch does": {
        f"        {M_HAT}\n": "",
        f"        {V_HAT}\n": "        root = F.sqrt(v) / F.sqrt(1 - self.beta2**step)\n",
        DIRECTION: "direction = m / (1 - self.beta1**step) / (root + self.eps)",
    },
    "the gradient times count first": {ADDED: "sums[name][...] = grad * count + sums[name]"},
    "F.buffer_store": {ADDED: "F.buffer_store(sums[name], sums[name] + count * grad)"},
    "the names of the sums": {
        f"for name, grad in grads.items():\n        {ADDED}": "for name, total in sums.items():\n"
        "        total[...] = total + count * grads[name]"
    },
    "no loss by float": {MEAN: 'loss = loss_sum / count if count > 0 else float("nan")'},
    "the loss checked with isfinite": {
        LOSS_CHECKED: "if not math.isfinite(loss):\n"
        '        raise FloatingPointError(f"the loss of step {step} is {loss}")'
    },
    "the batches counted here": {
        ACCUMULATED: "from solutions.training import zero_sums\n\n    zero_sums(state.sums)\n    pairs = []\n"
        "    for input_ids, labels in batches:\n"
        "        pair = accumulate(input_ids, labels, state.weights, state.sums)\n"
        "        pairs.append([each.item() for each in pair])\n"
        "    loss_sum, count = map(sum, zip(*pairs, strict=True))"
    },
    "the numbers made into tensors first": {
        UPDATE: "numbers = map(scalar, (step, lr, count))\n    norm = update(*numbers, state).item()"
    },
}

#: What people bring along from PyTorch; the check shows the line to write instead.
HABITS = {
    "the cosine of torch": {FALL: "return peak * (1 + torch.cos(math.pi * progress)) / 2"},
    "the norm as a method": {
        NORM: "norm = F.sqrt(sum(grad.norm() ** 2 for grad in grads.values()))",
    },
    "clip_grad_norm_": {NORM: "norm = torch.nn.utils.clip_grad_norm_(grads.values(), max_norm)"},
    "clamp with max": {FACTOR: "factor = F.clamp(max_norm / norm, max=1.0)"},
    "Python's min": {FACTOR: "factor = min(max_norm / norm, 1.0)"},
    "dim as a method": {DECAY: DECAY.replace("weight.rank", "weight.dim()")},
    "ndim": {DECAY: DECAY.replace("weight.rank > 1", "weight.ndim >= 2")},
    "mul_ and add_": {M: "m = m.mul_(self.beta1).add_(grad, alpha=1 - self.beta1)"},
    "lerp_": {M: "m = m.lerp_(grad, 1 - self.beta1)"},
    "addcmul_": {V: "v = v.mul_(self.beta2).addcmul_(grad, grad, value=1 - self.beta2)"},
    "sqrt as a method": {DIRECTION: DIRECTION.replace("F.sqrt(v_hat)", "v_hat.sqrt()")},
    "math.sqrt": {DIRECTION: DIRECTION.replace("F.sqrt(v_hat)", "math.sqrt(v_hat)")},
    "weight.data": {DOWN: DOWN.replace("weight -", "weight.data -")},
    "add with alpha": {
        DOWN: DOWN.replace(
            "weight - lr * (direction + decay * weight)", "weight.add(direction + decay * weight, alpha=-lr)"
        )
    },
    "add_ to a sum": {ADDED: "sums[name].add_(count * grad)"},
    "copy_ to a sum": {ADDED: "sums[name].copy_(sums[name] + count * grad)"},
}
