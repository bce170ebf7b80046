"""A replayed series, told to people and to programs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mfu_operator.cli.replay.history import History
from mfu_operator.detect.cleaning import level_of
from mfu_operator.detect.formatting import duration, name_of, per_cent, quantity
from mfu_operator.detect.record import FirstLevel
from mfu_operator.detect.replay import Replay, Said, too_far_between
from mfu_operator.detect.statistics import tolerance_of
from mfu_operator.gitops import markdown
from mfu_operator.model.baseline import Baseline, BaselineSpec, Signal
from mfu_operator.model.verdict import Verdict

_EVENTS = ("Regressed", "Confirmed", "Recovered", "NoData")
"""What the JSON's events may be; spans that were not comparable are in its summary."""


@dataclass(frozen=True, slots=True)
class Story:
    """A replayed series with everything that is reported about it. `first` is the level that it was compared with where
    that is its own."""

    signal: Signal
    history: History
    baseline: Baseline
    spec: BaselineSpec
    replayed: Replay
    first: FirstLevel | None


def _remarks(story: Story) -> Iterator[str]:
    """What the series itself keeps the rule from seeing, and what to do about it."""
    known_s = _known_s(story)
    if known_s is not None:
        until = story.history.told(known_s)
        yield f"nothing is reported before {until}: until then the level was still being recorded"
    sparse = too_far_between(story.history.readings, story.spec.detection)
    if sparse:
        yield sparse
    last = story.replayed.last
    if last is not None and last.reason == "UnitChanged":
        yield f"the values are taken for {name_of(story.signal)}: say with --signal what else they are"


def _known_s(story: Story) -> float | None:
    """When the level came to be known, where readings are older than that."""
    known_s = story.baseline.recorded_at
    older = known_s is not None and story.history.readings and story.history.readings[0].time_s < known_s
    return known_s if older else None


def as_json(story: Story) -> dict[str, Any]:
    """As detect/schema/replay-v1.schema.json has it."""
    return {
        "schemaVersion": 1,
        "events": [_event(story, said) for said in story.replayed.said if said.event in _EVENTS],
        "summary": _summary(story),
    }


def _event(story: Story, said: Said) -> dict[str, Any]:
    return {
        "time": story.history.written(said.time_s),
        "event": said.event,
        "onset": None if said.onset_s is None else story.history.written(said.onset_s),
        "drop": None if said.drop is None else round(said.drop, 5),
        "message": said.message,
    }


def _summary(story: Story) -> dict[str, Any]:
    readings, last = story.history.readings, story.replayed.last
    tolerance = tolerance_of(story.baseline.spread, story.spec.detection)
    spread = story.baseline.spread
    events = [said.event for said in story.replayed.said]
    return {
        "signal": str(story.signal),
        "readings": len(readings),
        "hours": round((readings[-1].time_s - readings[0].time_s) / 3600, 3) if readings else 0.0,
        "usableHours": round(story.replayed.usable_s / 3600, 3),
        "baseline": level_of(story.baseline.level, story.signal),
        "provenance": str(story.baseline.provenance),
        "recorded": _recorded(story),
        "recordingProblem": story.first.doubt if story.first else None,
        "spread": {"within": spread.within, "between": spread.between, "slow": spread.slow, "runs": spread.runs},
        "tolerance": round(tolerance.ratio, 5),
        "baselineTooNoisy": tolerance.too_noisy,
        "smallestVisibleDrop": round(last.smallest_visible_drop, 5) if last and last.smallest_visible_drop else None,
        "regressed": events.count("Regressed"),
        "confirmed": events.count("Confirmed"),
        "recovered": events.count("Recovered"),
        "noData": events.count("NoData"),
        "notComparable": [
            {"time": story.history.written(said.time_s), "message": said.message}
            for said in story.replayed.said
            if said.event == "NotComparable"
        ],
        "remarks": list(_remarks(story)),
        "verdict": str(last.verdict) if last else "NoData",
        "reason": last.reason if last else "NoReadings",
    }


def _recorded(story: Story) -> dict[str, str | float] | None:
    """Of which part of the series the level is."""
    until_s = story.baseline.recorded_at
    if story.first is None or until_s is None:
        return None
    return {"from": story.history.written(story.first.since_s), "until": story.history.written(until_s)}


def as_text(story: Story) -> str:
    """For people: what it was compared with, then a line for each thing that is said."""
    lines = [*_head(story), ""]
    for said in story.replayed.said:
        onset = "" if said.onset_s is None else f"  since {story.history.told(said.onset_s)}"
        drop = "" if said.drop is None else f"  −{per_cent(said.drop)}"
        lines.append(f"{story.history.told(said.time_s):>24}  {said.event:<13}{drop}{onset}  {said.message}")
    if not story.replayed.said:
        lines.append(_nothing_said(story))
    return "\n".join(lines)


def as_markdown(story: Story) -> str:
    """The same with a table of what is said."""
    told = story.history.told
    lines = [
        f"# Replay of {markdown.code(story.spec.workload.name)}",
        "",
        *(f"- {markdown.escape(each)}" for each in _head(story)),
    ]
    if not story.replayed.said:
        return "\n".join([*lines, "", markdown.escape(_nothing_said(story))])
    rows = [("when", "what", "loss", "since", "why"), (":--",) * 5]
    rows += [
        (
            told(said.time_s),
            said.event,
            "" if said.drop is None else per_cent(said.drop),
            "" if said.onset_s is None else told(said.onset_s),
            markdown.escape(said.message),
        )
        for said in story.replayed.said
    ]
    return "\n".join([*lines, "", *("| " + " | ".join(row) + " |" for row in rows)])


def _head(story: Story) -> Iterator[str]:
    """What was read, and what it was compared with."""
    summary = _summary(story)
    level = level_of(story.baseline.level, story.signal)
    assert level is not None
    usable = duration(summary["usableHours"] * 3600)
    came = summary["provenance"].lower()
    if story.first is not None and story.baseline.recorded_at is not None:
        told = story.history.told
        came = f"recorded from {told(story.first.since_s)} to {told(story.baseline.recorded_at)}"
    reference = f"{name_of(story.signal)} {quantity(story.signal, level)} ({came})"
    yield f"{summary['readings']} readings over {duration(summary['hours'] * 3600)}, {usable} of them usable"
    yield f"baseline {reference}, tolerance {per_cent(summary['tolerance'])}"
    if summary["recordingProblem"]:
        yield f"doubtful baseline: {summary['recordingProblem']}"
    if summary["smallestVisibleDrop"]:
        yield f"the smallest loss seen within a quarter of an hour: {per_cent(summary['smallestVisibleDrop'])}"
    yield from summary["remarks"]


def _nothing_said(story: Story) -> str:
    last = story.replayed.last
    if not story.history.readings:
        return "The operator would have said NoData: the series has no readings."
    if last is None:
        return "The operator had no level yet: --record 3h takes one from the first hours of the series."
    if last.verdict is not Verdict.HEALTHY:
        return f"The operator would have said from beginning to end {last.verdict}: {last.message}."
    if not story.replayed.usable_s:
        return "The operator would have said nothing yet: one reading is not a span of time."
    if too_far_between(story.history.readings, story.spec.detection):
        return "The operator would have said nothing."
    return "The operator would have said nothing: no loss beyond the tolerance lasted."
