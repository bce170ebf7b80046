"""python -m tests.bench.ranks [RANKS]: one coordinator against simulated ranks; time and memory of its whole process.

The ranks are mfu_probe's own servers in another process, which serve recorded traces under other numbers. Exits with 1
where a target is missed: 64 ranks within 60 s and 512 MiB on two cores.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from mfu_operator.profiling.live.job import REQUEST_VARIABLE
from mfu_operator.profiling.live.request import encode
from mfu_operator.trace import termination_message as compact
from tests.support.rank_servers import TOKEN, RankServers, dlrm

RANKS = 64
LONGEST_S = 60.0
LARGEST_MIB = 512
STEP_S = 0.25
"""A step of a large model; shorter ones would measure the ranks' own loop."""

PER_POD = 8


def main() -> int:
    """Run the benchmark; the exit status."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else RANKS
    traces = [dlrm()[rank % 8] for rank in range(count)]
    with tempfile.TemporaryDirectory(prefix="mfu-ranks-") as place:
        folder = Path(place)
        servers = RankServers(folder, traces, processes=PER_POD, step_s=STEP_S)
        try:
            wall_s, cpu_s, peak_mib, status = coordinated(folder, encode(servers.request(deadline_s=300.0)))
        finally:
            servers.stop()
        message = (folder / "message").read_text()
    account = compact.decode(message)
    print(f"{account.facts.named['ranksRecorded']:.0f} of {count} ranks, message of {len(message.encode())} bytes")
    print(f"wall {wall_s:.1f} s, CPU {cpu_s:.1f} s, memory {peak_mib:.0f} MiB, exit {status}")
    met = wall_s <= LONGEST_S and peak_mib <= LARGEST_MIB and account.facts.named["ranksRecorded"] == count
    print("targets are met" if met else f"missed: {LONGEST_S:.0f} s and {LARGEST_MIB} MiB for all ranks")
    return 0 if met else 1


def coordinated(folder: Path, request: str) -> tuple[float, float, float, int]:
    """(wall seconds, CPU seconds, MiB at the most, exit status) of the command that the profiling Job runs."""
    secret = folder / "coordinators-token"
    secret.write_text(TOKEN)
    words = ["--token-file", str(secret), "--folder", str(folder), "--termination-message", str(folder / "message")]
    argv = [sys.executable, "-m", "mfu_operator", "coordinate", *words]
    begun_s = time.monotonic()
    child = os.posix_spawn(sys.executable, argv, {**os.environ, REQUEST_VARIABLE: request})
    _, status, used = os.wait4(child, 0)
    return (
        time.monotonic() - begun_s,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        os.waitstatus_to_exitcode(status),
    )


if __name__ == "__main__":
    sys.exit(main())
