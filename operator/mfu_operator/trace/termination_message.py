"""The account as it travels: JSON of at most 4096 bytes, in a profiling Job's termination message.

Only the fields named here are written and read, so nothing of a trace's environment can pass. Where it does not fit,
the cheapest kernels go first, then ranges, then warnings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import msgspec

from mfu_operator.errors import Unreadable
from mfu_operator.model import facts
from mfu_operator.model.account import PARTS, KernelTotal, StepAccount
from mfu_operator.model.fact import Facts

LIMIT_BYTES = 4096
"""Kubernetes keeps this much of a container's termination message."""

LONGEST_NAME = 120
"""Characters of a name or a sentence; a templated kernel name can be kilobytes."""

MOST_KERNELS = 24
MOST_ENTRIES = 24
"""To begin with; the last ones go until the whole fits."""


MOST_STEPS = 1_000_000
LONGEST_STEP_NS = 24 * 3600e9
"""Beyond them no account is possible: a profiling Job ends within hours and records a few steps."""

BESIDE_ONE_ANOTHER = 1024
"""Streams whose time may add up beside one step, in a kernel's or a collective's total."""

UNEXPLAINED = 0.01
"""Of the mean step, that its parts may lack or exceed: each was rounded by itself, and a mean is not that of its parts
where steps are weighed."""

_Ns = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_STEP_NS * BESIDE_ONE_ANOTHER)]
_Calls = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
_Observed = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]


class _Compact(msgspec.Struct, kw_only=True, omit_defaults=True):
    v: int
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_STEPS)]
    mean: Annotated[float, msgspec.Meta(gt=0, le=LONGEST_STEP_NS)]
    std: _Ns
    parts: dict[str, _Ns]
    source: Annotated[str, msgspec.Meta(pattern="^(gpu|nvtx)$")] = "gpu"
    gpu: str | None = None
    comm: _Ns = 0.0
    tensor: dict[str, _Ns] = {}
    kernels: list[tuple[str, str, _Calls, _Ns]] = []
    ranges: dict[str, _Ns] = {}
    facts: dict[str, _Observed | str] = {}
    warnings: list[str] = []
    hardware: list[str] = []


class _Failure(msgspec.Struct):
    reason: str
    message: str


class _Failed(msgspec.Struct):
    error: _Failure


def encode(account: StepAccount, hardware: Sequence[str] = (), warnings: Sequence[str] = ()) -> str:
    """JSON of at most LIMIT_BYTES bytes of UTF-8.

    Args:
        account: nanoseconds are rounded to integers.
        hardware: remarks about the node ("PCIe link x8 of x16").
        warnings: said beside those that the account carries.
    """
    said = [*account.warnings, *(one for one in warnings if one not in account.warnings)]
    kernels = _short_names(account.kernels)
    named = {name[:LONGEST_NAME]: _short(value) for name, value in account.facts.named.items()}
    if len(kernels) > MOST_KERNELS:
        named[facts.KERNELS_CUT.name] = 1.0
    compact = _Compact(
        v=1,
        count=account.count,
        mean=round(account.mean_ns),
        std=round(account.std_ns),
        parts={name: round(value) for name, value in account.parts_ns.items() if name in PARTS and value},
        source=account.account_from,
        gpu=account.gpu and account.gpu[:LONGEST_NAME],
        comm=round(account.communication_total_ns),
        tensor={name: round(value) for name, value in account.tensor_core_ns.items()},
        kernels=[(one.name, one.category, round(one.calls, 2), round(one.total_ns)) for one in kernels[:MOST_KERNELS]],
        ranges=_largest(account.ranges_ns),
        facts=named,
        warnings=[one[: 2 * LONGEST_NAME] for one in said],
        hardware=[one[:LONGEST_NAME] for one in hardware],
    )
    return _fitting(compact)


