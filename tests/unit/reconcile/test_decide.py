"""The first missing fact decides the next step, and the same world decides it the same way."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mfu_operator.api import status as codec
from mfu_operator.detect.hardware import Finding
from mfu_operator.errors import AskPerson, MfuError, Retry, Wait
from mfu_operator.model.baseline import ProfilingMode, RemediationMode
from mfu_operator.model.commit import Commit, FileChange
from mfu_operator.model.diagnosis import Bottleneck, Diagnosis
from mfu_operator.model.incident import Incident, KnownGood, ProfileFact, Status
from mfu_operator.model.proposal import PullRequestState
from mfu_operator.model.verdict import Gate, Verdict
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile.conclude import conclude
from mfu_operator.reconcile.decide import decide
from mfu_operator.reconcile.effects import (
    CommitsRead,
    EnsureJob,
    EnsurePullRequest,
    PreviewProposal,
    ReadCommits,
    Record,
    Step,
    Subject,
)
from mfu_operator.reconcile.needs import needs
from mfu_operator.reconcile.world import Need, World
from mfu_operator.trace import compact
from tests.support import worlds
from tests.support.worlds import (
    ailing,
    explained,
    incident,
    judgement,
    regressed,
    source,
    spec,
    workload,
    world,
)
from tests.unit.api.strategies import statuses, values

LAUNCHED = ProfileFact("mfu-gpt-small-3f2a91c0-1-a1", 1, worlds.NOW_S - 120)
FRESH = replace(worlds.SETTLED, known_good=None, healthy_profile=None)
FINISHED = ProfilingJob(LAUNCHED.job, JobPhase.SUCCEEDED, 0.0, result=compact.encode(worlds.SLOW_STEP))
PROPOSED = explained(suspect=worlds.SUSPECT, proposal=worlds.PROPOSED)
MERGED = replace(worlds.PULL, state=PullRequestState.MERGED, merge_sha="f" * 40, merged_at=worlds.NOW_S)

STORY: list[tuple[str, Status, dict[str, Any], str | None]] = [
    ("well, revision unknown", FRESH, {}, "KnownGood"),
    ("well, never profiled", replace(FRESH, known_good=worlds.KNOWN_GOOD), {}, "EnsureJob baseline"),
    ("well, all is known", worlds.SETTLED, {}, None),
    ("a loss is sustained", worlds.SETTLED, {"judgement": regressed()}, "Regressed"),
    ("no profile", ailing(incident()), {}, "EnsureJob incident"),
    ("the Job runs", ailing(incident(profile=LAUNCHED)), {"job": replace(FINISHED, phase=JobPhase.RUNNING)}, None),
    ("the Job is done", ailing(incident(profile=LAUNCHED)), {"job": FINISHED}, "Profiled"),
    ("an account", ailing(incident(profile=worlds.PROFILED)), {}, "Diagnosed"),
    ("explained, not yet confirmed", ailing(explained(confirmed_at=None)), {}, None),
    ("confirmed", ailing(explained(confirmed_at=None)), {"judgement": regressed(True)}, "Confirmed"),
    ("who did it?", ailing(explained()), {}, "ReadCommits"),
    ("asked", ailing(PROPOSED), {"pull_request": worlds.PULL}, None),
    ("a person agreed", ailing(PROPOSED), {"pull_request": MERGED}, "Merged"),
    ("well again", ailing(PROPOSED), {"judgement": judgement(recovered=True)}, "Recovered"),
]


def story_world(status: Status, changes: dict[str, Any]) -> World:
    slow = {"judgement": regressed()} if status.incident else {}
    return world(status, **(slow | changes))


def name_of(step: Step | None) -> str | None:
    if isinstance(step, Record):
        return step.events[0].reason
    if isinstance(step, EnsureJob):
        return f"EnsureJob {step.subject}"
    return type(step).__name__ if step else None


@pytest.mark.parametrize(("status", "changes", "expected"), [row[1:] for row in STORY], ids=[row[0] for row in STORY])
def test_the_first_missing_fact_is_obtained_next(status: Status, changes: dict[str, Any], expected: str | None) -> None:
    assert name_of(decide(story_world(status, changes))) == expected


@pytest.mark.parametrize(("status", "changes"), [row[1:3] for row in STORY], ids=[row[0] for row in STORY])
def test_another_replica_that_reads_the_stored_status_decides_the_same(status: Status, changes: dict[str, Any]) -> None:
    here = story_world(status, changes)
    there = replace(here, status=codec.decode(codec.encode(status)))
    assert decide(there) == decide(here)


def test_the_jobs_are_named_after_baseline_incident_and_attempt() -> None:
    healthy = decide(world(replace(FRESH, known_good=worlds.KNOWN_GOOD)))
    slow = decide(story_world(ailing(incident()), {}))
    assert isinstance(healthy, EnsureJob)
    assert isinstance(slow, EnsureJob)
    assert (healthy.subject, healthy.profile.job) == (Subject.BASELINE, "mfu-gpt-small-3f2a91c0-healthy-a1")
    assert (slow.subject, slow.profile.job) == (Subject.INCIDENT, "mfu-gpt-small-3f2a91c0-1-a1")


def test_a_baseline_of_the_same_name_made_anew_has_other_names() -> None:
    another = replace(worlds.IDENTITY, uid="99999999-0000")
    opened = decide(world(judgement=regressed(), identity=another))
    assert isinstance(opened, Record)
    assert opened.status.incident is not None
    assert opened.status.incident.id == "gpt-small-99999999-1"


def test_without_a_workload_or_while_suspended_nothing_is_done() -> None:
    assert decide(world(judgement=regressed(), workload=None)) is None
    assert decide(world(judgement=regressed(), spec=replace(spec(), suspend=True))) is None


@pytest.mark.parametrize("verdict", [Verdict.NO_DATA, Verdict.NOT_COMPARABLE, Verdict.HEALTHY])
def test_only_regressed_opens_an_incident(verdict: Verdict) -> None:
    assert decide(world(judgement=judgement(verdict))) is None


@pytest.mark.parametrize("verdict", [Verdict.NO_DATA, Verdict.NOT_COMPARABLE, Verdict.REGRESSED])
def test_only_healthy_closes_one(verdict: Verdict) -> None:
    assert decide(story_world(ailing(PROPOSED), {"judgement": judgement(verdict)})) is None


RUNNING = replace(worlds.SETTLED, healthy_profile=LAUNCHED)
BROUGHT = replace(FINISHED, result=compact.encode(worlds.FAST_STEP))
AFTER_LAUNCH_S = LAUNCHED.created_at + 30
CHANGED = [
    ("a trace of a loss", {"judgement": judgement(evidence_s=1.0)}, "evidence for a loss"),
    ("another configuration", {"judgement": judgement(Verdict.NOT_COMPARABLE)}, "NotComparable"),
    ("a pod that started since", {"workload": workload(AFTER_LAUNCH_S)}, "started 30 s after"),
    (
        "one new pod among old ones",
        {"workload": workload(pods=(worlds.pod(), worlds.pod(AFTER_LAUNCH_S)))},
        "started 30 s after",
    ),
]


def brought(status: Status = RUNNING, **changes: Any) -> Step | None:
    return decide(world(status, job=BROUGHT, **changes))


def healthy_profile(step: Step | None) -> ProfileFact:
    assert isinstance(step, Record)
    assert step.status.healthy_profile is not None
    return step.status.healthy_profile


@pytest.mark.parametrize("gates", [(), (Gate.PROFILING,), (Gate.CHECKPOINT,)])
def test_the_healthy_account_is_taken_while_nothing_speaks_against_it(gates: tuple[Gate, ...]) -> None:
    assert healthy_profile(brought(judgement=judgement(gates=gates))).account is not None


@pytest.mark.parametrize(("changes", "told"), [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED])
def test_an_account_that_may_be_of_the_slow_job_is_not_taken_for_healthy(changes: dict[str, Any], told: str) -> None:
    step = brought(**changes)
    found = healthy_profile(step)
    assert (found.account, found.hardware) == (None, ())
    assert found.failure is not None
    assert found.failure[0] == "JobOverlapsChange"
    assert told in found.failure[1]
    assert isinstance(step, Record)
    assert step.events[-1].reason == "JobOverlapsChange"


UNJUDGED = [
    ("no reading", {"judgement": judgement(Verdict.NO_DATA)}),
    ("no judgement", {"judgement": None}),
    ("a pod that does not run yet", {"workload": workload(None)}),
]


@pytest.mark.parametrize("changes", [row[1] for row in UNJUDGED], ids=[row[0] for row in UNJUDGED])
def test_a_healthy_account_waits_until_it_can_be_judged(changes: dict[str, Any]) -> None:
    assert brought(**changes) is None


def test_a_loss_that_sets_in_while_the_healthy_job_is_profiled_makes_its_account_void() -> None:
    opened = brought(judgement=regressed())
    assert healthy_profile(opened).failure is not None
    assert isinstance(opened, Record)
    assert opened.status.incident is not None
    assert healthy_profile(decide(world(judgement=regressed()))) == worlds.HEALTHY_PROFILE


def test_what_came_at_a_bad_time_is_tried_again_however_often() -> None:
    untimely = healthy_profile(brought(judgement=judgement(evidence_s=1.0)))
    late = replace(untimely, attempt=7, created_at=worlds.NOW_S - 7 * spec().detection.sustain_s)
    again = decide(world(replace(worlds.SETTLED, healthy_profile=late)))
    assert isinstance(again, EnsureJob)
    assert again.profile.attempt == 8
    assert decide(world(replace(worlds.SETTLED, healthy_profile=replace(late, failure=("JobFailed", ""))))) is None


PAIR = workload(pods=(worlds.pod(), worlds.pod(name="gpt-small-y")))
UNPROFILED = replace(worlds.SETTLED, healthy_profile=None)
MULTI_POD = ["2 running pods", "wait for its peers", 'spec.profiling.mode to "Off"', "spec.profiling.command"]


def commanded() -> Any:
    return replace(spec(), profiling=replace(spec().profiling, command=("python", "one.py")))


@pytest.mark.parametrize("changes", [{}, {"judgement": judgement(gates=(Gate.CHECKPOINT,))}])
def test_of_a_workload_of_several_pods_no_copy_is_made_and_the_message_says_what_to_write(
    changes: dict[str, Any],
) -> None:
    error = stands_in_the_way({"workload": PAIR, **changes}, UNPROFILED)
    assert isinstance(error, Retry)
    assert error.reason == "MultiPodWorkload"
    assert [text for text in MULTI_POD if text not in error.message] == []


@pytest.mark.parametrize("failed", [None, replace(LAUNCHED, failure=("JobFailed", "exit code 1"))])
def test_an_incident_of_such_a_workload_is_inconclusive_with_the_same_words(failed: ProfileFact | None) -> None:
    said = decide(story_world(ailing(incident(profile=failed)), {"workload": PAIR}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    diagnosis = said.status.incident.diagnosis
    assert diagnosis is not None
    assert diagnosis.bottleneck is Bottleneck.INCONCLUSIVE
    assert [text for text in ("MultiPodWorkload", *MULTI_POD) if text not in diagnosis.evidence[0]] == []


def test_a_slow_rank_of_such_a_workload_is_still_named() -> None:
    slow = Finding(Bottleneck.STRAGGLER, "SlowRank", "node-2 gpt-small-y", "rank takes 20 % longer")
    said = decide(story_world(ailing(incident()), {"workload": PAIR, "findings": (slow,)}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    assert said.status.incident.diagnosis is not None
    assert said.status.incident.diagnosis.cause == "SlowRank"


def test_a_job_of_one_pod_that_has_two_during_a_roll_out_is_waited_for() -> None:
    rolling = workload(pods=(worlds.pod(), worlds.pod(worlds.NOW_S - 5)))
    assert decide(story_world(ailing(incident()), {"workload": rolling})) is None
    assert decide(world(UNPROFILED, workload=rolling, judgement=judgement(evidence_s=1.0))) is None


def test_an_account_that_is_under_way_is_taken_from_such_a_workload_too() -> None:
    taken = decide(story_world(ailing(incident(profile=LAUNCHED)), {"workload": PAIR, "job": FINISHED}))
    assert name_of(taken) == "Profiled"


@pytest.mark.parametrize("ended", ["Succeeded", "Failed", "Pending"])
def test_pods_that_do_not_run_are_no_peers(ended: str) -> None:
    pods = (worlds.pod(), worlds.pod(None, phase=ended))
    assert isinstance(decide(world(UNPROFILED, workload=workload(pods=pods))), EnsureJob)


def test_a_command_for_one_process_is_profiled_whatever_the_number_of_pods() -> None:
    assert isinstance(decide(world(UNPROFILED, workload=PAIR, spec=commanded())), EnsureJob)
    assert isinstance(decide(story_world(ailing(incident()), {"workload": PAIR, "spec": commanded()})), EnsureJob)


KNOWN = replace(worlds.SETTLED, known_good=None)
UNSPOKEN = [
    ("a trace of a loss", {"judgement": judgement(evidence_s=1.0)}),
    ("a checkpoint", {"judgement": judgement(gates=(Gate.CHECKPOINT,))}),
    ("a pod that has just started", {"workload": workload(worlds.NOW_S - 60)}),
    ("a reading from before the pod", {"judgement": judgement(last_usable_s=worlds.STARTED_S - 1)}),
    ("no pod", {"workload": workload(pods=())}),
    ("no history that reaches back", {"source": source(deployed=())}),
]


@pytest.mark.parametrize("changes", [row[1] for row in UNSPOKEN], ids=[row[0] for row in UNSPOKEN])
def test_a_revision_is_not_called_good_on(changes: dict[str, Any]) -> None:
    assert decide(world(KNOWN, **changes)) is None


def test_the_revision_that_the_pod_read_is_the_good_one_not_what_was_deployed_since() -> None:
    recorded = decide(world(KNOWN))
    assert isinstance(recorded, Record)
    assert recorded.status.known_good is not None
    assert (recorded.status.known_good.revision, recorded.status.known_good.images) == (worlds.GOOD, (worlds.IMAGE,))


UNSEEN = {"source": None, "source_problem": Retry("ClusterUnreachable", "503")}


def test_while_the_source_cannot_be_seen_the_pod_s_start_is_noted_and_finds_the_revision_later() -> None:
    noted = decide(world(KNOWN, **UNSEEN))
    assert isinstance(noted, Record)
    assert noted.status.known_good == KnownGood(None, (worlds.IMAGE,), worlds.STARTED_S, ("node-1",))
    assert decide(world(noted.status, **UNSEEN)) is None
    learnt = decide(world(noted.status))
    assert isinstance(learnt, Record)
    assert learnt.status.known_good is not None
    assert learnt.status.known_good.revision == worlds.GOOD
    blamed = decide(story_world(ailing(explained(), known_good=noted.status.known_good), {}))
    assert isinstance(blamed, ReadCommits)
    assert (blamed.good, blamed.bad) == (worlds.GOOD, worlds.QUIET)


def test_a_revision_that_is_known_is_not_forgotten_while_the_source_cannot_be_seen() -> None:
    assert decide(world(worlds.SETTLED, **UNSEEN)) is None


def test_a_new_image_that_holds_the_baseline_is_a_new_known_good() -> None:
    image = "registry.example/gpt@sha256:" + "b" * 64
    recorded = decide(world(workload=workload(pods=(worlds.pod(images=(image,)),))))
    assert isinstance(recorded, Record)
    assert recorded.status.known_good is not None
    assert recorded.status.known_good.images == (image,)


NEVER_PROPOSED = [
    ("Inconclusive", Diagnosis(Bottleneck.INCONCLUSIVE, None, 0.0, ("graphs hide the kernels",))),
    ("Inconclusive", Diagnosis(None, None, 1.0, ("nothing grew",))),
    ("HardwareDegraded", Diagnosis(Bottleneck.HARDWARE_DEGRADED, "LinkDegraded", 1.0, ("PCIe width 8 of 16",))),
    ("Straggler", Diagnosis(Bottleneck.STRAGGLER, "SlowRank", 1.0, ("rank 3",))),
    ("NotComparable", replace(worlds.STARVED, comparable=False, not_comparable_because=("the GPU differs",))),
]


@pytest.mark.parametrize(("reason", "diagnosis"), NEVER_PROPOSED, ids=[row[0] for row in NEVER_PROPOSED])
def test_what_no_commit_did_is_said_once_and_never_proposed(reason: str, diagnosis: Diagnosis) -> None:
    status = ailing(explained(diagnosis=diagnosis))
    said = decide(story_world(status, {}))
    assert isinstance(said, Record)
    assert said.status.incident is not None
    assert said.status.incident.blocked is not None
    assert said.status.incident.blocked[0] == reason
    assert decide(story_world(said.status, {})) is None


def diagnosed(step: Step | None) -> Diagnosis:
    assert isinstance(step, Record)
    assert step.status.incident is not None
    assert step.status.incident.diagnosis is not None
    return step.status.incident.diagnosis


OBSERVED = [
    Finding(Bottleneck.HARDWARE_DEGRADED, "ThermalThrottling", "node-1 GPU 3", "throttled by heat"),
    Finding(Bottleneck.STRAGGLER, "SlowRank", "node-2 gpt-small-y", "rank takes 20 % longer"),
]


@pytest.mark.parametrize("finding", OBSERVED, ids=lambda finding: str(finding.cause))
def test_what_the_hardware_shows_is_the_diagnosis_whatever_the_account_says_and_is_never_proposed(
    finding: Finding,
) -> None:
    seen = {"findings": (finding,)}
    step = decide(story_world(ailing(incident(profile=worlds.PROFILED, confirmed_at=worlds.NOW_S)), seen))
    found = diagnosed(step)
    assert (found.bottleneck, found.cause) == (finding.bottleneck, finding.cause)
    assert found.evidence == (f"{finding.where}: {finding.text}",)
    assert isinstance(step, Record)
    said = decide(story_world(step.status, seen))
    assert isinstance(said, Record)
    assert said.events[0].reason == str(finding.bottleneck)
    assert decide(story_world(said.status, seen)) is None


def test_what_the_hardware_shows_later_stops_a_proposal_too() -> None:
    said = decide(story_world(ailing(explained()), {"findings": (OBSERVED[0],)}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "HardwareDegraded"


UNMEASURED = ("XID errors not measured on 8 of 8 GPUs", "clock event reasons not measured on 8 of 8 GPUs")


def evidence_with(gpu: str | None) -> str:
    slow = incident(profile=replace(worlds.PROFILED, account=replace(worlds.SLOW_STEP, gpu=gpu)))
    return " ".join(diagnosed(decide(story_world(ailing(slow), {"unmeasured": UNMEASURED}))).evidence)


def test_what_of_the_hardware_nobody_measured_is_said_beside_the_diagnosis() -> None:
    assert f"hardware is not ruled out: {'; '.join(UNMEASURED)}" in evidence_with("NVIDIA H100 80GB HBM3")


def test_a_run_without_gpus_has_no_hardware_to_rule_out() -> None:
    assert "not ruled out" not in evidence_with(None)


MOVED = Finding(Bottleneck.HARDWARE_DEGRADED, "NodesChanged", "node-9 H200 0", "the run is on node-9")


def test_a_run_that_moved_is_not_a_commit_s_where_its_node_may_be_slow() -> None:
    slow = incident(profile=replace(worlds.PROFILED, account=worlds.account(compute=40.0)), confirmed_at=worlds.NOW_S)
    step = decide(story_world(ailing(slow), {"findings": (MOVED,)}))
    found = diagnosed(step)
    assert (found.bottleneck, found.cause) == (Bottleneck.HARDWARE_DEGRADED, "NodesChanged")
    assert found.evidence[0] == "node-9 H200 0: the run is on node-9"
    assert len(found.evidence) > 1
    assert isinstance(step, Record)
    said = decide(story_world(step.status, {"findings": (MOVED,)}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "HardwareDegraded"


def test_what_only_a_program_does_outweighs_that_it_moved() -> None:
    slow = incident(profile=worlds.PROFILED, confirmed_at=worlds.NOW_S)
    found = diagnosed(decide(story_world(ailing(slow), {"findings": (MOVED,)})))
    assert found.cause == "DataLoaderWorkers"


REMARK = "GPU 3: PCIe width 8 of 16"


def profiled_with(now: tuple[str, ...], usual: tuple[str, ...]) -> Diagnosis:
    slow = incident(profile=replace(worlds.PROFILED, hardware=now))
    healthy = replace(worlds.HEALTHY_PROFILE, hardware=usual)
    return diagnosed(decide(story_world(ailing(slow, healthy_profile=healthy), {})))


def test_a_remark_on_the_gpus_that_the_healthy_profile_does_not_have_is_a_hardware_fault() -> None:
    found = profiled_with((REMARK, "GPU 0: power capped"), ("GPU 0: power capped",))
    assert (found.bottleneck, found.cause) == (Bottleneck.HARDWARE_DEGRADED, "HardwareFault")
    assert found.evidence == (REMARK,)


def test_a_remark_that_the_healthy_profile_has_too_explains_nothing() -> None:
    assert profiled_with((REMARK,), (REMARK,)).bottleneck is Bottleneck.INPUT_STARVED


def test_without_a_known_good_revision_nothing_is_proposed() -> None:
    said = decide(story_world(ailing(explained(), known_good=None), {}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "KnownGoodUnknown"


def stands_in_the_way(changes: dict[str, Any], status: Status | None = None) -> MfuError:
    with pytest.raises(MfuError) as raised:
        decide(story_world(status or ailing(explained()), changes))
    return raised.value


def test_what_nobody_deploys_from_git_is_for_a_person() -> None:
    error = stands_in_the_way({"source": None})
    assert isinstance(error, AskPerson)
    assert error.reason == "NotManagedByGitOps"


def test_nothing_deployed_since_the_last_good_reading_blames_no_commit() -> None:
    error = stands_in_the_way({"source": source(deployed=source().deployed[:1])})
    assert isinstance(error, AskPerson)
    assert error.reason == "NoRevisionChanged"


def test_a_proposal_waits_out_the_cool_down_of_the_last_one() -> None:
    last = replace(PROPOSED, recovery=worlds.RECOVERY)
    recent = replace(ailing(explained()), history=(last,))
    error = stands_in_the_way({}, recent)
    assert isinstance(error, Wait)
    assert error.reason == "CoolDown"
    long_ago = {"now_s": worlds.RECOVERY.recovered_at + spec().remediation.cool_down_s}
    assert isinstance(decide(story_world(recent, long_ago)), ReadCommits)


def test_an_incident_that_was_only_rehearsed_needs_no_cool_down() -> None:
    rehearsed = replace(PROPOSED, proposal=replace(worlds.PROPOSED, dry_run=True), recovery=worlds.RECOVERY)
    assert isinstance(decide(story_world(replace(ailing(explained()), history=(rehearsed,)), {})), ReadCommits)


def test_a_closed_request_is_final() -> None:
    closed = replace(worlds.PULL, state=PullRequestState.CLOSED)
    said = decide(story_world(ailing(PROPOSED), {"pull_request": closed}))
    assert isinstance(said, Record)
    assert said.events[0].reason == "PullRequestClosed"
    assert decide(story_world(said.status, {"pull_request": closed})) is None


def concluded(commits: tuple[Commit, ...], mode: RemediationMode = RemediationMode.PULL_REQUEST) -> Any:
    before = story_world(ailing(explained()), {"spec": spec(mode)})
    effect = ReadCommits(source(), worlds.GOOD, worlds.QUIET)
    return conclude(before, effect, CommitsRead(commits))


def test_the_one_commit_that_stands_out_is_the_suspect_and_its_revert_follows() -> None:
    found = concluded(worlds.COMMITS)
    assert found.status.incident.suspect.sha == worlds.SLOW
    assert found.status.incident.suspect.candidates == 2
    assert isinstance(found.then, EnsurePullRequest)
    assert found.then.proposal.revert_sha == worlds.SLOW


def test_a_dry_run_is_tried_and_not_pushed() -> None:
    assert isinstance(concluded(worlds.COMMITS, RemediationMode.DRY_RUN).then, PreviewProposal)


TWO = (replace(worlds.COMMITS[1], sha="4" * 40, parents=(worlds.SLOW,)), worlds.COMMITS[1])
UNDONE = (replace(worlds.COMMITS[1], subject='Revert "Be fast"'),)


@pytest.mark.parametrize(
    ("commits", "reason"),
    [((), "NoSingleSuspect"), (worlds.COMMITS[:1], "NoSingleSuspect"), (UNDONE, "RollbackOfRollback")],
)
def test_no_commit_that_stands_out_means_no_proposal(commits: tuple[Commit, ...], reason: str) -> None:
    found = concluded(commits)
    assert found.then is None
    assert found.status.incident.blocked[0] == reason


def test_two_that_could_have_done_it_mean_no_proposal() -> None:
    other = FileChange("apps/gpt/other.yaml", "num_workers: 4\n", "num_workers: 1\n")
    found = concluded((replace(TWO[0], changes=(other,)), TWO[1]))
    assert found.then is None
    assert found.status.incident.blocked[0] == "NoSingleSuspect"


ANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@ANY
@given(
    incident=values(Incident),
    status=statuses(),
    mode=st.sampled_from([RemediationMode.OFF, RemediationMode.DRY_RUN]),
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
    assert not (mode is RemediationMode.OFF and isinstance(step, ReadCommits | PreviewProposal))
    if isinstance(step, ReadCommits):
        assert not isinstance(conclude(seen, step, CommitsRead(worlds.COMMITS)).then, EnsurePullRequest)


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


def test_costly_observations_are_made_only_for_the_next_decision() -> None:
    def asked(status: Status, judged: Any = None, mode: RemediationMode = RemediationMode.PULL_REQUEST) -> set[str]:
        return {str(need) for need in needs(spec(mode), status, judged or regressed())}

    assert asked(worlds.SETTLED, judgement(gates=(Gate.CHECKPOINT,))) == set()
    assert asked(worlds.SETTLED, judgement()) == {Need.SOURCE}
    assert asked(replace(worlds.SETTLED, healthy_profile=LAUNCHED), judgement(Verdict.NO_DATA)) == {Need.JOB}
    assert asked(ailing(incident(profile=LAUNCHED))) == {Need.JOB, Need.SOURCE}
    assert asked(ailing(explained()), mode=RemediationMode.OFF) == set()
    assert asked(ailing(PROPOSED)) == {Need.PULL_REQUEST}
    assert asked(ailing(replace(PROPOSED, blocked=("RevertConflict", "")))) == {Need.PULL_REQUEST}
