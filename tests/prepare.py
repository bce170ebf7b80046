"""What the tests on the cluster are made of, compiled and built before any of them: the first time it takes longer than
a test may, and a person wants to watch it."""

import sys

from tests.cluster import preflight
from tests.cluster.process import CommandFailed
from tests.cluster.toolchain import go_binaries
from tests.demo import environment

ONLY_TESTED = ("victoriametrics", "alertmanager")
"""Nothing of the demo's: what is read from them, or sent to them, is."""


def main() -> int:
    """Prepare where this machine can run the cluster; 0 done, or nothing to do, 1 failed."""
    if preflight.why_not() is not None:
        return 0
    try:
        environment.prepare()
        for module in ONLY_TESTED:
            go_binaries(module)
    except CommandFailed as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
