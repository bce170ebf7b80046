"""What a process costs and what it says of itself, and what the API server counts."""

import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import httpx

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_MIB = os.sysconf("SC_PAGESIZE") / 2**20
EVERY_S = 1.0


@dataclass
class Sample:
    """Of one moment: wall clock and CPU seconds, memory in MiB."""

    time_s: float
    cpu_s: float
    memory_mib: float


class Meter:
    """Samples one process every second, from /proc: CPU of all its threads, memory that it holds."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.samples: list[Sample] = []
        self._stopping = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()

    def cores(self, since_s: float, until_s: float) -> float:
        """CPU seconds per second between two moments."""
        span = [each for each in self.samples if since_s <= each.time_s <= until_s]
        return (span[-1].cpu_s - span[0].cpu_s) / (span[-1].time_s - span[0].time_s)

    def peak_mib(self, since_s: float = 0.0, until_s: float = float("inf")) -> float:
        """The most memory that was held."""
        return max(each.memory_mib for each in self.samples if since_s <= each.time_s <= until_s)

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return self.samples[-1].cpu_s if self.samples else 0.0

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
                pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
            except (FileNotFoundError, ProcessLookupError):
                return
            cpu_s = (int(fields[11]) + int(fields[12])) / TICKS_PER_S
            self.samples.append(Sample(time.time(), cpu_s, pages * PAGE_MIB))
            self._stopping.wait(EVERY_S)


def series(text: str, name: str, **labels: str) -> float:
    """The sum of a metric's series that have these labels, out of an exposition."""
    total = 0.0
    for line in text.splitlines():
        found = re.match(rf"{name}(?:\{{(.*)\}})? (\S+)$", line)
        if found and all(f'{key}="{value}"' in (found.group(1) or "") for key, value in labels.items()):
            total += float(found.group(2))
    return total


def exposition(url: str) -> str:
    """The operator's own metrics; empty while it does not serve."""
    try:
        return httpx.get(url, trust_env=False, timeout=20).text
    except httpx.TransportError:
        return ""
