"""Step 15's model as an architecture of MAX's server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from max.dtype import DType
from max.graph import DeviceRef
from max.graph.weights import WeightsFormat
from max.nn.kv_cache import KVCacheParamInterface
from max.pipelines.lib import KVCacheConfig, PipelineConfig

from play.generation.engine import load_quantized
from play.serving.max.architecture import ServedConfig, ServedModel, architecture
from play.serving.options import of_the_model
from solutions.checkpoint import read_config
from solutions.solution_13 import load_pretrained
from solutions.solution_15 import ServedGPT2


class GPT2ConfigOfMax(ServedConfig):
    """The sizes of a GPT-2, which has as many key-value heads as query heads, and names of its own for them."""

    @classmethod
    def construct_kv_params(
        cls,
        huggingface_config: Any,
        pipeline_config: PipelineConfig,
        devices: list[DeviceRef],
        kv_cache_config: KVCacheConfig,
        cache_dtype: DType,
        **options: Any,
    ) -> KVCacheParamInterface:
        """Make pages for the layers and heads of the checkpoint's model."""
        gpt2 = read_config(Path(pipeline_config.model.model_path))
        sizes: Any = {"num_layers": gpt2.n_layer, "n_kv_heads": gpt2.n_head, "head_dim": gpt2.head_dim}
        return kv_cache_config.to_params(dtype=cache_dtype, devices=devices, **sizes)


class GPT2OfMax(ServedModel):
    """Step 13's model, or one with matrices rounded as in step 22."""

    model_config_cls = GPT2ConfigOfMax

    def load(self) -> ServedGPT2:
        """Return the model with the weights of the checkpoint."""
        folder, format = Path(self.pipeline_config.model.model_path), of_the_model().get("quantize")
        return ServedGPT2(load_quantized(folder, format) if format else load_pretrained(folder))


ARCHITECTURES = [
    architecture("GPT2LMHeadModel", GPT2OfMax, WeightsFormat.safetensors, "openai-community/gpt2"),
]
