"""What is remembered of the memory and the streaks of one job."""

from collections.abc import Iterable, Sequence
from threading import Lock

from mfu_operator.detect.vitals import VitalSigns
from mfu_operator.model.baseline import Detection, Watch
from mfu_operator.model.series import Reading
from mfu_operator.model.vitals import Symptom, Vitals


class VitalsRecord:
    """The vital signs of one job. Any thread may call; a job that is registered again goes on with the same record."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._signs = VitalSigns()
        self._remembers = False

    @property
    def remembers(self) -> bool:
        """Whether the history of its memory was read, so that its symptoms mean something."""
        return self._remembers

    def read(self, readings: Iterable[Reading]) -> None:
        """Take the phase and the step counter of readings, oldest first."""
        with self._lock:
            for reading in readings:
                self._signs.read(reading)

    def remember(self, history: Sequence[Vitals], watch: Watch) -> None:
        """Take the floors of the past, oldest first, as far as the source has them."""
        with self._lock:
            self._signs.remember(history, watch)
            self._remembers = True

    def look(self, vitals: Vitals, watch: Watch) -> None:
        """Take one more look."""
        with self._lock:
            self._signs.look(vitals, watch)

    def symptoms(
        self, watch: Watch, detection: Detection, step_s: float | None, now_s: float
    ) -> tuple[Symptom, ...] | None:
        """What is wrong now; None while that is not known yet. Arguments as for `VitalSigns.symptoms`."""
        with self._lock:
            return self._signs.symptoms(watch, detection, step_s, now_s) if self._remembers else None
