"""Step 19: the whole model backward, one graph that returns the loss and the gradient of every weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from max.experimental import functional as F
from max.experimental.tensor import Tensor

from solutions.gradients import Tensors, named, norm_backward, projection_backward
from solutions.solution_03 import LayerNorm
from solutions.solution_04 import GPT2MLP
from solutions.solution_06 import check_length, position_ids
from solutions.solution_08 import pre_norm_residual
from solutions.solution_09 import GPT2Block
from solutions.solution_10 import GPT2Model
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_16 import cross_entropy, cross_entropy_backward
from solutions.solution_17 import embedding_backward, gelu_backward, linear_backward
from solutions.solution_18 import attention_backward

#: Backward through a module: from the gradient of its output, its input, and the module itself to the gradient of its
#: input, and those of its weights by name. ``attention_backward`` has this form.
Backward = Callable[[Tensor, Tensor, Any], tuple[Tensor, Tensors]]


def mlp_backward(
    grad: Tensor, hidden_states: Tensor, mlp: GPT2MLP
) -> tuple[Tensor, Tensors]:  # 2 x [..., embd] -> [..., embd]
    """Return the gradient of step 04's input, and those of its four parameters by name."""
    wide = mlp.c_fc(hidden_states)  # [..., inner]
    activated = F.gelu(wide, approximate="tanh")
    # Go back through c_proj, GELU and c_fc, each with its input; name the gradients of both layers. (4 lines)
    grad_activated, c_proj = projection_backward(grad, activated, mlp.c_proj)
    grad_wide = gelu_backward(grad_activated, wide)
    grad_input, c_fc = projection_backward(grad_wide, hidden_states, mlp.c_fc)
    return grad_input, named({"c_fc": c_fc, "c_proj": c_proj})


def pre_norm_residual_backward(
    grad: Tensor, x: Tensor, norm: LayerNorm, sublayer: Any, sublayer_backward: Backward
) -> tuple[Tensor, Tensors, Tensors]:  # 2 x [..., embd] -> [..., embd]
    """Return the gradient of step 08's ``x``, those of the norm by name, and those of the sublayer by name."""
    normed = norm(x)
    # Go back through the sublayer, whose input is normed, then the norm; add the gradient past both. (3 lines)
    grad_normed, of_sublayer = sublayer_backward(grad, normed, sublayer)
    grad_branch, of_norm = norm_backward(grad_normed, x, norm)
    return grad + grad_branch, of_norm, of_sublayer


def block_backward(
    grad: Tensor, hidden_states: Tensor, block: GPT2Block
) -> tuple[Tensor, Tensors]:  # 2 x [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of step 09's input, and those of its twelve parameters by name."""
    middle = pre_norm_residual(hidden_states, block.ln_1, block.attn)
    # Go back through the half with mlp, whose input is middle, then the half with attn; name all four. (3 lines)
    grad, ln_2, mlp = pre_norm_residual_backward(grad, middle, block.ln_2, block.mlp, mlp_backward)
    grad, ln_1, attn = pre_norm_residual_backward(grad, hidden_states, block.ln_1, block.attn, attention_backward)
    return grad, named({"ln_1": ln_1, "attn": attn, "ln_2": ln_2, "mlp": mlp})


def residual_stream(
    transformer: GPT2Model, input_ids: Tensor
) -> list[Tensor]:  # [batch, seq] -> (n_layer + 1) x [batch, seq, embd]
    """Return the input of each block, in order, and last the output of the last block.

    Of the blocks, only these are kept for the backward pass, which computes whatever is inside a block again.

    Raises:
        ValueError: the length is a number above ``n_positions``.
    """
    check_length(input_ids.shape[-1], transformer.config)
    positions = position_ids(input_ids.shape[-1], device=input_ids.device)
    states = [transformer.wte(input_ids) + transformer.wpe(positions)]
    for block in transformer.h:
        states.append(block(states[-1]))
    return states


def head_backward(
    grad: Tensor, hidden_states: Tensor, transformer: GPT2Model
) -> tuple[Tensor, Tensors]:  # [batch, seq, vocab], [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of the last block's output, and those of ln_f and of wte, as the head uses it."""
    final = transformer.ln_f(hidden_states)
    # Go back through the head, a linear layer with wte's weight and no bias, then through ln_f. (3 lines)
    grad_final, table, _ = linear_backward(grad, final, transformer.wte.weight)  # [batch, seq, embd], [vocab, embd]
    grad_input, ln_f = norm_backward(grad_final, hidden_states, transformer.ln_f)
    return grad_input, {"wte.weight": table} | named({"ln_f": ln_f})


def blocks_backward(
    grad: Tensor, states: Sequence[Tensor], transformer: GPT2Model
) -> tuple[Tensor, Tensors]:  # [batch, seq, embd], (n_layer + 1) x [batch, seq, embd] -> [batch, seq, embd]
    """Return the gradient of the first block's input, and those of all blocks: ``h.0.ln_1.weight``, and so on."""
    gradients: Tensors = {}
    # Go back through the blocks, from the last to the first, each with its input; name them h.0, h.1, … (4 lines)
    for layer in reversed(range(len(transformer.h))):
        grad, of_block = block_backward(grad, states[layer], transformer.h[layer])
        gradients |= named({f"h.{layer}": of_block})
    return grad, gradients


def embeddings_backward(
    grad: Tensor, input_ids: Tensor, transformer: GPT2Model
) -> Tensors:  # [batch, seq, embd], [batch, seq] -> [vocab, embd] and [n_positions, embd], by name
    """Return the gradients of wpe and of wte, as the embeddings use it: a sum hands its gradient to both terms."""
    config = transformer.config
    positions = F.broadcast_to(position_ids(input_ids.shape[-1], device=input_ids.device), input_ids.shape)
    wte = embedding_backward(grad, input_ids, config.vocab_size)
    wpe = embedding_backward(grad, positions, config.n_positions)
    return {"wte.weight": wte, "wpe.weight": wpe}


def gpt2_loss_and_gradients(
    model: MaxGPT2LMHeadModel, input_ids: Tensor, labels: Tensor
) -> tuple[Tensor, Tensors]:  # [batch, seq], [batch, seq] -> [], and by name
    """Return the loss of step 16 and the gradient of every weight, by its name in the model.

    ``wte`` is used twice, by the embeddings and by the head, which is taken to be tied to it, so its gradient is the
    sum of two; there is no ``lm_head.weight``.

    Raises:
        ValueError: the length is a number above ``n_positions``.
    """
    transformer = model.transformer
    states = residual_stream(transformer, input_ids)
    logits = transformer.ln_f(states[-1]) @ transformer.wte.weight.transpose(0, 1)  # [batch, seq, vocab]
    # Go back through loss, head, blocks, embeddings; join all gradients, with wte's sum; name them. (7 lines)
    grad = cross_entropy_backward(logits, labels)  # [batch, seq, vocab]
    grad, of_head = head_backward(grad, states[-1], transformer)
    grad, of_blocks = blocks_backward(grad, states, transformer)
    of_embeddings = embeddings_backward(grad, input_ids, transformer)
    wte = of_embeddings["wte.weight"] + of_head["wte.weight"]  # [vocab, embd]
    gradients = of_embeddings | of_blocks | of_head | {"wte.weight": wte}
    return cross_entropy(logits, labels), named({"transformer": gradients})
