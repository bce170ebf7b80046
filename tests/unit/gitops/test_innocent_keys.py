"""Keys that look like those of a cause and cannot bring it about: evaluation, hyperparameters, bounds that stay on."""

from dataclasses import dataclass

import pytest

from mfu_operator.gitops.blame.scores import PLAUSIBLE, of_change
from mfu_operator.gitops.fingerprints import of_evaluation
from mfu_operator.gitops.rendered import commands, shell
from mfu_operator.gitops.rendered.commands import Option, Word


@dataclass(frozen=True)
class Change:
    name: str
    old: object
    new: object
    was_there: bool = True
    is_there: bool = True


@pytest.mark.parametrize(("cause", "name", "old", "new"), [
    ("DataLoaderWorkers", "eval.num_workers", 8, 0),
    ("DataLoaderWorkers", "val_dataloader.num_workers", 8, 0),
    ("DataLoaderWorkers", "eval_num_workers", 8, 0),
    ("DataLoaderWorkers", "data.test_loader.num_workers", 8, 0),
    ("ShapeChanged", "evaluation.batch_size", 8, 16),
    ("PrecisionLost", "inference.dtype", "bf16", "fp32"),
    ("Synchronisation", "trainer.gradient_clip_val", 1.0, 0.5),
    ("Synchronisation", "max_grad_norm", 1.0, 2.0),
    ("Synchronisation", "optim.loss_scale_window", 1000, 2000),
    ("NewKernel", "optimizer.lr", 0.001, 0.002),
    ("NewKernel", "optimizer.params.betas[0]", 0.9, 0.95),
    ("NewKernel", "model.hidden_dropout", 0.1, 0.2),
    ("NewKernel", "moe_aux_loss_coeff", 0.01, 0.02),
    ("NewKernel", "lora_alpha", 16, 32),
    ("NewKernel", "ema_decay", 0.99, 0.999),
    ("CpuTransform", "reprob", 0.25, 0.5),
    ("SlowLink", "NCCL_DEBUG", "WARN", "INFO"),
    ("SlowLink", "NCCL_IB_TIMEOUT", "19", "22"),
])  # fmt: skip
def test_a_key_that_only_looks_like_one_is_not_suspected(cause: str, name: str, old: object, new: object) -> None:
    score, why = of_change(Change(name, old, new), cause)
    assert score < PLAUSIBLE, why


@pytest.mark.parametrize(("cause", "name", "old", "new"), [
    ("Synchronisation", "trainer.gradient_clip_val", 0, 1.0),
    ("Synchronisation", "trainer.val_check_interval", 100, 5),
    ("Synchronisation", "eval_steps", 500, 5),
    ("Synchronisation", "eval.interval", 1000, 10),
    ("Synchronisation", "limit_val_batches", 10, 1000),
    ("NewKernel", "hidden_dropout", 0.0, 0.1),
    ("DataLoaderWorkers", "train_val.num_workers", 8, 0),
])  # fmt: skip
def test_what_does_cost_time_is_suspected_all_the_same(cause: str, name: str, old: object, new: object) -> None:
    score, why = of_change(Change(name, old, new), cause)
    assert score >= PLAUSIBLE, why


def test_a_value_is_no_validation() -> None:
    assert not of_evaluation("gradient_clip_val")
    assert of_evaluation("val")


def test_a_list_of_words_is_read_where_it_is_used() -> None:
    script = shell.read(
        'A=(--bf16  # x\n  "--num-workers" 8)\nB="--seed 1"\nA+=(--log 1)\ntorchrun t.py "${A[@]}" $B\n'
    )
    assert script.programs[-1] == ["torchrun", "t.py", "--bf16", "--num-workers", "8", "--log", "1", "--seed", "1"]


def test_a_list_of_words_that_nothing_uses_is_read_where_it_is_written() -> None:
    assert shell.read("ARGS=(--a 1)\nls\n").programs == [["ls"], ["ARGS=", "--a", "1"]]


def test_a_list_belongs_to_the_program_that_uses_it() -> None:
    text = "T=(--num-workers 8)\nE=(--num-workers 2)\ntorchrun train.py ${T[@]}\npython eval.py ${E[@]}\n"
    found = [each for each in commands.read([Word("sh", "f", "r"), Word(text, "f", "r")]) if isinstance(each, Option)]
    assert {(each.value, each.beside) for each in found if each.name == "num_workers"} == {("8", ""), ("2", "eval.py")}


@pytest.mark.parametrize("value", ["results", "two words", "1"])
def test_an_override_that_assigns_nothing_is_an_option_with_its_value(value: str) -> None:
    words = [Word(text, "f", "r") for text in ("python", "train.py", "-o", value)]
    assert ("o", value) in [(each.name, each.value) for each in commands.read(words) if isinstance(each, Option)]
