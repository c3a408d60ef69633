"""Step 19, what people write instead: mistakes, each with its sentence, and other right answers."""

MLP_PROJ = "grad_activated, c_proj_grads = projection_backward(mlp.c_proj, grad, activated)"
MLP_GELU = "grad_wide = gelu_backward(grad_activated, wide)"
MLP_FC = "grad_hidden_states, c_fc_grads = projection_backward(mlp.c_fc, grad_wide, hidden_states)"
MLP_RETURN = 'return grad_hidden_states, with_prefix({"c_fc": c_fc_grads, "c_proj": c_proj_grads})'
SUBLAYER = "grad_normed, sublayer_grads = sublayer_backward(sublayer, grad, normed)"
NORM = "grad_branch, norm_grads = norm_backward(norm, grad_normed, x)"
RESIDUAL = "return grad + grad_branch, norm_grads, sublayer_grads"
SECOND = "grad, ln_2_grads, mlp_grads = pre_norm_residual_backward(block.ln_2, block.mlp, mlp_backward, grad, middle)"
FIRST = (
    "grad, ln_1_grads, attn_grads = pre_norm_residual_backward(\n"
    "        block.ln_1, block.attn, attention_backward, grad, hidden_states\n"
    "    )"
)
NAMES = 'with_prefix({"ln_1": ln_1_grads, "attn": attn_grads, "ln_2": ln_2_grads, "mlp": mlp_grads})'
TABLE = "grad_final, grad_wte, _ = linear_backward(grad, final, transformer.wte.weight)"
FINAL = "grad_hidden_states, ln_f_grads = norm_backward(transformer.ln_f, grad_final, hidden_states)"
HEAD = 'return grad_hidden_states, {"wte.weight": grad_wte} | with_prefix({"ln_f": ln_f_grads})'
BACK = "for layer in reversed(range(len(transformer.h))):"
BLOCK = "grad, block_grads[layer] = block_backward(transformer.h[layer], grad, states[layer])"
GATHER = 'with_prefix({f"h.{layer}": grads for layer, grads in block_grads.items()})'
BLOCKS = f"return grad, {GATHER}"
LOSS = "grad_logits = cross_entropy_backward(logits, labels)"
THROUGH = "grad, block_grads = blocks_backward(transformer, grad, states)"
TIED = 'grad_wte = table_grads["wte.weight"] + head_grads["wte.weight"]'
UNION = 'grads = table_grads | block_grads | head_grads | {"wte.weight": grad_wte}'
SUM = f"{TIED}  # [vocab, embd]\n    {UNION}"
RETURN = 'return cross_entropy(logits, labels), with_prefix({"transformer": grads})'

