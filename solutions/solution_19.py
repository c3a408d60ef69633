"""Step 19: the whole model backward, one graph that returns the loss and the gradient of every weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from max.experimental import functional as F
from max.experimental.nn import Module
from max.experimental.tensor import Tensor

from solutions.gradients import Tensors, norm_backward, projection_backward, with_prefix
from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP
from solutions.solution_06 import check_length, position_ids
from solutions.solution_08 import pre_norm_residual
from solutions.solution_09 import GPT2Block
from solutions.solution_10 import GPT2Model
from solutions.solution_16 import cross_entropy, cross_entropy_backward
from solutions.solution_17 import embedding_backward, gelu_backward, linear_backward
from solutions.solution_18 import attention_backward

#: ``attention_backward``'s form: a module, grad, its input -> the gradient of its input, those of its weights by name.
Backward = Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensors]]


def mlp_backward(
    mlp: GPT2MLP, grad: Tensor, hidden_states: Tensor
) -> tuple[Tensor, Tensors]:  # 2 x [..., embd] -> [..., embd], and by name
    """Return the gradients of step 04's input and, by name, of its four parameters; ``grad`` is that of its output."""
    wide = mlp.c_fc(hidden_states)  # [..., inner]
    activated = F.gelu(wide, approximate="tanh")
    # Go back through both layers, and through GELU between them. (4 lines)
    grad_activated, c_proj_grads = projection_backward(mlp.c_proj, grad, activated)
    grad_wide = gelu_backward(grad_activated, wide)
    grad_hidden_states, c_fc_grads = projection_backward(mlp.c_fc, grad_wide, hidden_states)
    return grad_hidden_states, with_prefix({"c_fc": c_fc_grads, "c_proj": c_proj_grads})


def pre_norm_residual_backward(
    norm: LayerNorm, sublayer: Module[[Tensor], Tensor], sublayer_backward: Backward, grad: Tensor, x: Tensor
) -> tuple[Tensor, Tensors, Tensors]:  # 2 x [..., embd] -> [..., embd], and twice by name
    """Return the gradients of step 08's ``x`` and, by name, of norm and sublayer; ``grad`` is that of the sum."""
    normed = norm(x)
    # Go back through the sublayer and the norm, and add the gradient that bypassed both. (3 lines)
    grad_normed, sublayer_grads = sublayer_backward(sublayer, grad, normed)
    grad_branch, norm_grads = norm_backward(norm, grad_normed, x)
    return grad + grad_branch, norm_grads, sublayer_grads


def block_backward(
    block: GPT2Block, grad: Tensor, hidden_states: Tensor
) -> tuple[Tensor, Tensors]:  # 2 x [batch, seq, embd] -> [batch, seq, embd], and by name
    """Return the gradients of step 09's input and, by name, of its 12 parameters; ``grad`` is that of its output."""
    middle = pre_norm_residual(hidden_states, block.ln_1, block.attn)
    # Go back through the half with mlp, then through the half with attn. (5 lines)
    grad, ln_2_grads, mlp_grads = pre_norm_residual_backward(block.ln_2, block.mlp, mlp_backward, grad, middle)
    grad, ln_1_grads, attn_grads = pre_norm_residual_backward(
        block.ln_1, block.attn, attention_backward, grad, hidden_states
    )
    return grad, with_prefix({"ln_1": ln_1_grads, "attn": attn_grads, "ln_2": ln_2_grads, "mlp": mlp_grads})


def residual_stream(
    transformer: GPT2Model, input_ids: Tensor
) -> list[Tensor]:  # int64 [batch, seq] -> (n_layer + 1) x [batch, seq, embd]
    """Return the input of each block, in order, and last the output of the last block.

    The backward pass needs no more of the blocks: it computes the inside of each again (gradient checkpointing).
    """
    check_length(input_ids.shape[-1], transformer.config)
    positions = position_ids(input_ids.shape[-1], device=input_ids.device)
    states = [transformer.wte(input_ids) + transformer.wpe(positions)]
    for block in transformer.h:
        states.append(block(states[-1]))
    return states


def head_backward(
    transformer: GPT2Model, grad: Tensor, hidden_states: Tensor
) -> tuple[Tensor, Tensors]:  # [batch, seq, vocab], [batch, seq, embd] -> [batch, seq, embd], and by name
    """Return the gradients of ln_f's input and, by name, of ln_f and the tied head; ``grad`` is that of the logits."""
    final = transformer.ln_f(hidden_states)
    # Go back through the head, which is tied to wte and has no bias, and through the last norm. (3 lines)
    grad_final, grad_wte, _ = linear_backward(grad, final, transformer.wte.weight)  # [batch, seq, embd], [vocab, embd]
    grad_hidden_states, ln_f_grads = norm_backward(transformer.ln_f, grad_final, hidden_states)
    return grad_hidden_states, {"wte.weight": grad_wte} | with_prefix({"ln_f": ln_f_grads})


def blocks_backward(
    transformer: GPT2Model, grad: Tensor, states: Sequence[Tensor]
) -> tuple[Tensor, Tensors]:  # [batch, seq, embd], (n_layer + 1) x the same -> [batch, seq, embd], and by name
    """Return the gradients of the first block's input and, by name, of all blocks; ``grad`` is that of their output."""
    block_grads: dict[int, Tensors] = {}
    # Go back from block to block, each with the state that it took. (3 lines)
    for layer in reversed(range(len(transformer.h))):
        grad, block_grads[layer] = block_backward(transformer.h[layer], grad, states[layer])
    return grad, with_prefix({f"h.{layer}": grads for layer, grads in block_grads.items()})


def tables_backward(
    transformer: GPT2Model, grad: Tensor, input_ids: Tensor
) -> Tensors:  # [batch, seq, embd], int64 [batch, seq] -> [vocab, embd] and [n_positions, embd], by name
    """Return the gradients of wpe and of wte, as the embeddings use it; ``grad`` is that of their sum, so of both."""
    config = transformer.config
    positions = F.broadcast_to(position_ids(input_ids.shape[-1], device=input_ids.device), input_ids.shape)
    grad_wte = embedding_backward(grad, input_ids, config.vocab_size)
    grad_wpe = embedding_backward(grad, positions, config.n_positions)
    return {"wte.weight": grad_wte, "wpe.weight": grad_wpe}


def gpt2_loss_and_gradients(
    transformer: GPT2Model, input_ids: Tensor, labels: Tensor
) -> tuple[Tensor, Tensors]:  # 2 x int64 [batch, seq] -> [], and by name
    """Return the loss of step 16 and the gradient of every weight, by its name in step 11's model.

    The head is ``wte``, as in a published GPT-2; a head with weights of its own would need a gradient of its own. So
    ``wte`` is used twice, and its gradient is the sum of two.
    """
    states = residual_stream(transformer, input_ids)
    logits = transformer.ln_f(states[-1]) @ transformer.wte.weight.T  # [batch, seq, vocab]
    # Go back from the loss to the embeddings; wte gets a gradient from both of its uses. (7 lines)
    grad_logits = cross_entropy_backward(logits, labels)  # [batch, seq, vocab]
    grad, head_grads = head_backward(transformer, grad_logits, states[-1])
    grad, block_grads = blocks_backward(transformer, grad, states)
    table_grads = tables_backward(transformer, grad, input_ids)
    grad_wte = table_grads["wte.weight"] + head_grads["wte.weight"]  # [vocab, embd]
    grads = table_grads | block_grads | head_grads | {"wte.weight": grad_wte}  # the sum replaces its two terms
    return cross_entropy(logits, labels), with_prefix({"transformer": grads})
