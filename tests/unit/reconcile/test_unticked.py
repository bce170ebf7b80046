"""What is said of a spec that no tick can be made of."""

from dataclasses import replace

from mfu_operator.errors import Stall
from mfu_operator.model.condition import Condition
from mfu_operator.model.incident import Status
from mfu_operator.reconcile.unticked import hopeless
from tests.support import worlds

ERROR = Stall("SpecInvalid", "spec.detection.sustain is not a duration")
HERE = worlds.IDENTITY.generation


def test_it_is_said_once_for_each_generation() -> None:
    first = hopeless(worlds.IDENTITY, Status(), ERROR, 1000.0)
    assert [(each.type, each.reason) for each in first.status.conditions] == [
        ("Ready", "SpecInvalid"),
        ("Stalled", "SpecInvalid"),
    ]
    again = hopeless(worlds.IDENTITY, first.status, ERROR, 2000.0)
    assert (again.status, again.events) == (first.status, ())
    edited = replace(worlds.IDENTITY, generation=HERE + 1)
    assert len(hopeless(edited, first.status, ERROR, 3000.0).events) == 1


def test_an_incident_that_is_open_stays_so_while_the_spec_cannot_be_read() -> None:
    slow = Condition("Regressed", "True", "InputStarved", "slow", HERE, 10.0)
    found = hopeless(worlds.IDENTITY, Status(conditions=(slow,)), ERROR, 1000.0)
    assert found.status.conditions[-1] == slow


def test_it_is_said_of_a_spec_that_the_release_before_could_read() -> None:
    ready = Condition("Ready", "True", "Measuring", "fine", HERE, 10.0)
    before = Status(observed_generation=HERE, conditions=(ready,))
    assert len(hopeless(worlds.IDENTITY, before, ERROR, 1000.0).events) == 1
