"""`python -m tests.mutation --seed S [--mutants 300]`: does a test fail when the decision core is slightly wrong?

Draws mutants by the seed, shows each to the tests that call its function, and prints what became of it. A survivor is
a hole in the tests, or equivalent: then it belongs into `equivalent.toml` with the reason. The exit code is 1 if fewer
than 90 % of the others are killed.
"""

import argparse
import hashlib
import math
import random
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tests.mutation import calls, copies
from tests.mutation.calls import Called
from tests.mutation.mutants import Mutant, all_mutants

PROCESSES = 2
TESTS = ("tests/unit", "tests/handlers", "tests/contracts")
LEFT_OUT = ("tests/unit/cluster", "tests/unit/demo", "tests/unit/mfu_probe", "tests/unit/trace/test_damage.py")
"""Tests of what is not the operator, and those that only ask whether anything is answered at all: minutes for each."""

MARKED = ("-m", "not cluster and not faults")
SLACK_S = 60.0
TIMES_AS_LONG = 5.0
"""How much longer than without a mutant one test may run."""

LONGEST_TEST_S = 900.0
"""What a test may take while its calls are recorded."""

RECORDED_AT_ONCE = 4
"""Files of tests: what ends in between begins with these again."""

RECORDS = copies.ROOT / "build" / "mutation"
"""What each file of tests calls, kept until the file changes; `make clean` removes it."""

OUTCOMES = RECORDS / "outcomes"
"""The mutants that were killed, by what they made of their file: a run that is begun again goes on where it ended."""

EQUIVALENT = Path(__file__).parent / "equivalent.toml"
ENOUGH = 0.9


def equivalent() -> dict[str, str]:
    """The reason why nobody could tell the mutant from the code, by the mutant's key."""
    return {each["mutant"]: each["reason"] for each in tomllib.loads(EQUIVALENT.read_text()).get("equivalent", [])}


def say(line: str) -> None:
    """Print a line at once: a run takes long."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def make_copy(folder: Path) -> None:
    """Give this process its own copy of the project."""
    global _tree
    _tree = copies.copy_to(Path(tempfile.mkdtemp(dir=folder)))


_tree: Path
"""The copy that belongs to this process."""


def record(files: Sequence[str]) -> None:
    """Record what the tests of these files call; a record is there once all of its file's tests ran."""
    unfinished = _tree / "build"
    unfinished.mkdir(exist_ok=True)
    recorder = calls.Recorder(_tree / copies.PACKAGE, unfinished)
    status = copies.run_tests(_tree, [*MARKED, *files], [recorder], LONGEST_TEST_S)
    if status is None or status < 0:
        return
    for file in files:
        made = calls.record_of(unfinished, file)
        made.touch()
        shutil.move(made, calls.record_of(RECORDS, file))


@dataclass(frozen=True)
class Task:
    """A mutant, the tests that it is shown to, and until when (on the steady clock) it may be begun."""

    number: int
    mutant: Mutant
    shown: list[Called]
    until_s: float


def show(task: Task) -> str:
    """What became of one mutant: killed, timeout, refused (by mypy), survived, or not shown."""
    if not task.shown:
        return "survived"
    path = _tree / copies.PACKAGE / task.mutant.path
    content = task.mutant.applied_to(path.read_bytes())
    known = OUTCOMES / hashlib.sha256(task.mutant.path.encode() + content).hexdigest()
    if known.exists():
        return known.read_text()
    if time.monotonic() > task.until_s:
        return "not shown"
    tests = [each.test for each in task.shown]
    files = sorted({test.split("::")[0] for test in tests})
    test_s = SLACK_S + TIMES_AS_LONG * max(each.seconds for each in task.shown)
    with copies.changed(path, content, task.number + 1):
        status = copies.run_tests(_tree, ["-x", *files], [calls.Chosen(tests)], test_s)
        refused = status == 0 and not copies.well_typed(_tree, task.mutant.path)
    if status == 0 and not refused:
        return "survived"
    outcome = "timeout" if status is None else "refused" if refused else "killed"
    known.write_text(outcome)
    return outcome


