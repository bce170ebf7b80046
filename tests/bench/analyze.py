"""python -m tests.bench.analyze [TIMES]: our analysis beside the floor, HolisticTraceAnalysis and nsys-ai.

python -m tests.bench.analyze ranks: the case of 64 ranks alone, as text.

Prints what it measures, and writes it to tests/bench/README.md. Exits with 1 where a target is missed.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.analyze_peers import FLOOR, HTA, environment
from tests.bench.machine import described
from tests.bench.process import Contender, Cost, side_by_side

TRACES = Path("tests/data/traces").resolve()
REAL = TRACES / "hta/trace_diff_control_a100.json.gz"
EXPORT = TRACES / "nsys/h100_2gpu_1s.sqlite"
OPERATIONS_OF_3_MB = "40000"
RESULTS = Path(__file__).parent / "README.md"
OURS, THE_FLOOR, THE_HTA, NSYS_AI = "mfu-operator", "the floor", "HTA 0.5.0", "nsys-ai 0.3.0"
MANY, MANY_MB = 64, 54
MOST_CPU_S, MOST_MIB = 25.0, 512.0
"""For all of MANY ranks."""

EVENTS = (1_000_000, 3_000_000, 10_000_000)
GROWN_TIMES = 3
"""A quarter of the CPU time of ten million events is the kernel clearing pages, which costs twice as much from one run
to the next where a host takes them back from its guests."""

ABOUT = """# What trace analysis costs

Made by `make bench`, as whole processes from start to end: the median of {times} runs ({grown} of each grown trace)
in which the tools take turns. Targets are judged by CPU time, which a busy machine changes less than wall time. Memory
is the most that one process held.

{machine}, {day}.
"""

FOOT = """
The floor starts Python, imports numpy, decompresses with isal and decodes four fields of each event with msgspec.
HTA is HolisticTraceAnalysis' temporal breakdown. nsys-ai gets a fresh copy of the export each time, because it writes
indexes into it; most of its wall time it waits for a network. The traces of 54 MB are the real one of 35 MB, whose
beginning follows again after its end (`tests/bench/grown.py`); the grown ones are a modelled loop, repeated.
What a fleet costs: [fleet/README.md](fleet/README.md).
"""


@dataclass
class Report:
    """Prints and keeps. `missed` counts the targets that were not met."""

    lines: list[str] = field(default_factory=list)
    missed: int = 0

    def say(self, line: str = "") -> None:
        self.lines.append(line)
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def table(self, title: str, costs: Mapping[str, Cost]) -> None:
        self.say(f"\n## {title}\n")
        self.say(f"| {'':20} | CPU, s | wall, s |   MiB |")
        self.say(f"|{'-' * 22}|-------:|--------:|------:|")
        for name, cost in costs.items():
            self.say(f"| {name:20} | {cost.cpu_s:6.2f} | {cost.wall_s:7.2f} | {cost.memory_mib:5.0f} |")
        self.say()

    def target(self, said: str, value: float, met: bool) -> None:
        self.missed += not met
        self.say(f"- {'met' if met else '**missed**'}: {said}: {value:.2f}")

    def at_most(self, most: float, said: str, value: float) -> None:
        self.target(f"{said}, at most {most:g}", value, value <= most)

    def at_least(self, least: float, said: str, value: float) -> None:
        self.target(f"{said}, at least {least:g}", value, value >= least)


def main() -> None:
    if sys.argv[1:] == ["ranks"]:
        report = Report()
        with tempfile.TemporaryDirectory(prefix="mfu-bench-", dir="/var/tmp") as folder:
            _many_ranks(report, Path(folder) / "many")
        sys.exit(1 if report.missed else 0)
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    report = Report()
    report.say(ABOUT.format(times=times, grown=GROWN_TIMES, machine=described(), day=datetime.now(UTC).date()).rstrip())
    with tempfile.TemporaryDirectory(prefix="mfu-bench-", dir="/var/tmp") as folder:
        ranks = _ranks(Path(folder))
        _one_trace(report, "One Kineto trace of 35 MB, gzip", REAL, times)
        _one_trace(report, "One Kineto trace of 54 MB, gzip", ranks[0], times)
        _eight_ranks(report, ranks, times)
        _many_ranks(report, Path(folder) / "many")
        _nsys(report, EXPORT, "An nsys export", Path(folder), times)
        generated = Path(folder) / "generated.sqlite"
        _write("nsys", generated, OPERATIONS_OF_3_MB)
        _nsys(report, generated, "A generated nsys export", Path(folder), times)
        _growth(report, "Kineto", "kineto", Path(folder))
        _growth(report, "nsys", "nsys", Path(folder))
    report.say(FOOT.rstrip())
    RESULTS.write_text("\n".join(report.lines) + "\n", encoding="utf-8")
    sys.exit(1 if report.missed else 0)


def _one_trace(report: Report, title: str, path: Path, times: int) -> None:
    floor = Contender(THE_FLOOR, [sys.executable, "-c", FLOOR, str(path)])
    cost = side_by_side([_ours(path), floor, _hta(path)], times)
    report.table(title, cost)
    report.at_most(2, "CPU time over the floor's", cost[OURS].cpu_s / cost[THE_FLOOR].cpu_s)
    report.at_least(5, "HTA's CPU time over ours", cost[THE_HTA].cpu_s / cost[OURS].cpu_s)


def _eight_ranks(report: Report, paths: Sequence[Path], times: int) -> None:
    cost = side_by_side([_ours(*paths), _hta(*paths)], max(1, times // 2))
    report.table("Eight ranks of 54 MB each, gzip", cost)
    report.at_least(5, "HTA's CPU time over ours", cost[THE_HTA].cpu_s / cost[OURS].cpu_s)
    report.at_least(5, "HTA's wall time over ours", cost[THE_HTA].wall_s / cost[OURS].wall_s)
    report.at_most(0.5, "memory over HTA's", cost[OURS].memory_mib / cost[THE_HTA].memory_mib)


def _many_ranks(report: Report, folder: Path) -> None:
    """A folder of a job's ranks, 3.5 GB on the disk, that the one command takes."""
    folder.mkdir()
    _write("plain-ranks", folder, str(MANY), str(MANY_MB), str(REAL))
    cost = side_by_side([_ours(folder)], GROWN_TIMES)
    shutil.rmtree(folder)
    report.table(f"A folder of {MANY} ranks of {MANY_MB} MB each, plain JSON", cost)
    report.at_most(MOST_CPU_S, "seconds of CPU time", cost[OURS].cpu_s)
    report.at_most(MOST_MIB, "MiB of memory", cost[OURS].memory_mib)


