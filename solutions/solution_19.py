"""Step 19: the whole model backward, one graph that returns the loss and the gradient of every weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from max.experimental import functional as F
from max.experimental.nn import Linear
from max.experimental.tensor import Tensor

from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP
from solutions.solution_06 import check_length, position_ids
from solutions.solution_08 import pre_norm_residual
from solutions.solution_09 import GPT2Block
from solutions.solution_10 import GPT2Model
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_16 import cross_entropy, cross_entropy_backward
from solutions.solution_17 import embedding_backward, gelu_backward, layer_norm_backward, linear_backward
from solutions.solution_18 import Gradients, attention_backward

#: The way back through a module: takes the gradient of what it returned, what it took, and the module itself; returns
#: the gradient of what it took, and those of its weights by name. ``attention_backward`` has this form.
Backward = Callable[[Tensor, Tensor, Any], tuple[Tensor, Gradients]]


def prefixed(name: str, gradients: Gradients) -> Gradients:
    """Return the gradients of a part by their names in the whole: ``weight`` of ``ln_1`` becomes ``ln_1.weight``."""
    return {f"{name}.{rest}": gradient for rest, gradient in gradients.items()}


def norm_backward(grad: Tensor, x: Tensor, norm: LayerNorm) -> tuple[Tensor, Gradients]:  # [..., embd] -> [..., embd]
    """Return the gradient of a norm's input, and those of its weight and bias by name."""
    grad_x, weight, bias = layer_norm_backward(grad, x, norm.weight, norm.eps)
    return grad_x, {"weight": weight, "bias": bias}


def projection_backward(grad: Tensor, x: Tensor, linear: Linear) -> tuple[Tensor, Gradients]:  # [..., out] -> [..., in]
    """Return the gradient of a linear layer's input, and those of its weight and bias by name."""
    grad_x, weight, bias = linear_backward(grad, x, linear.weight)
    return grad_x, {"weight": weight, "bias": bias}


def mlp_backward(
    grad: Tensor, hidden_states: Tensor, mlp: GPT2MLP
) -> tuple[Tensor, Gradients]:  # two times [..., embd] -> [..., embd]
    """Return the gradient of step 04's input, and those of its four parameters by name."""
    wide = mlp.c_fc(hidden_states)
    activated = F.gelu(wide, approximate="tanh")
    # Back through c_proj, GELU and c_fc, each with what it took; prefix the names of both layers. (4 lines)
    grad_activated, c_proj = projection_backward(grad, activated, mlp.c_proj)
    grad_wide = gelu_backward(grad_activated, wide)
    grad_input, c_fc = projection_backward(grad_wide, hidden_states, mlp.c_fc)
    return grad_input, prefixed("c_fc", c_fc) | prefixed("c_proj", c_proj)


def pre_norm_residual_backward(
    grad: Tensor, x: Tensor, norm: LayerNorm, sublayer: Any, sublayer_backward: Backward
) -> tuple[Tensor, Gradients, Gradients]:  # two times [..., embd] -> [..., embd]
    """Return the gradient of step 08's ``x``, those of the norm by name, and those of the sublayer by name."""
    normed = norm(x)
    # Back through the sublayer, which took normed, then the norm; add what went past both. (3 lines)
    grad_normed, of_sublayer = sublayer_backward(grad, normed, sublayer)
    grad_branch, of_norm = norm_backward(grad_normed, x, norm)
    return grad + grad_branch, of_norm, of_sublayer


def block_backward(
    grad: Tensor, hidden_states: Tensor, block: GPT2Block
) -> tuple[Tensor, Gradients]:  # two times [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of step 09's input, and those of its twelve parameters by name."""
    middle = pre_norm_residual(hidden_states, block.ln_1, block.attn)
    # Back through the half with mlp, which took middle, then the half with attn; prefix the names. (3 lines)
    grad, ln_2, mlp = pre_norm_residual_backward(grad, middle, block.ln_2, block.mlp, mlp_backward)
    grad, ln_1, attn = pre_norm_residual_backward(grad, hidden_states, block.ln_1, block.attn, attention_backward)
    return grad, prefixed("ln_1", ln_1) | prefixed("attn", attn) | prefixed("ln_2", ln_2) | prefixed("mlp", mlp)


