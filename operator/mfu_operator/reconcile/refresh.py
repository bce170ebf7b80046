"""What a tick saw, written into the record before anything is decided. Small movements are not worth a write."""

import json
from dataclasses import replace
from hashlib import sha256

from mfu_operator.api import codec
from mfu_operator.model.baseline import Baseline, BaselineSpec, Provenance
from mfu_operator.model.condition import Event
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.incident import ProfileFact, Recording, Status
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.reconcile.level import FIRST, adopt, declared_baseline, put_out_of_force
from mfu_operator.reconcile.profile import again, overlapping
from mfu_operator.reconcile.symptoms import refreshed
from mfu_operator.reconcile.world import World

WORTH_A_WRITE = 0.01
"""A measured value that moved by less than 1 % since it was written tells a person nothing new."""

_NAMED_FIELDS = frozenset({"ConfigurationDiffers", "BaselineOutdated"})
"""Reasons whose message holds no reading, but what a person is to look at: another text is another finding."""

EVIDENCE_STEP = 0.1
"""Evidence is written in tenths of the horizon: ten writes from nothing to Regressed."""


def edited(status: Status, spec: BaselineSpec, generation: int, now_s: float, image: str | None = None) -> Status:
    """The record after a person changed the spec, or the profiler's `image`.

    What stood in a proposal's way may be gone, so it is tried again (a person's no stays a no), and so is a profile
    that failed; a declared level no longer counts where one is recorded now.
    """
    another = image is not None and any(each.image not in (None, image) for each in _failed_profiles(status))
    if status.observed_generation == generation:
        return _profiled_anew(status) if another else status
    incident, baseline = status.incident, status.baseline
    if incident is not None and (incident.proposal is None or incident.proposal.dry_run):
        status = replace(status, incident=replace(incident, blocked=None))
    if spec.record is not None and baseline is not None and baseline.provenance is Provenance.DECLARED:
        status = put_out_of_force(status, "the level is to be recorded", now_s)
    return _profiled_anew(status)


def _failed_profiles(status: Status) -> tuple[ProfileFact, ...]:
    """The profiles that failed and were not given their attempts back yet."""
    both = (status.healthy_profile, status.incident.profile if status.incident is not None else None)
    return tuple(each for each in both if each is not None and each.failure and each.earlier_attempts < each.attempt)


def _profiled_anew(status: Status) -> Status:
    """Profiles without an account have their attempts back, and a diagnosis for want of a profile is withdrawn."""
    incident = status.incident
    if incident is not None:
        seen = incident.profile is not None and incident.profile.account is not None
        diagnosis, blocked = incident.diagnosis, incident.blocked
        if diagnosis is not None and diagnosis.bottleneck is Bottleneck.INCONCLUSIVE and not seen:
            diagnosis, blocked = None, None if blocked and blocked[0] == str(Bottleneck.INCONCLUSIVE) else blocked
        incident = replace(incident, profile=again(incident.profile), diagnosis=diagnosis, blocked=blocked)
    return replace(status, healthy_profile=again(status.healthy_profile), incident=incident)


def configuration(spec: BaselineSpec) -> str:
    """A digest of what facts are gathered under: the workload, what makes readings comparable, the declared level or
    the generation of the recorded one."""
    declared = codec.encode(spec.declared) if spec.declared is not None else None
    again = [spec.record.generation] if spec.record is not None and spec.record.generation > FIRST else []
    workload = codec.encode(replace(spec.of_run("", ()).workload, selector=()))
    followed = [list(spec.workload.selector)] if spec.workload.selector else []
    parts = [workload, codec.encode(spec.comparable), declared, *again, *followed]
    said = json.dumps(parts, sort_keys=True)
    return sha256(said.encode()).hexdigest()[:12]


