"""Given in step 25: the rest of a Llama, around the learner's parts, with Hugging Face's names."""

from __future__ import annotations

from functools import partial

from max.driver import Device
from max.dtype import DType
from max.experimental.nn import Embedding, Linear, Module, Sequential
from max.experimental.tensor import Tensor, TensorType

from solutions.caching import BlockCache, KVCache, cache_type, run_on_arrays
from solutions.llama_config import LlamaConfig
from solutions.solution_08 import pre_norm_residual
from solutions.solution_14 import CachedModel, cache_mask
from solutions.solution_23 import LlamaMLP, LlamaRMSNorm
from solutions.solution_24 import rotary_angles
from solutions.solution_25 import LlamaAttention


class LlamaDecoderLayer(Module[[Tensor, Tensor, Tensor, BlockCache], Tensor]):
    """One block: the new tokens look at all tokens up to themselves, then each thinks by itself."""

    def __init__(self, config: LlamaConfig) -> None:
        self.input_layernorm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.self_attn: Module[..., Tensor] = LlamaAttention(config)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp = LlamaMLP(config)

    def forward(
        self, hidden_states: Tensor, angles: Tensor, mask: Tensor, block_cache: BlockCache
    ) -> Tensor:  # [batch, seq, hidden_size] -> [batch, seq, hidden_size]; the others as in LlamaAttention
        """Apply attention, then the feed-forward network, each with a residual around it."""
        attend = partial(self.self_attn, angles=angles, mask=mask, block_cache=block_cache)
        hidden_states = pre_norm_residual(hidden_states, self.input_layernorm, attend)
        return pre_norm_residual(hidden_states, self.post_attention_layernorm, self.mlp)


class LlamaModel(Module[[Tensor, Tensor, Tensor, KVCache], Tensor]):
    """Embed the new tokens, pass them through every block, and normalize the last token, which the head needs."""

    def __init__(self, config: LlamaConfig) -> None:
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, dim=config.hidden_size)
        self.layers = Sequential(*(LlamaDecoderLayer(config) for _ in range(config.num_hidden_layers)))
        self.norm = LlamaRMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(
        self, input_ids: Tensor, positions: Tensor, padding_mask: Tensor, cache: KVCache
    ) -> Tensor:  # int64 [batch, seq], int64 [batch, seq], [batch, total] -> [batch, 1, hidden_size]
        """Return the final hidden state of the last token, and leave keys and values of the new tokens in the cache."""
        angles = rotary_angles(positions, self.config)  # [batch, seq, head_dim / 2]
        mask = cache_mask(input_ids.shape[-1], padding_mask)  # [batch, 1, seq, total]
        hidden_states = self.embed_tokens(input_ids)  # [batch, seq, hidden_size]
        for layer, block_cache in zip(self.layers, cache, strict=True):
            hidden_states = layer(hidden_states, angles, mask, block_cache)
        # Cut, then normalize: in the other order, MAX 26.7 compiles a norm that takes the first token's mean square.
        return self.norm(hidden_states[:, -1:])


class LlamaForCausalLM(Module[[Tensor, Tensor, Tensor, KVCache], Tensor]):
    """Llama with its head. It is shown only the new tokens, as step 14's ``CachedGPT2`` is, by the same arguments."""

    def __init__(self, config: LlamaConfig) -> None:
        self.config = config
        self.model = LlamaModel(config)
        self.lm_head = Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(
        self, input_ids: Tensor, positions: Tensor, padding_mask: Tensor, cache: KVCache
    ) -> Tensor:  # int64 [batch, seq], int64 [batch, seq], [batch, total] -> [batch, 1, vocab]
        """Return the logits after the last token, and leave keys and values of the new tokens in the cache."""
        return self.lm_head(self.model(input_ids, positions, padding_mask, cache))


def compile_llama(model: LlamaForCausalLM, device: Device) -> CachedModel:
    """Move the model to a device and compile it with its cache: one graph for the prompt and for every later token."""
    model.to(device)
    cached = model.config.cache_config
    ids = TensorType(DType.int64, ["batch", "seq"], device=device)
    padding_mask = TensorType(DType.float32, ["batch", "total"], device=device)
    compiled = model.compile(ids, ids, padding_mask, cache_type(cached, device))
    return CachedModel(run_on_arrays(compiled, device), cached, device)
