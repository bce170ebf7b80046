"""What `doctor` found out about one signal."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from mfu_operator.detect.samples import INFO, MFU, PHASE, RUNNING_RATIO, SCRAPED_AT, STEP_TIME, STEPS, THROUGHPUT

WITHOUT = {
    MFU: "MFU is not judged; throughput or step time can be",
    STEP_TIME: "step time is not judged",
    THROUGHPUT: "throughput is not judged, and a changed MFU formula cannot be distinguished from a loss",
    STEPS: "a hang is detected late and shows as missing data, for a gauge that nobody sets keeps its value",
    PHASE: "checkpoints and evaluations are not gated, and a loss needs 10 minutes of evidence and not 7",
    INFO: "a changed batch, sequence length or world size is detected from the workload's object alone",
    RUNNING_RATIO: "readings just after a checkpoint still contain part of it",
    SCRAPED_AT: "readings carry the time of the query",
}
PERCENTAGE = "that is a percentage, and a ratio is wanted: name a metric in 0…1"
VITALS_LINE = "vitals"


@dataclass(frozen=True, slots=True)
class Finding:
    """One query's outcome. ok None: absent, and training can be judged without it."""

    kind: str
    query: str
    ok: bool | None
    told: str
    advice: str = ""

    def __str__(self) -> str:
        mark = {True: "ok", False: "BAD", None: "–"}[self.ok]
        advice = f"\n{'':17}{self.advice}" if self.advice else ""
        return f"{mark:<4}{self.kind:<13}{self.told}\n{'':17}{self.query}{advice}"


def vitals_finding(query: str, names: Mapping[str, str], present: Collection[str]) -> Finding:
    """Memory, losses and skipped steps in one line: which kinds came back, and which are not watched without."""
    told = ", ".join(kind for kind in names if kind in present) or "nothing"
    missing = ", ".join(kind for kind in names if kind not in present)
    advice = f"not exported, so not watched: {missing}" if missing else ""
    return Finding(VITALS_LINE, query, True if present else None, told, advice)
