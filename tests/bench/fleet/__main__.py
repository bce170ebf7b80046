"""`python -m tests.bench.fleet [--baselines 10000]`: what a fleet costs on this machine."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench.fleet.report import print_report
from tests.bench.fleet.run import Benchmark


def main() -> int:
    """Run and print; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baselines", type=int, default=10_000, help="how many, twice as many as at first")
    parser.add_argument("--span", type=float, default=300.0, help="seconds of each undisturbed measurement")
    parser.add_argument("--state", type=Path, help="keep databases and logs in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mfu-fleet-") as folder:
        report = Benchmark(options.state or Path(folder), options.baselines, options.span).run()
    return print_report(report)


sys.exit(main())
