"""Whether a run is broken rather than slow: it hangs, its memory runs full, or it does not learn.

None of this is judged against a baseline, opens an incident or is profiled: the remedy is in the job's own hands, and
each message says which.
"""

from collections.abc import Iterable, Iterator

from mfu_operator.detect.cleaning import gate_of, is_restart
from mfu_operator.detect.creeping import Creep, Trend
from mfu_operator.detect.formatting import clock, duration, gibibytes, moment, per_cent
from mfu_operator.model.baseline import Detection, Signal, Watch
from mfu_operator.model.series import Phase, Reading
from mfu_operator.model.verdict import Gate
from mfu_operator.model.vitals import Ailment, Fill, Streak, Symptom, Vitals

HANG_STEPS = 10.0
"""A step counter that stands still is not a hang before ten steps should have passed."""

SETTLING_S = 600.0
"""Ten minutes after a start, the allocator is filling its cache: that rise is nobody's leak."""

STALE_S = 600.0
"""What was last seen ten minutes ago says nothing of now: the job may have ended."""


class VitalSigns:
    """What is remembered of one job between two looks. All times are the readings' own."""

    __slots__ = (
        "_allocated", "_began_s", "_host", "_incarnation", "_latest", "_moved_s", "_phase", "_read_s", "_reserved",
        "_restarts", "_since_s", "_step", "_step_s",
    )  # fmt: skip

    def __init__(self) -> None:
        self._incarnation: str | None = None
        self._step: float | None = None
        self._step_s = 0.0
        self._moved_s: float | None = None
        self._read_s: float | None = None
        self._phase = Phase.UNKNOWN
        self._latest: Vitals | None = None
        self._since_s: dict[Ailment, float] = {}
        self._began_s: float | None = None
        self._restarts = 0
        self._forget()

    def _forget(self) -> None:
        """Another incarnation: nothing that its memory did before is true of it."""
        self._allocated: Trend | None = None
        self._reserved: Trend | None = None
        self._host: Trend | None = None

    def read(self, reading: Reading) -> None:
        """One more reading of the run: its phase, its step counter, and whether it is another incarnation."""
        if self._read_s is not None and reading.time_s <= self._read_s:
            return
        if self._incarnation is None or is_restart(self._incarnation, self._step, reading):
            self._restarts += self._incarnation is not None
            self._began_s, self._incarnation = reading.time_s, reading.incarnation
            self._step, self._moved_s = None, None
            self._forget()
        phase_changed = reading.phase is not self._phase
        if reading.step is not None and (reading.step != self._step or phase_changed):
            self._moved_s = reading.time_s
            self._step_s = reading.values.get(Signal.STEP_TIME, self._step_s)
        self._step = reading.step if reading.step is not None else self._step
        self._phase, self._read_s = reading.phase, reading.time_s

    def remember(self, history: Iterable[Vitals], watch: Watch) -> None:
        """Memory as it was before the run was looked at here, oldest first.

        Of the incarnation that runs now: nothing before a restart that the readings show, or at which memory fell to
        less than half. Its first moment is left out, in which it fills.
        """
        before: Vitals | None = None
        for now in history:
            if self._restarts and self._began_s is not None and now.time_s < self._began_s:
                continue
            if before is not None and not _halved(before, now):
                self._grow(now, watch)
            elif before is not None:
                self._forget()
            before = now

    def look(self, vitals: Vitals, watch: Watch) -> None:
        """One more look at memory and streaks. Memory during a checkpoint or an evaluation is not training's."""
        self._latest = vitals
        self._note(Ailment.LOSS_NOT_FINITE, vitals.nonfinite, watch.nonfinite_losses, vitals.time_s)
        self._note(Ailment.STEPS_SKIPPED, vitals.skipped, watch.skipped_steps, vitals.time_s)
        if self._began_s is None or vitals.time_s < self._began_s + SETTLING_S or gate_of(self._phase) is not None:
            return
        self._grow(vitals, watch)

    def _grow(self, vitals: Vitals, watch: Watch) -> None:
        self._allocated = _added(self._allocated, vitals.allocated, vitals.time_s, watch)
        self._reserved = _added(self._reserved, vitals.reserved, vitals.time_s, watch)
        self._host = _added(self._host, vitals.host, vitals.time_s, watch)

    def _note(self, ailment: Ailment, streak: Streak | None, limit: int, time_s: float) -> None:
        if streak is None or streak.length < limit:
            self._since_s.pop(ailment, None)
        else:
            self._since_s.setdefault(ailment, time_s)

    def symptoms(self, watch: Watch, detection: Detection, step_s: float | None, now_s: float) -> tuple[Symptom, ...]:
        """What is wrong now, the most urgent first.

        Args:
            watch: what is looked for, and its limits.
            detection: its `sustain_s` is the limit of a hang where `watch` has none.
            step_s: seconds per step of the baseline; None: as last measured.
            now_s: the time of judging.
        """
        return (
            *self._hung(watch, detection, step_s, now_s),
            *(self._lost(now_s) if watch.loss else ()),
            *(self._creeping(now_s) if watch.memory else ()),
        )

    def _hung(self, watch: Watch, detection: Detection, step_s: float | None, now_s: float) -> Iterator[Symptom]:
        if not watch.hang or self._moved_s is None or self._read_s is None or now_s - self._read_s > STALE_S:
            return
        gate = gate_of(self._phase)
        usual_s = detection.sustain_s if watch.hang_s is None else watch.hang_s
        limit_s = usual_s if gate is None else max(usual_s, watch.gated_hang_s)
        still_s = self._read_s - self._moved_s
        if gate is Gate.PAUSED or still_s < max(limit_s, HANG_STEPS * (step_s or self._step_s)):
            return
        doing = "" if gate is None else f" in phase {self._phase}"
        yield Symptom(
            Ailment.HUNG,
            f"the step counter has stayed at {self._step:g} since {moment(self._moved_s)}{doing}, and the pods run "
            f"(limit {duration(limit_s)}): look for a rank that died, an XID, storage that blocks; `py-spy dump` on "
            "each rank says where it waits",
            self._moved_s,
            still_s,
        )

    def _lost(self, now_s: float) -> Iterator[Symptom]:
        seen = self._latest
        if seen is None or now_s - seen.time_s > STALE_S:
            return
        if (since_s := self._since_s.get(Ailment.LOSS_NOT_FINITE)) is not None and seen.nonfinite is not None:
            yield Symptom(
                Ailment.LOSS_NOT_FINITE,
                f"the loss of {seen.nonfinite.pod} is NaN or infinite: stop the run, and resume from a checkpoint "
                "before it, with that data skipped, a lower learning rate or gradient clipping",
                since_s,
                float(seen.nonfinite.length),
                seen.nonfinite.pod,
            )
        if (since_s := self._since_s.get(Ailment.STEPS_SKIPPED)) is not None and seen.skipped is not None:
            yield Symptom(
                Ailment.STEPS_SKIPPED,
                f"{seen.skipped.pod} skips every update: gradients overflow whatever the loss scale; look for NaN in "
                "weights or data, and prefer bf16 to fp16",
                since_s,
                float(seen.skipped.length),
                seen.skipped.pod,
            )

    def _creeping(self, now_s: float) -> Iterator[Symptom]:
        seen = self._latest
        if seen is None or now_s - seen.time_s > STALE_S:
            return
        found = [
            symptom
            for symptom in (
                self._on_device(seen),
                _symptom(Ailment.HOST_MEMORY_LEAK, self._host, seen.host),
            )
            if symptom is not None
        ]
        yield from sorted(found, key=lambda symptom: symptom.full_at or 0.0)

    def _on_device(self, seen: Vitals) -> Symptom | None:
        """A leak where what is in tensors grows; fragments where what is held grows and what is in tensors does not."""
        leak = _symptom(Ailment.MEMORY_LEAK, self._allocated, seen.allocated)
        creep = self._reserved.creep if self._reserved is not None else None
        if leak is not None or creep is None or self._reserved is None:
            return leak
        held = creep.to_ratio - creep.from_ratio
        kept = self._allocated.rise(creep.scale, creep.span_s) if self._allocated is not None else 0.0
        ailment = Ailment.MEMORY_LEAK if kept > held / 2 else Ailment.MEMORY_FRAGMENTATION
        return _symptom(ailment, self._reserved, seen.reserved)


