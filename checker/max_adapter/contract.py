"""The private and experimental names of MAX that the course uses, as they are in the MAX it is written for.

``python -m cli.max_adapter.contract`` compares them with the installed MAX and says what changed, one line each.
It may be imported where MAX is missing. A test demands that every such name in the two adapters, this folder and
``play/serving/max``, is listed here, and that there is none elsewhere. All names that sources in Mojo import from MAX's
packages are listed too, since none of these promises to stay.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import math
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from checker.course.installed import in_words
from checker.max_adapter import messages


class Gone(Exception):
    """The installed MAX has no such name."""


@dataclass(frozen=True)
class Entry:
    """Something that the course expects of MAX.

    Args:
        name: a dotted name, or what it is about in words.
        expected: what :func:`describe` says of it in the MAX that the course is written for.
        used_by: the file that uses it.
        lost: what is lost without it.
        look: finds what the installed MAX has.
    """

    name: str
    expected: str
    used_by: str
    lost: str
    look: Callable[[str], str]

    def broken(self) -> str:
        """Return what changed, in a sentence, or nothing."""
        try:
            found = self.look(self.name)
        except Gone:
            said = f"{self.name} no longer exists"
        except Exception as error:  # an import that fails inside MAX, say
            said = f"{self.name} cannot be examined ({type(error).__name__}: {error})"
        else:
            if found == self.expected:
                return ""
            said = f"{self.name} is {found!r}, and {self.expected!r} was expected"
        return f"{said}; {self.used_by} uses it, and without it {self.lost}."


def describe(dotted: str) -> str:
    """Return what the installed MAX has for a name: ``module``, ``class``, ``field``, or parameters as ``(a, *, b=…)``.

    Parameters are given without ``self``, types and the values of defaults: what a caller must fit.

    Raises:
        Gone: it has nothing of that name.
    """
    value: Any = importlib.import_module("max")
    owner, walked = None, "max"
    for part in dotted.split(".")[1:]:
        owner, walked = value, f"{walked}.{part}"
        try:
            value = inspect.getattr_static(owner, part)
        except AttributeError:
            if inspect.isclass(owner):
                if any(part in inspect.get_annotations(base) for base in owner.__mro__):
                    return "field"
                raise Gone(dotted) from None
            try:
                value = importlib.import_module(walked)
            except ModuleNotFoundError as error:
                raise Gone(dotted) from error
    return _kind(value, in_class=inspect.isclass(owner))


def _kind(value: Any, *, in_class: bool) -> str:
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "class"
    if isinstance(value, property):
        return "property"
    if isinstance(value, staticmethod | classmethod):
        value, in_class = value.__func__, isinstance(value, classmethod)
    if not inspect.isfunction(inspect.unwrap(value)):  # written in C++: Python 3.13 makes up a signature for it
        return "callable" if callable(value) else type(value).__name__
    parameters = list(inspect.signature(value).parameters.values())
    bare = [one.replace(annotation=one.empty) for one in parameters[in_class:]]
    shown = [one if one.default is one.empty else one.replace(default=...) for one in bare]
    return str(inspect.Signature(shown)).replace("Ellipsis", "…")


def _staged(module: Any) -> Any:
    """Return the graph of a module with six columns, not compiled."""
    from max.driver import CPU
    from max.dtype import DType
    from max.experimental.tensor import TensorType

    from checker.max_adapter import graphs

    def stage() -> None:
        with contextlib.suppress(graphs.StagedError):
            module.compile(TensorType(DType.float32, ["batch", 6], device=CPU()))

    return graphs.staged_by(stage)[0]


def _linear(columns: int) -> Any:
    from max.experimental import functional as F
    from max.experimental.nn import Linear

    with F.lazy():  # its weights are not computed
        return Linear(6, columns)


def _weights_of_a_graph(_: str) -> str:
    from checker.max_adapter import graphs

    operations = graphs._weights(_staged(_linear(2))._mlir_op)
    return ", ".join(sorted(operation.attributes["name"].value for operation in operations))


def _texts_of_graphs(_: str) -> str:
    from checker.max_adapter.graphs import fingerprint

    first, again, other = (fingerprint(_staged(_linear(columns))) for columns in (2, 2, 3))
    return f"{'the same' if first == again else 'another one'}, {'the same' if first == other else 'another one'}"


def _cache_inputs(_: str) -> str:
    from max import tree
    from max.dtype import DType
    from max.graph import DeviceRef
    from max.nn.kv_cache import KVCacheInputsPerDevice, MHAKVCacheParams

    sizes: dict[str, Any] = {"n_kv_heads": 2, "head_dim": 4, "num_layers": 1, "page_size": 128}
    params = MHAKVCacheParams(dtype=DType.float32, devices=[DeviceRef.CPU()], **sizes)
    (inputs,) = tree.leaves(params.get_symbolic_inputs(), leaf=KVCacheInputsPerDevice)
    return ", ".join(name for name, value in vars(inputs).items() if value is not None)


def _settings(_: str) -> str:
    from max.serve.config import Settings

    known = {str(field.alias) for field in Settings.model_fields.values()}
    return ", ".join(name for name in SETTINGS.split(", ") if name in known)


def _measured(_: str) -> str:
    from max.serve.telemetry.metrics import SERVE_METRICS

    return ", ".join(name for name in MEASURED.split(", ") if name in SERVE_METRICS)


#: What people write, with a tensor ``x`` [batch, 6]; ``messages`` has advice on the text of the error that it gets.
PROVOKED = (
    "F.softmax(x, dim=1)",
    "F.tril(x)",
    "x.masked_fill(x > 0, 0.0)",
    "x.view([-1])",
    "x.contiguous()",
    "x.size(0)",
    "F.cat([x, x])",
    "x.transpose(0, 1, 0)",
    "x.reshape(3, 4)",
    "x.permute(0, 1)",
    "x.shape[0] ** 0.5",
    "x.shape[0] < 3",
    "int(x.shape[0])",
    "x.shape[1] ** 0.5",
    "1.5 / (x.shape[0] // 2)",
    "math.sqrt(x.shape[0])",
    "np.sqrt(x.shape[0])",
    "x[0][x[0] > 0]",
    "F.gelu(x, approximate='erf')",
    "F.cross_entropy(x, x)",
    "F.one_hot(x, 3)",
    "F.pad(x, (0, 1))",
    "float(x)",
    "x.__setitem__(0, 1.0)",
    "F.gather_nd(x, F.argmax(x), batch_dims=2)",
    "x / F.argmax(x)",
    "x.backward()",
    "F.sum(x, axis=(0, 1))",
    "x.index_add_(0, x, x)",
    "F.einsum('bto,bti->oi', x, x)",
    "[query for query, key, value in [F.split(x, 3, axis=-1)]]",
)
IMPOSSIBLE = "x @ x"  # its error has MAX's diagnosis in the middle of a long text


@cache
def messages_of_max() -> Mapping[str, str]:
    """Return the text of the error that each of ``PROVOKED`` gets, and ``IMPOSSIBLE``."""
    import numpy as np
    from max.experimental import functional as F
    from max.experimental.nn import Module

    said = {}

    class Provoking(Module[[Any], Any]):
        def forward(self, x: Any) -> Any:
            for expression in (*PROVOKED, IMPOSSIBLE):
                try:
                    eval(expression, {"F": F, "math": math, "np": np, "x": x})
                    said[expression] = "no error"
                except Exception as error:
                    said[expression] = messages.what_was_said(error) if expression != IMPOSSIBLE else str(error)
            return x

    _staged(Provoking())
    return said


def _advice(expression: str) -> str:
    message = messages_of_max()[expression]
    return "advice" if messages.advice_on(message) else messages.without_internals(message)


def _diagnosis(expression: str) -> str:
    message = messages.without_internals(messages_of_max()[expression])
    return "a diagnosis" if message.startswith("Matmul: ") and "Diagnostics" not in message else message


def _refusal(expression: str) -> str:
    from max.experimental import functional as F
    from max.experimental.nn import Module

    from checker.max_adapter import graphs

    class Evaluating(Module[[Any], Any]):
        def forward(self, x: Any) -> Any:
            return eval(expression, {"F": F, "x": x})

    return "refused" if graphs.refused_by_the_compiler(_staged(Evaluating())) else "compiled"


@cache
def _missing_in_mojo() -> Mapping[str, str]:
    """Return what Mojo says of each name of ``IN_MOJO`` that it does not find."""
    from mojo.run import subprocess_run_mojo

    names = [name for names in IN_MOJO.values() for name in names]
    lines = ["from {} import {}\n".format(*name.rsplit(".", 1)) for name in names]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "imports.mojo"
        # A module that never exists comes last, so that Mojo stops in any case before it compiles.
        file.write_text("".join([*lines, "import gpt2_in_max_stops_here\n"]))
        command = ["build", "--emit", "shared-lib", "-o", str(file.with_suffix(".so")), str(file)]
        said = subprocess_run_mojo(command, capture_output=True, text=True).stderr
    errors = re.findall(r"imports\.mojo:(\d+):\d+: error: (.*)", said)
    found = {int(line): words for line, words in errors}
    if len(names) + 1 not in found:
        raise Gone(f"Mojo's compiler, which says: {said.strip()[-200:]}")
    return {name: found[line] for line, name in enumerate(names, start=1) if line in found}


def _in_mojo(name: str) -> str:
    return _missing_in_mojo().get(name, "there")


def _names(used_by: str, lost: str, expected: Mapping[str, str]) -> tuple[Entry, ...]:
    return tuple(Entry(name, text, used_by, lost, describe) for name, text in expected.items())


IMPORTS = "checker/max_adapter/imports.py"
INPUTS = "checker/max_adapter/inputs.py"
KERNELS = "checker/max_adapter/kernels.py"
GRAPHS = "checker/max_adapter/graphs.py"
RUNTIME = "checker/max_adapter/runtime.py"
MESSAGES = "checker/max_adapter/messages.py"
CACHE = "play/serving/max/cache.py"
PAGES = "play/serving/max/pages.py"
ARCHITECTURE = "play/serving/max/architecture.py"
SERVER = "play/serving/max/server.py"
METERING = "play/serving/max/metering.py"

STEP_21, KERNELS_IN_MOJO = "solutions/solution_21.mojo", "play/kernels"

#: By file, the names that sources in Mojo import from MAX's packages; each under one file that has it.
IN_MOJO = {
    STEP_21: ("max.algorithm.sync_parallelize",),
    f"{KERNELS_IN_MOJO}/__init__.mojo": (
        "extensibility.InputTensor",
        "extensibility.ManagedTensorSlice",
        "extensibility.OutputTensor",
        "extensibility.register",
        "extensibility._MutableInputTensor",
        "max.gpu.host.DeviceContext",
        "max.runtime.asyncrt.parallelism_level",
    ),
    f"{KERNELS_IN_MOJO}/gpu.mojo": ("max.gpu.global_idx",),
}

#: The files whose names are there only with ``max[serve]``.
NEED_THE_SERVER = (ARCHITECTURE, SERVER, METERING)

#: Environment variables and settings of MAX's server, which share their names.
SETTINGS = (
    "MAX_SERVE_API_TYPES, MAX_SERVE_DISABLE_TELEMETRY, MAX_SERVE_HOST, MAX_SERVE_LOGS_CONSOLE_LEVEL, "
    "MAX_SERVE_METRIC_RECORDING_METHOD, MAX_SERVE_PORT, MODULAR_STRUCTURED_LOGGING"
)

#: What MAX's server measures and ours shows.
MEASURED = (
    "maxserve.batch_size, maxserve.cache.num_total_blocks, maxserve.cache.num_used_blocks, maxserve.num_input_tokens, "
    "maxserve.num_output_tokens, maxserve.time_per_output_token, maxserve.time_to_first_token"
)

CONTRACT = (
    *_names(
        IMPORTS,
        "MAX takes a fifth of a second longer to import",
        {
            "max._kv_cache_ops": "module",
            "max._kv_cache_ops.mha_decode_num_partitions": "(batch_size, max_cache_valid_length, n_kv_heads, device)",
            "max.graph.weights.loader_wrappers": "module",
        },
    ),
    *_names(
        INPUTS,
        "steps 10 to 15 take up to 50% longer",
        {
            "max.experimental._passes.add_input": "(graph, type)",
            "max.experimental._passes._graph_block": "(graph)",
            "max.graph.graph._location": "(ignore_frames=…, attach_profile_scopes=…)",
            "max.graph.Graph.inputs": "cached_property",
            "max._core.Block.add_argument": "callable",
        },
    ),
    *_names(
        KERNELS,
        "kernels are compiled one by one, each when it is first needed",
        {
            "max._interpreter_ops.gc_compile": "module",
            "max._interpreter_ops.gc_compile.registered_families": "()",
            "max._interpreter_ops.gc_compile.compile_single_target": "(family, key, device, build_graph)",
            "max._interpreter_ops.gc_compile.session_for": "(device)",
            "max._interpreter_ops.gc_compile.GCOpFamily.cache": "field",
            "max._interpreter_ops.gc_compile.GCOpFamily.build_module_for_device": "(device, module=…)",
            "max._mlir_context.ensure_default_mlir_context": "()",
            "max._core.dialects.mo.GraphOp.sym_name": "property",
            "max._core.dialects.mo.GraphOp.move_after": "callable",
            "max.graph.Module.mlir_module": "field",
        },
    ),
    *_names(
        KERNELS,
        "a product with weights in blocks is compiled when it is met",
        {
            "max._interpreter._is_interpretable_custom": "(op)",
            "max._interpreter_ops.handlers._MO_OP_HANDLERS": "dict",
            "max._interpreter_ops.handlers.register_op_handler": "(op_type)",
            "max._core.dialects.mo.CustomOp.symbol": "property",
            "max.graph.KernelLibrary.verify_custom_op": "(custom_op)",
            "max.experimental.functional.qmatmul": "(encoding, config, lhs, *rhs)",
        },
    ),
    *_names(
        KERNELS,
        "a row that is looked up by unsigned numbers is compiled when it is met",
        {"max._core.dialects.mo.GatherOp": "class", "max._core.dialects.mo.GatherNdOp": "class"},
    ),
    *_names(
        "checker/max_adapter/cache_files.py",
        "kernels and graphs are compiled one by one",
        {"max._core.engine.max_cache_dir": "callable", "max._core.__version__": "str"},
    ),
    *_names(
        GRAPHS,
        "each module is compiled by itself",
        {
            "max.engine.InferenceSession.compile_reusing_mefs": "(model, *, custom_extensions=…, tile_based_fusion=…)",
            "max.engine.InferenceSession.init_all": "(compiled, *, weights_registry=…)",
            "max._core.Value._from_cmlir": "callable",
            "max._core.Operation.from_bytecode": "callable",
            "max._mlir_context.default_mlir_context": "()",
            "max.graph.Graph._mlir_op": "field",
            "max.graph.Value.from_mlir": "(value)",
        },
    ),
    Entry(
        "the operations mo.constant.external of a linear layer, by name",
        "bias, weight",
        GRAPHS,
        "the graphs of all solutions cannot be compiled together",
        _weights_of_a_graph,
    ),
    Entry(
        "the text of a graph that is staged again, and of another graph",
        "the same, another one",
        GRAPHS,
        "a check may load the graph of another module",
        _texts_of_graphs,
    ),
    *_names(
        RUNTIME,
        "MAX also compiles single operations in background processes",
        {
            "max.experimental.executor": "module",
            "max.experimental.executor.set_default_executor": "(executor)",
            "max.experimental.executor.InterpreterExecutor": "class",
            "max.experimental.executor.InterpreterExecutor.execute": "(graph, inputs)",
            "max.experimental.executor.CompilingExecutor": "class",
            "max.experimental.executor.CompilingExecutor.execute": "(graph, inputs)",
            "max.experimental.executor.UnsupportedGraphError": "class",
        },
    ),
    *_names(
        RUNTIME,
        "one of MAX's threads keeps an eighth of a core busy",
        {"max.engine.Model": "class", "max.engine.Model._execute_device_tensors": "callable"},
    ),
    *_names(
        RUNTIME,
        "no check that runs MAX works",
        {
            "max.experimental.functional.lazy": "()",
            "max.experimental.tensor.Tensor.from_dlpack": "(array)",
            "max.experimental.tensor.default_device": "(device)",
            "max.experimental.tensor.default_dtype": "(dtype)",
        },
    ),
    *(Entry(expression, "advice", MESSAGES, "a learner gets no advice on it", _advice) for expression in PROVOKED),
    *(
        Entry(expression, said, GRAPHS, because, _refusal)
        for expression, said, because in (
            ("F.softmax(x, axis=-2)", "refused", "a softmax over axis -2 is a yes that the compiler takes back"),
            ("F.softmax(x, axis=-1)", "compiled", "no softmax is a yes before it is compiled"),
            ("F.sum(x > 0, axis=1)", "refused", "a sum of booleans is a yes that the compiler takes back"),
            ("F.sum(x, axis=1)", "compiled", "no sum is a yes before it is compiled"),
        )
    ),
    Entry(IMPOSSIBLE, "a diagnosis", MESSAGES, "a learner reads MAX's internals", _diagnosis),
    *_names(
        CACHE,
        "step 15 cannot use MAX's paged cache",
        {
            "max.experimental.functional.functional": "(graph_op, rule=…)",
            "max.experimental.functional.constant": "(value, dtype=…, device=…)",
            "max.experimental.tensor.Tensor._graph_value": "property",
            "max.experimental.tensor.Tensor.from_graph_value": "(value)",
            "max.nn.attention.MHAMaskVariant.CAUSAL_MASK": "MHAMaskVariant",
            "max.nn.kernels.flash_attention_ragged": (
                "(kv_params, input, input_row_offsets, kv_collection, layer_idx, mask_variant, scale, "
                "local_window_size=…, sink_weights=…, rel_logits=…, output_dtype=…)"
            ),
            "max.nn.kernels.store_k_cache_ragged": "(kv_collection, x_k, input_row_offsets, layer_idx)",
            "max.nn.kernels.store_v_cache_ragged": "(kv_collection, x_v, input_row_offsets, layer_idx)",
            "max.nn.kv_cache.KVCacheInputsPerDevice.cache_lengths": "field",
            "max.nn.kv_cache.KVCacheParamInterface.unflatten_kv_inputs": "(it)",
        },
    ),
    *_names(
        PAGES,
        "the check of step 15 cannot run the model over MAX's pages",
        {
            "max.experimental.tensor.TensorType": "class",
            "max.nn.kv_cache.MHAKVCacheParams.shape_per_block": "property",
            "max.nn.kv_cache.MHAKVCacheParams.get_symbolic_inputs": "(namespace=…)",
            "max.nn.kv_cache.MHAKVCacheParams.resolve_attn_key": (
                "(batch_size, max_prompt_length, max_cache_valid_length)"
            ),
        },
    ),
    Entry(
        "the inputs of a graph that make up MAX's paged cache, in their order",
        "kv_blocks, cache_lengths, lookup_table, max_prompt_length, max_cache_length, page_stride, "
        "attention_dispatch_metadata",
        PAGES,
        "the check of step 15 gives the model the wrong inputs",
        _cache_inputs,
    ),
    *_names(
        ARCHITECTURE,
        "the model cannot be served",
        {
            "max.pipelines.lib.ModuleV3PipelineModelWithKVCache._load_state_dict": "()",
            "max.pipelines.lib.ModuleV3PipelineModelWithKVCache._create_model_config": "(state_dict)",
            "max.pipelines.lib.ModuleV3PipelineModelWithKVCache._instantiate_module": "(model_config)",
            "max.pipelines.lib.interfaces.batch_processor.ModuleV3SingleReplicaBatchProcessor._make_inputs": (
                "(*, tokens, input_row_offsets, return_n_logits, kv_cache_inputs)"
            ),
            "max.pipelines.lib.interfaces.arch_config.ArchConfigWithStoredKVParams.construct_kv_params": (
                "(huggingface_config, pipeline_config, devices, kv_cache_config, cache_dtype, *, "
                "allow_kv_head_replication=…)"
            ),
        },
    ),
    *_names(
        SERVER,
        "the server cannot be started, or does not look at requests first",
        {
            "max.serve.api_server": "module",
            "max.serve.api_server.ServingTokenGeneratorSettings": "class",
            "max.serve.api_server.fastapi_app": "(settings, serving_settings)",
            "max.serve.api_server.lifespan": "(app, settings, serving_settings, zmq_endpoint_base)",
            "max.serve.process_control._SIGTERM_GRACE": "float",
            "max.serve.process_control.SubprocessExit": "class",
            "max.pipelines.lib.PIPELINE_REGISTRY._import_custom_architectures": "(self, custom_architectures)",
            "max.pipelines.lib.PIPELINE_REGISTRY.retrieve_factory": (
                "(self, pipeline_config, task=…, override_architecture=…)"
            ),
            "max.pipelines.lib.PipelineArgs.from_flat_kwargs": "(**kwargs)",
            "max.pipelines.lib.PipelineConfig.from_args": "(args)",
            "max.serve.telemetry.common.configure_logging": "(settings, color=…, silent=…)",
        },
    ),
    *_names(
        METERING,
        "the server has no figures of tokens, batches and the cache",
        {
            "max.serve.api_server.start_telemetry_consumer": "(settings)",
            "max.serve.telemetry.metrics.MaxMeasurement.instrument_name": "field",
            "max.serve.telemetry.metrics.MetricClient.send_measurement": "(metric)",
            "max.serve.telemetry.metrics.MetricClient.cross_process_factory": "(settings)",
        },
    ),
    Entry("what MAX measures", MEASURED, METERING, "a figure of the server stays 0", _measured),
    Entry("the settings of the server", SETTINGS, SERVER, "the server is not set as it should be", _settings),
    *(
        Entry(
            name, "there", file, f"{'--kernels' if file.startswith(KERNELS_IN_MOJO) else 's21'} works no more", _in_mojo
        )
        for file, names in IN_MOJO.items()
        for name in names
    ),
)


def compare() -> list[str]:
    """Return a sentence for each entry that the installed MAX does not fit.

    Those of the server are checked only if it is installed.
    """
    return [said for entry in CONTRACT if _can_be_looked_at(entry) and (said := entry.broken())]


def _can_be_looked_at(entry: Entry) -> bool:
    return entry.used_by not in NEED_THE_SERVER or importlib.util.find_spec("fastapi") is not None


def main() -> int:
    """Print what does not fit; return 1 if there is something, 2 if MAX cannot be imported."""
    try:
        importlib.import_module("max.experimental.functional")
    except ImportError as error:
        print(in_words(error))
        return 2
    broken = compare()
    print(*broken, sep="\n", end="\n" if broken else "")
    looked_at = sum(map(_can_be_looked_at, CONTRACT))
    if not broken:
        print(f"all {looked_at} names are as expected")
    if left := len(CONTRACT) - looked_at:
        print(f"{left} names of MAX's server were not checked, since it is not installed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
