"""python -m tests.accuracy.events [FAULT...]: every fault, or those named, as text; all of them as events.md, too."""

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.accuracy import version
from tests.accuracy.events.faults import FAULTS
from tests.accuracy.events.score import FORMATS, Verdict, verdicts

GROWTHS = (0.05, 0.10, 0.20)
SEEDS = (0, 1, 2)
KINDS = ("right", "unnamed", "abstained", "other", "doubted", "WRONG")
PAGE = Path(__file__).parent.parent / "events.md"


def report(found: Sequence[Verdict]) -> str:
    """The table of the faults."""
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in found:
        rows[one.fault, one.form][one.found] += 1
    lines = [
        "# Verdicts on a machine that was modelled apart",
        "",
        "Made by `make accuracy-events` from an event simulator that shares nothing with the generator of `make",
        "accuracy` (tests/accuracy/events): three models, one to four ranks, losses of 5, 10 and 20 %, both formats;",
        "fewer where a job cannot be made so slow by the fault. Unnamed: the bottleneck without a cause. Doubted:",
        "something else, with a confidence of at most 0.5. Other: another bottleneck without a cause.",
        version.sentence(),
        "",
        f"| turned | format | {' | '.join(KINDS)} |",
        f"|---|---|{'---:|' * len(KINDS)}",
    ]
    for fault in FAULTS:
        for form in FORMATS:
            row = rows[fault.name, form]
            cause = "" if fault.cause is None else f" ({fault.cause})"
            lines.append(f"| {fault.name}{cause} | {form} | {' | '.join(str(row[kind] or '') for kind in KINDS)} |")
    total: Counter[str] = sum(rows.values(), Counter())
    summary = ", ".join(f"{total[kind]} {kind}" for kind in KINDS)
    return "\n".join([*lines, "", f"{summary}, of {total.total()}.", ""])


def main() -> None:
    """Print each verdict that is not right, then the table."""
    names = sys.argv[1:] or [one.name for one in FAULTS]
    jobs = [(name, growth, seed) for name in names for growth in GROWTHS for seed in SEEDS]
    found: list[Verdict] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for some in pool.map(verdicts, *zip(*jobs, strict=True)):
            found += some
            for one in some:
                if one.found != "right":
                    what = (
                        f"{one.found:9s} {one.fault}, {one.asked:.0%} ({one.growth:.1%}), seed {one.seed}, {one.form}"
                    )
                    sys.stdout.write(f"{what}: {one.said}: {one.evidence}\n")
                    sys.stdout.flush()
    text = report(found)
    sys.stdout.write(text)
    if not sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
