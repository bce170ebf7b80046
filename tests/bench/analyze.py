"""python -m tests.bench.analyze [TIMES]: our analysis beside the floor, HolisticTraceAnalysis and nsys-ai."""

import gzip
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.bench.analyze_peers import FLOOR, HTA, environment
from tests.bench.process import Cost, typical
from tests.support.synthetic.kineto_file import KinetoFile
from tests.support.synthetic.loop import Loop

TRACES = Path("tests/data/traces").resolve()
OURS = [sys.executable, "-m", "mfu_operator.cli.analyze", "-o", "json"]
OUR_PATH = {"PYTHONPATH": "operator"}


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory(prefix="mfu-bench-") as folder:
        _one_trace(times)
        _eight_ranks(Path(folder), times)
        _nsys(Path(folder), times)
        _growth(Path(folder))


def _one_trace(times: int) -> None:
    path = str(TRACES / "hta/trace_diff_control_a100.json.gz")
    _title("one Kineto trace of 35 MB, gzip")
    ours = _row("ours", [*OURS, path], times, OUR_PATH)
    floor = _row("floor", [sys.executable, "-c", FLOOR, path], times)
    hta = _row("HTA 0.5.0", [*_hta(), path], times)
    wall, cpu = ours.wall_s / floor.wall_s, ours.cpu_s / floor.cpu_s
    _say(f"ours is {wall:.2f} times the floor ({cpu:.2f} in CPU time)")
    _say(f"HTA takes {hta.wall_s / ours.wall_s:.1f} times ours ({hta.cpu_s / ours.cpu_s:.1f} in CPU time)")


def _eight_ranks(folder: Path, times: int) -> None:
    """The same trace as eight ranks, as their own files say."""
    text = gzip.decompress((TRACES / "hta/trace_diff_control_a100.json.gz").read_bytes())
    paths = []
    for rank in range(8):
        path = folder / f"rank{rank}.json.gz"
        path.write_bytes(gzip.compress(text.replace(b'"rank": 3', b'"rank": %d' % rank, 1), 1))
        paths.append(str(path))
    _title("eight ranks of 35 MB each")
    ours = _row("ours", [*OURS, *paths], max(1, times // 2), OUR_PATH)
    hta = _row("HTA 0.5.0", [*_hta(), *paths], max(1, times // 2))
    time, memory = hta.wall_s / ours.wall_s, hta.memory_mib / ours.memory_mib
    _say(f"HTA takes {time:.1f} times our time and {memory:.1f} times our memory")


def _nsys(folder: Path, times: int) -> None:
    path = folder / "export.sqlite"
    shutil.copy(TRACES / "nsys/h100_2gpu_1s.sqlite", path)
    _title("an nsys export of 2.3 MB")
    ours = _row("ours", [*OURS, str(path)], times, OUR_PATH)
    python = environment("nsys-ai-0.3.0", "nsys-ai==0.3.0")
    peer = _row("nsys-ai 0.3.0", [str(python.parent / "nsys-ai"), "analyze", "--format", "json", str(path)], 1)
    _say(f"nsys-ai takes {peer.cpu_s / ours.cpu_s:.1f} times our CPU time")


def _growth(folder: Path) -> None:
    """Time and memory by the number of events."""
    _title("a generated Kineto trace that grows")
    for layers in (100, 400, 1_600):
        path = folder / f"grown-{layers}"
        with ProcessPoolExecutor(1) as apart:
            count = apart.submit(_grown, layers, path).result()
        _row(f"{count:,} events", [*OURS, str(path)], 1, OUR_PATH)


def _grown(layers: int, path: Path) -> int:
    """Write a loop of so many layers, in a process of its own: a child's memory is counted from its parent's."""
    file = KinetoFile()
    Loop(steps=10, layers=layers).record(file, 1)
    file.write(path)
    return len(file.events)


def _hta() -> list[str]:
    return [str(environment("hta-0.5.0", "HolisticTraceAnalysis==0.5.0")), "-c", HTA]


def _title(text: str) -> None:
    _say(f"\n{text}\n{'':24} {'wall, s':>9} {'CPU, s':>9} {'MiB':>9}")


def _row(name: str, command: Sequence[str], times: int, variables: dict[str, str] | None = None) -> Cost:
    cost = typical(command, times, variables)
    _say(f"{name:24} {cost.wall_s:9.2f} {cost.cpu_s:9.2f} {cost.memory_mib:9.0f}")
    return cost


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
