"""The private and experimental names of MAX that the course uses, and what is lost without each.

``python -m checker.max_adapter.contract`` looks for them in the installed MAX and runs an operation through all hooks;
it says what does not fit, one line each. It may be imported where MAX is missing.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from typing import Any

from checker.course.installed import in_words

#: What is lost → the names of MAX without which it is.
NEEDED = {
    "MAX takes a fifth of a second longer to import": (
        "max._kv_cache_ops.mha_decode_num_partitions",
        "max._kv_cache_ops.mla_dispatch_args_scalar",
        "max.graph.weights.loader_wrappers.GGUFWeights",
    ),
    "steps 10 to 15 take up to 50% longer": (
        "max.experimental._passes._graph_block",
        "max.experimental._passes.add_input",
        "max.graph.graph._location",
    ),
    "kernels are compiled one by one, each when it is first needed": (
        "max._core.dialects.mo.GraphOp.move_after",
        "max._core.engine.max_cache_dir",
        "max._interpreter_ops.gc_compile.GCOpFamily.build_module_for_device",
        "max._interpreter_ops.gc_compile.GCOpFamily.cache",
        "max._interpreter_ops.gc_compile.compile_single_target",
        "max._interpreter_ops.gc_compile.registered_families",
        "max._interpreter_ops.gc_compile.session_for",
        "max._mlir_context.ensure_default_mlir_context",
    ),
    "steps 15 and 22 compile what they look up and multiply, for minutes": (
        "max._core.dialects.mo.CustomOp.symbol",
        "max._core.dialects.mo.GatherNdOp",
        "max._interpreter._is_interpretable_custom",
        "max._interpreter_ops.handlers._MO_OP_HANDLERS",
        "max._interpreter_ops.handlers.register_op_handler",
        "max.graph.KernelLibrary.verify_custom_op",
    ),
    "each module is compiled by itself, and a pass waits for it": (
        "max._core.Operation.from_bytecode",
        "max._core.Value._from_cmlir",
        "max._mlir_context.default_mlir_context",
        "max.engine.InferenceSession.compile_reusing_mefs",
        "max.engine.InferenceSession.init_all",
        "max.graph.Graph._mlir_op",
    ),
    "MAX also compiles single operations in background processes": (
        "max.experimental.executor.CompilingExecutor.execute",
        "max.experimental.executor.InterpreterExecutor.execute",
        "max.experimental.executor.UnsupportedGraphError",
        "max.experimental.executor.set_default_executor",
    ),
    "one of MAX's threads keeps an eighth of a core busy": ("max.engine.Model._execute_device_tensors",),
    "no check that runs MAX works": (
        "max.experimental.functional.lazy",
        "max.experimental.tensor.Tensor.from_dlpack",
        "max.experimental.tensor.default_device",
        "max.experimental.tensor.default_dtype",
    ),
    "step 15 cannot use MAX's paged cache": (
        "max.experimental.functional.constant",
        "max.experimental.functional.functional",
        "max.experimental.tensor.Tensor._graph_value",
        "max.experimental.tensor.Tensor.from_graph_value",
        "max.nn.kernels.flash_attention_ragged",
        "max.nn.kernels.store_k_cache_ragged",
        "max.nn.kernels.store_v_cache_ragged",
        "max.nn.kv_cache.KVCacheParamInterface.unflatten_kv_inputs",
    ),
}

#: The same of MAX's server, which need not be installed.
NEEDED_BY_THE_SERVER = {
    "the model cannot be served": (
        "max.pipelines.lib.ModuleV3PipelineModelWithKVCache._create_model_config",
        "max.pipelines.lib.ModuleV3PipelineModelWithKVCache._instantiate_module",
        "max.pipelines.lib.ModuleV3PipelineModelWithKVCache._load_state_dict",
        "max.pipelines.lib.interfaces.arch_config.ArchConfigWithStoredKVParams.construct_kv_params",
        "max.pipelines.lib.interfaces.batch_processor.ModuleV3SingleReplicaBatchProcessor._make_inputs",
    ),
    "the server cannot be started, or does not look at requests first": (
        "max.pipelines.lib.PIPELINE_REGISTRY._import_custom_architectures",
        "max.serve.api_server.fastapi_app",
        "max.serve.api_server.lifespan",
        "max.serve.process_control._SIGTERM_GRACE",
    ),
    "the server has no figures of tokens, batches and the cache": (
        "max.serve.api_server.start_telemetry_consumer",
        "max.serve.telemetry.common.configure_metrics",
        "max.serve.telemetry.metrics.MetricClient.cross_process_factory",
        "max.serve.telemetry.process_controller.ProcessMetricClient",
    ),
}


def find(name: str) -> None:
    """Look for a dotted name in the installed MAX, where it may also be a field of instances.

    Raises:
        Exception: it is not there, or what it is in cannot be imported.
    """
    value: Any = importlib.import_module("max")
    walked = "max"
    for part in name.split(".")[1:]:
        walked += f".{part}"
        if inspect.isclass(value) and any(part in inspect.get_annotations(base) for base in value.__mro__):
            return
        value = getattr(value, part, None) or importlib.import_module(walked)


def lost() -> list[str]:
    """Return what the installed MAX lacks, a sentence for each name, and what hooks do not fit it."""
    server = NEEDED_BY_THE_SERVER if importlib.util.find_spec("fastapi") else {}
    sentences = []
    for loss, names in {**NEEDED, **server}.items():
        for name in names:
            try:
                find(name)
            except Exception as error:
                sentences.append(f"{name} is not there ({type(error).__name__}: {error}): {loss}.")
    from checker.max_adapter import runtime

    runtime.prepare()
    try:
        runtime.start_threads()
    except Exception as error:
        sentences.append(f"an operation ends with {type(error).__name__} ({error}): no check that runs MAX works.")
    return sentences + runtime.notices


def main() -> int:
    """Print what does not fit; return 1 if there is something, 2 if MAX cannot be imported."""
    try:
        importlib.import_module("max.experimental.functional")
    except ImportError as error:
        print(in_words(error))
        return 2
    sentences = lost()
    print(*sentences or ["all names of MAX and all hooks are as expected"], sep="\n")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
