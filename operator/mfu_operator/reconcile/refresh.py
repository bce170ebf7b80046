"""What a tick saw, written into the record before anything is decided. Small movements are not worth a write."""

import json
from dataclasses import replace
from hashlib import sha256

from mfu_operator.api import codec
from mfu_operator.model.baseline import Baseline, BaselineSpec, Level, Provenance, Spread
from mfu_operator.model.condition import Event
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.incident import ProfileFact, Recording, Status
from mfu_operator.model.verdict import Judgement, Verdict
from mfu_operator.reconcile.profile import anew, overlapping
from mfu_operator.reconcile.world import World

WORTH_A_WRITE = 0.01
"""A measured value that moved by less than 1 % since it was written tells a person nothing new."""

EVIDENCE_STEP = 0.1
"""Evidence is written in tenths of the horizon: ten writes from nothing to Regressed."""

UNMEASURED_SPREAD = Spread(within=0.01, between=None, slow=0.0, runs=1)
"""For a level declared without a spread: the detection rule's own floor of 1 %."""


def declared_baseline(spec: BaselineSpec) -> Baseline | None:
    """The baseline that a person wrote down; None where it is to be recorded."""
    if spec.declared is None:
        return None
    return Baseline(spec.declared, spec.declared_spread or UNMEASURED_SPREAD, Provenance.DECLARED)


def edited(status: Status, spec: BaselineSpec, generation: int, image: str | None = None) -> Status:
    """The record after a person changed the spec, or the profiler's `image`.

    What stood in a proposal's way may be gone, so it is tried anew (a person's no stays a no), and so is a profile that
    failed; a level that was declared is none where one is to be recorded now.
    """
    another = image is not None and any(each.image not in (None, image) for each in _failed_profiles(status))
    if status.observed_generation == generation:
        return _profiled_anew(status) if another else status
    incident, baseline = status.incident, status.baseline
    if incident is not None and (incident.proposal is None or incident.proposal.dry_run):
        status = replace(status, incident=replace(incident, blocked=None))
    if spec.record is not None and baseline is not None and baseline.provenance is Provenance.DECLARED:
        status = replace(status, baseline=None, previous_baselines=(baseline, *status.previous_baselines)[:5])
    return _profiled_anew(status)


def _failed_profiles(status: Status) -> tuple[ProfileFact, ...]:
    """The profiles that failed and were not given their attempts back yet."""
    both = (status.healthy_profile, status.incident.profile if status.incident is not None else None)
    return tuple(each for each in both if each is not None and each.failure and each.earlier_attempts < each.attempt)


def _profiled_anew(status: Status) -> Status:
    """Failed profiles have their attempts back, and a diagnosis for want of a profile is withdrawn."""
    incident = status.incident
    if incident is not None:
        seen = incident.profile is not None and incident.profile.account is not None
        diagnosis, blocked = incident.diagnosis, incident.blocked
        if diagnosis is not None and diagnosis.bottleneck is Bottleneck.INCONCLUSIVE and not seen:
            diagnosis, blocked = None, None if blocked and blocked[0] == str(Bottleneck.INCONCLUSIVE) else blocked
        incident = replace(incident, profile=anew(incident.profile), diagnosis=diagnosis, blocked=blocked)
    return replace(status, healthy_profile=anew(status.healthy_profile), incident=incident)


def configuration(spec: BaselineSpec) -> str:
    """A digest of what facts are gathered under: the workload, what makes readings comparable, the declared level."""
    declared = codec.encode(spec.declared) if spec.declared is not None else None
    said = json.dumps([codec.encode(spec.workload), codec.encode(spec.comparable), declared], sort_keys=True)
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
        healthy = overlapping(
            healthy, "the workload, what makes it comparable, or its declared level was changed since"
        )
    event = Event(
        "Normal",
        "ConfigurationChanged",
        "spec.workload, spec.comparable or the declared level is another one: the healthy profile and the known good "
        "revision were of the one before and are obtained anew",
    )
    return replace(status, configuration=now, healthy_profile=healthy, known_good=None), (event,)


def refresh(world: World) -> tuple[Status, tuple[Event, ...]]:
    """The status with this tick's baseline, recording progress and judgement, and what is worth telling of them."""
    status, changed = _of_this_configuration(world.status, world.spec)
    status, events = _with_baseline(replace(world, status=status))
    events = (*changed, *events)
    judgement = world.judgement
    if judgement is not None and _tells_more(status.judgement, judgement):
        events += _turned(status.judgement, judgement)
        status = replace(status, judgement=judgement)
    return replace(status, observed_generation=world.identity.generation), events


def _with_baseline(world: World) -> tuple[Status, tuple[Event, ...]]:
    status = world.status
    declared = declared_baseline(world.spec)
    if declared is not None:
        return _adopt(status, declared) if declared != status.baseline else (status, ())
    if isinstance(world.recorded, Recording):
        return replace(status, recording=_coarse(world.recorded, status.recording)), ()
    if world.recorded is not None and status.baseline is None:
        return _adopt(replace(status, recording=None), world.recorded)
    return status, ()


def _adopt(status: Status, baseline: Baseline) -> tuple[Status, tuple[Event, ...]]:
    previous = (
        status.previous_baselines if status.baseline is None else (status.baseline, *status.previous_baselines)[:5]
    )
    event = Event("Normal", f"Baseline{baseline.provenance}", f"baseline is {_level(baseline.level)}")
    return replace(status, baseline=baseline, previous_baselines=previous), (event,)


def _level(level: Level) -> str:
    told = [
        f"MFU {level.mfu:.4f}" if level.mfu is not None else "",
        f"step {level.step_time_s * 1000:.1f} ms" if level.step_time_s is not None else "",
        f"{level.throughput:.0f} tokens/s per GPU" if level.throughput is not None else "",
    ]
    return ", ".join(part for part in told if part)


def _coarse(now: Recording, before: Recording | None) -> Recording:
    if before is None or (now.run, now.runs, now.problem) != (before.run, before.runs, before.problem):
        return now
    return now if abs(now.collected_s - before.collected_s) >= EVIDENCE_STEP * now.needed_s else before


def _tells_more(before: Judgement | None, now: Judgement) -> bool:
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
    )


def _tenths(part_s: float, whole_s: float) -> int:
    return int(part_s / whole_s / EVIDENCE_STEP) if whole_s > 0 else 0


def _moved(before: float | None, now: float | None, scale: float | None) -> bool:
    if before is None or now is None:
        return before is not now
    return abs(now - before) > WORTH_A_WRITE * abs(scale or before or 1.0)


def _turned(before: Judgement | None, now: Judgement) -> tuple[Event, ...]:
    if before is not None and before.verdict is now.verdict:
        return ()
    kind = "Normal" if now.verdict is Verdict.HEALTHY else "Warning"
    return (Event(kind, str(now.verdict), now.message),) if now.verdict is not Verdict.REGRESSED else ()
