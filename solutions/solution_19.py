"""Step 19: the whole model backward, one graph that returns the loss and the gradient of every weight."""

from __future__ import annotations

from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP
from solutions.solution_06 import position_ids
from solutions.solution_09 import GPT2Block
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_16 import cross_entropy, cross_entropy_backward
from solutions.solution_17 import embedding_backward, gelu_backward, layer_norm_backward, linear_backward
from solutions.solution_18 import Gradients, attention_backward


def prefixed(name: str, gradients: Gradients) -> Gradients:
    """Return the gradients of a part by their names in the whole."""
    return {f"{name}.{rest}": gradient for rest, gradient in gradients.items()}


def norm_backward(grad: Tensor, x: Tensor, norm: LayerNorm) -> tuple[Tensor, Gradients]:
    """Return the gradient of a norm's input, and those of its two parameters by name."""
    grad_x, weight, bias = layer_norm_backward(grad, x, norm.weight, norm.eps)
    return grad_x, {"weight": weight, "bias": bias}


def mlp_backward(
    grad: Tensor, hidden_states: Tensor, mlp: GPT2MLP
) -> tuple[Tensor, Gradients]:  # two times [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of step 04's input, and those of its four parameters by name."""
    wide = mlp.c_fc(hidden_states)
    activated = F.gelu(wide, approximate="tanh")
    # Back through c_proj, GELU and c_fc. (2 lines)
    grad_activated, proj_weight, proj_bias = linear_backward(grad, activated, mlp.c_proj.weight)
    grad_input, fc_weight, fc_bias = linear_backward(
        gelu_backward(grad_activated, wide), hidden_states, mlp.c_fc.weight
    )
    return grad_input, {
        "c_fc.weight": fc_weight,
        "c_fc.bias": fc_bias,
        "c_proj.weight": proj_weight,
        "c_proj.bias": proj_bias,
    }


def block_backward(
    grad: Tensor, hidden_states: Tensor, block: GPT2Block
) -> tuple[Tensor, Gradients]:  # two times [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of step 09's input, and those of its parameters by name."""
    normed = block.ln_1(hidden_states)
    middle = hidden_states + block.attn(normed)
    # Back through mlp and ln_2, add what the residual carried past; the same through attn and ln_1. (6 lines)
    grad_normed, mlp = mlp_backward(grad, block.ln_2(middle), block.mlp)
    grad_branch, ln_2 = norm_backward(grad_normed, middle, block.ln_2)
    grad = grad + grad_branch
    grad_normed, attn = attention_backward(grad, normed, block.attn)
    grad_branch, ln_1 = norm_backward(grad_normed, hidden_states, block.ln_1)
    grad = grad + grad_branch
    return grad, prefixed("ln_1", ln_1) | prefixed("attn", attn) | prefixed("ln_2", ln_2) | prefixed("mlp", mlp)


def gpt2_loss_and_gradients(
    model: MaxGPT2LMHeadModel, input_ids: Tensor, labels: Tensor
) -> tuple[Tensor, Gradients]:  # [batch, seq], [batch, seq] -> [], by name
    """Return the loss of step 16 and the gradient of every weight, by its name in a checkpoint.

    ``wte`` is used twice, by the embedding and by the head, so its gradient is the sum of two; there is no
    ``lm_head.weight``.
    """
    transformer, config = model.transformer, model.config
    table = transformer.wte.weight
    positions = position_ids(input_ids.shape[-1], device=input_ids.device)
    states = [transformer.wte(input_ids) + transformer.wpe(positions)]
    for block in transformer.h:
        states.append(block(states[-1]))
    final = transformer.ln_f(states[-1])
    logits = final @ table.transpose(0, 1)
    grad, head_table, _ = linear_backward(cross_entropy_backward(logits, labels), final, table)
    grad, ln_f = norm_backward(grad, states[-1], transformer.ln_f)
    gradients = prefixed("ln_f", ln_f)
    for layer in reversed(range(config.n_layer)):
        grad, of_block = block_backward(grad, states[layer], transformer.h[layer])
        gradients |= prefixed(f"h.{layer}", of_block)
    gradients["wte.weight"] = head_table + embedding_backward(grad, input_ids, config.vocab_size)
    every = F.broadcast_to(positions, input_ids.shape)
    gradients["wpe.weight"] = embedding_backward(grad, every, config.n_positions)
    return cross_entropy(logits, labels), prefixed("transformer", gradients)
