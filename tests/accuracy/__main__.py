"""python -m tests.accuracy [TRIALS [FAMILY TRIALS]]: the confusion matrix, as text and as tests/accuracy/matrix.md."""

import os
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.accuracy import version
from tests.accuracy.answer import Answer, answer
from tests.accuracy.families import FAMILIES
from tests.accuracy.trial import EVERY_FAULT, Outcome, attempt, attempt_ranks
from tests.support.synthetic.faults import FAULTS, RANK_FAULTS

SIZES = (0.05, 0.1, 0.3)
SMALL = 0.008
LEAST = 0.01
"""Of the step: a fault that costs less must not be blamed."""

FORMS = ("nsys", "kineto")
MATRIX = Path(__file__).parent / "matrix.md"


def outcomes(trials: int, sizes: tuple[float, ...]) -> list[Outcome]:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = []
        for trial, causes in ((attempt, FAULTS), (attempt_ranks, RANK_FAULTS)):
            jobs = [(one, sizes[seed % len(sizes)], FORMS[seed % 2], seed) for one in causes for seed in range(trials)]
            found += list(pool.map(trial, *zip(*jobs, strict=True), chunksize=8))
        return found


def answers(trials: int) -> list[Answer]:
    jobs = [(family.name, seed) for family in FAMILIES for seed in range(trials)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(answer, *zip(*jobs, strict=True), chunksize=4))


def report(found: list[Outcome], small: list[Outcome], trials: int) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        rows[one.cause][one.found or one.bottleneck or "nothing"] += 1
    blamed = Counter(one.cause for one in small if one.cost < LEAST and one.bottleneck not in (None, "Inconclusive"))
    lines = [
        "# Confusion matrix",
        "",
        f"Made by `make accuracy`: {trials} random loops for each cause, half nsys exports, half Kineto traces;",
        "of two to eight ranks where one rank is slow.",
        f"The fault costs {', '.join(f'{size:.0%}' for size in SIZES)} of the step in turn;",
        f"then {trials} at {SMALL:.1%}, where nothing may be blamed, but for those whose fault cannot be that small.",
        "Kineto shows no workers of a loader: there the bottleneck alone is right for PrefetchBursts.",
        version.sentence(),
        "",
        "| switched on | right | named instead | blamed at 0.8 % |",
        "|---|---:|---|---:|",
    ]
    for cause in EVERY_FAULT:
        others = ", ".join(f"{name} {count}" for name, count in rows[cause].most_common() if name != cause)
        right = sum(one.right for one in found if one.cause == cause)
        looked = sum(one.cause == cause and one.cost < LEAST for one in small)
        lines.append(f"| {cause} | {right} of {rows[cause].total()} | {others or '–'} | {blamed[cause]} of {looked} |")
    total = sum(one.right for one in found)
    return "\n".join([*lines, "", f"{total} of {len(found)} right ({total / len(found):.1%}).", ""])


def hard_cases(found: list[Answer], trials: int) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        rows[one.family][one.verdict] += 1
        if one.verdict == "wrong":
            wrong[one.family][one.said] += 1
    lines = [
        "## Hard cases",
        "",
        f"{trials} of each. Abstained: the bottleneck without a cause, Inconclusive, or nothing, where the recording",
        "does not hold the evidence or the change is an event rather than a rate.",
        "",
        "| case | right | abstained | wrong |",
        "|---|---:|---:|---|",
    ]
    for family in FAMILIES:
        counted = rows[family.name]
        others = ", ".join(f"{name} {count}" for name, count in wrong[family.name].most_common())
        lines.append(f"| {family.name} | {counted['right']} | {counted['abstained']} | {others or '–'} |")
    total: Counter[str] = sum(rows.values(), Counter())
    summary = ", ".join(f"{total[verdict]} {verdict}" for verdict in ("right", "abstained", "wrong"))
    return "\n".join([*lines, "", f"{summary}, of {total.total()}.", ""])


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    hard = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    matrix = report(outcomes(trials, SIZES), outcomes(trials, (SMALL,)), trials)
    text = f"{matrix}\n{hard_cases(answers(hard), hard)}"
    MATRIX.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
