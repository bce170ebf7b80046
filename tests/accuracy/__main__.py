"""python -m tests.accuracy [TRIALS]: the confusion matrix, as text and as tests/accuracy/matrix.md."""

import os
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.accuracy.trial import Outcome, attempt
from tests.support.synthetic.faults import FAULTS

SIZES = (0.05, 0.1, 0.3)
SMALL = 0.008
FORMS = ("nsys", "kineto")
MATRIX = Path(__file__).parent / "matrix.md"


def outcomes(trials: int, sizes: tuple[float, ...]) -> list[Outcome]:
    jobs = [(cause, sizes[seed % len(sizes)], FORMS[seed % 2], seed) for cause in FAULTS for seed in range(trials)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(attempt, *zip(*jobs, strict=True), chunksize=8))


def report(found: list[Outcome], small: list[Outcome], trials: int) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        rows[one.cause][one.found or one.bottleneck or "nothing"] += 1
    blamed = Counter(one.cause for one in small if one.grown < 0.01 and one.bottleneck not in (None, "Inconclusive"))
    lines = [
        "# Confusion matrix",
        "",
        f"Made by `make accuracy`: {trials} random loops for each cause, half nsys exports, half Kineto traces.",
        f"The fault costs {', '.join(f'{size:.0%}' for size in SIZES)} of the step in turn;",
        f"then {trials} at {SMALL:.1%}, where nothing may be blamed.",
        "",
        "| switched on | right | named instead | blamed at 0.8 % |",
        "|---|---:|---|---:|",
    ]
    for cause in FAULTS:
        others = ", ".join(f"{name} {count}" for name, count in rows[cause].most_common() if name != cause)
        right = sum(one.right for one in found if one.cause == cause)
        lines.append(f"| {cause} | {right} of {rows[cause].total()} | {others or '–'} | {blamed[cause]} |")
    total = sum(one.right for one in found)
    return "\n".join([*lines, "", f"{total} of {len(found)} right ({total / len(found):.1%}).", ""])


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    text = report(outcomes(trials, SIZES), outcomes(trials, (SMALL,)), trials)
    MATRIX.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
