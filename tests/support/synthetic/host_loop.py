"""A CPU training loop as nsys sees it: ranges on one thread, calls of the operating system, loader threads."""

from dataclasses import dataclass

from tests.support.synthetic.loop import TRAINER
from tests.support.synthetic.nsys_file import NsysFile

MS = 1_000_000


@dataclass(frozen=True)
class HostLoop:
    """Milliseconds per step; `inline` means that the training thread fetches the batch over the network itself."""

    steps: int = 8
    data_ms: float = 1.0
    forward_ms: float = 8.0
    backward_ms: float = 8.0
    optimizer_ms: float = 2.0
    inline: bool = False
    loader_threads: int = 4
    requests: int = 4

    def trace(self, version: str = "2022.4.2.1") -> NsysFile:
        file = NsysFile(version)
        now = 1_000
        begin = now
        for _ in range(self.steps):
            now = self._step(file, now)
        file.range("mfu_capture", begin - 500, now + 500)
        return file

    def _step(self, file: NsysFile, start: int) -> int:
        now = start
        data = round(self.data_ms * MS)
        self._load(file, now, data)
        for name, length in (
            ("data", data),
            ("forward", round(self.forward_ms * MS)),
            ("backward", round(self.backward_ms * MS)),
            ("optimizer", round(self.optimizer_ms * MS)),
        ):
            file.range(name, now, now + length)
            now += length + 1_000
        file.range("step", start, now)
        return now + 5_000

    def _load(self, file: NsysFile, start: int, length: int) -> None:
        if not self.inline:
            file.os_call("pthread_cond_wait", start + 1_000, start + length - 1_000)
            for thread in range(self.loader_threads):
                file.os_call("recv", start + 2_000, start + 15 * MS, TRAINER + 1 + thread)
            return
        each = length // self.requests
        for index in range(self.requests):
            file.os_call("recv", start + index * each + 1_000, start + (index + 1) * each - each // 20)
