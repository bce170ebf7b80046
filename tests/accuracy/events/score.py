"""A pair of jobs → what the analysis says of their recordings → right or not."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from mfu_operator.trace.analyze import analyze
from mfu_operator.trace.diagnosis.recorded import MOST_WITHOUT
from tests.accuracy.events import kineto, nsys
from tests.accuracy.events.faults import BY_NAME, Fault, pair
from tests.accuracy.events.loop import run
from tests.accuracy.events.setup import Setup

FORMATS = ("kineto", "nsys")
MOST_OF_CONTROL = 0.01
"""A control that is slower by more is none: what should have stayed hidden did not."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of one pair. `found`: right; unnamed, the bottleneck without a cause; abstained; doubted, something
    else at no more than half of certainty; other, another bottleneck without a cause; WRONG."""

    fault: str
    form: str
    asked: float
    seed: int
    growth: float
    found: str
    said: str
    evidence: str


def record(setup: Setup, form: str, folder: Path) -> list[Path]:
    """The ranks' files."""
    folder.mkdir(parents=True, exist_ok=True)
    recordings, _ = run(setup)
    paths = []
    for one in recordings:
        path = folder / (f"rank{one.rank}.json" if form == "kineto" else f"rank{one.rank}.sqlite")
        if form == "kineto":
            kineto.write(one, setup, path)
        else:
            nsys.write(one, setup, path, setup.seed % 100 % 3)
        paths.append(path)
    return paths


def verdicts(name: str, asked: float, seed: int) -> list[Verdict]:
    """Of one fault in both formats; none where this job cannot be made so slow by it."""
    fault = BY_NAME[name]
    made = pair(fault, asked, seed)
    if made is None or (fault.bottleneck is None and made.growth > MOST_OF_CONTROL):
        return []
    found = []
    for form in FORMATS:
        with tempfile.TemporaryDirectory(prefix="mfu-events-") as folder:
            before = record(made.baseline, form, Path(folder) / "before")
            said = analyze(record(made.now, form, Path(folder) / "now"), before).diagnosis
        judged = judge(fault, said.bottleneck, said.cause, said.confidence)
        words = f"{said.bottleneck or 'nothing'}/{said.cause or '-'} {said.confidence:.2f}"
        found.append(Verdict(name, form, asked, seed, made.growth, judged, words, " | ".join(said.evidence)))
    return found


def judge(fault: Fault, bottleneck: str | None, cause: str | None, confidence: float) -> str:
    """What a verdict is worth."""
    if fault.bottleneck is None:
        found = {None: "right", "Inconclusive": "abstained"}.get(bottleneck, "WRONG")
    elif bottleneck in (None, "Inconclusive"):
        found = "abstained"
    elif bottleneck != fault.bottleneck:
        found = "WRONG" if cause else "other"
    else:
        found = {fault.cause: "right", None: "unnamed"}.get(cause, "WRONG")
    return "doubted" if found == "WRONG" and confidence <= MOST_WITHOUT else found
