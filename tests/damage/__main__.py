"""`python -m tests.damage [--cases 50] [--seed S] [FOLDER ...]`: each trace in every way of damage, CASES times each.

Prints what was answered, what was refused, and every case that did neither; the exit code is 1 if there is one.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from mfu_operator.errors import Unreadable
from mfu_operator.trace.analyze import Read, answer_of, read_all
from tests.support import damage, soundness

LONGEST_S = 20.0
ENDINGS = (".json", ".json.gz", ".sqlite")


@dataclass
class Tally:
    """What came of the cases."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    def try_one(self, path: Path, case: str, whole: Sequence[Read]) -> None:
        """Analyses one damaged file, compared with the sound one where that can be read."""
        begin = time.process_time()
        try:
            with soundness.within_seconds(LONGEST_S):
                found = answer_of(read_all([path], None), whole)
            soundness.check(found)
            self.counts["answered"] += 1
        except Unreadable as refused:
            clear = len(refused.message.splitlines()) == 1 and str(path) in refused.message
            self.counts["refused"] += clear
            if not clear:
                self.failures.append(f"{case}: {refused.message!r}")
        except Exception as error:  # noqa: BLE001 - every kind of failure is what is counted here
            self.failures.append(f"{case}: {type(error).__name__} {error}")
        self.slowest_s = max(self.slowest_s, time.process_time() - begin)


def damaged_copies(path: Path, folder: Path, cases: int, seed: str) -> Iterator[tuple[Path, str]]:
    whole = path.read_bytes()
    for way in damage.ways_of(whole):
        for number in range(cases):
            case = f"{path.name}, {way.__name__}, {seed} {number}"
            target = folder / "trace"
            target.write_bytes(way(whole, random.Random(case)))
            yield target, case
    if whole.startswith(damage.SQLITE):
        for target in chain(damage.without_tables(path, folder), damage.without_columns(path, folder)):
            yield target, f"{path.name}, {target.name}"
        for number in range(cases):
            case = f"{path.name}, absurd values, {seed} {number}"
            yield damage.absurd_values(path, folder / "trace", random.Random(case)), case


def sound_reads(path: Path) -> Sequence[Read]:
    """The sound file's own accounts; none where even that is refused."""
    try:
        return read_all([path], None)
    except Unreadable:
        return ()


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.damage", description=__doc__)
    arguments.add_argument("folders", nargs="*", type=Path, default=[Path("tests/data")], metavar="FOLDER")
    arguments.add_argument("--cases", type=int, default=50, help="of each file and way")
    arguments.add_argument("--seed", default="0", help="another seed, other places")
    chosen = arguments.parse_args()
    tally = Tally()
    files = sorted(one for folder in chosen.folders for one in folder.rglob("*") if one.name.endswith(ENDINGS))
    with tempfile.TemporaryDirectory(prefix="mfu-damage-") as folder:
        for path in files:
            whole = sound_reads(path)
            for target, case in damaged_copies(path, Path(folder), chosen.cases, chosen.seed):
                tally.try_one(target, case, whole)
            sys.stdout.write(f"  {path}: {dict(tally.counts)}, {len(tally.failures)} failed so far\n")
            sys.stdout.flush()
    sys.stdout.write("".join(f"{one}\n" for one in tally.failures))
    sys.stdout.write(
        f"{sum(tally.counts.values())} sound, {len(tally.failures)} not; slowest {tally.slowest_s:.1f} s\n"
    )
    return 1 if tally.failures or not files else 0


if __name__ == "__main__":
    sys.exit(main())
