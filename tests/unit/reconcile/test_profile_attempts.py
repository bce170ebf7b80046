"""One attempt at a profile: what its Job is asked for, what it came to, and when there is another one."""

from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.group import BASELINE_LABEL, INCIDENT_LABEL
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import Detection, Profiling
from mfu_operator.model.condition import Condition
from mfu_operator.model.incident import ProfileFact
from mfu_operator.model.workload import JobPhase, ProfilingJob
from mfu_operator.reconcile import profile as profiling
from mfu_operator.reconcile.effects import Subject
from mfu_operator.reconcile.world import UNSEEN
from mfu_operator.trace import termination_message as compact
from tests.support import worlds
from tests.support.worlds import NOW_S, SETTLED, ailing, incident, pod, spec, workload, world

ID = worlds.INCIDENT.id
LAUNCHED = ProfileFact(f"mfu-{ID}-a1", 1, NOW_S - 120)
FAILED = replace(LAUNCHED, failure=("JobFailed", "exit code 1"))
JOB = ProfilingJob(LAUNCHED.job, JobPhase.SUCCEEDED, LAUNCHED.created_at, result=compact.encode(worlds.SLOW_STEP),
                   owner=worlds.UID, subject=ID)  # fmt: skip
BROKEN = replace(JOB, phase=JobPhase.FAILED, result=None)
PAIR = workload(pods=(pod(), pod(name="gpt-small-y")))
OWN_IMAGE = "registry.example/own@sha256:0"


def launched(last: ProfileFact | None = None, **changes: Any) -> tuple[Any, ProfileFact]:
    effect = profiling.launch(world(**changes), Subject.INCIDENT, ID, last)
    assert effect.subject is Subject.INCIDENT
    return effect.manifest, effect.profile


def test_an_attempt_is_named_by_its_number_and_noted_with_the_profiler_s_image() -> None:
    _, first = launched()
    assert first == ProfileFact(LAUNCHED.job, 1, NOW_S, image=worlds.DEFAULTS.profiler_image)
    _, third = launched(replace(FAILED, attempt=2, earlier_attempts=1))
    assert third == replace(first, job=f"mfu-{ID}-a3", attempt=3, earlier_attempts=1)