MISTAKES = {
    "GELU's derivative is taken at GELU's output; take it at its input, wide.": {
        MLP_GELU: "grad_wide = gelu_backward(grad_activated, activated)"
    },
    "The backward pass skips GELU.": {MLP_GELU: "grad_wide = grad_activated"},
    "c_proj is given GELU's input; its own input was GELU's output: activated.": {
        MLP_PROJ: MLP_PROJ.replace("grad, activated", "grad, wide")
    },
    "The names c_fc and c_proj are swapped.": {
        MLP_RETURN: 'return grad_hidden_states, with_prefix({"c_fc": c_proj_grads, "c_proj": c_fc_grads})'
    },
    "The two layers' gradients have the same names, so one hides the other: join them as c_fc and c_proj.": {
        MLP_RETURN: "return grad_hidden_states, c_fc_grads | c_proj_grads"
    },
    "The residual is forgotten: the gradient that bypasses the branch is missing from that of x.": {
        RESIDUAL: "return grad_branch, norm_grads, sublayer_grads"
    },
    "The branch is forgotten: the gradient of x is that of the residual alone.": {
        RESIDUAL: "return grad, norm_grads, sublayer_grads"
    },
    "The residual bypasses only the sublayer; it must bypass the norm, too.": {
        NORM: "grad_branch, norm_grads = norm_backward(norm, grad + grad_normed, x)",
        RESIDUAL: "return grad_branch, norm_grads, sublayer_grads",
    },
    "The backward pass skips the norm: the sublayer's gradient is that of its input, which is norm(x).": {
        NORM: "_, norm_grads = norm_backward(norm, grad_normed, x)\n    grad_branch = grad_normed"
    },
    "The sublayer is given x; its input was the normalized x.": {
        SUBLAYER: "grad_normed, sublayer_grads = sublayer_backward(sublayer, grad, x)"
    },
    "x is normalized twice for the sublayer.": {
        SUBLAYER: "grad_normed, sublayer_grads = sublayer_backward(sublayer, grad, norm(normed))"
    },
    "The norm is given the normalized x; its input was x.": {
        NORM: "grad_branch, norm_grads = norm_backward(norm, grad_normed, normed)"
    },
    "The norm is given the gradient of the sum; give it the gradient that comes out of the sublayer.": {
        NORM: "grad_branch, norm_grads = norm_backward(norm, grad, x)"
    },
    "x is added to the branch's gradient; add grad, which bypasses the branch.": {
        RESIDUAL: RESIDUAL.replace("grad +", "x +")
    },
    "The branch's gradient is subtracted; the two paths add up.": {
        RESIDUAL: "return grad - grad_branch, norm_grads, sublayer_grads"
    },
    "The gradients of the norm and of the sublayer are swapped; the norm's come first.": {
        RESIDUAL: "return grad + grad_branch, sublayer_grads, norm_grads"
    },
    "The half with mlp is given the block's input; its input was middle.": {
        SECOND: SECOND.replace("middle", "hidden_states")
    },
    "The half with attention is given middle; its input was the block's input.": {
        FIRST: (
            "grad, ln_1_grads, attn_grads = "
            "pre_norm_residual_backward(block.ln_1, block.attn, attention_backward, grad, middle)"
        )
    },
    "The half with attention is given ln_2; its norm is ln_1.": {FIRST: FIRST.replace("block.ln_1", "block.ln_2")},
    "The half with mlp is given ln_1; its norm is ln_2.": {SECOND: SECOND.replace("block.ln_2", "block.ln_1")},
    "The half with attention gets the gradient that came into the block; give it the one from the half with mlp.": {
        SECOND: SECOND.replace("grad, ln_2_grads", "_, ln_2_grads")
    },
    "The halves come in forward order; the one with mlp ran last, so it comes first.": {
        SECOND: FIRST,
        f"    {FIRST}\n    return": f"    {SECOND}\n    return",
    },
    "ln_1 and ln_2 are swapped among the names.": {
        NAMES: NAMES.replace(": ln_1_grads", ": other")
        .replace(": ln_2_grads", ": ln_1_grads")
        .replace(": other", ": ln_2_grads")
    },
    "The parts' names are missing, so weight and bias of ln_2 hide those of ln_1: use named.": {
        NAMES: "ln_1_grads | attn_grads | ln_2_grads | mlp_grads"
    },
    "The gradients of the norms are left out.": {NAMES: 'with_prefix({"attn": attn_grads, "mlp": mlp_grads})'},
    "The head is given ln_f's input; its own input was ln_f's output: final.": {
        TABLE: TABLE.replace("final, transformer", "hidden_states, transformer")
    },
    "wte is transposed for the head; linear_backward takes a weight as it is, [out, in].": {
        TABLE: TABLE.replace("wte.weight", "wte.weight.T")
    },
    "The backward pass skips ln_f.": {
        FINAL: "_, ln_f_grads = norm_backward(transformer.ln_f, grad_final, hidden_states)\n"
        "    grad_hidden_states = grad_final"
    },
    "ln_f is given its output; its input was the last block's output.": {
        FINAL: FINAL.replace("grad_final, hidden_states", "grad_final, final")
    },
    "ln_f's gradients are left out.": {HEAD: 'return grad_hidden_states, {"wte.weight": grad_wte}'},
    "The head's gradient of wte is left out.": {HEAD: 'return grad_hidden_states, with_prefix({"ln_f": ln_f_grads})'},
    "The head's gradient is called lm_head.weight; the head has no weights but wte's: wte.weight.": {
        HEAD: HEAD.replace("wte.weight", "lm_head.weight")
    },
    "The blocks come in forward order; the last one ran last, so it comes first.": {
        BACK: "for layer in range(len(transformer.h)):"
    },
    "The states are off by one: each block is given its output, and needs its input.": {
        BLOCK: BLOCK.replace("states[layer]", "states[layer + 1]")
    },
    "All blocks are given the first state; each needs its own input.": {
        BLOCK: BLOCK.replace("states[layer]", "states[0]")
    },
    "Every block gets the gradient that came in; each must get the one from the block after it.": {
        BLOCK: BLOCK.replace("grad, block_grads", "grad_hidden_states, block_grads"),
        BLOCKS: BLOCKS.replace("grad,", "grad_hidden_states,"),
    },
    "The first block is left out.": {BACK: "for layer in reversed(range(1, len(transformer.h))):"},
    "The last block is left out.": {BACK: "for layer in reversed(range(len(transformer.h) - 1)):"},
    "The numbers of the blocks are missing from the names, so each block hides the one after it: h.0, h.1, …": {
        GATHER: GATHER.replace('f"h.{layer}"', '"h"')
    },
    "The blocks' names begin with their number; they must begin with h: h.0, h.1, …": {
        GATHER: GATHER.replace('f"h.{layer}"', "str(layer)")
    },
    "The blocks are numbered from 1; the first one is h.0.": {
        BLOCK: BLOCK.replace("block_grads[layer]", "block_grads[layer + 1]")
    },
    "The blocks are numbered from the end; h.0 is the first one.": {
        BLOCK: BLOCK.replace("block_grads[layer]", "block_grads[len(transformer.h) - 1 - layer]")
    },
    "The blocks are reversed before they are numbered, so the last one is 0: number first, then reverse.": {
        BACK: "for layer, block in enumerate(reversed(list(transformer.h))):",
        BLOCK: BLOCK.replace("transformer.h[layer]", "block"),
    },
    "The states are taken out of the caller's list, and a tuple of them has no pop; read them: states[layer].": {
        BACK: f"states.pop()\n    {BACK}",
        BLOCK: BLOCK.replace("states[layer]", "states.pop()"),
    },
    "The names have only the last digit of a block's number, so block 10 hides block 0: h.10, h.11.": {
        BLOCK: BLOCK.replace("block_grads[layer]", "block_grads[layer % 10]")
    },
    "The gradient of wte is the head's alone; add the embeddings'.": {TIED: 'grad_wte = head_grads["wte.weight"]'},
    "The gradient of wte is the embeddings' alone; add the head's.": {TIED: 'grad_wte = table_grads["wte.weight"]'},
    "The gradient of wte is the mean of both; it must be their sum.": {
        TIED: 'grad_wte = (table_grads["wte.weight"] + head_grads["wte.weight"]) / 2'
    },
    "There is a gradient of lm_head.weight, which is the same matrix as wte: add it to wte's gradient instead.": {
        RETURN: RETURN + ' | {"lm_head.weight": head_grads["wte.weight"]}'
    },
    "The names lack the prefix transformer, which a checkpoint has.": {
        RETURN: "return cross_entropy(logits, labels), grads"
    },
    "The embeddings get the gradient that went into the blocks; give them the one that comes out.": {
        THROUGH: THROUGH.replace("grad, block_grads", "_, block_grads")
    },
    "The gradients are those of guessing the token itself: leave shifting to cross_entropy_backward.": {
        LOSS: LOSS.replace("labels)", "F.concat([labels[:, :1], labels[:, :-1]], axis=1))")
    },
    "The labels are shifted twice: cross_entropy and cross_entropy_backward do it.": {
        LOSS: "labels = F.pad(labels, [0, 0, 0, 1], value=-100)[:, 1:]\n    " + LOSS
    },
    "The head is given the first state; its input was the last one.": {
        "head_backward(transformer, grad_logits, states[-1])": "head_backward(transformer, grad_logits, states[0])"
    },
    "The head is given the input of the last block; its own was that block's output, states[-1].": {
        "head_backward(transformer, grad_logits, states[-1])": "head_backward(transformer, grad_logits, states[-2])"
    },
    "The gradients are those of the input ids, unlike the loss; they must be those of the labels.": {
        LOSS: LOSS.replace("labels", "input_ids")
    },
    "The gradient and the loss are those of the input ids; they must be those of the labels.": {
        LOSS: "labels = input_ids\n    " + LOSS
    },
    "The gradients are negated; going against them is the optimizer's job.": {
        LOSS: LOSS.replace("cross_entropy_backward(", "-cross_entropy_backward(")
    },
    "The logits are returned; the loss comes first.": {
        RETURN: RETURN.replace("cross_entropy(logits, labels)", "logits")
    },
}

