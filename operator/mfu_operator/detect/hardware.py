"""Losses that no commit causes: a link that trained down, a throttled or failing GPU, another node.

Every finding names node and GPU and blocks a proposal. What was not measured is listed as such: it is not healthy.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from mfu_operator.detect.formatting import per_cent
from mfu_operator.model.diagnosis import Bottleneck
from mfu_operator.model.series import HardwareReading

_THROTTLES = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""NVML's clock event reasons that slow a GPU down. 0x1 (idle), 0x2 (application clocks) and 0x10 (sync boost) are no
faults; 0x4 (power cap) is set on a healthy GPU at full load, and counts only where the baseline was read without it."""

_POWER_CAP = 0x04

_IDLE = 0x01
"""A GPU that idles may let its link's generation fall to save power, and takes it back under load."""

NODES_CHANGED = "NodesChanged"
"""The cause of a run that moved. Nothing was seen to be wrong there: what the profile shows may outweigh it."""

_LINKS = (("generation", "link_generation", "link_max_generation"), ("width", "link_width", "link_max_width"))
"""What a link is, its reading, and the reading of what it could be."""

_USER_XIDS = frozenset({13, 31, 43, 45, 68})
"""XIDs that a faulty program causes (out-of-range access, page fault, stopped or preempted channel): no hardware."""


_MOST_NAMED = 8
"""Nodes or GPUs that are named in one sentence."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason that lies outside of any commit."""

    bottleneck: Bottleneck
    cause: str
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """What was found, and what could not be ruled out because it was not measured.

    `supporting` is how busy the GPUs are, as sentences for a person: it alarms nobody and blocks nothing.
    """

    findings: tuple[Finding, ...] = ()
    unmeasured: tuple[str, ...] = ()
    supporting: tuple[str, ...] = ()

    @property
    def blocks(self) -> bool:
        """Whether a proposal must not be made."""
        return bool(self.findings)


def merged(before: Sequence[HardwareReading], now: Sequence[HardwareReading]) -> tuple[HardwareReading, ...]:
    """What is usual of each GPU after one more look while the baseline held: every bit that was ever set, the best
    link, the errors as they are."""
    known = {(reading.node, reading.gpu): reading for reading in before}
    for reading in now:
        old = known.get((reading.node, reading.gpu))
        known[reading.node, reading.gpu] = reading if old is None else _usual_of(old, reading)
    return tuple(known.values())


def _usual_of(old: HardwareReading, new: HardwareReading) -> HardwareReading:
    def best(one: int | None, other: int | None) -> int | None:
        return max((each for each in (one, other) if each is not None), default=None)

    bits = [each.throttle_bits for each in (old, new) if each.throttle_bits is not None]
    return replace(
        new,
        link_generation=best(old.link_generation, new.link_generation),
        link_width=best(old.link_width, new.link_width),
        throttle_bits=bits[0] | bits[-1] if bits else None,
        xid=new.xid if new.xid is not None else old.xid,
        ecc_errors=best(old.ecc_errors, new.ecc_errors),
    )


def rule_out(
    now: Sequence[HardwareReading],
    healthy: Sequence[HardwareReading] = (),
    node_of: Mapping[str, str] | None = None,
    usual_nodes: Collection[str] = (),
) -> Ruling:
    """Look for hardware behind a loss.

    A slow rank is not looked for here: ranks of a synchronous job wait for each other, so their step times agree, and
    what differs is where their windows end. A capture of the ranks tells who waits for whom.

    Args:
        now: readings of the job's GPUs during the loss.
        healthy: readings of GPUs while the baseline held: what is normal for this job. Without any, errors that are
            counted or repeated for ever (XID, ECC) are not findings: they may be old.
        node_of: node by pod.
        usual_nodes: the nodes on which the baseline was held; empty: not known.
    """
    usual = _Usual(healthy)
    findings = [finding for reading in now for finding in _of_gpu(reading, usual)]
    findings += _moved(frozenset((node_of or {}).values()), frozenset(usual_nodes), now)
    return Ruling(tuple(findings), tuple(_unmeasured(now, usual)), tuple(_activity(now, healthy)))


def _activity(now: Sequence[HardwareReading], healthy: Sequence[HardwareReading]) -> Iterable[str]:
    """SM and tensor activity, the mean over the GPUs, against that while the baseline held."""
    for name, now_ratios, usual_ratios in (
        ("SMs", [gpu.sm_active for gpu in now], [gpu.sm_active for gpu in healthy]),
        ("tensor cores", [gpu.tensor_active for gpu in now], [gpu.tensor_active for gpu in healthy]),
    ):
        busy = [ratio for ratio in now_ratios if ratio is not None]
        before = [ratio for ratio in usual_ratios if ratio is not None]
        if busy:
            usual = f", {per_cent(fmean(before))} while the baseline held" if before else ""
            yield f"{name} active {per_cent(fmean(busy))} of the time{usual}"


