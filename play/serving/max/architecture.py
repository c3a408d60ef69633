"""Step 15's model as MAX's server wants it: an architecture, found by its name in a checkpoint's ``config.json``.

MAX loads this file in the server and in the process that runs the model (``--custom-architectures``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from max import tree
from max.driver import Buffer
from max.dtype import DType
from max.experimental.tensor import Tensor
from max.graph import DeviceRef
from max.graph.weights import WeightsFormat
from max.nn.kv_cache import KVCacheParamInterface
from max.pipelines.context import TextContext
from max.pipelines.kv_cache.memory_planner import PagedMemoryPlanner
from max.pipelines.lib import (
    KVCacheConfig,
    MAXModelConfig,
    ModelInputs,
    ModuleV3Outputs,
    ModuleV3PipelineModelWithKVCache,
    PipelineConfig,
    SupportedArchitecture,
    TextTokenizer,
)
from max.pipelines.lib.interfaces.arch_config import ArchConfigWithKVCache, ArchConfigWithStoredKVParams
from max.pipelines.lib.interfaces.batch_processor import ModuleV3SingleReplicaBatchProcessor
from max.pipelines.modeling.types import PipelineTask

from checker.max_adapter.hooks import let_threads_sleep
from checker.max_adapter.paged_cache import MaxPagedCache
from play.engine import load_quantized
from play.kernels.modules import with_linear
from play.kernels.operations import loaded
from play.serving.options import of_the_model
from solutions.checkpoint import read_config
from solutions.solution_01 import GPT2Config
from solutions.solution_11 import MaxGPT2LMHeadModel
from solutions.solution_13 import load_pretrained
from solutions.solution_15 import ServedGPT2


class ServedByMax(ServedGPT2):
    """Step 15's model with the inputs and outputs of MAX's server: a subclass, so that the weights keep their names."""

    def __init__(self, model: MaxGPT2LMHeadModel, params: KVCacheParamInterface) -> None:
        super().__init__(model)
        self.params = params

    def forward(  # type: ignore[override]
        self, tokens: Tensor, logits_wanted: Tensor, row_offsets: Tensor, *cache: Tensor
    ) -> ModuleV3Outputs:  # [tokens], [1], [batch + 1], MAX's cache -> [batch, vocab]
        """Return the logits of the token that follows each request."""
        logits = super().forward(tokens, row_offsets, MaxPagedCache(self.params, cache, row_offsets))
        return ModuleV3Outputs(next_token_logits=logits, logits=None, logit_offsets=None, hidden_states=None)


@dataclass
class Batch(ModelInputs):
    """The inputs of one call of the model."""

    tokens: Buffer
    input_row_offsets: Buffer
    return_n_logits: Buffer

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Return the inputs in the order of ``ServedByMax.forward``."""
        return self.tokens, self.return_n_logits, self.input_row_offsets, *tree.leaves(self.kv_cache_inputs)


class Batcher(ModuleV3SingleReplicaBatchProcessor[TextContext, Batch]):
    """A batch processor that puts the tokens of the requests that MAX's scheduler chose into one row."""

    def _make_inputs(self, **inputs: Any) -> Batch:
        return Batch(**inputs)


@dataclass(kw_only=True)
class ServedConfig(ArchConfigWithStoredKVParams, ArchConfigWithKVCache):
    """Answers to what MAX asks before the model exists: how many tokens it is for, and how large the pages are."""

    DEFAULT_ENCODING: ClassVar = "float32"
    SUPPORTED_ENCODINGS: ClassVar = {"float32"}

    gpt2: GPT2Config
    max_seq_len: int
    devices: list[DeviceRef]
    kv_params: KVCacheParamInterface
    dtype: DType = DType.float32

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

    @classmethod
    def initialize(
        cls, pipeline_config: PipelineConfig, model_config: MAXModelConfig | None = None, *, max_seq_len: int
    ) -> ServedConfig:
        """Read the configuration of the checkpoint that the server was started with."""
        model = model_config or pipeline_config.model
        devices = [DeviceRef(spec.device_type, spec.id) for spec in model.device_specs]
        params = cls.construct_kv_params(
            model.huggingface_config, pipeline_config, devices, model.kv_cache, DType.float32
        )
        gpt2 = read_config(Path(model.model_path))
        return cls(gpt2=gpt2, max_seq_len=max_seq_len, devices=devices, kv_params=params)


class ServedModel(ModuleV3PipelineModelWithKVCache[TextContext]):
    """The model as MAX builds, fills and compiles it: step 13's, or one with matrices rounded as in step 22."""

    model_config_cls = ServedConfig
    batch_processor_cls = Batcher

    @cached_property
    def source(self) -> MaxGPT2LMHeadModel:
        """The model whose modules and weights are served."""
        folder, chosen = Path(self.pipeline_config.model.model_path), of_the_model()
        format = chosen.get("quantize")
        model = load_quantized(folder, format) if format else load_pretrained(folder)
        if chosen.get("kernels"):
            with_linear(model, chosen["dtype"] == "bfloat16")
        return model

    def _load_state_dict(self) -> dict[str, Any]:
        return dict(self.source.parameters)

    def _create_model_config(self, state_dict: dict[str, Any]) -> ServedConfig:
        return ServedConfig.initialize(self.pipeline_config, max_seq_len=self.max_seq_len)

    def _instantiate_module(self, model_config: ServedConfig) -> ServedByMax:
        served = ServedByMax(self.source, self.kv_params)
        served.to(self.devices[0])
        return served

    def load_model(self) -> Callable[..., ModuleV3Outputs]:
        """Build and compile the model; with the kernels in reach, if it calls them."""
        let_threads_sleep()
        with loaded() if of_the_model().get("kernels") else nullcontext():
            compiled: Callable[..., ModuleV3Outputs] = super().load_model()
        return compiled


ARCHITECTURES = [
    SupportedArchitecture(
        name="GPT2LMHeadModel",
        example_repo_ids=["openai-community/gpt2"],
        default_encoding="float32",
        supported_encodings={"float32"},
        pipeline_model=ServedModel,
        tokenizer=TextTokenizer,
        context_type=TextContext,
        default_weights_format=WeightsFormat.safetensors,
        task=PipelineTask.TEXT_GENERATION,
        config=ServedConfig,
        batching=Batcher,
        memory_planner=PagedMemoryPlanner,
        supports_overlap_scheduler=False,
        supports_device_graph_capture=False,
    )
]
