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


def test_it_is_said_of_a_spec_that_the_release_before_could_read() -> None:
    ready = Condition("Ready", "True", "Measuring", "fine", HERE, 10.0)
    before = Status(observed_generation=HERE, conditions=(ready,))
    assert len(hopeless(worlds.IDENTITY, before, ERROR, 1000.0).events) == 1