def test_the_job_belongs_to_the_baseline_and_says_what_it_is_for() -> None:
    manifest, _ = launched()
    metadata = manifest["metadata"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("TrainingBaseline", "gpt-small", worlds.UID)
    assert owner["apiVersion"].startswith("mfu")
    assert (metadata["labels"][BASELINE_LABEL], metadata["labels"][INCIDENT_LABEL]) == ("gpt-small", ID)


def test_the_job_has_the_priority_that_the_operator_gives() -> None:
    manifest, _ = launched(defaults=replace(worlds.DEFAULTS, priority_class="spare"))
    assert manifest["spec"]["template"]["spec"]["priorityClassName"] == "spare"


def test_a_long_name_is_cut_to_a_label_that_the_api_takes() -> None:
    name = "a" * 62 + "-b"
    manifest, _ = launched(identity=replace(worlds.IDENTITY, name=name))
    assert manifest["metadata"]["labels"][BASELINE_LABEL] == "a" * 62


def test_the_baseline_s_own_profiler_image_is_before_the_operator_s() -> None:
    own = replace(spec(), profiling=Profiling(image=OWN_IMAGE))
    assert profiling.profiler_image(own, worlds.DEFAULTS) == OWN_IMAGE
    assert profiling.profiler_image(spec(), worlds.DEFAULTS) == worlds.DEFAULTS.profiler_image
    _, fact = launched(spec=own)
    assert fact.image == OWN_IMAGE


def test_a_workload_that_can_be_profiled_in_no_way_is_refused_with_what_to_add() -> None:
    here = world(workload=PAIR)
    because = profiling.no_way(here)
    assert because is not None and because.reason == "NotInstrumented"
    for refuse in (lambda: profiling.require_way(here), lambda: profiling.launch(here, Subject.INCIDENT, ID)):
        with pytest.raises(Retry) as caught:
            refuse()
        assert caught.value.message == because.message
    assert profiling.no_way(world()) is None
    profiling.require_way(world())


def outcome(job: Any, of: ProfileFact = LAUNCHED, **changes: Any) -> ProfileFact | None:
    return profiling.observed(world(job=job, **changes), of, ID)


def test_what_kept_a_job_from_being_seen_is_not_that_it_is_gone() -> None:
    problem = Retry("ClusterUnreachable", "503")
    with pytest.raises(Retry) as caught:
        outcome(None, job_problem=problem)
    assert caught.value is problem
    assert outcome(UNSEEN) is None


@pytest.mark.parametrize(("age_s", "gone"), [(60.0, False), (60.1, True)])
def test_a_job_is_gone_when_it_was_deleted_not_while_it_is_made(age_s: float, gone: bool) -> None:
    found = outcome(None, replace(LAUNCHED, created_at=NOW_S - age_s))
    assert (found is not None) is gone
    if found is not None:
        assert found.failure == ("JobGone", "the profiling Job was deleted before it finished")
        assert found.finished_at == NOW_S


@pytest.mark.parametrize(
    ("job", "whose", "whom"),
    [
        (replace(JOB, owner="another"), "the TrainingBaseline of uid another", ID),
        (replace(JOB, owner=None, subject=None), "no TrainingBaseline", "no incident"),
        (replace(JOB, subject="gpt-small-2"), f"the TrainingBaseline of uid {worlds.UID}", "gpt-small-2"),
    ],
)
def test_a_job_of_somebody_else_is_left_alone(job: ProfilingJob, whose: str, whom: str) -> None:
    found = outcome(job)
    told = (
        f"Job {JOB.name} is not the profile of {ID}: {whose} owns it, for {whom}; it is left alone, and another "
        "attempt gets another name. Delete it if nobody needs it"
    )
    assert found == replace(LAUNCHED, failure=("JobNotOurs", told), finished_at=NOW_S)


@pytest.mark.parametrize("phase", [JobPhase.WAITING, JobPhase.RUNNING])
def test_a_job_that_has_not_ended_is_waited_for(phase: JobPhase) -> None:
    assert outcome(replace(JOB, phase=phase)) is None


def test_a_job_that_succeeded_brings_its_account() -> None:
    result = compact.encode(worlds.SLOW_STEP, hardware=("capped",))
    found = outcome(replace(JOB, result=result, node="node-7", finished_at=NOW_S - 5))
    assert found is not None
    assert (found.node, found.finished_at, found.failure) == ("node-7", NOW_S - 5, None)
    assert found.account is not None and found.account.parts_ns == worlds.SLOW_STEP.parts_ns
    assert found.hardware == ("capped",)
    assert found.created_at == LAUNCHED.created_at


def test_what_a_job_does_not_tell_of_itself_stays_as_it_was() -> None:
    found = outcome(JOB, replace(LAUNCHED, node="node-1"))
    assert found is not None
    assert (found.node, found.finished_at) == ("node-1", NOW_S)


@pytest.mark.parametrize(("earlier_s", "older"), [(60.0, False), (61.0, True)])
def test_a_job_that_was_there_before_it_was_asked_for_is_as_old_as_it_is(earlier_s: float, older: bool) -> None:
    began_s = LAUNCHED.created_at - earlier_s
    found = outcome(replace(JOB, created_at=began_s))
    assert found is not None
    assert found.created_at == (began_s if older else LAUNCHED.created_at)


@pytest.mark.parametrize("result", [None, "", "no account"])
def test_a_job_that_brings_nothing_readable_failed(result: str | None) -> None:
    found = outcome(replace(JOB, result=result))
    assert found is not None and found.failure is not None
    assert (found.account, found.hardware) == (None, ())


WAITED = replace(SETTLED, conditions=(
    Condition("Ready", "True", "JobUnschedulable", "not this one"),
    Condition("ProfilingFailed", "True", "JobUnschedulable", "no node has a GPU"),
))  # fmt: skip
LATE = replace(BROKEN, reason="DeadlineExceeded", message="it took too long")
TOLD = compact.encode_failure("NoStepSeen", "no step in 60 s")


@pytest.mark.parametrize(
    ("job", "conditions", "failure"),
    [
        (BROKEN, WAITED, ("JobFailed", f"profiling Job {JOB.name}: failed without a message")),
        (LATE, SETTLED, ("DeadlineExceeded", f"profiling Job {JOB.name}: it took too long")),
        (LATE, WAITED, ("JobUnschedulable", "no node has a GPU")),
        (replace(LATE, reason="JobEvicted"), WAITED, ("JobEvicted", f"profiling Job {JOB.name}: it took too long")),
        (LATE, replace(WAITED, conditions=(replace(WAITED.conditions[1], reason="JobEvicted"),)),
         ("DeadlineExceeded", f"profiling Job {JOB.name}: it took too long")),
        (replace(LATE, result=TOLD), WAITED, ("NoStepSeen", f"profiling Job {JOB.name}: no step in 60 s")),
        (replace(LATE, result=JOB.result), SETTLED,
         ("DeadlineExceeded", f"profiling Job {JOB.name}: it took too long")),
    ],
    ids=["no reason", "too late", "too late for want of a node", "evicted", "another wait", "what it said itself",
         "an account and yet failed"],
)  # fmt: skip
def test_a_job_failed_for_what_the_cluster_says_or_what_its_pod_waited_for(
    job: ProfilingJob, conditions: Any, failure: tuple[str, str]
) -> None:
    found = profiling.observed(world(conditions, job=job), LAUNCHED, ID)
    assert found is not None and found.failure == failure


def test_a_profile_awaits_its_job_until_it_brought_an_account_or_failed() -> None:
    awaited = [profiling.awaits_job(each) for each in (None, LAUNCHED, FAILED, worlds.PROFILED)]
    assert awaited == [False, True, False, False]


RULE = Detection(sustain_s=300.0)


@pytest.mark.parametrize(
    ("of", "sustain_s", "after_s"),
    [
        (FAILED, 300.0, 300.0),
        (replace(FAILED, attempt=2), 300.0, 600.0),
        (replace(FAILED, attempt=2), 3600.0, 1200.0),
        (replace(FAILED, attempt=4, earlier_attempts=3), 300.0, 300.0),
        (replace(FAILED, failure=("JobOverlapsChange", ""), attempt=7), 300.0, 2100.0),
        (replace(LAUNCHED), 300.0, 300.0),
    ],
)
def test_another_attempt_is_made_after_a_pause_that_grows(of: ProfileFact, sustain_s: float, after_s: float) -> None:
    wanted = replace(spec(), detection=replace(RULE, sustain_s=sustain_s))
    for now_s, due in ((of.created_at + after_s - 1, False), (of.created_at + after_s, True)):
        assert profiling.retry_due(world(spec=wanted, now_s=now_s), of) is due


@pytest.mark.parametrize(
    ("of", "exhausted"),
    [
        (replace(FAILED, attempt=2), False),
        (replace(FAILED, attempt=3), True),
        (replace(FAILED, attempt=4), True),
        (replace(FAILED, attempt=5, earlier_attempts=3), False),
        (replace(FAILED, failure=("NoStepSeen", "")), True),
        (replace(FAILED, failure=("NoStepSeen", ""), earlier_attempts=1), False),
        (replace(LAUNCHED, attempt=2), False),
        (replace(LAUNCHED, attempt=3), True),
    ],
)
def test_three_attempts_are_all_and_one_where_no_step_was_seen(of: ProfileFact, exhausted: bool) -> None:
    assert profiling.exhausted(of) is exhausted
    assert profiling.retry_due(world(now_s=NOW_S + 1e6), of) is not exhausted


def test_attempts_are_given_back_to_what_brought_no_account() -> None:
    assert profiling.again(None) is None
    assert profiling.again(worlds.PROFILED) == worlds.PROFILED
    second = replace(FAILED, attempt=2)
    assert profiling.again(second) == replace(second, earlier_attempts=2)
    assert profiling.with_all_attempts(worlds.PROFILED) == replace(worlds.PROFILED, earlier_attempts=1)


def test_an_account_of_what_may_not_be_the_healthy_job_is_dropped_and_says_why() -> None:
    found = profiling.overlapping(replace(worlds.HEALTHY_PROFILE, hardware=("capped",)), "a loss set in")
    assert (found.account, found.hardware) == (None, ())
    assert found.failure is not None
    assert found.failure[0] == "JobOverlapsChange"
    assert "another job than the healthy one: a loss set in; it is recorded again" in found.failure[1]
    assert replace(found, account=worlds.FAST_STEP, failure=None) == worlds.HEALTHY_PROFILE


def settled(*starts: float | None, phase: str = "Running", warmup_s: float = 120.0) -> bool:
    run = workload(pods=tuple(pod(start, phase=phase) for start in starts))
    return profiling.settled(world(workload=run, spec=replace(spec(), detection=Detection(warmup_s=warmup_s))))


def test_a_run_has_settled_when_its_newest_running_pod_has_warmed_up() -> None:
    assert settled(NOW_S - 120)
    assert settled(NOW_S - 7200, NOW_S - 120)
    assert not settled(NOW_S - 7200, NOW_S - 119)
    assert not settled(NOW_S - 7200, None)
    assert not settled()
    assert not settled(NOW_S - 7200, phase="Pending")
    assert settled(None, warmup_s=0.0)
    assert not profiling.settled(world(workload=None))


def outdated(of: ProfileFact, **changes: Any) -> bool:
    return profiling.is_outdated(world(**changes), of)


def test_an_account_is_outdated_once_another_profiler_brings_another_analysis() -> None:
    image = worlds.DEFAULTS.profiler_image
    current = replace(worlds.HEALTHY_PROFILE, image="old")
    earlier = replace(current, account=worlds.account(analysis=1.0))
    assert outdated(earlier)
    assert not outdated(current)
    assert not outdated(replace(earlier, image=image))
    assert not outdated(FAILED)


def test_an_account_of_another_recorder_than_the_one_in_use_is_outdated() -> None:
    of_nsys = replace(worlds.HEALTHY_PROFILE, account=worlds.account(producer="nsys"))
    of_another = replace(worlds.HEALTHY_PROFILE, account=worlds.account(producer="torch"))
    assert not outdated(of_nsys)
    assert outdated(of_another)
    assert not outdated(of_another, workload=PAIR), "nothing is recorded now, so nothing else can be"


def named(status: Any) -> Any:
    return profiling.by_their_names(status, worlds.IDENTITY)


def test_the_names_of_jobs_follow_from_their_subjects_whatever_somebody_wrote() -> None:
    odd = replace(LAUNCHED, job="kube-system", attempt=2)
    assert named(replace(SETTLED, healthy_profile=odd)).healthy_profile.job == "mfu-gpt-small-3f2a91c0-healthy-a2"
    assert named(ailing(incident(profile=odd))).incident.profile == replace(odd, job=f"mfu-{ID}-a2")


@pytest.mark.parametrize("ended", [replace(FAILED, job="odd"), replace(worlds.PROFILED, job="odd"), None])
def test_the_names_of_jobs_that_are_over_stay_as_they_are(ended: ProfileFact | None) -> None:
    status = ailing(incident(profile=ended), healthy_profile=ended)
    assert named(status) == status
    assert named(replace(status, incident=None)) == replace(status, incident=None)