def residual_stream(
    transformer: GPT2Model, input_ids: Tensor
) -> list[Tensor]:  # [batch, seq] -> n_layer + 1 times [batch, seq, embd]
    """Return what each block takes, in their order, and last what the last block returns.

    This is all that the way forward keeps. What is inside the blocks, the way back computes once more.

    Raises:
        ValueError: the sequence is longer than ``n_positions``.
    """
    check_length(input_ids.shape[-1], transformer.config)
    positions = position_ids(input_ids.shape[-1], device=input_ids.device)
    # Begin with tokens plus positions; append what each block makes of the last state. (4 lines)
    states = [transformer.wte(input_ids) + transformer.wpe(positions)]
    for block in transformer.h:
        states.append(block(states[-1]))
    return states


def head_backward(
    grad: Tensor, hidden_states: Tensor, transformer: GPT2Model
) -> tuple[Tensor, Gradients]:  # [batch, seq, vocab], [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of what the last block returned, and those of wte, as the head has it, and of ln_f."""
    final = transformer.ln_f(hidden_states)
    # Back through the head, a linear layer with wte's weight and no bias, then through ln_f. (3 lines)
    grad_final, table, _ = linear_backward(grad, final, transformer.wte.weight)
    grad_input, ln_f = norm_backward(grad_final, hidden_states, transformer.ln_f)
    return grad_input, {"wte.weight": table} | prefixed("ln_f", ln_f)


def blocks_backward(
    grad: Tensor, states: Sequence[Tensor], transformer: GPT2Model
) -> tuple[Tensor, Gradients]:  # [batch, seq, embd], n_layer + 1 times the same -> [batch, seq, embd]
    """Return the gradient of what the first block took, and those of all blocks: ``h.0.ln_1.weight``, and so on."""
    gradients: Gradients = {}
    # From the last block to the first, each with the state that it took. (4 lines)
    for layer in reversed(range(len(transformer.h))):
        grad, of_block = block_backward(grad, states[layer], transformer.h[layer])
        gradients |= prefixed(f"h.{layer}", of_block)
    return grad, gradients


def embeddings_backward(
    grad: Tensor, input_ids: Tensor, transformer: GPT2Model
) -> Gradients:  # [batch, seq, embd], [batch, seq] -> [vocab, embd] and [n_positions, embd], by name
    """Return the gradients of wte, as the embeddings have it, and of wpe: a sum gives its gradient to both terms."""
    config = transformer.config
    positions = F.broadcast_to(position_ids(input_ids.shape[-1], device=input_ids.device), input_ids.shape)
    # wte collects by token id, wpe by position. (3 lines)
    wte = embedding_backward(grad, input_ids, config.vocab_size)
    wpe = embedding_backward(grad, positions, config.n_positions)
    return {"wte.weight": wte, "wpe.weight": wpe}


def gpt2_loss_and_gradients(
    model: MaxGPT2LMHeadModel, input_ids: Tensor, labels: Tensor
) -> tuple[Tensor, Gradients]:  # [batch, seq], [batch, seq] -> [], and by name
    """Return the loss of step 16 and the gradient of every weight, by its name in a checkpoint.

    ``wte`` is used twice, by the embeddings and by the head, so its gradient is the sum of two; there is no
    ``lm_head.weight``.
    """
    transformer = model.transformer
    states = residual_stream(transformer, input_ids)
    logits = transformer.ln_f(states[-1]) @ transformer.wte.weight.transpose(0, 1)
    # Back through loss, head, blocks, embeddings; wte has two gradients; prefix all with transformer. (5 lines)
    grad, head = head_backward(cross_entropy_backward(logits, labels), states[-1], transformer)
    grad, blocks = blocks_backward(grad, states, transformer)
    embeddings = embeddings_backward(grad, input_ids, transformer)
    tied = {"wte.weight": head["wte.weight"] + embeddings["wte.weight"]}
    return cross_entropy(logits, labels), prefixed("transformer", embeddings | blocks | head | tied)
