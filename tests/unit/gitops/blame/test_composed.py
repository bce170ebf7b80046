"""What of a configuration file does not reach the program: options come before it, and Hydra selects among files."""

from dataclasses import replace

import pytest

from mfu_operator.gitops.blame.composed import unread
from mfu_operator.gitops.rendered.difference import Difference
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
    assert unread(WORKERS, side(), side(option(name))) == (
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
    assert unread(WORKERS, side(), side(other)) == ""


@pytest.mark.parametrize(
    "difference",
    [
        changed("loader.num_workers", "8", "0", of=JOB),
        changed("num_workers", "8", "0", file="launch.sh", key='data["launch.sh"] --num_workers'),
        changed("loader.num_workers", "8", "0", of="Secret/s", file="train.yaml"),
    ],
)
def test_what_is_no_value_of_a_configuration_file_is_not_judged(difference: object) -> None:
    assert unread(difference, side(), side(option("num_workers"))) == ""  # type: ignore[arg-type]


def of_group(file: str) -> str:
    difference = changed("loader.num_workers", "8", "0", file=file, key=f'data["{file}"].loader.num_workers')
    return unread(difference, side(), side(default(0, "_self_"), default(1, "large", "data"), default(2, "optim/adam")))


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
    assert (unread(difference, side(), side(entry, given)) == "") is read


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("${WORKERS:-8}", "${WORKERS:-0}"),
        ("${WORKERS-8}", "${WORKERS:-0}"),
        ("${oc.env:WORKERS,8}", "${oc.env:WORKERS,0}"),
    ],
)
def test_the_default_of_a_variable_that_is_given_does_not_count(old: str, new: str) -> None:
    difference = changed("num_workers", old, new, file="run.sh", key='data["run.sh"] --num_workers')
    for given in (leaf("WORKERS", "8", of=JOB), leaf("data.WORKERS", "8", of="ConfigMap/env")):
        assert unread(difference, side(), side(given)) == "WORKERS is given, so that the default does not count"
    for other in (leaf("OTHER", "8", of=JOB), leaf("WORKERS", "8", file="train.yaml")):
        assert unread(difference, side(), side(other)) == ""


@pytest.mark.parametrize(("old", "new"), [("8", "${WORKERS:-0}"), ("${WORKERS:-8}", "${THREADS:-8}"), ("8", "0")])
def test_what_is_no_change_of_a_default_counts(old: str, new: str) -> None:
    difference = changed("num_workers", old, new, file="run.sh", key='data["run.sh"] --num_workers')
    assert unread(difference, side(), side(leaf("WORKERS", "8", of=JOB))) == ""


BRANCHES = "if [ $STAGE = prod ]; then train.py; else train.py; fi"
LAST, FIRST = 'data["run.sh"] --num_workers', 'data["run.sh"] earlier 1 --num_workers'


def runs(last: str, first: str) -> Delivered:
    return side(*(leaf("num_workers", value, file="run.sh", key=key) for key, value in ((LAST, last), (FIRST, first))))


def run_changed(key: str, script: str) -> Difference:
    return replace(changed("num_workers", "8", "0", file="run.sh", key=key), before=script, after=script)


@pytest.mark.parametrize(("key", "good", "bad"), [(FIRST, ("8", "8"), ("8", "0")), (LAST, ("8", "8"), ("0", "8"))])
def test_of_several_branches_one_is_not_blamed_alone(key: str, good: tuple[str, str], bad: tuple[str, str]) -> None:
    said = "the script gives it more than once, and not every time alike"
    assert unread(run_changed(key, BRANCHES), runs(*good), runs(*bad)) == said
    assert unread(run_changed(key, BRANCHES), runs("8", "8"), runs("0", "0")) == ""


def test_without_branches_the_last_word_counts() -> None:
    assert unread(run_changed(LAST, "export A=1\nexport A=2"), runs("8", "8"), runs("0", "8")) == ""
    assert unread(run_changed(FIRST, "export A=1\nexport A=2"), runs("8", "8"), runs("8", "0")) != ""
