"""Step 16, what people write instead: mistakes, each with its sentence, and other right answers."""

SHIFTED = "shifted = logits - F.max(logits, axis=-1)"
LOG = "return shifted - F.log(F.sum(F.exp(shifted), axis=-1))"
INDICES = "indices = F.where(is_valid, targets, 0).unsqueeze(-1)"
PICKED = "target_log_probs = F.gather_nd(log_softmax(logits), indices, batch_dims=2)"
LOSSES = "return F.where(is_valid, -target_log_probs, 0.0)"
TOTAL = "sum_all(token_losses(logits, targets))"
MEAN = f"return {TOTAL} / count_valid(targets)"
ONE_HOT = "one_hot = (targets == token_ids).cast(logits.dtype)"
GRADIENT = "grad = (F.softmax(logits, axis=-1) - one_hot) / count_valid(targets)"
ZEROED = "return F.where(targets != IGNORE_INDEX, grad, 0.0)"
EXP = "return math.exp(loss)"
BITS = "return loss / math.log(2) * n_tokens / n_bytes"

MISTAKES = {
    "Nothing is subtracted before the exponential, which overflows: subtract the largest logit of each row.": {
        SHIFTED: "shifted = logits"
    },
    "The logits are clipped, so two large ones count as equally likely; subtract each row's largest instead.": {
        SHIFTED: "shifted = F.clip(logits, -80.0, 80.0)"
    },
    "The batch's largest logit is subtracted; subtract each row's own, or exp turns the other rows into zeros.": {
        SHIFTED: "shifted = logits - F.max(logits, axis=None)"
    },
    "The smallest logit of each row is subtracted, so the exponential overflows; subtract the largest.": {
        SHIFTED: "shifted = logits - logits.min(axis=-1)"
    },
    "The largest logit is subtracted in the sum only; both terms need the shifted logits.": {
        LOG: "return logits - F.log(F.sum(F.exp(shifted), axis=-1))"
    },
    "These are probabilities; return their logarithms.": {LOG: "return F.softmax(shifted)"},
    "The logarithm is taken of a softmax, and log 0 is minus infinity; subtract the log of the sum instead.": {
        LOG: "return F.log(F.softmax(shifted))"
    },
    "The softmax is applied twice; pass the logits in as they are.": {LOG: "return F.logsoftmax(F.softmax(logits))"},
    "The logarithm is to base 2, which counts bits; the loss is in nats, with the natural logarithm.": {
        LOG: "return (shifted - F.log(F.sum(F.exp(shifted), axis=-1))) / math.log(2)"
    },
    "The exponentials are averaged; add them up: F.sum, not F.mean.": {
        LOG: "return shifted - F.log(F.mean(F.exp(shifted), axis=-1))"
    },
    "The sum runs over the positions; it must run over the vocabulary, the last axis.": {
        LOG: "return shifted - F.log(F.sum(F.exp(shifted), axis=-2))"
    },
    "The logarithm of the sum is missing: the probabilities do not add up to 1.": {LOG: "return shifted"},
    "The sign is wrong: the loss of a token is minus the logarithm of its probability.": {
        LOSSES: "return F.where(is_valid, target_log_probs, 0.0)"
    },
    "A position with target -100 costs something; it must cost 0: F.where.": {LOSSES: "return -target_log_probs"},
    "-100 is used as an index, and MAX does not check indices; replace it with 0 before you pick.": {
        INDICES: "indices = targets.unsqueeze(-1)"
    },
    "The logits are picked, not the log-probabilities: log_softmax first.": {
        PICKED: "target_log_probs = F.gather_nd(logits, indices, batch_dims=2)"
    },
    "The loss is made of probabilities, not of their logarithms.": {
        PICKED: "target_log_probs = F.gather_nd(F.softmax(logits), indices, batch_dims=2)"
    },
    "The largest log-probability is taken, whatever the target is; pick that of the target.": {
        PICKED: "target_log_probs = log_softmax(logits).max(axis=-1).squeeze(-1)"
    },
    "The targets are shifted again; shift_labels has already done that.": {
        INDICES: "is_valid, targets = shift_labels(targets) != IGNORE_INDEX, shift_labels(targets)\n    " + INDICES
    },
    "The losses are added up, not averaged: divide by the number of valid targets.": {MEAN: f"return {TOTAL}"},
    "The mean is over all positions, even ignored ones: divide by the number of valid targets.": {
        MEAN: f"return {TOTAL} / targets.num_elements()"
    },
    "The losses are divided by the number of rows; divide by the number of valid targets.": {
        MEAN: f"return {TOTAL} / int(targets.shape[0])"
    },
    "The mean of the rows' means is taken; a row with few valid targets then counts as much as a full one.": {
        MEAN: "rows = F.sum(token_losses(logits, targets)) / F.sum((targets != IGNORE_INDEX).cast(DType.float32))\n"
        "    return F.mean(rows, axis=None).reshape([])"
    },
    "token_losses gets the labels; give it the targets, which are shifted.": {
        TOTAL: TOTAL.replace("targets)", "labels)")
    },
    "The labels are counted, not the targets: shifting leaves one per row out.": {
        MEAN: MEAN.replace("valid(targets)", "valid(labels)")
    },
    "The loss has the shape [1]; sum_all, or reshape([]), makes it one number.": {
        TOTAL: "F.sum(token_losses(logits, targets), axis=None)"
    },
    "Only the last axis is summed, which gives one loss per row; sum_all sums over all.": {
        TOTAL: "F.sum(token_losses(logits, targets))"
    },
    "The logits and targets are cut to shift them again; shift_labels has already done that.": {
        TOTAL: "sum_all(token_losses(logits[:, :-1], targets[:, 1:]))"
    },
    "The loss is in bits; leave it in nats.": {MEAN: f"{MEAN} / math.log(2)"},
    "The loss is negative: token_losses has the minus already.": {TOTAL: f"-{TOTAL}"},
    "The loss of nothing is 0, as if all guesses were perfect; a mean over nothing is NaN, so leave 0 / 0.": {
        MEAN: f"return {TOTAL} / F.max(count_valid(targets), 1.0)"
    },
    "This is the perplexity; the loss is the mean itself.": {MEAN: f"return F.exp({TOTAL} / count_valid(targets))"},
    "The gradient is that of the sum, but the loss is a mean: divide by the number of valid targets.": {
        GRADIENT: "grad = F.softmax(logits) - one_hot"
    },
    "The gradient is divided by the number of all positions; divide by the number of valid targets.": {
        GRADIENT: GRADIENT.replace("count_valid(targets)", "targets.num_elements()")
    },
    "The gradient is divided by the number of labels, not of targets: shifting leaves one per row out.": {
        GRADIENT: GRADIENT.replace("count_valid(targets)", "count_valid(labels)")
    },
    "The one-hot is at the position's own label; it must be at the target, the label after it.": {
        ONE_HOT: "one_hot = (labels.unsqueeze(-1) == token_ids).cast(logits.dtype)"
    },
    "Where nothing is predicted, the gradient is the probabilities; it must be 0: F.where.": {ZEROED: "return grad"},
    "The sign is wrong: it is probabilities minus one-hot, so a step against it raises the target's logit.": {
        GRADIENT: "grad = (one_hot - F.softmax(logits)) / count_valid(targets)"
    },
    "The one-hot is missing: 1 is subtracted from the probability of each target.": {
        GRADIENT: "grad = F.softmax(logits) / count_valid(targets)"
    },
    "The softmax is missing from the gradient: the other tokens' logits affect the loss, too.": {
        GRADIENT: "grad = -one_hot / count_valid(targets)"
    },
    "The one-hot is subtracted from log-probabilities; subtract it from probabilities: F.exp.": {
        GRADIENT: "grad = (log_softmax(logits) - one_hot) / count_valid(targets)"
    },
    "The one-hot is subtracted from the logits; subtract it from probabilities.": {
        GRADIENT: "grad = (logits - one_hot) / count_valid(targets)"
    },
    "The gradient goes through a softmax twice: F.exp of the log-softmax is the softmax.": {
        GRADIENT: "grad = (F.softmax(F.softmax(logits)) - one_hot) / count_valid(targets)"
    },
    "The gradient is that of clipped logits, where two large ones count as equally likely: use F.softmax.": {
        GRADIENT: "powers = F.exp(F.clip(logits, -80.0, 80.0))\n"
        "    grad = (powers / F.sum(powers, axis=-1) - one_hot) / count_valid(targets)"
    },
    "Without a valid label, the gradient is NaN: infinity times 0. F.where takes the 0 instead.": {
        ZEROED: "return grad * (targets != IGNORE_INDEX).cast(logits.dtype)"
    },
    "The gradient is that of a loss in bits; leave it in nats.": {
        GRADIENT: GRADIENT + " / math.log(2)",
    },
    "2 is raised to the loss; a loss in nats needs e: math.exp.": {EXP: "return 2**loss"},
    "np.exp returns inf if the loss is too large; math.exp raises OverflowError, as it should.": {
        EXP: "import numpy as np\n\n    return float(np.exp(loss))"
    },
    "The perplexity is below 1: raise e to the loss, not to minus the loss.": {EXP: "return math.exp(-loss)"},
    "The logarithm of the loss is taken; the perplexity is the exponential, which undoes the logarithm.": {
        EXP: "return math.log(loss) if loss else 0.0"
    },
    "The loss is taken for bits; divide a loss in nats by ln 2.": {BITS: "return loss * n_tokens / n_bytes"},
    "The logarithm of the loss is taken; the loss is one already, in nats: divide it by ln 2.": {
        BITS: "return math.log2(loss) * n_tokens / n_bytes"
    },
    "The bits are multiplied by the bytes; divide by them: a / b * c is a / b, times c.": {
        BITS: "return loss * n_tokens / math.log(2) * n_bytes"
    },
    "The nats are multiplied by ln 2; divide by it, since a nat is more than a bit.": {
        BITS: "return loss * n_tokens * math.log(2) / n_bytes"
    },
    "Bytes and tokens are swapped: the loss times the tokens, over the bytes.": {
        BITS: "return loss * n_bytes / math.log(2) / n_tokens"
    },
    "These are bits per token; divide the bits of all tokens by the bytes.": {BITS: "return loss / math.log(2)"},
    "The loss is divided by the bytes, but it is a mean: multiply it by the tokens first.": {
        BITS: "return loss / math.log(2) / n_bytes"
    },
    "gather_nd picks whole rows of the batch; batch_dims=2 picks one number for each token.": {
        PICKED: PICKED.replace(", batch_dims=2", "")
    },
    "F.mean takes the mean over one axis, ignored labels included; divide sum_all(…) by count_valid(targets).": {
        MEAN: "return F.mean(token_losses(logits, targets))"
    },
    "The sum is subtracted as it is; subtract its logarithm: F.log.": {
        LOG: "return shifted - F.sum(F.exp(shifted), axis=-1)"
    },
    "The logarithm of the sum is added; subtract it.": {LOG: "return shifted + F.log(F.sum(F.exp(shifted), axis=-1))"},
    "The signs are swapped: subtract the logarithm of the sum from the shifted logits.": {
        LOG: "return F.log(F.sum(F.exp(shifted), axis=-1)) - shifted"
    },
    "The losses are divided by an integer, as a size is; divide by the number of valid targets: "
    "count_valid(targets).": {MEAN: f"return {TOTAL} / (targets.shape[0] * targets.shape[1])"},
    "The gradient is divided by an integer, as a size is; divide by the number of valid targets: "
    "count_valid(targets).": {
        GRADIENT: GRADIENT.replace("count_valid(targets)", "(targets.shape[0] * targets.shape[1])")
    },
}

