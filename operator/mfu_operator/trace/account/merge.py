"""The mean over devices: one account for a job of many."""

from collections.abc import Mapping, Sequence

from mfu_operator.model.account import PARTS, KernelTotal, ShapeTotal, StepAccount
from mfu_operator.model.fact import Facts

MOST_KERNELS = 200


def merged(accounts: Sequence[StepAccount]) -> StepAccount:
    """The mean of accounts of several devices; one account is itself.

    Parts, facts and kernels are averaged; a fact that a device lacks is averaged over those that have it. The spread
    is the mean of the devices' own: devices of one job do not step independently.
    """
    if len(accounts) == 1:
        return accounts[0]
    return StepAccount(
        count=min(one.count for one in accounts),
        mean_ns=_mean([one.mean_ns for one in accounts]),
        std_ns=_mean([one.std_ns for one in accounts]),
        parts_ns={part: _mean([one.parts_ns.get(part, 0.0) for one in accounts]) for part in PARTS},
        account_from=accounts[0].account_from,
        gpu=_common([one.gpu for one in accounts]),
        communication_total_ns=_mean([one.communication_total_ns for one in accounts]),
        tensor_core_ns=_means([one.tensor_core_ns for one in accounts]),
        kernels=_kernels(accounts),
        ranges_ns=_means([one.ranges_ns for one in accounts]),
        warnings=tuple(dict.fromkeys(warning for one in accounts for warning in one.warnings)),
        facts=_facts([one.facts.named for one in accounts]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _means(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for one in values for name in one)
    return {name: sum(one.get(name, 0.0) for one in values) / len(values) for name in names}


def _common(values: Sequence[str | None]) -> str | None:
    distinct = sorted({one for one in values if one is not None})
    return ", ".join(distinct) if distinct else None


def _facts(named: Sequence[Mapping[str, float | str]]) -> Facts:
    found: dict[str, float | str] = {}
    for name in dict.fromkeys(name for one in named for name in one):
        values = [one[name] for one in named if name in one]
        numbers = [value for value in values if not isinstance(value, str)]
        found[name] = _mean(numbers) if numbers else values[0]
    return Facts(found)


def _kernels(accounts: Sequence[StepAccount]) -> tuple[KernelTotal, ...]:
    same: dict[tuple[str, str], list[KernelTotal]] = {}
    for account in accounts:
        for kernel in account.kernels:
            same.setdefault((kernel.name, kernel.category), []).append(kernel)
    merged_kernels = [
        KernelTotal(
            name,
            category,
            sum(one.calls for one in found) / len(accounts),
            sum(one.total_ns for one in found) / len(accounts),
            _shapes(found, len(accounts)),
        )
        for (name, category), found in same.items()
    ]
    return tuple(sorted(merged_kernels, key=lambda one: -one.total_ns)[:MOST_KERNELS])


def _shapes(found: Sequence[KernelTotal], count: int) -> tuple[ShapeTotal, ...]:
    """The grids of a kernel over all devices; none where one device does not know its own."""
    if not all(one.shapes for one in found):
        return ()
    same: dict[int, list[ShapeTotal]] = {}
    for shape in (shape for one in found for shape in one.shapes):
        same.setdefault(shape.blocks, []).append(shape)
    return tuple(
        ShapeTotal(blocks, sum(one.calls for one in each) / count, sum(one.total_ns for one in each) / count)
        for blocks, each in sorted(same.items())
    )
