"""Of any status: nothing is pushed that was not asked for, the same world is the same step, and recording ends."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import ProfilingMode, RemediationMode
from mfu_operator.model.incident import Incident, Status
from mfu_operator.model.verdict import Verdict
from mfu_operator.reconcile.conclude import conclude
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import EnsurePullRequest, Investigate, Investigated, PreviewProposal, Record
from tests.support import worlds
from tests.support.worlds import judgement, regressed, spec, world
from tests.unit.api.strategies import statuses, values

ANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@ANY
@given(
    incident=values(Incident),
    status=statuses(),
    mode=st.sampled_from([RemediationMode.OBSERVE, RemediationMode.DRY_RUN]),
    profiling=st.sampled_from(ProfilingMode),
    judged=st.sampled_from([judgement(), regressed(), regressed(True), judgement(Verdict.NO_DATA), None]),
)
def test_no_world_makes_off_or_dry_run_push_anything(
    incident: Incident, status: Status, mode: RemediationMode, profiling: ProfilingMode, judged: Any
) -> None:
    wanted = spec(mode)
    wanted = replace(wanted, profiling=replace(wanted.profiling, mode=profiling))
    seen = world(replace(status, incident=incident), spec=wanted, judgement=judged, pull_request=worlds.PULL)
    try:
        step = decide(seen)
    except MfuError:
        return
    assert not isinstance(step, EnsurePullRequest)
    assert not (mode is RemediationMode.OBSERVE and isinstance(step, Investigate | PreviewProposal))
    if isinstance(step, Investigate):
        assert not isinstance(conclude(seen, step, Investigated(worlds.found())).then, EnsurePullRequest)


@ANY
@given(status=statuses(), judged=st.sampled_from([judgement(), regressed(), regressed(True), None]))
def test_the_same_world_twice_is_the_same_step(status: Status, judged: Any) -> None:
    seen = world(status, judgement=judged)
    try:
        first = decide(seen)
    except MfuError as error:
        with pytest.raises(type(error)):
            decide(seen)
        return
    assert decide(seen) == first


@ANY
@given(status=statuses(), judged=st.sampled_from([judgement(), regressed(), regressed(True)]))
def test_recording_facts_comes_to_an_end(status: Status, judged: Any) -> None:
    seen = world(status, judgement=judged)
    for _ in range(9):
        try:
            step = decide(seen)
        except MfuError:
            return
        if not isinstance(step, Record):
            return
        seen = replace(seen, status=step.status)
    raise AssertionError("it records forever")