def _of_this_configuration(status: Status, spec: BaselineSpec) -> tuple[Status, tuple[Event, ...]]:
    """The record without what was gathered under another configuration: no incident may be explained against it."""
    now = configuration(spec)
    if now == status.configuration:
        return status, ()
    healthy, known_good = status.healthy_profile, status.known_good
    stale = healthy is not None and healthy.failure is None
    if status.configuration is None or not (stale or known_good is not None):
        return replace(status, configuration=now), ()
    if healthy is not None and stale:
        healthy = overlapping(healthy, "the workload, what makes it comparable, or its level was changed since")
    event = Event(
        "Normal",
        "ConfigurationChanged",
        "spec.workload, spec.comparable or the level asked for is another one: the healthy profile and the known good "
        "revision were of the one before and are obtained again",
    )
    return replace(status, configuration=now, healthy_profile=healthy, known_good=None), (event,)


def refresh(world: World) -> tuple[Status, tuple[Event, ...]]:
    """The status with this tick's baseline, recording progress and judgement, and what is worth telling of them."""
    status, changed = _of_this_configuration(world.status, world.spec)
    status, events = _with_baseline(replace(world, status=status))
    events = (*changed, *events)
    judgement = world.judgement
    if judgement is not None and tells_more(status.judgement, judgement):
        events += _turned(status, judgement)
        status = replace(status, judgement=judgement)
    if world.symptoms is not None:
        symptoms, told = refreshed(status.symptoms, world.symptoms, world.now_s)
        status, events = replace(status, symptoms=symptoms), (*events, *told)
    return replace(status, observed_generation=world.identity.generation), events


def _with_baseline(world: World) -> tuple[Status, tuple[Event, ...]]:
    status = world.status
    declared, plan = declared_baseline(world.spec), world.spec.record
    if declared is not None:
        return adopt(status, declared, world.now_s) if declared != status.baseline else (status, ())
    if isinstance(world.recorded, Recording) and plan is not None:
        now = replace(world.recorded, generation=plan.generation)
        return replace(status, recording=_coarse(now, status.recording)), ()
    if isinstance(world.recorded, Baseline) and plan is not None and status.baseline is None:
        recorded = replace(world.recorded, generation=plan.generation, comparable=world.spec.comparable)
        return adopt(replace(status, recording=None), recorded, world.now_s)
    return status, ()


def _coarse(now: Recording, before: Recording | None) -> Recording:
    if before is None or _stage(now) != _stage(before):
        return now
    return now if abs(now.collected_s - before.collected_s) >= EVIDENCE_STEP * now.needed_s else before


def _stage(recording: Recording) -> tuple[object, ...]:
    return recording.generation, recording.run, recording.runs, recording.problem


def tells_more(before: Judgement | None, now: Judgement) -> bool:
    """Whether a judgement is worth a write over the one that was written last."""
    if before is None or _story(before) != _story(now):
        return True
    return _moved(before.value, now.value, before.baseline) or _moved(before.drop, now.drop, 1.0)


def _story(judgement: Judgement) -> tuple[object, ...]:
    return (
        judgement.verdict,
        judgement.reason,
        judgement.signal,
        judgement.gates,
        judgement.confirmed,
        judgement.recovered,
        _tenths(judgement.evidence_s, judgement.sustain_s),
        _tenths(judgement.confirm_evidence_s, judgement.confirm_s),
        _tenths(judgement.recover_evidence_s, judgement.recover_s),
        judgement.baseline,
        judgement.message if judgement.reason in _NAMED_FIELDS else None,
    )


def _tenths(part_s: float, whole_s: float) -> int:
    return int(part_s / whole_s / EVIDENCE_STEP) if whole_s > 0 else 0


def _moved(before: float | None, now: float | None, scale: float | None) -> bool:
    if before is None or now is None:
        return before is not now
    return abs(now - before) > WORTH_A_WRITE * abs(scale or before or 1.0)


def _turned(status: Status, now: Judgement) -> tuple[Event, ...]:
    """What to tell of another verdict. The first Regressed and the way back are told by what opens and closes the
    incident, which knows more."""
    if status.judgement is not None and status.judgement.verdict is now.verdict:
        return ()
    told_elsewhere = Verdict.REGRESSED if status.incident is None else Verdict.HEALTHY
    kind = "Normal" if now.verdict is Verdict.HEALTHY else "Warning"
    return () if now.verdict is told_elsewhere else (Event(kind, str(now.verdict), now.message),)
