import pytest

from mfu_operator.trace.account.steps import PATTERNS
from mfu_operator.trace.names import range_names


@pytest.mark.parametrize(
    "rule", range_names.rules(), ids=lambda rule: f"{rule.where} {rule.pattern.regex.pattern[:40]}"
)
def test_every_rule_is_the_first_to_match_its_example(rule: range_names.NameRule) -> None:
    first = next(one for one in range_names.rules() if one.where == rule.where and one.pattern.matches(rule.example))
    assert first == rule


@pytest.mark.parametrize(
    "name", ["input_layernorm", "data_parallel_forward", "load_state_dict", "batch_norm", "aten::_to_copy"]
)
def test_names_of_layers_and_of_the_framework_are_no_input(name: str) -> None:
    assert range_names.meaning("range", name) != "idleInput"


@pytest.mark.parametrize("name", ["nccl:all_reduce", "gloo:all_reduce", "ucc:alltoall"])
def test_collectives_that_an_old_profiler_recorded_as_operators_are_ranges(name: str) -> None:
    assert range_names.is_range(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("data", "idleInput"),
        ("input", "idleInput"),
        ("dataloader", "idleInput"),
        ("## load_batch ##", "idleInput"),
        ("[pl][profile]get_train_batch", "idleInput"),
        ("loader_next", "idleInput"),
        ("prefetcher.next", "idleInput"),
        ("next(iter)", "idleInput"),
        ("forward", "compute"),
        ("backward", "compute"),
        ("loss", "compute"),
        ("optimizer", "compute"),
        ("allreduce", "communication"),
        ("allgather", "communication"),
        ("nccl:all_reduce", "communication"),
        ("gloo:all_reduce", "communication"),
        ("h2d", "h2d"),
        ("copy", "h2d"),
        ("d2h", "d2h"),
        ("sync", "idleSync"),
        ("barrier", "idleSync"),
        ("checkpoint", None),
        ("step", None),
    ],
)
def test_what_a_training_loops_ranges_mean(name: str, meant: str | None) -> None:
    assert range_names.meaning("range", name) == meant


@pytest.mark.parametrize(
    "name",
    [
        "step",
        "Step 12",
        "train_step",
        "iteration_7",
        "ProfilerStep#5",
        "epoch 1, step 20",
        "batch 3",
        "## step 5 ##",
        "step[5]",
        "step 5/100",
        "Iter: 5 of 100",
        "minibatch 4",
        "[pl][profile]run_training_batch",
    ],
)
def test_usual_names_of_step_ranges_are_known(name: str) -> None:
    assert any(pattern.match(name) for pattern in PATTERNS)


@pytest.mark.parametrize(
    "name",
    [
        "optimizer_step",
        "stepper",
        "iter_next",
        "micro_batch 3",
        "[pl][profile]run_training_epoch",
        "Optimizer.step#SGD.step",
        "steps of layer 3",
    ],
)
def test_a_part_of_a_step_is_not_taken_for_it(name: str) -> None:
    assert not any(pattern.match(name) for pattern in PATTERNS)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("hipExtModuleLaunchKernel", "launch"),
        ("hipHccModuleLaunchKernel", "launch"),
        ("hipDrvLaunchKernelEx", "launch"),
        ("urEnqueueKernelLaunch", "launch"),
        ("urEventWait", "sync"),
        ("zeEventHostSynchronize", "sync"),
        ("urUSMDeviceAlloc", "alloc"),
        ("hipGraphLaunch", "graph"),
        ("cudaLaunchKernelExC_v11060", "launch"),
        ("cudaMemcpyAsync_v3020", None),
    ],
)
def test_what_calls_of_every_makers_runtime_mean(name: str, meant: str | None) -> None:
    assert range_names.meaning("cuda", name) == meant
