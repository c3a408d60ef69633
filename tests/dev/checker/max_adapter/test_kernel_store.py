"""The kernels that are kept."""

import os
from types import SimpleNamespace

from max._interpreter_ops import gc_compile

from checker.max_adapter import kernel_store


def test_every_recorded_kernel_is_in_one_file_and_the_models_steps_need_but_one():
    recorded, groups = kernel_store.recorded_kernels(), kernel_store.kernel_groups()
    assert sorted(kernel for group in groups.values() for kernel in group) == sorted(set().union(*recorded.values()))
    assert all(groups["model"] >= set(recorded[f"step_{number:02}"]) for number in (2, 7, 11, 13))


def test_every_recorded_kernel_is_compiled_with_the_others_but_casts_of_float16():
    """MAX's interpreter looks those up by name, and then computes them otherwise."""
    names = {kernel for group in kernel_store.kernel_groups().values() for kernel in group}
    made = {graph.sym_name for graph in kernel_store._module_of(names).mlir_module.body}
    assert {name for name in names - made if "float16" not in name} == set()


def test_what_was_compiled_long_ago_and_is_unused_is_removed_when_something_else_is_kept(tmp_path, monkeypatch):
    names = ("kernels-1.mef", "graphs-play-0.mef", "graphs-play-0.json", "graphs-play-0.json.1.unfinished")
    kept, *unused = (tmp_path / f"gpt2-in-max-{name}" for name in names)
    for file in unused:
        file.touch()
        os.utime(file, (0, 0))
    session = SimpleNamespace(
        compile=lambda module: SimpleNamespace(export_mef=lambda path: path.touch()),
        init_all=lambda compiled, weights_registry: {},
    )
    monkeypatch.setattr(gc_compile, "session_for", lambda device: session)
    monkeypatch.setattr(kernel_store, "_module_of", lambda names: None)
    monkeypatch.setattr(kernel_store, "cache_path", lambda *made_for, suffix: kept)
    kernel_store.load_kernels({"add"})
    assert [*tmp_path.iterdir()] == [kept]
