"""Names of other things that resemble keys of causes: hardly one may be plausible, and none may carry a full score."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from mfu_operator.gitops.blame.scores import PLAUSIBLE, RESEMBLING, of_change
from mfu_operator.gitops.fingerprints import Pace, pace, table

MOST = 0.03
"""The share that may be plausible for some cause: names such as `bucket_name` are those of a training's store too."""


@dataclass(frozen=True)
class Change:
    name: str
    old: object
    new: object
    was_there: bool = True
    is_there: bool = True


def changes() -> list[Change]:
    lines = Path(__file__).with_name("foreign_keys.tsv").read_text().splitlines()
    parts = [line.split("\t") for line in lines if not line.startswith("#")]
    return [Change(name, yaml.safe_load(old), yaml.safe_load(new)) for name, old, new in parts]


def worst(change: Change) -> float:
    told = [cause for cause, entry in table().causes.items() if pace(entry, change) not in (None, Pace.RESEMBLING)]
    return max((of_change(change, cause)[0] for cause in told), default=0.0)


def test_a_name_that_the_table_does_not_know_blames_nobody() -> None:
    every = {change.name: worst(change) for change in changes()}
    plausible = sorted(name for name, score in every.items() if score >= PLAUSIBLE)
    full = sorted(name for name, score in every.items() if score >= 1.0)
    assert len(every) >= 250
    assert len(plausible) <= MOST * len(every), plausible
    assert full == ["compile_report"], full  # as `compile` and `report` are words of keys of one cause


def test_what_only_resembles_is_below_what_is_blamed_and_above_what_is_not_known() -> None:
    score, why = of_change(Change("use_timestamp", True, False), "PrecisionLost")
    assert (score, RESEMBLING < PLAUSIBLE) == (RESEMBLING, True)
    assert why == "its name resembles keys of PrecisionLost, and it is not one that is known: look at it"


def test_a_known_name_is_not_taken_for_one_that_resembles() -> None:
    assert of_change(Change("use_amp", True, False), "PrecisionLost")[0] == 1.0
