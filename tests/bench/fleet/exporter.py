"""What mfu_probe would export in every job of the fleet, in one process.

`python -m tests.bench.fleet.exporter PORT JOBS` serves:

GET  /metrics/<part>   a part of the jobs
POST /slow             {"jobs": [numbers], "loss": 0.2}: these lose so much speed from now on
POST /jobs             {"count": number}: so many jobs there are from now on
"""

import json
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.bench.fleet import jobs

PARTS = 10
NOISE = 0.005
"""Standard deviation of a job's readings: that of a quiet one."""

GIB = 2**30
VITALS = {
    "mfu_probe_memory_allocated_bytes": 52 * GIB,
    "mfu_probe_memory_reserved_bytes": 60 * GIB,
    "mfu_probe_memory_limit_bytes": 80 * GIB,
    "mfu_probe_host_memory_bytes": 300 * GIB,
    "mfu_probe_host_memory_limit_bytes": 900 * GIB,
    "mfu_probe_nonfinite_loss_streak": 0,
    "mfu_probe_skipped_step_streak": 0,
}
"""Nothing is wrong with any job but its speed."""

PHASES = ("starting", "running", "checkpoint", "evaluation", "paused")
INFO = 'model="gpt",gpu="NVIDIA H100 80GB HBM3",gpus="8",world_size="8",global_batch="256",rank="0"'


class Fleet:
    """Jobs that have run since before the benchmark began."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.begun_s = time.time() - 86400
        self.loss: dict[int, float] = {}
        self._noise = random.Random(1)

    def text(self, part: int) -> str:
        """One part's exposition. Metrics come one family after the other, as the format asks for."""
        numbers = range(part, self.count, PARTS)
        speeds = [(1 - self.loss.get(number, 0.0)) * (1 + self._noise.gauss(0, NOISE)) for number in numbers]
        labels = [
            f'namespace="{jobs.namespace(n)}",job_name="{jobs.name(n)}",pod="{jobs.pod_name(n)}"' for n in numbers
        ]
        lines: list[str] = []
        for family, value in (
            ("mfu_probe_mfu_ratio", jobs.MFU),
            ("mfu_probe_tokens_per_second", jobs.TOKENS_PER_S),
        ):
            lines.append(f"# TYPE {family} gauge")
            lines += [f"{family}{{{label}}} {value * speed:.6g}" for label, speed in zip(labels, speeds, strict=True)]
        lines.append("# TYPE mfu_probe_step_seconds gauge")
        lines += [
            f"mfu_probe_step_seconds{{{label}}} {jobs.STEP_S / speed:.6g}"
            for label, speed in zip(labels, speeds, strict=True)
        ]
        steps = int((time.time() - self.begun_s) / jobs.STEP_S)
        lines.append("# TYPE mfu_probe_steps_total counter")
        lines += [f"mfu_probe_steps_total{{{label}}} {steps}" for label in labels]
        lines.append("# TYPE mfu_probe_window_running_ratio gauge")
        lines += [f"mfu_probe_window_running_ratio{{{label}}} 1" for label in labels]
        for family, level in VITALS.items():
            lines.append(f"# TYPE {family} gauge")
            lines += [f"{family}{{{label}}} {level}" for label in labels]
        lines.append("# TYPE mfu_probe_phase gauge")
        lines += [
            f'mfu_probe_phase{{{label},phase="{phase}"}} {int(phase == "running")}'
            for label in labels
            for phase in PHASES
        ]
        lines.append("# TYPE mfu_probe_info gauge")
        lines += [f"mfu_probe_info{{{label},{INFO}}} 1" for label in labels]
        return "\n".join([*lines, ""])


def serve(port: int, count: int) -> None:
    """Serve until ended."""
    fleet = Fleet(count)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(fleet.text(int(self.path.rpartition("/")[2])).encode())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/jobs":
                fleet.count = asked["count"]
            else:
                fleet.loss |= dict.fromkeys(asked["jobs"], asked["loss"])
            self._answer(b"")

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Silence."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
