"""The front door of measuring: what the loop, the tick and the probes ask of it, and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from mfu_operator.measure.view import SweepView
from mfu_operator.model.baseline import Baseline, BaselineSpec
from mfu_operator.model.series import TimeSpan
from mfu_operator.model.verdict import Gate
from mfu_operator.ports import Credentials


class Measuring(Protocol):
    """Measures every baseline that is registered. No method but `stop` waits; any thread may call."""

    def register(
        self,
        key: str,
        spec: BaselineSpec,
        baseline: Baseline | None,
        *,
        credentials: Credentials | None = None,
        incident_since_s: float | None = None,
        recording_since_s: float | None = None,
        gated: Mapping[Gate, Sequence[TimeSpan]] | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Watch a baseline, or tell what changed about it; the same arguments twice change nothing.

        Args:
            key: names the baseline (its uid).
            spec: what it declares.
            baseline: the level in force; None while none is declared or recorded.
            credentials: of its metrics source. Where none can be opened with them, that of those before serves on.
            incident_since_s: the onset of the incident that is open in its status, None without one.
            recording_since_s: when the recording in progress began, None without one.
            gated: every span of these gates, for what is read from the history too; None while they are not known.
                A history that was read before is read again where they turn out to lie in it.
            facts: what the workload's object says about the run; readings of another than the baseline's do not count.
        """

    def forget(self, key: str) -> None:
        """Watch a baseline no longer; unknown ones are forgotten already."""

    def gate(self, key: str, gate: Gate, from_s: float, to_s: float | None = None) -> None:
        """Let readings of a span not count; `to_s` None: until told otherwise. The last span of a gate is in force."""

    def view(self, key: str, now_s: float) -> SweepView:
        """What is known of a baseline now."""

    @property
    def started_s(self) -> float | None:
        """When measuring began, seconds on a clock that nobody sets; None before `start`."""

    @property
    def finished_s(self) -> float | None:
        """When the last sweep ended, seconds on a clock that nobody sets; None before the first one did."""

    @property
    def alive(self) -> bool:
        """Whether it goes on, or was never started."""

    def start(self) -> None:
        """Measure until `stop`."""

    def stop(self, timeout_s: float = 30.0) -> None:
        """Finish the sweep in progress; safe without a start."""
