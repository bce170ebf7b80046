"""``python -m tests.cluster up|down|status``."""

import argparse
import sys

from tests.cluster.cluster import Cluster
from tests.cluster.layout import CONTEXT
from tests.cluster.preflight import why_not
from tests.cluster.process import CommandFailed, NotReady
from tests.cluster.state import cache_dir


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 failed or not running, 2 this machine cannot."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description="A real Kubernetes cluster, here.")
    parser.add_argument("command", choices=("up", "down", "status"))
    command = parser.parse_args(arguments).command
    reason = why_not()
    if reason:
        print(reason, file=sys.stderr)
        return 2
    try:
        return {"up": _up, "down": _down, "status": _status}[command](Cluster())
    except (CommandFailed, NotReady, LookupError) as problem:
        print(problem, file=sys.stderr)
        return 1


def _up(cluster: Cluster) -> int:
    cluster.up()
    print(f"The cluster is up: kubectl is {cluster.binaries / 'kubectl'}, its context {CONTEXT} is current.")
    return 0


def _down(cluster: Cluster) -> int:
    cluster.down()
    print(f"The cluster is down. What it compiled and built stays for the next time: rm -rf {cache_dir()}")
    return 0


def _status(cluster: Cluster) -> int:
    running = cluster.running()
    print(f"running, state in {cluster.state}" if running else "not running")
    return 0 if running else 1


sys.exit(main())