ALTERNATIVES = {
    "MAX's own log-softmax": {SHIFTED: "return F.logsoftmax(logits)", f"    {LOG}\n": ""},
    "the log of the sum with the largest logit added back": {
        SHIFTED: "largest = logits.max(axis=-1)",
        LOG: "return logits - (largest + F.log(F.sum(F.exp(logits - largest), axis=-1)))",
    },
    "the targets picked by a one-hot": {
        INDICES: "one_hot = Tensor.arange(int(logits.shape[-1]), dtype=targets.dtype, device=targets.device)",
        PICKED: "one_hot = (targets.unsqueeze(-1) == one_hot).cast(logits.dtype)",
        LOSSES: "return -F.sum(one_hot * log_softmax(logits), axis=-1).squeeze(-1)",
    },
    "another valid index than 0": {INDICES: INDICES.replace(", 0)", ", 1)")},
    "the larger of target and 0": {INDICES: "indices = F.max(targets, 0).unsqueeze(-1)"},
    "the losses times what is valid": {LOSSES: "return -target_log_probs * is_valid.cast(logits.dtype)"},
    "the positions in one row": {
        PICKED: "flat = log_softmax(logits).reshape([-1, int(logits.shape[-1])])\n"
        "    target_log_probs = F.gather_nd(flat, indices.reshape([-1, 1]), batch_dims=1).reshape(targets.shape)"
    },
    "the negative sum of what is picked": {
        PICKED: "target_log_probs = -F.gather_nd(log_softmax(logits), indices, batch_dims=2)",
        LOSSES: "return F.where(targets == IGNORE_INDEX, 0.0, target_log_probs)",
    },
    "valid is 0 or more": {MEAN: f"return {TOTAL} / sum_all((targets >= 0).cast(DType.float32))"},
    "the sum of sums": {TOTAL: "F.sum(F.sum(token_losses(logits, targets))[:, 0]).squeeze(0)"},
    "squeeze for the loss": {TOTAL: "F.sum(token_losses(logits, targets), axis=None).squeeze(0)"},
    "the loss in one expression": {
        MEAN: "return (token_losses(logits, targets).reshape([-1]).sum() / count_valid(targets)).reshape([])",
    },
    "the last position left out": {TOTAL: "sum_all(token_losses(logits[:, :-1], labels[:, 1:]))"},
    "exp of log_softmax": {GRADIENT: "grad = (F.exp(log_softmax(logits)) - one_hot) / count_valid(targets)"},
    "the zeros before the division": {
        GRADIENT: "grad = F.where(targets != IGNORE_INDEX, F.softmax(logits) - one_hot, 0.0)",
        ZEROED: "return grad / F.max(count_valid(targets), 1.0)",
    },
    "1 subtracted where the target is": {
        ONE_HOT: "probabilities = F.exp(log_softmax(logits))",
        GRADIENT: "grad = F.where(targets == token_ids, probabilities - 1, probabilities) / count_valid(targets)",
    },
    "a power of e": {EXP: "return math.e**loss"},
    "the loss of all tokens first": {BITS: "return loss * n_tokens / math.log(2) / n_bytes"},
    "log2 of e": {BITS: "return loss * math.log2(math.e) * (n_tokens / n_bytes)"},
}

