"""What of a configuration file does not reach the program: options come before it, and Hydra selects among files."""

import pytest

from mfu_operator.gitops.blame.composed import unread
from mfu_operator.gitops.rendered.leaf import Leaf
from mfu_operator.gitops.rendered.workload import Delivered
from tests.support.blamed import CONFIG, changed, leaf

JOB = "Job/gpt"
WORKERS = changed("loader.num_workers", "8", "0", file="train.yaml", key='data["train.yaml"].loader.num_workers')


def side(*leaves: Leaf) -> Delivered:
    return Delivered({(each.object, each.key): each for each in leaves}, {}, (JOB, CONFIG))


def option(name: str, value: str = "8", beside: str = "") -> Leaf:
    field = "spec.containers[t].args[0]"
    return Leaf(JOB, f"spec.containers[t].args --{name}", name, value, field, f"{name}={value}", beside=beside)


def default(number: int, value: str, group: str = "", file: str = "config.yaml") -> Leaf:
    name = f"defaults[{number}]{f'.{group}' if group else ''}"
    return leaf(name, value, file=file, key=f'data["{file}"].{name}')


@pytest.mark.parametrize("name", ["num_workers", "loader.num_workers", "data.loader.num_workers"])
def test_a_value_that_an_option_gives_too_is_not_read_from_the_file(name: str) -> None:
    assert unread(WORKERS, side(option(name))) == (
        f"spec.containers[t].args[0] gives {name} too, which comes before the file"
    )


@pytest.mark.parametrize(
    "other",
    [
        option("workers"),
        option("loader.num_workers.first"),
        option("train.num_workers"),
        option("num_workers", beside="prepare.py"),
        option("validation.loader.num_workers"),
        leaf("num_workers", "8", of=JOB),
    ],
)
def test_another_option_leaves_the_file_as_it_is(other: Leaf) -> None:
    assert unread(WORKERS, side(other)) == ""


@pytest.mark.parametrize(
    "difference",
    [
        changed("loader.num_workers", "8", "0", of=JOB),
        changed("num_workers", "8", "0", file="launch.sh", key='data["launch.sh"] --num_workers'),
        changed("loader.num_workers", "8", "0", of="Secret/s", file="train.yaml"),
    ],
)
def test_what_is_no_value_of_a_configuration_file_is_not_judged(difference: object) -> None:
    assert unread(difference, side(option("num_workers"))) == ""  # type: ignore[arg-type]


def of_group(file: str) -> str:
    difference = changed("loader.num_workers", "8", "0", file=file, key=f'data["{file}"].loader.num_workers')
    return unread(difference, side(default(0, "_self_"), default(1, "large", "data"), default(2, "optim/adam")))


def test_a_file_that_the_lists_of_defaults_do_not_select_is_not_read() -> None:
    assert of_group("small.yaml") == "the lists of defaults select adam, config, large and not small"
    for file in ("large.yaml", "adam.yml", "config.yaml", "ds.json", "launch.sh"):
        assert of_group(file) == ""


@pytest.mark.parametrize(
    ("entry", "given", "read"),
    [
        (default(0, "large", "data"), option("data", "small"), False),
        (default(0, "small", "data"), option("data", "large"), True),
        (default(0, "small", "override /data@train"), option("data", "large"), True),
        (default(0, "small", "optional db/data"), option("db.data", "large"), True),
        (default(0, "small", "data"), option("experiment", "tuned/large"), True),
    ],
)
def test_what_the_command_selects_comes_before_the_lists(entry: Leaf, given: Leaf, read: bool) -> None:
    difference = changed("lr", "1", "2", file="large.yaml", key='data["large.yaml"].lr')
    assert (unread(difference, side(entry, given)) == "") is read
