"""The probe itself: it watches one training loop, on the thread that runs it."""

from __future__ import annotations

import atexit
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from numbers import Real
from types import TracebackType
from typing import TypeVar

from mfu_probe import ranges as names
from mfu_probe.capture import CapturePlan
from mfu_probe.identity import RankIdentity, RunInfo, configured_port, node_of
from mfu_probe.live.launch import use_optimizer_hook
from mfu_probe.live.recorder import TorchRecorder
from mfu_probe.live.server import ProbeServer
from mfu_probe.live.session import CaptureSession
from mfu_probe.live.storage import Storage
from mfu_probe.memory import DeviceMeter, host_memory
from mfu_probe.metrics import Snapshot
from mfu_probe.phases import Phase, PhaseLog
from mfu_probe.ranges import Ranges, available_ranges
from mfu_probe.streak import Streak
from mfu_probe.window import StepWindow

Batch = TypeVar("Batch")

DEFAULT_WINDOW_SECONDS = 10.0
WINDOW_VARIABLE = "MFU_PROBE_WINDOW_SECONDS"


class Probe:
    """Counts the steps of one training loop, marks them with NVTX ranges and knows the phase the run is in.

    Made by `start`. All methods but `snapshot` belong to the thread that runs the loop; `snapshot` may be called from
    any. `clock` returns nanoseconds of a monotonic clock.
    """

    def __init__(
        self,
        *,
        flops_per_step: float | None = None,
        tokens_per_step: float | None = None,
        peak_flops: float | None = None,
        info: RunInfo | None = None,
        window_seconds: float = DEFAULT_WINDOW_SECONDS,
        capture: CapturePlan | None = None,
        ranges: Ranges | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
        session: CaptureSession | None = None,
    ) -> None:
        _require_positive(flops_per_step=flops_per_step, tokens_per_step=tokens_per_step, peak_flops=peak_flops)
        self._flops_per_step = flops_per_step
        self._tokens_per_step = tokens_per_step
        self._peak_flops = peak_flops
        self._info = info or RunInfo()
        self._capture = capture
        self._capturing = False
        self._ranges = ranges or available_ranges()
        self._clock = clock
        self._lock = threading.Lock()
        self._window = StepWindow(window_seconds)
        self._phases = PhaseLog(clock())
        self._device = DeviceMeter()
        self._losses = Streak()
        self._skips = Streak()
        self._loss: float | None = None
        self._step_skipped = False
        self._completed_steps = 0
        self._step_start_ns: int | None = None
        self._step_has_work = False
        self._follows_optimizer = True
        self._by_optimizer = False
        self._process = os.getpid()
        self._session = session or CaptureSession(TorchRecorder(), Storage.from_environment(os.environ))
        self._server: ProbeServer | None = None

    def __enter__(self) -> Probe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def profiling(self) -> bool:
        """True in a copy of the run that is being profiled: write no checkpoint, report to no experiment tracker."""
        return self._capture is not None

    @property
    def serving(self) -> bool:
        """True while the metrics are served over HTTP."""
        return self._server is not None

    @property
    def completed_steps(self) -> int:
        """Steps completed by this process since `start`."""
        return self._completed_steps

    def due(self, step: int, every: int) -> bool:
        """Whether what happens every `every` steps happens after `step` steps: `if probe.due(step, 1000): save()`.

        Never in a profiling copy, so that a copy writes no checkpoint and its window holds training steps only; never
        with `every` 0.
        """
        return not self.profiling and every > 0 and step > 0 and step % every == 0

    def steps(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """Iterate over `loader`; each turn is one `step` range, in which the wait for the loader is a `data` range.

        A step ends where the next begins, or where a phase other than running begins. When the loader ends, the step
        that waited for it stays open for the next call, so that the gap between two epochs is part of a step. In a
        profiling copy SystemExit(0) is raised here once the capture window is complete.
        """
        batches = iter(loader)
        self._follow_the_loop()
        while True:
            self._begin_step()
            try:
                with self.data():
                    batch = next(batches)
            except StopIteration:
                return
            self._step_has_work = True
            try:
                yield batch
            except GeneratorExit:
                self._end_step()
                raise
            self._end_step()
            self._end_copy_when_captured()

    @contextmanager
    def step(self) -> Iterator[None]:
        """One step, for a loop that does not iterate over a loader; mark the wait for its input with `data()`."""
        self._follow_the_loop()
        self._begin_step_at_work()
        try:
            yield
        finally:
            self._end_step()
        self._end_copy_when_captured()

    def after_optimizer(self) -> None:
        """One step ended here and the next one begins: what torch's hook after an optimizer's step calls. The first
        call begins the first whole step. Nothing where the script tells its steps by `steps` or `step`."""
        if not self._follows_optimizer:
            return
        self._by_optimizer = True
        if self._step_start_ns is not None:
            self._end_step()
            self._end_copy_when_captured()
        self._begin_step_at_work()

    def data(self) -> AbstractContextManager[None]:
        """Waiting for the next batch; `steps` opens it by itself."""
        return self.range(names.DATA)

    def forward(self) -> AbstractContextManager[None]:
        """The forward pass, the loss included."""
        return self.range(names.FORWARD)

    def backward(self) -> AbstractContextManager[None]:
        """The backward pass."""
        return self.range(names.BACKWARD)

    def optimizer(self) -> AbstractContextManager[None]:
        """The update of the parameters."""
        return self.range(names.OPTIMIZER)

    def h2d(self) -> AbstractContextManager[None]:
        """Copying the batch to the device."""
        return self.range(names.HOST_TO_DEVICE)

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        """An NVTX range of any other name, inside the one that is open."""
        self._ranges.push(name)
        try:
            yield
        finally:
            self._ranges.pop()

    @contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Be in `phase` for the length of the block; the step that is open ends where the block begins.

        Not inside `forward()` or another range: the step that ends here must be the innermost range. Where steps are
        counted at the optimizer's, the step that has just begun begins again after the block.
        """
        if self._by_optimizer:
            self._drop_step()
        self._end_step()
        before = self._phases.current
        self._enter(phase)
        try:
            with self.range(phase):
                yield
        finally:
            self._enter(before)
            if self._by_optimizer and before == "running":
                self._begin_step_at_work()

    def loss(self, value: float) -> None:
        """Report the training loss as a Python number, exported as `mfu_probe_loss`.

        Anything else (a tensor) is refused with one warning: turning it into a number would wait for the device. Call
        this where the script has the number already, as for its own log; it need not be at every step.
        """
        if not isinstance(value, Real):
            warnings.warn(
                f"probe.loss takes a Python number, not {type(value).__name__}, and reports nothing: "
                "give it loss.item() where the script waits for the device anyway",
                stacklevel=2,
            )
            return
        self._loss = float(value)
        self._losses.count(not math.isfinite(self._loss))

    def skipped(self) -> None:
        """Report that this step's update is skipped, as a loss scaler does where gradients overflow."""
        self._step_skipped = True

    def snapshot(self) -> Snapshot:
        """All readings of this moment; README.md defines them."""
        with self._lock:
            reading = self._window.read(self._clock())
            running = self._phases.running_ratio(reading.start_ns, reading.end_ns) if reading else None
            phase, completed = self._phases.current, self._completed_steps
        mfu = tokens = None
        if reading and self._flops_per_step and self._peak_flops:
            mfu = reading.mfu(self._flops_per_step, self._peak_flops)
        if reading and self._tokens_per_step:
            tokens = reading.steps_per_second * self._tokens_per_step
        return Snapshot(
            phase=phase,
            steps_total=completed,
            mfu_ratio=mfu,
            step_seconds=reading.step_seconds if reading else None,
            tokens_per_second=tokens,
            window_running_ratio=running,
            peak_flops=self._peak_flops,
            loss=self._loss,
            nonfinite_loss_streak=self._losses.length,
            nonfinite_losses_total=self._losses.total,
            skipped_step_streak=self._skips.length,
            skipped_steps_total=self._skips.total,
            device_memory=self._device.latest,
            host_memory=host_memory(),
            info=self._info.labels(),
        )

    def serve(self, port: int, address: str = "0.0.0.0") -> None:  # noqa: S104 - Prometheus asks from elsewhere
        """Serve metrics and captures on `address`:`port` from a thread; a port already taken is only a warning."""
        server = ProbeServer(self.snapshot, self._session, RankIdentity.from_environment(os.environ))
        try:
            server.start(port, address)
        except (OSError, OverflowError) as error:
            warnings.warn(f"mfu_probe serves no metrics: port {port} on {address}: {error}", stacklevel=2)
            return
        self._server = server

    def close(self) -> None:
        """End the step and the capture window that are open, and stop serving; doing it twice is harmless.

        Nothing in a forked child, which has none of the parent's threads and would wait for them for ever.
        """
        if os.getpid() != self._process:
            return
        self._follow_the_loop()
        self._end_step()
        self._close_capture()
        self._session.close()
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _follow_the_loop(self) -> None:
        """Steps are not those of the optimizer any more; the one that is open has no end."""
        if self._by_optimizer:
            self._drop_step()
        self._follows_optimizer = self._by_optimizer = False

    def _drop_step(self) -> None:
        self._step_has_work = False
        self._end_step()

    def _begin_step_at_work(self) -> None:
        self._begin_step()
        self._step_has_work = True

    def _begin_step(self) -> None:
        if self._step_start_ns is not None:
            if not self._step_has_work:
                return
            self._end_step()
        if self._capture and not self._capturing and self._capture.opens_before(self._completed_steps):
            self._ranges.push(names.CAPTURE)
            self._capturing = True
        if self._phases.current != "running":
            self._enter("running")
        self._session.before_step(self._completed_steps)
        self._step_start_ns = self._clock()
        self._ranges.push(names.STEP)

    def _end_step(self) -> None:
        if self._step_start_ns is None:
            return
        self._ranges.pop()
        if self._step_has_work:
            self._note_skip()
            self._device.sample(self._clock())
            with self._lock:
                self._window.complete(self._step_start_ns, self._clock())
                self._completed_steps += 1
                oldest_ns = self._window.oldest_ns()
                if oldest_ns is not None:
                    self._phases.forget_before(oldest_ns)
        self._step_start_ns = None
        self._step_has_work = False

    def _note_skip(self) -> None:
        """A script that never skips says nothing of skipping, so the first one begins the count."""
        if self._step_skipped or self._skips.total is not None:
            self._skips.count(self._step_skipped)
        self._step_skipped = False

    def _end_copy_when_captured(self) -> None:
        if self._capture is None or not self._capture.closes_after(self._completed_steps):
            return
        self._close_capture()
        sys.stdout.flush()
        sys.stderr.flush()
        raise SystemExit(0)

    def _close_capture(self) -> None:
        if self._capturing:
            self._ranges.pop()
            self._capturing = False

    def _enter(self, phase: Phase) -> None:
        with self._lock:
            self._phases.enter(phase, self._clock())
        self._session.enter_phase(phase)


def start(
    *,
    flops_per_step: float | None = None,
    tokens_per_step: float | None = None,
    peak_flops: float | None = None,
    model: str = "",
    gpu: str = "",
    global_batch: int | str = "",
    sequence_length: int | str = "",
    precision: str = "",
    parallelism: str = "",
    port: int | None = None,
    window_seconds: float | None = None,
) -> Probe:
    """Start watching this process and serve its metrics on `port` plus LOCAL_RANK (default 9400, or MFU_PROBE_PORT).

    `flops_per_step` (model FLOPs) and `tokens_per_step` (tokens) are this process's share of one step, `peak_flops`
    (FLOP/s) is the peak of its devices; without them the readings made of them are absent. `window_seconds` is the
    length of the sliding window (default 10, or MFU_PROBE_WINDOW_SECONDS). The other arguments are labels of
    `mfu_probe_info`. In a copy that is being profiled nothing is served. Steps are counted at the steps of torch's
    optimizer until the script tells them itself (`steps`, `step`). Raises ValueError for values that cannot be.
    """
    identity = RankIdentity.from_environment(os.environ)
    info = RunInfo(
        model=model,
        gpu=gpu,
        world_size=str(identity.world_size),
        global_batch=str(global_batch),
        sequence_length=str(sequence_length),
        precision=precision,
        parallelism=parallelism,
        rank=str(identity.rank),
        node=node_of(os.environ),
    )
    probe = Probe(
        flops_per_step=flops_per_step,
        tokens_per_step=tokens_per_step,
        peak_flops=peak_flops,
        info=info,
        window_seconds=window_seconds or float(os.environ.get(WINDOW_VARIABLE) or DEFAULT_WINDOW_SECONDS),
        capture=CapturePlan.from_environment(os.environ),
    )
    use_optimizer_hook(probe)
    if not probe.profiling:
        atexit.register(probe.close)
        base_port = port if port is not None else configured_port(os.environ)
        probe.serve(base_port + identity.local_rank)
    return probe


def _require_positive(**values: float | None) -> None:
    for name, value in values.items():
        if value is not None and value <= 0:
            raise ValueError(f"{name} must be positive, not {value}; leave it out when it is not known")
