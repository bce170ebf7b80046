"""Whoever wrote a status, the baseline goes on with what of it can be read."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mfu_operator.api import status
from mfu_operator.api.merge_patch import merge_patch, merged
from mfu_operator.model.incident import Status
from tests.support import worlds
from tests.support.json_places import places, put
from tests.unit.api.test_status import story

ANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e300, 1e300) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WHOLE = json.loads(
    json.dumps(status.encode(Status(incidents=2, incident=story().incident, history=(worlds.INCIDENT,) * 2)))
)


@ANY
@given(st.lists(st.tuples(st.integers(0), st.just(...) | JSON), max_size=4))
def test_whatever_a_person_writes_something_is_read_and_the_next_write_is_sound(edits: list[tuple[int, Any]]) -> None:
    stored = WHOLE
    for place, content in edits:
        found = places(stored)
        stored = put(stored, found[place % len(found)], content) if found else stored
    salvaged = status.salvage(stored)
    written = merged(stored, status.patch(stored, salvaged.status))
    assert status.encode(status.decode(json.loads(json.dumps(written)))) == status.encode(salvaged.status)


@ANY
@given(JSON.filter(lambda value: isinstance(value, dict)), JSON.filter(lambda value: isinstance(value, dict)))
def test_a_merge_patch_leads_from_anything_to_anything(before: dict[str, Any], after: dict[str, Any]) -> None:
    wanted = merged({}, after)
    assert merged(before, merge_patch(before, wanted)) == wanted


def test_nothing_is_set_aside_of_what_the_operator_wrote() -> None:
    salvaged = status.salvage(WHOLE)
    assert salvaged.set_aside == ()
    assert salvaged.status == status.decode(WHOLE)


@pytest.mark.parametrize(
    ("path", "content", "gone"),
    [
        (("incident", "proposal", "kind"), "Sculpture", ("incident", "proposal")),
        (("incident", "diagnosis", "confidence"), "sure", ("incident", "diagnosis")),
        (("incident", "profile", "account", "count"), "ten", ("incident", "profile", "account")),
        (("incident", "profile", "attempt"), -1, ("incident", "profile")),
        (("incident", "id"), "", ("incident",)),
        (("incident", "id"), ..., ("incident",)),
        (("incident", "signal"), "luck", ("incident",)),
        (("history", 1, "openedAt"), "yesterday", ("history", 1)),
        (("incidents",), "three", ("incidents",)),
    ],
)
def test_no_more_is_set_aside_than_makes_sense_alone(
    path: tuple[str | int, ...], content: Any, gone: tuple[str | int, ...]
) -> None:
    salvaged = status.salvage(put(WHOLE, path, content))
    assert salvaged.status == status.decode(put(WHOLE, gone, ...))
    (complaint,) = salvaged.set_aside
    assert str(path[-1]) in complaint


def test_a_patch_leaves_nothing_of_what_could_not_be_read() -> None:
    """An incident without its id must not lend its pull request to the next one."""
    stored = put(WHOLE, ("incident", "id"), ...)
    after = Status(incident=worlds.incident())
    assert status.decode(merged(stored, status.patch(stored, after))) == after


def test_a_status_full_of_nonsense_begins_anew() -> None:
    salvaged = status.salvage({"history": [{"id": 1}] * 1000})
    assert salvaged.status == Status()
    assert "more than 32 parts" in salvaged.set_aside[0]
    assert len(str(salvaged.set_aside)) < 2000