#: What people bring along from PyTorch or NumPy; the check shows the line to write instead.
HABITS = {
    "F.log_softmax": {SHIFTED: "return F.log_softmax(logits, dim=-1)", f"    {LOG}\n": ""},
    "torch.log_softmax": {SHIFTED: "return torch.log_softmax(logits, dim=-1)", f"    {LOG}\n": ""},
    "log_softmax as a method": {SHIFTED: "return logits.log_softmax(-1)", f"    {LOG}\n": ""},
    "torch.logsumexp": {
        SHIFTED: "return logits - torch.logsumexp(logits, dim=-1, keepdim=True)",
        f"    {LOG}\n": "",
    },
    "logsumexp as a method": {SHIFTED: "return logits - logits.logsumexp(-1, keepdim=True)", f"    {LOG}\n": ""},
    "max with values": {SHIFTED: "shifted = logits - logits.max(dim=-1, keepdim=True).values"},
    "max with indices": {SHIFTED: "shifted = logits - logits.max(dim=-1, keepdim=True)[0]"},
    "amax": {SHIFTED: "shifted = logits - logits.amax(dim=-1, keepdim=True)"},
    "exp, sum and log as methods": {LOG: "return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()"},
    "gather as a method": {PICKED: "target_log_probs = log_softmax(logits).gather(-1, indices).squeeze(-1)"},
    "torch.gather": {PICKED: "target_log_probs = torch.gather(log_softmax(logits), -1, indices).squeeze(-1)"},
    "clamp with min": {INDICES: "indices = targets.clamp(min=0).unsqueeze(-1)"},
    "masked_fill": {INDICES: "indices = targets.masked_fill(targets == IGNORE_INDEX, 0).unsqueeze(-1)"},
    "F.cross_entropy for each token": {
        INDICES: 'return F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")',
        f"    {PICKED}\n": "",
        f"    {LOSSES}\n": "",
    },
    "gather_nd without an axis more": {INDICES: INDICES.replace(".unsqueeze(-1)", "")},
    "F.nll_loss": {
        PICKED: 'return F.nll_loss(log_softmax(logits).transpose(1, 2), targets, reduction="none")',
        f"    {LOSSES}\n": "",
    },
    "nn.functional.pad": {
        MEAN: f"targets = nn.functional.pad(labels, (0, 1), value=IGNORE_INDEX)[..., 1:]\n    {MEAN}"
    },
    "PyTorch's order of padding": {MEAN: f"targets = F.pad(labels, (0, 1), value=IGNORE_INDEX)[..., 1:]\n    {MEAN}"},
    "torch.cat with torch.full_like": {
        MEAN: f"targets = torch.cat([labels[..., 1:], torch.full_like(labels[:, :1], IGNORE_INDEX)], dim=1)\n    {MEAN}"
    },
    "cat with new_full": {
        MEAN: "targets = F.cat([labels[:, 1:], labels.new_full((labels.shape[0], 1), IGNORE_INDEX)], dim=1)\n"
        f"    {MEAN}"
    },
    "a sum of booleans": {MEAN: f"count = (targets != IGNORE_INDEX).sum()\n    return {TOTAL} / count"},
    "a sum of booleans, as float": {
        MEAN: f"count = (targets != IGNORE_INDEX).sum().float()\n    return {TOTAL} / count"
    },
    "a sum of what F.where makes of two numbers": {
        MEAN: "count = F.sum(F.where(targets != IGNORE_INDEX, 1.0, 0.0), axis=None).reshape([])\n"
        f"    return {TOTAL} / count"
    },
    "torch.sum of booleans": {MEAN: f"count = torch.sum(targets != IGNORE_INDEX)\n    return {TOTAL} / count"},
    "F.cross_entropy with view and ignore_index": {
        MEAN: "return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=IGNORE_INDEX)",
    },
    "F.cross_entropy of what is cut and made contiguous": {
        MEAN: "shift_logits = logits[..., :-1, :].contiguous()\n    cut_labels = labels[..., 1:].contiguous()\n"
        "    return F.cross_entropy(shift_logits.view(-1, 37), cut_labels.view(-1))"
    },
    "nn.functional.cross_entropy": {
        MEAN: "return nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))",
    },
    "a mask as an index": {
        MEAN: "losses = token_losses(logits, targets)\n    return losses[targets != IGNORE_INDEX].mean()"
    },
    "item": {MEAN: f"return ({TOTAL} / count_valid(targets)).item()"},
    "float": {MEAN: f"return float({TOTAL} / count_valid(targets))"},
    "F.one_hot": {ONE_HOT: "one_hot = F.one_hot(targets.squeeze(-1), logits.shape[-1])"},
    "a float as a method": {ONE_HOT: "one_hot = (targets == token_ids).float()"},
    "exp as a method": {GRADIENT: "grad = (log_softmax(logits).exp() - one_hot) / count_valid(targets)"},
    "softmax with a dim": {GRADIENT: "grad = (F.softmax(logits, dim=-1) - one_hot) / count_valid(targets)"},
    "zeros set in place": {
        ZEROED: "grad[targets == IGNORE_INDEX] = 0.0\n    return grad",
    },
    "masked_fill of the gradient": {ZEROED: "return grad.masked_fill(targets == IGNORE_INDEX, 0.0)"},
    "torch.exp": {EXP: "return torch.exp(loss)"},
    "np.exp": {EXP: "return np.exp(loss)"},
    "exp of a number as a method": {EXP: "return loss.exp()"},
    "np.log": {BITS: "return loss * n_tokens / np.log(2) / n_bytes"},
}