def _nsys(report: Report, export: Path, title: str, folder: Path, times: int) -> None:
    copy = folder / "export.sqlite"
    program = environment("nsys-ai-0.3.0", "nsys-ai==0.3.0").parent / "nsys-ai"
    command = [str(program), "analyze", "--format", "json", str(copy)]
    peer = Contender(NSYS_AI, command, prepare=lambda: shutil.copy(export, copy))
    cost = side_by_side([_ours(export), peer], times)
    report.table(f"{title} of {export.stat().st_size / 1e6:.1f} MB", cost)
    report.at_most(0.5, "CPU time over nsys-ai's", cost[OURS].cpu_s / cost[NSYS_AI].cpu_s)


def _growth(report: Report, title: str, kind: str, folder: Path) -> None:
    """Time and memory by the number of events."""
    costs: dict[int, Cost] = {}
    shown: dict[str, Cost] = {}
    for wanted in EVENTS:
        path = folder / f"{kind}-{wanted}"
        events = _write(kind, path, str(wanted))
        costs[events] = side_by_side([_ours(path)], GROWN_TIMES)[OURS]
        shown[f"{events:,} events, {path.stat().st_size / 1e9:.2f} GB"] = costs[events]
        path.unlink()
    report.table(f"A generated {title} trace that grows", shown)
    least, most = min(costs), max(costs)
    report.at_most(1.25, "CPU time per event, ten times as many over as few", _each(costs, most) / _each(costs, least))
    report.at_most(4, "GiB of memory for ten million events", costs[most].memory_mib / 1024)
    report.say(f"- {costs[most].memory_mib * 2**20 / most:.0f} bytes of memory for each event")


def _ranks(folder: Path) -> list[Path]:
    """Eight of 54 MB."""
    _write("ranks", folder, "8", "54", str(REAL))
    return sorted(folder.glob("rank*.json.gz"))


def _each(costs: Mapping[int, Cost], events: int) -> float:
    return costs[events].cpu_s / events


def _write(kind: str, path: Path, *how: str) -> int:
    """The number of events, written in a process of its own: a child's memory is counted from its parent's."""
    command = [sys.executable, "-m", "tests.bench.grown", kind, str(path), *how]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _ours(*paths: Path) -> Contender:
    command = [sys.executable, "-m", "mfu_operator", "analyze", "-o", "json", *map(str, paths)]
    return Contender(OURS, command, {"PYTHONPATH": "operator"})


def _hta(*paths: Path) -> Contender:
    python = environment("hta-0.5.0", "HolisticTraceAnalysis==0.5.0")
    return Contender(THE_HTA, [str(python), "-c", HTA, *map(str, paths)])


if __name__ == "__main__":
    main()