ALTERNATIVES = {
    "linear_backward itself": {
        MLP_PROJ: "grad_activated, weight, bias = linear_backward(grad, activated, mlp.c_proj.weight)\n"
        '    c_proj_grads = {"weight": weight, "bias": bias}'
    },
    "the mlp in another order of names": {
        MLP_RETURN: 'return grad_hidden_states, with_prefix({"c_proj": c_proj_grads, "c_fc": c_fc_grads})'
    },
    "names written out": {
        MLP_RETURN: 'weights = {"c_fc.weight": c_fc_grads["weight"], "c_proj.weight": c_proj_grads["weight"]}\n'
        '    weights |= {"c_fc.bias": c_fc_grads["bias"], "c_proj.bias": c_proj_grads["bias"]}\n'
        "    return grad_hidden_states, weights"
    },
    "the branch first": {RESIDUAL: "return grad_branch + grad, norm_grads, sublayer_grads"},
    "an addition in place, which makes a new tensor": {
        RESIDUAL: "grad += grad_branch\n    return grad, norm_grads, sublayer_grads"
    },
    "layer_norm_backward itself": {
        NORM: "from solutions.solution_17 import layer_norm_backward\n\n"
        "    grad_branch, weight, bias = layer_norm_backward(grad_normed, x, norm.weight, norm.eps)\n"
        '    norm_grads = {"weight": weight, "bias": bias}'
    },
    "middle written out": {SECOND: "middle = hidden_states + block.attn(block.ln_1(hidden_states))\n    " + SECOND},
    "a block's gradients in a dict that grows": {
        f"return grad, {NAMES}": "gradients = {}\n"
        '    parts = {"ln_1": ln_1_grads, "attn": attn_grads, "ln_2": ln_2_grads, "mlp": mlp_grads}\n'
        "    for name, part in parts.items():\n"
        "        gradients.update(with_prefix({name: part}))\n    return grad, gradients"
    },
    "the rows of the table transposed": {
        TABLE: "grad_final = grad @ transformer.wte.weight\n"
        "    flat = final.reshape([-1, final.shape[-1]])\n"
        "    grad_wte = grad.reshape([-1, grad.shape[-1]]).T @ flat"
    },
    "the blocks and their states in pairs": {
        BACK: "pairs = list(zip(transformer.h, states))\n"
        "    for layer, (block, state) in reversed(list(enumerate(pairs))):",
        BLOCK: "grad, block_grads[layer] = block_backward(block, grad, state)",
    },
    "counting down": {BACK: "for layer in range(len(transformer.h) - 1, -1, -1):"},
    "update": {
        BLOCK: "grad, grads = block_backward(transformer.h[layer], grad, states[layer])\n"
        "        block_grads.update({layer: grads})"
    },
    "the sum in place": {
        SUM: 'grads = table_grads | block_grads | head_grads\n    grads["wte.weight"] += table_grads["wte.weight"]'
    },
    "the sum written over the head's": {
        SUM: "grads = table_grads | block_grads | head_grads\n"
        '    grads["wte.weight"] = table_grads["wte.weight"] + head_grads["wte.weight"]'
    },
    "the sum before the union": {
        TIED: 'head_grads["wte.weight"] += table_grads.pop("wte.weight")',
        UNION: "grads = head_grads | block_grads | table_grads",
    },
    "the loss first": {
        LOSS: "loss = cross_entropy(logits, labels)\n    " + LOSS,
        RETURN: RETURN.replace("cross_entropy(logits, labels)", "loss"),
    },
    "the names written by a comprehension": {
        RETURN: 'named = {"transformer." + name: grad for name, grad in grads.items()}\n'
        "    return cross_entropy(logits, labels), named"
    },
}

