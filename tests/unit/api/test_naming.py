"""Names are derived, short, valid and never shared by two things."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.api import naming

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
ONSETS = st.integers(0, 4 * 10**9)
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", fullmatch=True)
UID = "3f2a91c0-7d11-4c51-9f7e-1f5d7a1c0b52"


ONSET_S = 1_790_000_000.25


def test_an_incident_is_named_after_its_baseline_and_its_onset() -> None:
    assert naming.incident_id("gpt-small", UID, ONSET_S) == "gpt-small-3f2a91c0-tlpwu8"


def test_a_job_says_the_baseline_once() -> None:
    incident = naming.incident_id("gpt-small", UID, ONSET_S)
    assert naming.profiling_job_name("gpt-small", incident, 2) == "mfu-gpt-small-3f2a91c0-tlpwu8-a2"
    healthy = naming.healthy_id("gpt-small", UID)
    assert naming.profiling_job_name("gpt-small", healthy, 1) == "mfu-gpt-small-3f2a91c0-healthy-a1"


def test_a_subject_without_the_baseline_gets_it() -> None:
    assert naming.profiling_job_name("gpt-small", "i-1", 1) == "mfu-gpt-small-i-1-a1"


@given(NAMES, st.uuids().map(str), ONSETS, st.integers(1, 99))
def test_every_name_is_a_label(baseline: str, uid: str, onset_s: int, attempt: int) -> None:
    for subject in (naming.incident_id(baseline, uid, onset_s), naming.healthy_id(baseline, uid)):
        assert LABEL.fullmatch(subject)
        assert LABEL.fullmatch(naming.profiling_job_name(baseline, subject, attempt))


@given(NAMES, NAMES, st.uuids().map(str), st.uuids().map(str), ONSETS, ONSETS)
def test_two_incidents_never_share_a_job(one: str, two: str, uid: str, other: str, first: int, second: int) -> None:
    if (uid[:8], first) != (other[:8], second):
        names = {
            naming.profiling_job_name(one, naming.incident_id(one, uid, first), 1),
            naming.profiling_job_name(two, naming.incident_id(two, other, second), 1),
        }
        assert len(names) == 2


def test_a_name_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no name"):
        naming.incident_id("gpt", "", 1)