def encode_failure(reason: str, message: str) -> str:
    """The one line that a profiling pod leaves where there is no account."""
    cut = message.encode()[: LIMIT_BYTES // 2].decode("utf-8", "ignore")
    return msgspec.json.encode(_Failed(_Failure(reason[:LONGEST_NAME], cut))).decode()


def decode(text: str) -> StepAccount:
    """The account of a termination message.

    Raises:
        Unreadable: with the pod's own reason where it left one; NoResult, BadResult otherwise.
    """
    compact = _decode(text)
    return StepAccount(
        count=compact.count,
        mean_ns=compact.mean,
        std_ns=compact.std,
        parts_ns={name: compact.parts.get(name, 0.0) for name in PARTS},
        account_from=compact.source,
        gpu=compact.gpu,
        communication_total_ns=compact.comm,
        tensor_core_ns=compact.tensor,
        kernels=tuple(KernelTotal(*one) for one in compact.kernels),
        ranges_ns=compact.ranges,
        warnings=tuple(compact.warnings),
        facts=Facts(compact.facts),
    )


def hardware(text: str) -> tuple[str, ...]:
    """The remarks about the node that came with the account. Raises Unreadable as `decode` does."""
    return tuple(_decode(text).hardware)


def _decode(text: str) -> _Compact:
    if not text.strip():
        raise Unreadable("NoResult", "the profiling pod ended without a result; read its logs")
    if len(text.encode()) > LIMIT_BYTES:
        raise Unreadable("BadResult", f"the profiling pod's result is longer than {LIMIT_BYTES} bytes; read its logs")
    try:
        return _possible(msgspec.json.decode(text, type=_Compact))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _failure(text) or Unreadable(
            "BadResult", f"the profiling pod's result is not an account ({error}); read its logs"
        ) from error


def _possible(compact: _Compact) -> _Compact:
    """The account, whose numbers agree with one another."""
    sum_ns = sum(compact.parts.get(name, 0.0) for name in PARTS)
    if abs(sum_ns - compact.mean) > UNEXPLAINED * compact.mean + len(PARTS):
        raise msgspec.ValidationError(f"its parts are {sum_ns:.4g} ns together, and its step is {compact.mean:.4g} ns")
    return compact


def _failure(text: str) -> Unreadable | None:
    try:
        failed = msgspec.json.decode(text, type=_Failed)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return Unreadable(failed.error.reason, failed.error.message)


def _short_names(kernels: Sequence[KernelTotal]) -> list[KernelTotal]:
    """The kernels under names that fit, those that share one added up, the most expensive first."""
    totals: dict[tuple[str, str], KernelTotal] = {}
    for one in kernels:
        key = (one.name[:LONGEST_NAME], one.category)
        old = totals.get(key)
        totals[key] = KernelTotal(
            *key, one.calls + (old.calls if old else 0.0), one.total_ns + (old.total_ns if old else 0.0)
        )
    return sorted(totals.values(), key=lambda one: -one.total_ns)


def _largest(values: Mapping[str, float]) -> dict[str, float]:
    ordered = sorted(values.items(), key=lambda item: -item[1])[:MOST_ENTRIES]
    return {name[:LONGEST_NAME]: round(value) for name, value in ordered}


def _short(value: float | str) -> float | str:
    return value[:LONGEST_NAME] if isinstance(value, str) else round(float(value), 3)


def _fitting(compact: _Compact) -> str:
    while len(encoded := msgspec.json.encode(compact)) > LIMIT_BYTES:
        for cut in (compact.kernels, compact.ranges, compact.warnings, compact.hardware, compact.facts):
            if cut:
                _drop_last(cut)
                if cut is compact.kernels:
                    compact.facts = {facts.KERNELS_CUT.name: 1.0, **compact.facts}
                break
    return encoded.decode()


def _drop_last(entries: list[object] | dict[str, float] | list[str] | dict[str, float | str] | object) -> None:
    if isinstance(entries, dict):
        entries.popitem()
    elif isinstance(entries, list):
        entries.pop()


def cut(account: StepAccount, kernels: int) -> StepAccount:
    """The account with its `kernels` most expensive kernels only, as a status holds it."""
    ordered = sorted(account.kernels, key=lambda one: -one.total_ns)
    return replace(account, kernels=tuple(ordered[:kernels]))