def shown_to(mutant: Mutant, called: Sequence[Called]) -> list[Called]:
    """Those that call the mutant's function, quickest first; where none does, those that call anything of its file, or
    of its folder.

    A function that runs while its module is imported, and a constant, are called by nobody; what the Git process calls
    is not seen here.
    """
    function = f"{mutant.path}:{mutant.function}"
    found = [each for each in called if mutant.function and function in each.functions]
    for near in (f"{mutant.path}:", f"{mutant.path.rpartition('/')[0]}/"):
        found = found or [each for each in called if any(name.startswith(near) for name in each.functions)]
    return sorted(found, key=lambda each: each.seconds)


def test_files(roots: Sequence[str]) -> list[str]:
    """The files of tests in these folders, as pytest names them."""
    found = [file for root in map(Path, roots) for file in (root.rglob("test_*.py") if root.is_dir() else [root])]
    return sorted(name for name in map(str, found) if not name.startswith(LEFT_OUT))


def chosen_mutants(everything: Sequence[Mutant], arguments: argparse.Namespace) -> list[Mutant]:
    """Those with one of the texts in their key; without texts as many as are asked for, drawn by the seed."""
    if arguments.only is not None:
        return [each for each in everything if any(text in each.key for text in arguments.only)]
    return random.Random(arguments.seed).sample(everything, min(arguments.mutants, len(everything)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", default="0", help="another seed, other mutants")
    parser.add_argument("--mutants", type=int, default=300, help="how many to draw")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="instead: every mutant with one of these in its key")
    parser.add_argument(
        "--tests", nargs="*", default=TESTS, metavar="PATH", help="show the mutants to these tests only"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no mutant later than after so many")
    arguments = parser.parse_args()
    begin = time.monotonic()
    everything = list(all_mutants(copies.ROOT / copies.PACKAGE))
    judged = equivalent()
    mutants = chosen_mutants(everything, arguments)
    asked = [each for each in mutants if each.key not in judged]
    copies.preload()
    OUTCOMES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(PROCESSES, get_context("fork"), make_copy, (Path(folder),)) as pool,
    ):
        files = test_files(arguments.tests)
        _record_all(pool, [each for each in files if not calls.record_of(RECORDS, each).exists()])
        called = [each for file in files for each in calls.read(calls.record_of(RECORDS, file))]
        say(f"{len(called)} tests, {time.monotonic() - begin:.0f} s; {len(asked)} mutants of {len(everything)}")
        until_s = begin + 60 * arguments.minutes
        tasks = [Task(number, each, shown_to(each, called), until_s) for number, each in enumerate(asked)]
        counts = _shown_all(pool, tasks)
    killed = counts["killed"] + counts["timeout"] + counts["refused"]
    shown = len(asked) - counts["not shown"]
    share = killed / shown if shown else 1.0
    say(
        f"seed {arguments.seed}: {len(mutants)} mutants, {len(mutants) - len(asked)} equivalent,"
        f" {counts['not shown']} not shown,"
        f" {killed} killed ({counts['timeout']} by timeout, {counts['refused']} by types),"
        f" {counts['survived']} survived: {share:.1%} in {(time.monotonic() - begin) / 60:.0f} minutes"
    )
    return 0 if share >= ENOUGH else 1


def _record_all(pool: Executor, files: Sequence[str]) -> None:
    parts = [files[first : first + RECORDED_AT_ONCE] for first in range(0, len(files), RECORDED_AT_ONCE)]
    for number, _ in enumerate(as_completed([pool.submit(record, part) for part in parts]), 1):
        say(f"recorded {number} of {len(parts)}")


def _shown_all(pool: Executor, tasks: Sequence[Task]) -> Counter[str]:
    """What became of the mutants, each told as soon as it is known."""
    counts: Counter[str] = Counter()
    under_way = {pool.submit(show, task): task for task in tasks}
    for number, each in enumerate(as_completed(under_way), 1):
        outcome, task = each.result(), under_way[each]
        counts[outcome] += 1
        if outcome != "not shown":
            say(f"{number}/{len(tasks)} {outcome} ({len(task.shown)} tests)  {task.mutant.key}")
    return counts


if __name__ == "__main__":
    sys.exit(main())
