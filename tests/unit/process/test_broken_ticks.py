"""An error that nobody foresaw ends one tick of one baseline, is said in its status, and stops nothing else."""

import json
from typing import Any

import pytest

from mfu_operator.errors import Retry
from mfu_operator.process import telemetry
from mfu_operator.process.reconciler import Reconciler
from mfu_operator.process.ticking import LONGEST_WAIT_S
from tests.support import worlds
from tests.support.adapters_double import INTERVAL_S, Stage
from tests.support.stored_object import stored_object


class Trouble:
    """A loop over two baselines, the workload of one of which cannot be looked at."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.now_s = worlds.NOW_S
        self.raises: Exception | None = OverflowError("int too large to convert to float, token=t0ken")
        self.sick, self.sound = stored_object(profiling={"mode": "Never"}), stored_object(profiling={"mode": "Never"})
        self.sick["metadata"] |= {"name": "sick", "uid": "sick"}
        self.sick["spec"]["workload"]["name"] = "sick"
        for each in (self.sick, self.sound):
            self.stage.cluster.baselines["team-a", each["metadata"]["name"]] = each
        self._looked = self.stage.cluster.workload
        self.stage.cluster.workload = self._workload  # type: ignore[method-assign]
        self.looks: list[float] = []
        self.loop = Reconciler(
            self.stage.adapters,
            worlds.DEFAULTS,
            lambda: True,
            INTERVAL_S,
            clock=lambda: self.now_s,
            steady=lambda: self.now_s,
        )

    def _workload(self, ref: Any) -> Any:
        if ref.name == "sick":
            self.looks.append(self.now_s)
            if self.raises is not None:
                raise self.raises
        return self._looked(ref)

    def beat(self, after_s: float = 0.0) -> None:
        self.now_s += after_s
        for each in (self.sick, self.sound):
            self.loop.saw(json.loads(json.dumps(each)))
        self.loop.takes_part()
        self.loop.listen()
        for member in self.loop.fleet.begin(self.now_s, 16, 16):
            self.loop.ticked(member)

    def ready(self, of: dict[str, Any]) -> dict[str, Any]:
        (found,) = [each for each in of["status"]["conditions"] if each["type"] == "Ready"]
        return dict(found)


@pytest.fixture
def trouble() -> Trouble:
    return Trouble()


def test_it_is_said_in_the_status_and_told_once(trouble: Trouble) -> None:
    for _ in range(5):
        trouble.beat(INTERVAL_S)
    ready = trouble.ready(trouble.sick)
    assert (ready["status"], ready["reason"]) == ("False", "TickFailed")
    assert "OverflowError" in ready["message"]
    assert "t0ken" not in ready["message"]
    told = [event.reason for regarding, event in trouble.stage.cluster.events if regarding["name"] == "sick"]
    assert told == ["TickFailed"]


def test_its_event_leads_to_the_runbook_as_its_condition_does(trouble: Trouble) -> None:
    trouble.beat(INTERVAL_S)
    (event,) = [event for regarding, event in trouble.stage.cluster.events if regarding["name"] == "sick"]
    assert event.message == trouble.ready(trouble.sick)["message"]
    assert event.message.endswith("(https://runbooks.example/reasons.md#tickfailed)")


def test_it_stops_no_other_baseline(trouble: Trouble) -> None:
    trouble.beat()
    assert trouble.ready(trouble.sound)["reason"] == "Measuring"


def test_it_is_tried_again_later_and_later_whatever_the_sweep_says(trouble: Trouble) -> None:
    for _ in range(400):
        trouble.beat(5.0)
    pauses = [later - earlier for earlier, later in zip(trouble.looks, trouble.looks[1:], strict=False)]
    assert pauses[:6] == [15.0, 30.0, 60.0, 120.0, 240.0, LONGEST_WAIT_S]


def test_it_is_counted(trouble: Trouble) -> None:
    before = telemetry.BROKEN._value.get()
    trouble.beat()
    trouble.beat(INTERVAL_S)
    assert telemetry.BROKEN._value.get() == before + 2


def test_it_is_over_with_the_first_tick_that_ends(trouble: Trouble) -> None:
    trouble.beat()
    trouble.raises = None
    trouble.stage.cluster.workloads["Job", "team-a", "sick"] = worlds.workload()
    trouble.beat(INTERVAL_S)
    assert trouble.ready(trouble.sick)["reason"] == "Measuring"


def test_an_incident_and_the_other_conditions_outlive_it(trouble: Trouble) -> None:
    trouble.raises = None
    trouble.stage.cluster.workloads["Job", "team-a", "sick"] = worlds.workload()
    trouble.stage.sweep.says = worlds.regressed()
    trouble.beat()
    known = trouble.sick["status"]["incident"]
    trouble.raises = ZeroDivisionError()
    trouble.beat(INTERVAL_S)
    assert trouble.ready(trouble.sick)["reason"] == "TickFailed"
    assert trouble.sick["status"]["incident"] == known
    assert ("Regressed", "True") in [(each["type"], each["status"]) for each in trouble.sick["status"]["conditions"]]


def test_where_even_that_cannot_be_written_the_loop_goes_on(trouble: Trouble, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*_: object) -> None:
        raise Retry("ClusterUnreachable", "503")

    trouble.stage.cluster.write_status = refuse  # type: ignore[method-assign, assignment]
    trouble.beat()
    trouble.beat(INTERVAL_S)
    assert len(trouble.looks) == 2
    assert "was not written" in caplog.text
