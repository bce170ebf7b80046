"""Where a reason is explained, in conditions and in the Events that tell of them."""

from mfu_operator.model.condition import NOTE_BYTES, Condition, Event
from mfu_operator.reconcile.linking import explained

FAILED = Condition("MeasurementFailed", "True", "NoSeries", "no series")


def test_an_event_that_no_condition_repeats_stays_as_it_is() -> None:
    event = Event("Normal", "Recovered", "back at 0.46")
    ready = Condition("Ready", "True", "Recovered", "the same word, and nothing to explain")
    assert list(explained((event,), (FAILED, ready), None)) == [event]


def test_without_an_address_the_event_names_the_command() -> None:
    (told,) = explained((Event("Warning", "NoSeries", "no series"),), (FAILED,), None)
    assert told.message == "no series (kubectl mfu runbook NoSeries)"


def test_a_long_message_is_cut_for_its_link_in_bytes() -> None:
    (told,) = explained((Event("Warning", "NoSeries", "ü" * 2000),), (FAILED,), "https://runbooks.example/")
    assert NOTE_BYTES - 1 <= len(told.message.encode()) <= NOTE_BYTES
    assert told.message.endswith("ü (https://runbooks.example/reasons.md#noseries)")
