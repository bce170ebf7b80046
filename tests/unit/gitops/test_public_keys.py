"""The table of causes against lines of public manifests and configurations: is a costly change of one key suspected?"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from mfu_operator.gitops.blame.scores import PLAUSIBLE, of_change
from mfu_operator.gitops.fingerprints import table
from mfu_operator.gitops.rendered.difference import Difference, differences
from mfu_operator.gitops.rendered.objects import things
from mfu_operator.gitops.rendered.workload import Delivered, delivered
from tests.support.suspect_story import config_map, job

ABSENT = "-"
LEAST = 0.95


@dataclass(frozen=True)
class Line:
    cause: str
    form: str
    key: str
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.source} {self.form} {self.key}: {self.before} → {self.after} ({self.cause})"


def lines() -> Iterator[Line]:
    for text in Path(__file__).with_name("public_keys.tsv").read_text().splitlines():
        if not text.startswith("#"):
            yield Line(*text.split("\t"))


def gets(line: Line, value: str) -> Delivered:
    """What a job gets in which the line has this value."""
    there = value != ABSENT
    args, env, resources, config = [], [], {"nvidia.com/gpu": "8"}, "seed: 1\n"
    if line.form == "arg" and there:
        args = [f"--{line.key}={value}"] if value else [f"--{line.key}"]
    elif line.form == "env" and there:
        env = [{"name": line.key, "value": value}]
    elif line.form == "limit" and there:
        resources[line.key] = value
    elif line.form == "file" and there:
        nested: object = yaml.safe_load(value)
        for part in reversed(line.key.split(".")):
            nested = {part: nested}
        config = yaml.safe_dump(nested)
    text = job(args=args, env=json.dumps(env), resources=json.dumps({"limits": resources}))
    if line.form == "x":
        text = text.replace("command: [python]", f"command: [mpirun, -x, '{line.key}={value}', python]")
    elif line.form == "node":
        text = text.replace(
            "restartPolicy: Never", f"restartPolicy: Never\n      nodeSelector: {{{line.key}: {value}}}"
        )
    elif line.form == "mount" and there:
        text = text.replace("      volumes:", f"            - {{name: {value}, mountPath: {line.key}}}\n      volumes:")
    found = things(f"{text}---\n{config_map(config)}")
    return delivered(found[0], found, b"")


def told(line: Line) -> tuple[Difference, ...]:
    return differences(gets(line, line.before), gets(line, line.after))


def score(line: Line) -> float:
    """The most that one difference is suspected for; of what is empty, nothing was read."""
    return max((of_change(each, line.cause)[0] for each in told(line)), default=0.0)


def test_a_costly_change_of_a_public_line_is_suspected() -> None:
    every = list(lines())
    missed = [str(line) for line in every if score(line) < PLAUSIBLE]
    share = 1 - len(missed) / len(every)
    said = f"{len(every)} lines of {len({line.source for line in every})} sources: {share:.1%} suspected"
    sys.stdout.write("\n".join([said, *missed, ""]))
    assert len(every) >= 400
    assert share >= LEAST, "\n".join(missed)


def test_the_same_change_the_other_way_round_is_not_blamed_as_costly() -> None:
    turned = [Line(each.cause, each.form, each.key, each.after, each.before, each.source) for each in lines()]
    blamed = [str(line) for line in turned if score(line) >= 1.0]
    assert not blamed, "\n".join(blamed)


@pytest.mark.parametrize("cause", sorted(table().causes))
def test_every_cause_has_a_public_line(cause: str) -> None:
    bare = {"PrefetchBursts"}
    assert cause in bare or any(line.cause == cause for line in lines()), cause