class _Usual:
    """What was so while the baseline held. DCGM repeats the last XID for ever: an old one explains no new loss."""

    def __init__(self, healthy: Sequence[HardwareReading]) -> None:
        self.known = bool(healthy)
        self.bits = 0
        for reading in healthy:
            self.bits |= reading.throttle_bits or 0
        self._links = {(reading.node, reading.gpu): reading for reading in healthy}
        self.errors = {(reading.node, reading.gpu, reading.xid) for reading in healthy}
        self.ecc = {(reading.node, reading.gpu): reading.ecc_errors or 0 for reading in healthy}

    def link(self, reading: HardwareReading, field: str) -> int | None:
        """The generation or width of this GPU's link while the baseline held; of a GPU that was not seen then, the best
        of those that were."""
        same = self._links.get((reading.node, reading.gpu))
        values = [getattr(each, field) for each in ([same] if same is not None else self._links.values())]
        return max((value for value in values if value is not None), default=None)


def _of_gpu(reading: HardwareReading, usual: _Usual) -> Iterable[Finding]:
    where = f"{reading.node} {reading.gpu}"
    idle = bool((reading.throttle_bits or 0) & _IDLE)
    for what, field, most_field in _LINKS:
        most = getattr(reading, most_field)
        value, before = getattr(reading, field), usual.link(reading, field)
        saves_power = idle and what == "generation"
        normal = min((each for each in (most, before) if each is not None), default=None)
        if value is not None and normal is not None and value < normal and not saves_power:
            text = f"PCIe link {what} {value} of {normal if most is None else most} on {where}"
            yield Finding(Bottleneck.HARDWARE_DEGRADED, "LinkDegraded", where, text)
    unusual = (reading.throttle_bits or 0) & ~usual.bits
    reasons = [name for bit, name in _THROTTLES.items() if unusual & bit]
    if usual.known and unusual & _POWER_CAP:
        reasons.append("power cap, which the baseline ran without")
    if reasons:
        text = f"clocks held down on {where}: {', '.join(reasons)}"
        yield Finding(Bottleneck.HARDWARE_DEGRADED, "Throttled", where, text)
    if usual.known:
        yield from _errors(reading, usual, where)


def _errors(reading: HardwareReading, usual: _Usual, where: str) -> Iterable[Finding]:
    """What went wrong since the baseline held; without a look at that time an old error is not told from a new one."""
    new_xid = (reading.node, reading.gpu, reading.xid) not in usual.errors
    if reading.xid and new_xid and reading.xid not in _USER_XIDS:
        yield Finding(Bottleneck.HARDWARE_DEGRADED, "XidError", where, f"XID {reading.xid} on {where}")
    new_errors = (reading.ecc_errors or 0) - usual.ecc.get((reading.node, reading.gpu), 0)
    if new_errors > 0:
        text = f"{new_errors} uncorrected ECC errors on {where}"
        yield Finding(Bottleneck.HARDWARE_DEGRADED, "EccErrors", where, text)


def _moved(nodes: frozenset[str], usual: frozenset[str], now: Sequence[HardwareReading]) -> list[Finding]:
    """Nodes on which the baseline was never held: what is slow may be theirs."""
    new = sorted(nodes - usual) if usual else []
    if not new:
        return []
    gpus = [f"{reading.node} {reading.gpu}" for reading in now if reading.node in new]
    left = sorted(usual - nodes)
    text = f"the run is on {_some(new)}, where it never held the baseline" + (
        f" (before: {_some(left)})" if left else ""
    )
    return [Finding(Bottleneck.HARDWARE_DEGRADED, NODES_CHANGED, _some(gpus or new), text)]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


def _unmeasured(now: Sequence[HardwareReading], usual: _Usual) -> Iterable[str]:
    if not now:
        yield "no hardware readings: DCGM fields or NVML are not available, so hardware is not ruled out"
        return
    for name, values in (
        ("PCIe link generation", [reading.link_generation for reading in now]),
        ("PCIe link width", [reading.link_width for reading in now]),
        ("clock event reasons", [reading.throttle_bits for reading in now]),
        ("XID errors", [reading.xid for reading in now]),
        ("ECC errors", [reading.ecc_errors for reading in now]),
    ):
        missing = sum(value is None for value in values)
        if missing:
            yield f"{name} not measured on {missing} of {len(values)} GPUs"
    for name, field, most in _LINKS:
        unknown = sum(
            getattr(reading, field) is not None
            and getattr(reading, most) is None
            and usual.link(reading, field) is None
            for reading in now
        )
        if unknown:
            yield f"what the PCIe link's {name} should be is not known of {unknown} of {len(now)} GPUs"
    undated = sum(bool(reading.xid or reading.ecc_errors) for reading in now)
    if undated and not usual.known:
        yield f"when the XID or ECC errors of {undated} of {len(now)} GPUs came: no readings from before the loss"
