"""A source of readings in memory, held to the same contract as the real one."""

from collections.abc import Callable, Mapping, Sequence

from mfu_operator.errors import MfuError
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.model.series import HardwareReading, Reading
from mfu_operator.model.vitals import Vitals
from mfu_operator.ports import Credentials, Metrics

_LOOK_BACK_S = 300.0


class MetricsDouble:
    """Answers from `table`; `fails` is raised instead while it is set, after `refuse`. `asked` notes the calls."""

    def __init__(self, table: Mapping[WorkloadRef, Sequence[Reading]] | None = None) -> None:
        self.table: dict[WorkloadRef, list[Reading]] = {key: list(rows) for key, rows in (table or {}).items()}
        self.fails: MfuError | None = None
        self.asked: list[tuple[str, int]] = []
        self.refuse: Callable[[], object] = lambda: None

    def add(self, workload: WorkloadRef, *readings: Reading) -> None:
        """The source has scraped these too."""
        self.table.setdefault(workload, []).extend(readings)

    def latest(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """The newest reading of each that is at most five minutes old."""
        self._note("latest", workloads)
        found = {}
        for workload in workloads:
            rows = [row for row in self.table.get(workload, []) if now_s - _LOOK_BACK_S < row.time_s <= now_s]
            if rows:
                found[workload] = (rows[-1],)
        return found

    def history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Reading, ...]]:
        """All readings of the span."""
        self._note("history", workloads)
        spans = {
            workload: tuple(row for row in self.table.get(workload, []) if start_s <= row.time_s <= end_s)
            for workload in workloads
        }
        return {workload: rows for workload, rows in spans.items() if rows}

    @property
    def measures_hardware(self) -> bool:
        """No, unless a test says so."""
        return False

    def hardware(
        self, workloads: Sequence[WorkloadRef], now_s: float
    ) -> Mapping[WorkloadRef, tuple[HardwareReading, ...]]:
        """Nothing."""
        return {}

    def vitals(self, workloads: Sequence[WorkloadRef], now_s: float) -> Mapping[WorkloadRef, Vitals]:
        """Nothing."""
        return {}

    def vitals_history(
        self, workloads: Sequence[WorkloadRef], start_s: float, end_s: float, step_s: float
    ) -> Mapping[WorkloadRef, tuple[Vitals, ...]]:
        """Nothing."""
        return {}

    def absence(self, workload: WorkloadRef) -> MfuError | None:
        """Nothing is in the way."""
        return None

    def _note(self, call: str, workloads: Sequence[WorkloadRef]) -> None:
        if self.fails is not None:
            self.refuse()
            raise self.fails
        self.asked.append((call, len(workloads)))


class SourcesDouble:
    """Opens the same double for every baseline, or one per address given."""

    def __init__(self, metrics: Metrics, by_address: Mapping[str, Metrics] | None = None) -> None:
        self._metrics = metrics
        self._by_address = by_address or {}
        self.refuses: MfuError | None = None

    def open(self, source: MetricsSource, credentials: Credentials | None) -> Metrics:
        """The double."""
        if self.refuses is not None:
            raise self.refuses
        return self._by_address.get(source.address or "", self._metrics)
