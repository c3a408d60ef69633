"""The kernels that are kept."""

from checker.max_adapter import kernel_store


def test_every_recorded_kernel_is_in_one_file_and_the_models_steps_need_but_one():
    recorded, groups = kernel_store.recorded_kernels(), kernel_store.kernel_groups()
    assert sorted(kernel for group in groups.values() for kernel in group) == sorted(set().union(*recorded.values()))
    assert all(groups["model"] >= set(recorded[f"step_{number:02}"]) for number in (2, 7, 11, 13))
