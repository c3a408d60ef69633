"""The common parts of our architectures for MAX's server: inputs and outputs, the cache, and compiling a model.

Each has a module beside this one, which MAX loads in the server and in the process that runs the model
(``--custom-architectures``). An architecture is found by its name in a checkpoint's ``config.json``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from max import tree
from max.driver import Buffer
from max.dtype import DType
from max.experimental.nn import Module
from max.experimental.tensor import Tensor
from max.graph import DeviceRef
from max.graph.weights import WeightsFormat
from max.nn.kv_cache import KVCacheParamInterface
from max.pipelines.context import TextContext
from max.pipelines.kv_cache.memory_planner import PagedMemoryPlanner
from max.pipelines.lib import (
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
from play.kernels.modules import with_linear
from play.kernels.operations import loaded
from play.serving.options import of_the_model


class ServedByMax(Module[..., ModuleV3Outputs]):
    """A model over step 15's paged cache with the inputs and outputs of MAX's server.

    Args:
        model: returns the logits after each request of tokens, row offsets and a cache, as ``ServedGPT2`` does.
        params: the sizes of MAX's pages.
    """

    def __init__(self, model: Module[..., Tensor], params: KVCacheParamInterface) -> None:
        self.model, self.params = model, params
        model.name_transparent = True  # so that its weights keep their names

    def forward(
        self, tokens: Tensor, logits_wanted: Tensor, row_offsets: Tensor, *cache: Tensor
    ) -> ModuleV3Outputs:  # [tokens], [1], [batch + 1], MAX's cache -> [batch, vocab]
        """Return the logits of the token that follows each request."""
        logits = self.model(tokens, row_offsets, MaxPagedCache(self.params, cache, row_offsets))
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
    """The configuration that MAX asks before the model exists: for how many tokens it is, and how large pages are.

    MAX makes pages for the layers and heads of a ``config.json`` with Llama's names for them.
    """

    DEFAULT_ENCODING: ClassVar = "float32"
    SUPPORTED_ENCODINGS: ClassVar = {"float32"}

    max_seq_len: int
    devices: list[DeviceRef]
    kv_params: KVCacheParamInterface
    dtype: DType = DType.float32

    @classmethod
    def initialize(
        cls, pipeline_config: PipelineConfig, model_config: MAXModelConfig | None = None, *, max_seq_len: int
    ) -> ServedConfig:
        """Read the configuration of the checkpoint that the server was started with."""
        model = model_config or pipeline_config.model
        devices = [DeviceRef(spec.device_type, spec.id) for spec in model.device_specs]
        sizes: Any = model.huggingface_config
        params = cls.construct_kv_params(sizes, pipeline_config, devices, model.kv_cache, DType.float32)
        return cls(max_seq_len=max_seq_len, devices=devices, kv_params=params)


class ServedModel(ModuleV3PipelineModelWithKVCache[TextContext]):
    """A model as MAX builds, fills and compiles it."""

    model_config_cls = ServedConfig
    batch_processor_cls = Batcher

    def load(self) -> Module[..., Tensor]:
        """Return the model with its weights, as :class:`ServedByMax` takes it."""
        raise NotImplementedError

    @cached_property
    def source(self) -> ServedByMax:
        """The model whose modules and weights are served."""
        model, chosen = self.load(), of_the_model()
        if chosen.get("kernels"):
            with_linear(model, chosen["dtype"] == "bfloat16")
        return ServedByMax(model, self.kv_params)

    def _load_state_dict(self) -> dict[str, Any]:
        return dict(self.source.parameters)

    def _create_model_config(self, state_dict: dict[str, Any]) -> ServedConfig:
        return self.model_config_cls.initialize(self.pipeline_config, max_seq_len=self.max_seq_len)

    def _instantiate_module(self, model_config: ServedConfig) -> ServedByMax:
        self.source.to(self.devices[0])
        return self.source

    def load_model(self) -> Callable[..., ModuleV3Outputs]:
        """Build and compile the model; with the kernels in reach, if it calls them."""
        let_threads_sleep()
        with loaded() if of_the_model().get("kernels") else nullcontext():
            compiled: Callable[..., ModuleV3Outputs] = super().load_model()
        return compiled


def architecture(
    name: str, model: type[ServedModel], weights_format: WeightsFormat, example: str
) -> SupportedArchitecture:
    """Return an architecture of MAX's.

    Args:
        name: its name in the ``config.json`` of its checkpoints.
        model: the class of the model that MAX makes.
        weights_format: the format of the checkpoints.
        example: a checkpoint on the hub.
    """
    return SupportedArchitecture(
        name=name,
        example_repo_ids=[example],
        default_encoding="float32",
        supported_encodings={"float32"},
        pipeline_model=model,
        tokenizer=TextTokenizer,
        context_type=TextContext,
        default_weights_format=weights_format,
        task=PipelineTask.TEXT_GENERATION,
        config=model.model_config_cls,
        batching=Batcher,
        memory_planner=PagedMemoryPlanner,
        supports_overlap_scheduler=False,
        supports_device_graph_capture=False,
    )
