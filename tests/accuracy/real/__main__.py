"""python -m tests.accuracy.real: the held-out verdicts on real traces, as text and as tests/accuracy/real.md.

python -m tests.accuracy.real SEED: those of another seed, as text alone, for mending rules.
"""

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.accuracy import version
from tests.accuracy.real.cases import Case, cases
from tests.accuracy.real.verdict import SURE, Said, said

TABLE = Path(__file__).parents[1] / "real.md"
OF_SEVERAL_RANKS = ("DLRM, 4 V100", "DLRM, 4 V100, rank 2 late", "DLRM, 8 ranks")
HELD_OUT_SEVERAL, HELD_OUT_ONE = 2000, 1000
"""The seeds with which no rule was mended, for runs of several ranks and for those of one."""


def held_out() -> list[Case]:
    several = [one for one in cases([HELD_OUT_SEVERAL]) if one.run in OF_SEVERAL_RANKS]
    return [*several, *(one for one in cases([HELD_OUT_ONE]) if one.run not in OF_SEVERAL_RANKS)]


def table(found: Sequence[Said], title: str, key: Callable[[Case], str]) -> list[str]:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        rows[key(one.case)][one.verdict] += 1
        if one.verdict == "wrong":
            wrong[key(one.case)][f"{one.words} {one.confidence:.2f}"] += 1
    lines = [f"| {title} | right | abstained | wrong |", "|---|---:|---:|---|"]
    for name, counted in rows.items():
        others = ", ".join(f"{said} ({count})" for said, count in wrong[name].most_common())
        lines.append(f"| {name} | {counted['right']} | {counted['abstained']} | {others or '–'} |")
    return lines


def report(found: Sequence[Said]) -> str:
    total = Counter(one.verdict for one in found)
    sure = sum(one.wrong_and_sure for one in found)
    right = total["right"] / len(found)
    summary = ", ".join(f"{total[verdict]} {verdict}" for verdict in ("right", "abstained", "wrong"))
    return "\n".join(
        [
            "# Verdicts on real traces",
            "",
            "Made by `make accuracy-real` from the traces in tests/data/traces: runs as they were recorded, runs into",
            "which time was put where the named change would put it, and both recorded badly.",
            "Where the right answer is a doubt (one rank of several), a doubt is right. No rule was mended with the",
            f"seeds used here. {version.sentence()}",
            "",
            *table(found, "change", lambda one: one.change if one.size else f"{one.run}, as recorded"),
            "",
            *table(found, "recording", lambda one: one.recording),
            "",
            f"{summary}, of {len(found)} ({right:.1%} right); {sure} wrong with a confidence of {SURE} or more.",
            "",
        ]
    )


def main() -> None:
    tried = list(cases([int(sys.argv[1])])) if len(sys.argv) > 1 else held_out()
    found: list[Said] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(said, tried, chunksize=8):
            found.append(one)
            if one.verdict != "right":
                sys.stderr.write(f"{one.verdict}: {one.words} {one.confidence:.2f}: {one.case}\n")
                sys.stderr.flush()
    text = report(found)
    if len(sys.argv) == 1:
        TABLE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
