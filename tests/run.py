"""What `make test` calls after the linters: the tests on the real cluster, and beside them the fast ones.

Those on the cluster mostly wait, for windows of readings and for what runs there; the fast ones, at the lowest
priority, take what is left of the machine. Where it cannot run a cluster it says so in one line, runs the rest, and
ends with the count of what was not run; with CI=true that is a failure.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import preflight

ROOT = Path(__file__).resolve().parents[1]
FAST = ("-n", "2", "-m", "not cluster and not matrix and not faults and not torch and not browser", "-q")
WHEN_IDLE = ("nice", "-n", "19")
REAL = ("-m", "cluster and not faults and not torch", "-q", "--durations=15")


@dataclass(frozen=True)
class Outcome:
    """What a run of pytest said at its end."""

    passed: int
    failed: int
    skipped: int
    exit_status: int


def pytest(name: str, arguments: Sequence[str], under: Sequence[str] = ()) -> Outcome:
    """Run pytest, under another command if one is given; show each line that it prints behind a name, and read the
    last."""
    command = [*under, sys.executable, "-m", "pytest", *arguments]
    said: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"{name:7} | {line}", end="", flush=True)
            said = [*said[-20:], line]
    return outcome_of("".join(said), process.returncode)


def outcome_of(tail: str, exit_status: int) -> Outcome:
    """The counts of pytest's closing line."""
    closing = next((line for line in reversed(tail.splitlines()) if re.search(r" in [\d.]+s", line)), "")
    counts = {name: int(number) for number, name in re.findall(r"(\d+) (passed|failed|skipped|errors?)", closing)}
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    return Outcome(counts.get("passed", 0), failed, counts.get("skipped", 0), exit_status)


def count_cluster_tests() -> int:
    """How many tests need the cluster."""
    command = [sys.executable, "-m", "pytest", "--collect-only", *REAL[:3]]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return sum("::" in line for line in listed.splitlines())


def main() -> int:
    """Run everything that can run here; 0 when all of it passed and nothing that CI must see was left out."""
    reason = preflight.why_not()
    if reason is not None:
        print(f"the tests on the real cluster are not run: {reason}")
        fast, real, left_out = pytest("fast", FAST), Outcome(0, 0, 0, 0), count_cluster_tests()
    else:
        with ThreadPoolExecutor(1) as beside:
            others = beside.submit(pytest, "fast", FAST, WHEN_IDLE)
            real, left_out = pytest("cluster", REAL), 0
            fast = others.result()
    passed, failed = fast.passed + real.passed, fast.failed + real.failed
    skipped = fast.skipped + real.skipped + left_out
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if fast.exit_status or real.exit_status:
        return 1
    return 1 if skipped and os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
