"""Pictures that every host renders: bars of characters inside a code block."""

from collections.abc import Iterator, Mapping, Sequence

from mfu_operator.model.account import PARTS, StepAccount

WIDTH = 48
"""Characters of the longest bar: with name and number a line fits into a phone's code block without wrapping."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FILLS = "█▓▒░"
_REST = "·"
_INDENT, _APART, _NUMBER = " " * len("before "), " " * 3, len(" 1000.0 ms")


def level_bars(rows: Sequence[tuple[str, float, str]]) -> str:
    """One bar a row: its name, its value and how that is written. The longest value is the whole width."""
    most = max(amount for _, amount, _ in rows)
    name_width = max(len(name) for name, _, _ in rows)
    return "\n".join(
        f"{name:<{name_width}} {_bar(amount / most if most > 0 else 0.0)} {written}" for name, amount, written in rows
    )


def step_bars(healthy: StepAccount | None, now: StepAccount, names: Mapping[str, str]) -> str:
    """The step before and now, each part as long as it takes, with a legend of the largest parts.

    Args:
        healthy: the baseline's step; None: not recorded.
        now: the slow one.
        names: how parts are called.
    """
    steps = [(name, step) for name, step in (("before", healthy), ("now", now)) if step is not None]
    most = max(step.mean_ns for _, step in steps)
    shown = _largest(healthy, now)
    fills = {part: _FILLS[index] for index, part in enumerate(shown)}
    lines = [f"{name:<6} {_stacked(step, fills, most)} {step.mean_ns / 1e6:.1f} ms" for name, step in steps]
    legend = [*(f"{fill} {names[part]}" for part, fill in fills.items()), f"{_REST} everything else"]
    return "\n".join([*lines, "", *_wrapped(legend)])


def _wrapped(legend: Sequence[str]) -> Iterator[str]:
    """The entries in lines that are no longer than the bars above them with their numbers."""
    line = ""
    for entry in legend:
        if line and len(line) + len(_APART) + len(entry) > WIDTH + _NUMBER:
            yield _INDENT + line
            line = ""
        line += f"{_APART}{entry}" if line else entry
    yield _INDENT + line


def _largest(healthy: StepAccount | None, now: StepAccount) -> list[str]:
    """The parts with the largest share on either side, in the account's order."""

    def most(part: str) -> float:
        return max(now.parts_ns.get(part, 0.0), healthy.parts_ns.get(part, 0.0) if healthy else 0.0)

    least = max(now.mean_ns, healthy.mean_ns if healthy else 0.0) / WIDTH / 2
    kept = sorted((part for part in PARTS if most(part) >= least), key=most, reverse=True)[: len(_FILLS)]
    return [part for part in PARTS if part in kept]


def _stacked(step: StepAccount, fills: Mapping[str, str], most_ns: float) -> str:
    """Whole characters, rounded at the ends of parts, so that they sum to the step's own length."""
    ends, drawn, total = [], "", 0.0
    order = [(fills.get(part, _REST), step.parts_ns.get(part, 0.0)) for part in PARTS]
    named = [each for each in order if each[0] != _REST]
    rest = max(0.0, step.mean_ns - sum(amount for _, amount in named))
    for fill, amount in [*named, (_REST, rest)]:
        total += amount
        ends.append((fill, round(total / most_ns * WIDTH) if most_ns > 0 else 0))
    for fill, end in ends:
        drawn += fill * max(0, min(end, WIDTH) - len(drawn))
    return drawn


def _bar(share: float) -> str:
    eighths = round(max(0.0, share) * WIDTH * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