_REMEDIES = {
    Ailment.MEMORY_LEAK: "tensors are kept that nobody needs: look for losses or outputs appended to a list without "
    ".item() or .detach(), and for graphs that are never freed",
    Ailment.MEMORY_FRAGMENTATION: "tensors take the same, and the allocator holds more and more: set "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or give batches fewer different shapes",
    Ailment.HOST_MEMORY_LEAK: "the container is killed then: look for lists that loader workers grow, caches without "
    "a bound and pinned buffers that are not given back",
}

_WHOSE = {
    Ailment.MEMORY_LEAK: "device memory in tensors",
    Ailment.MEMORY_FRAGMENTATION: "device memory held by the allocator",
    Ailment.HOST_MEMORY_LEAK: "host memory",
}


def _halved(before: Vitals, now: Vitals) -> bool:
    """Whether memory fell as it does when a process ends."""
    pairs = ((before.allocated, now.allocated), (before.reserved, now.reserved), (before.host, now.host))
    return any(was and fill and fill.ratio < was.ratio / 2 for was, fill in pairs)


def _added(trend: Trend | None, fill: Fill | None, time_s: float, watch: Watch) -> Trend | None:
    if fill is None:
        return trend
    grown = Trend() if trend is None else trend
    grown.add(time_s, fill.ratio, watch.memory_horizon_s)
    return grown


def _symptom(ailment: Ailment, trend: Trend | None, fill: Fill | None) -> Symptom | None:
    creep = trend.creep if trend is not None else None
    if trend is None or creep is None or fill is None or trend.since_s is None:
        return None
    return Symptom(
        ailment, _message(ailment, creep, fill), trend.since_s, creep.to_ratio, fill.pod, full_at=creep.full_s
    )


def _message(ailment: Ailment, creep: Creep, fill: Fill) -> str:
    risen = creep.to_ratio - creep.from_ratio
    rate = risen * fill.limit / (creep.span_s / 3600)
    return (
        f"{_WHOSE[ailment]} of {fill.pod} is at {per_cent(creep.to_ratio)} of {gibibytes(fill.limit)} and rises by "
        f"{gibibytes(rate)} an hour (its floor rose from {per_cent(creep.from_ratio)} within {duration(creep.span_s)} "
        f"and was not given back): full at {clock(creep.full_s)} if it goes on; {_REMEDIES[ailment]}"
    )