#: What people bring along from PyTorch; the check shows the line to write instead.
HABITS = {
    "the gradient added in place": {RESIDUAL: "grad.add_(grad_branch)\n    return grad, norm_grads, sublayer_grads"},
    "add_ in the return": {RESIDUAL: "return grad.add_(grad_branch), norm_grads, sublayer_grads"},
    "torch.add": {RESIDUAL: "return torch.add(grad, grad_branch), norm_grads, sublayer_grads"},
    "a clone of the gradient": {RESIDUAL: "return grad.clone() + grad_branch, norm_grads, sublayer_grads"},
    "zero_grad": {LOSS: "transformer.zero_grad()\n    " + LOSS},
    "loss.backward": {LOSS: "loss = cross_entropy(logits, labels)\n    loss.backward()\n    " + LOSS},
    "backward of the loss for the logits": {
        LOSS: "grad_logits = cross_entropy(logits, labels).backward()",
    },
    "torch.autograd.grad": {
        LOSS: "grad_logits = torch.autograd.grad(cross_entropy(logits, labels), logits)[0]",
    },
    "named_parameters": {
        RETURN: "grads = {name: grads[name] for name, _ in transformer.named_parameters()}\n"
        '    return cross_entropy(logits, labels), with_prefix({"transformer": grads})'
    },
}
