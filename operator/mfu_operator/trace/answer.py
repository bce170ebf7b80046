"""The analysis contract (schemaVersion 1) as values: what `analyze` returns and the JSON that scripts read."""

from collections.abc import Mapping

import msgspec

from mfu_operator.model import facts
from mfu_operator.model.account import PARTS

SCHEMA_VERSION = 1


class _Part(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """Frozen, with the contract's spelling of names."""


class TraceRow(_Part, frozen=True, kw_only=True):
    """One file that was read."""

    path: str
    format: str
    producer: str | None
    rank: int | None
    world_size: int | None
    warnings: tuple[str, ...] = ()


class UnreadableFile(_Part, frozen=True, kw_only=True):
    """A file of a folder that could not be read, and why."""

    path: str
    because: str


class StepRow(_Part, frozen=True, kw_only=True):
    """One step of one device; account_ns are integers that sum to end_ns − start_ns."""

    name: str
    start_ns: int
    end_ns: int
    interior: bool
    left_out: bool = False
    account_ns: Mapping[str, int]


class KernelRow(_Part, frozen=True, kw_only=True):
    """A kernel's share of the mean step."""

    name: str
    category: str
    calls: float
    total_ns: float


class TensorCore(_Part, frozen=True, kw_only=True):
    """Kernel time of the mean step that could use tensor cores, that did, and that cannot be told."""

    eligible_ns: float
    used_ns: float
    unknown_ns: float


class MeanStep(_Part, frozen=True, kw_only=True):
    """The mean over the counted steps. `facts` are further observations, listed in operator/FACTS.md.

    `overlap_efficiency` is the share of communication that other work hides; unset where nothing communicates.
    """

    count: int
    mean_ns: float
    std_ns: float
    account_ns: Mapping[str, float]
    communication_total_ns: float
    overlap_efficiency: float | msgspec.UnsetType = msgspec.UNSET
    tensor_core: TensorCore
    kernels: tuple[KernelRow, ...]
    ranges_ns: Mapping[str, float] = {}
    facts: Mapping[str, float | str] = {}


class CollectiveRow(_Part, frozen=True, kw_only=True):
    """What the collectives of one kind reach by nccl-tests' definitions, of those that say what they carry.

    `total_ns` is the time of their kernels, in which a rank also waits for the others.
    """

    kind: str
    calls: float
    bytes: float
    total_ns: float
    algorithm_bytes_per_second: float
    bus_bytes_per_second: float


class DeviceRow(_Part, frozen=True, kw_only=True):
    """One device of one trace; `device` is None for an account from NVTX."""

    trace: int
    device: int | None
    gpu: str | None
    account_from: str
    steps: tuple[StepRow, ...]
    step: MeanStep
    collectives: tuple[CollectiveRow, ...] | msgspec.UnsetType = msgspec.UNSET


class Ranks(_Part, frozen=True, kw_only=True):
    """Who waits for whom. wait_ns: by rank, mean nanoseconds per step spent waiting in collectives.

    compared: "collectives", or "accounts" where no collectives could be matched. in_turns: no rank is late throughout,
    one is after the other.
    """

    slowest: int | None
    skew_ns: float
    wait_ns: Mapping[str, float]
    clock: str
    evidence: str
    slow_in: str | None = None
    compared: str = "collectives"
    in_turns: bool = False


class DiagnosisRow(_Part, frozen=True, kw_only=True):
    """The bottleneck and its cause, both None where nothing stands out."""

    bottleneck: str | None
    cause: str | None
    confidence: float
    evidence: tuple[str, ...]
    advice: tuple[str, ...]
    runbook: str | None


class KernelDelta(_Part, frozen=True, kw_only=True):
    """What a kernel costs more (or less) per step than in the baseline.

    Where the grids that it is launched on changed, there is a row for each, with the blocks of one launch.
    """

    name: str
    category: str
    delta_ns: float
    calls_baseline: float
    calls_now: float
    blocks_baseline: int | msgspec.UnsetType = msgspec.UNSET
    blocks_now: int | msgspec.UnsetType = msgspec.UNSET


class Difference(_Part, frozen=True, kw_only=True):
    """Now minus baseline; the parts' differences sum to step_ns."""

    comparable: bool
    not_comparable_because: tuple[str, ...]
    step_ns: float
    account_ns: Mapping[str, float]
    kernels: tuple[KernelDelta, ...]


class OpportunityRow(_Part, frozen=True, kw_only=True):
    """What a known remedy may take away of the mean step, at most; `share` is of the step."""

    cause: str
    bottleneck: str
    ms: float
    share: float
    evidence: tuple[str, ...]
    remedy: str


class CallRow(_Part, frozen=True, kw_only=True):
    """One call (or the copies) of a start-up; `at_ns` is when it began, on the trace's clock."""

    name: str
    ms: float
    at_ns: int


class StartupRow(_Part, frozen=True, kw_only=True):
    """What lies before the first matrix kernel of a recorded span; `device` indexes the answer's devices."""

    ms: float
    calls: tuple[CallRow, ...]
    device: int


class GapRow(_Part, frozen=True, kw_only=True):
    """A time in which a device did nothing, and what the host did for most of it (None: not recorded)."""

    ms: float
    at_ns: int
    call: str | None
    device: int


class Answer(_Part, frozen=True, kw_only=True):
    """The whole answer."""

    schema_version: int = SCHEMA_VERSION
    traces: tuple[TraceRow, ...]
    devices: tuple[DeviceRow, ...]
    diagnosis: DiagnosisRow
    ranks: Ranks | msgspec.UnsetType = msgspec.UNSET
    difference: Difference | msgspec.UnsetType = msgspec.UNSET
    unreadable: tuple[UnreadableFile, ...] | msgspec.UnsetType = msgspec.UNSET
    opportunities: tuple[OpportunityRow, ...] | msgspec.UnsetType = msgspec.UNSET
    startup: StartupRow | msgspec.UnsetType = msgspec.UNSET
    longest_gaps: tuple[GapRow, ...] | msgspec.UnsetType = msgspec.UNSET


def remarks(answer: Answer) -> tuple[str, ...]:
    """Every warning once, and which files could not be read."""
    unread = () if answer.unreadable is msgspec.UNSET else answer.unreadable
    said = (warning for trace in answer.traces for warning in trace.warnings)
    return (*dict.fromkeys(said), *(f"{one.path} could not be read: {one.because}" for one in unread))


def counted_devices(answer: Answer) -> tuple[DeviceRow, ...]:
    """Those that the means are over."""
    return tuple(device for device in answer.devices if facts.STRAY_DEVICE.name not in device.step.facts)


MUCH_BEFORE = 0.1
"""Of the recorded span: what lies before the first matrix kernel for longer is a start-up."""


def is_span(device: DeviceRow) -> bool:
    """Whether no steps are known, so that the account is of the whole recorded span."""
    return device.step.facts.get(facts.WHOLE_STEPS.name) == 0


def beginning(answer: Answer, startup: StartupRow) -> str:
    """What lies before the first matrix kernel, and how long: a start-up, where it is a good part of the recording.

    A recording of a loop under way begins in the middle of a step.
    """
    longest = max(device.step.mean_ns for device in counted_devices(answer)) / 1e6
    if startup.ms > MUCH_BEFORE * longest:
        return f"start-up: {startup.ms:.1f} ms up to the first matrix kernel"
    return f"{startup.ms:.1f} ms before the first matrix kernel"


NOTHING_SAID = "nothing recorded says why"
"""Of a gap without a call."""


def gaps_of_spans(answer: Answer) -> tuple[GapRow, ...]:
    """The longest gaps, where a recorded span is told rather than steps."""
    told = answer.longest_gaps is not msgspec.UNSET and any(is_span(one) for one in answer.devices)
    return answer.longest_gaps if told and answer.longest_gaps is not msgspec.UNSET else ()


def since(answer: Answer, gap: GapRow) -> str:
    """When the gap begins, from the beginning of what was recorded of its device."""
    return f"from {(gap.at_ns - answer.devices[gap.device].steps[0].start_ns) / 1e6:.1f} ms on"


def of_what(device: DeviceRow) -> str:
    """What the account's numbers are of, in words."""
    return "of the recorded span" if is_span(device) else "per step"


def meant(device: DeviceRow) -> str:
    """What the account is of: the mean of how many steps, or the span."""
    count = device.step.count
    return "the recorded span" if is_span(device) else f"mean of {count} step{'' if count == 1 else 's'}"


def mean_parts(answer: Answer) -> tuple[float, Mapping[str, float]]:
    """The mean over the devices that count, ns: of the step and of each of its parts."""
    steps = [device.step for device in counted_devices(answer)]
    parts = {part: sum(one.account_ns[part] for one in steps) / len(steps) for part in PARTS}
    return sum(one.mean_ns for one in steps) / len(steps), parts


def before(answer: Answer) -> tuple[float, Mapping[str, float]] | None:
    """The same of the baseline; None without one."""
    if answer.difference is msgspec.UNSET:
        return None
    (step_ns, parts), change = mean_parts(answer), answer.difference
    return step_ns - change.step_ns, {part: value - change.account_ns[part] for part, value in parts.items()}


def encode(answer: Answer) -> str:
    """The answer as JSON text of the contract."""
    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
