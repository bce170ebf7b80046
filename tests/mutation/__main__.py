"""`python -m tests.mutation --seed S [--mutants 300]`: does a test fail when the decision core is slightly wrong?

Draws mutants by the seed, shows each to the tests that call its function, and prints what became of it. A survivor is
a hole in the tests, or equivalent: then it belongs into `equivalent.toml` with the reason. The exit code is 1 if fewer
than 90 % of the others are killed.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
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
"""How much longer than without a mutant the tests may run: two processes share the cores with others."""

RECORDS = copies.ROOT / "build" / "mutation"
"""What each file of tests calls, kept until the file changes; `make clean` removes it."""

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
    unfinished.mkdir()
    if files:
        recorder = calls.Recorder(_tree / copies.PACKAGE, unfinished)
        copies.run_tests(_tree, [*MARKED, *files], [recorder], 3600)
    for file in files:
        made = calls.record_of(unfinished, file)
        made.touch()
        shutil.move(made, calls.record_of(RECORDS, file))


def show(task: tuple[int, Mutant, list[Called]]) -> str:
    """What became of one mutant: killed, timeout, or survived."""
    number, mutant, shown = task
    if not shown:
        return "survived"
    path = _tree / copies.PACKAGE / mutant.path
    tests = [each.test for each in shown]
    files = sorted({test.split("::")[0] for test in tests})
    seconds = SLACK_S + TIMES_AS_LONG * sum(each.seconds for each in shown)
    one_test = SLACK_S + TIMES_AS_LONG * max(each.seconds for each in shown)
    with copies.changed(path, mutant.applied_to(path.read_bytes()), number + 1):
        status = copies.run_tests(_tree, ["-x", f"--timeout={one_test:.0f}", *files], [calls.Chosen(tests)], seconds)
    return "survived" if status == 0 else "timeout" if status is None else "killed"


def shown_to(mutant: Mutant, called: Sequence[Called]) -> list[Called]:
    """Those that call the mutant's function, quickest first; where none does, those that call anything of its file.

    A function that runs while its module is imported, and a constant, are called by nobody.
    """
    function = f"{mutant.path}:{mutant.function}"
    found = [each for each in called if mutant.function and function in each.functions]
    found = found or [each for each in called if any(name.startswith(f"{mutant.path}:") for name in each.functions)]
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
    arguments = parser.parse_args()
    begin = time.monotonic()
    everything = list(all_mutants(copies.ROOT / copies.PACKAGE))
    judged = equivalent()
    mutants = chosen_mutants(everything, arguments)
    tasks = [each for each in mutants if each.key not in judged]
    copies.preload()
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(PROCESSES, get_context("fork"), make_copy, (Path(folder),)) as pool,
    ):
        files = test_files(arguments.tests)
        RECORDS.mkdir(parents=True, exist_ok=True)
        unknown = [each for each in files if not calls.record_of(RECORDS, each).exists()]
        list(pool.map(record, [unknown[number::PROCESSES] for number in range(PROCESSES)]))
        called = [each for file in files for each in calls.read(calls.record_of(RECORDS, file))]
        say(f"{len(called)} tests, {time.monotonic() - begin:.0f} s; {len(tasks)} mutants of {len(everything)}")
        counts: Counter[str] = Counter()
        shown = [(number, each, shown_to(each, called)) for number, each in enumerate(tasks)]
        for (_, mutant, tests), outcome in zip(shown, pool.map(show, shown), strict=True):
            counts[outcome] += 1
            say(f"{outcome} ({len(tests)} tests)  {mutant.key}")
    killed = counts["killed"] + counts["timeout"]
    share = killed / len(tasks) if tasks else 1.0
    say(
        f"seed {arguments.seed}: {len(mutants)} mutants, {len(mutants) - len(tasks)} equivalent, {killed} killed"
        f" ({counts['timeout']} by timeout), {counts['survived']} survived: {share:.1%}"
        f" in {(time.monotonic() - begin) / 60:.0f} minutes"
    )
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
