"""The table: each target, what was measured, and whether it is met."""

import platform
import sys
from pathlib import Path

from tests.bench.fleet.run import Report
from tests.bench.fleet.stage import SCRAPE_S

MEMORY_MIB, CORES, QUERIES, RESTART_S = 512, 0.3, 40, 90


def rows(report: Report) -> list[tuple[str, str, str, bool]]:
    """(what, target, measured, met)."""
    half, whole, lag, again = report.half, report.whole, report.lag, report.restart_lag
    assert half is not None and whole is not None and lag is not None and again is not None
    peak = max(half.peak_mib, whole.peak_mib, report.start_peak_mib, report.restart_peak_mib)
    ratio = whole.cores / half.cores
    two_sweeps = 2.0 * SCRAPE_S
    late = RESTART_S + two_sweeps
    return [
        (f"{whole.baselines} baselines, cores", f"≤ {CORES}", f"{whole.cores:.3f}", whole.cores <= CORES),
        ("peak memory, start and restart included", f"≤ {MEMORY_MIB} MiB", f"{peak:.0f} MiB", peak <= MEMORY_MIB),
        ("queries a sweep", f"≤ {QUERIES}", f"{whole.queries:.1f}", whole.queries <= QUERIES),
        (
            f"{lag.wanted} regressions in the status after the scrape that decides",
            f"≤ {two_sweeps:.0f} s",
            f"{lag.worst_s:.0f} s (median {lag.median_s:.0f} s), {lag.found} of {lag.wanted}",
            lag.worst_s <= two_sweeps and lag.found == lag.wanted,
        ),
        (
            "all judged again after SIGKILL",
            f"≤ {RESTART_S} s",
            f"{report.restart_s:.0f} s, {report.restart_cpu_s:.0f} s of CPU, {report.history_s / 60:.0f} min of past",
            report.restart_s <= RESTART_S,
        ),
        (
            f"{again.wanted} regressions that the kill fell into, after the scrape that decides",
            f"≤ {late:.0f} s",
            f"{again.worst_s:.0f} s (median {again.median_s:.0f} s), {again.found} of {again.wanted}",
            again.worst_s <= late and again.found == again.wanted,
        ),
        ("status writes that changed nothing", "0", f"{report.idle_writes}", report.idle_writes == 0),
        (
            f"twice the baselines ({half.baselines} → {whole.baselines}), cost",
            "≤ 2 times",
            f"{ratio:.2f} times ({half.cores:.3f} → {whole.cores:.3f} cores)",
            ratio <= 2,
        ),
    ]


def write(line: str) -> None:
    """A line to the terminal."""
    sys.stdout.write(f"{line}\n")


def print_report(report: Report) -> int:
    """Print it; 1 where a target is missed."""
    table = rows(report)
    width = max(len(row[0]) for row in table)
    write(f"\n{_machine()}\n")
    for what, target, measured, met in table:
        write(f"  {what:{width}}  {target:>10}  {'met   ' if met else 'MISSED'}  {measured}")
    assert report.half is not None and report.whole is not None
    for each in (report.half, report.whole):
        write(
            f"  {each.baselines} at rest for {each.span_s:.0f} s: {each.cores:.3f} cores, {each.peak_mib:.0f} MiB, "
            f"{each.queries:.1f} queries a sweep, {each.writes:.0f} status writes, "
            f"{each.api_requests:.0f} requests/s at the API server"
        )
    write(
        f"  first start: {report.start_s:.0f} s until all are judged, peak {report.start_peak_mib:.0f} MiB; restart: "
        f"peak {report.restart_peak_mib:.0f} MiB, {report.restart_writes:.0f} status writes until all were judged"
    )
    return 0 if all(row[3] for row in table) else 1


def _machine() -> str:
    about = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(":")[2].strip() for line in about if "model name" in line), platform.processor())
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    cores = Path("/proc/cpuinfo").read_text().count("processor\t")
    return f"{cores} × {cpu}, {memory:.0f} GiB, Python {platform.python_version()}; everything on this one machine"
