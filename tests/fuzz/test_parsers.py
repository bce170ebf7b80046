"""Whatever strangers send is read, or refused by the error that the parser names, and soon.

A hundred or so each, the same every time; `make fuzz` sends others for half an hour."""

import pytest
from hypothesis import given, settings

from tests.fuzz.targets import TARGETS, Target
from tests.support.soundness import within_seconds

LONGEST_S = 10.0
"""Of processor time for one text, on a machine that also runs others: nothing here is larger than 70 kB."""


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_what_a_stranger_sends_is_read_or_refused_by_name(target: Target) -> None:
    @settings(max_examples=target.examples, derandomize=True)
    @given(target.sent)
    def send(sent: object) -> None:
        with within_seconds(LONGEST_S):
            target.read(sent)

    send()
