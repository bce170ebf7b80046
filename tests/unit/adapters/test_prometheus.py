"""Readings from what Prometheus answers."""

from dataclasses import replace
from urllib.parse import parse_qs

import httpx
import pytest

from mfu_operator.model.baseline import MetricsSource, Signal
from mfu_operator.model.series import Phase
from tests.support.prometheus_double import JOB, TARGET, Rows, answers, mfu_only, opened


def test_nan_and_infinity_are_no_readings() -> None:
    values = ("NaN", "+Inf", "no number")
    rows: Rows = [(TARGET | {"instance": value}, value) for value in values]
    assert opened(answers(mfu_only(rows))).latest([JOB], 1000.0) == {}


def test_a_pair_of_prometheus_servers_counts_once() -> None:
    rows: Rows = [(TARGET | {"prometheus_replica": str(index)}, "0.4") for index in range(2)]
    reading = opened(answers(mfu_only(rows))).latest([JOB], 1000.0)[JOB][0]
    assert reading.values == {Signal.MFU: 0.4}


def test_processes_of_one_pod_are_told_apart_by_their_instance() -> None:
    rows: Rows = [(TARGET | {"instance": f"10.0.0.1:940{index}"}, value) for index, value in enumerate(("0.4", "0.5"))]
    reading = opened(answers(mfu_only(rows))).latest([JOB], 1000.0)[JOB][0]
    assert reading.values[Signal.MFU] == pytest.approx(0.45)


def test_pods_that_were_last_scraped_long_ago_belong_to_an_earlier_run() -> None:
    old, new = TARGET | {"pod": "gpt-old"}, TARGET | {"pod": "gpt-new"}

    def rows(promql: str) -> Rows:
        if promql.startswith("timestamp("):
            return [(old, "800"), (new, "995")]
        return [(old, "0.5"), (new, "0.3")] if promql.startswith("mfu_probe_mfu_ratio") else []

    reading = opened(answers(rows)).latest([JOB], 1000.0)[JOB][0]
    assert reading.values[Signal.MFU] == 0.3
    assert (reading.time_s, reading.incarnation) == (995.0, "gpt-new")


def test_one_rank_in_a_checkpoint_gates_the_job() -> None:
    def rows(promql: str) -> Rows:
        if promql.startswith("mfu_probe_phase"):
            return [(TARGET | {"pod": f"gpt-{index}", "phase": phase}, "1") for index, phase in
                    enumerate(("running", "checkpoint", "running"))]  # fmt: skip
        return []

    assert opened(answers(rows)).latest([JOB], 1000.0)[JOB][0].phase is Phase.CHECKPOINT


def test_throughput_of_a_process_with_several_gpus_is_per_gpu() -> None:
    def rows(promql: str) -> Rows:
        if promql.startswith("mfu_probe_tokens"):
            return [(TARGET, "8000")]
        return [(TARGET | {"gpus": "8"}, "1")] if promql.startswith("mfu_probe_info") else []

    assert opened(answers(rows)).latest([JOB], 1000.0)[JOB][0].values[Signal.THROUGHPUT] == 1000.0


def test_of_a_pair_the_server_that_scraped_last_is_read() -> None:
    """One of the pair died three minutes ago: its last sample is repeated for five."""

    def rows(promql: str) -> Rows:
        pair = [TARGET | {"prometheus_replica": name} for name in ("alive", "dead")]
        if promql.startswith("timestamp("):
            return [(pair[0], "990"), (pair[1], "820")]
        return [(pair[0], "0.3"), (pair[1], "0.5")] if promql.startswith("mfu_probe_mfu_ratio") else []

    reading = opened(answers(rows)).latest([JOB], 1000.0)[JOB][0]
    assert (reading.values[Signal.MFU], reading.time_s) == (0.3, 990.0)


def test_steps_that_stand_still_have_no_seconds_per_step() -> None:
    source = MetricsSource(names={"stepTime": "steps_total"})
    rows = answers(lambda promql: [(TARGET, "+Inf")] if promql.startswith("1 / rate") else [])
    assert opened(rows, source).latest([JOB], 1000.0) == {}


def test_what_makes_readings_comparable_is_read_from_the_labels_that_are_named() -> None:
    rows: Rows = [(TARGET | {"bs": "512", "gpu": "0"}, "0.4")]
    source = MetricsSource(labels={"globalBatch": "bs"})
    assert opened(answers(mfu_only(rows)), source).latest([JOB], 1000.0)[JOB][0].info == {"global_batch": "512"}


def test_a_history_holds_the_runs_before_and_the_present_does_not() -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        promql = parse_qs(request.content.decode())["query"][0]
        asked.append(promql)
        seen = {"gpt-1": 100.0, "gpt-2": 900.0} if promql.startswith("mfu_probe_mfu_ratio") else {}
        rows = [{"metric": TARGET | {"job_name": name}, "values": [[at_s, "0.4"]]} for name, at_s in seen.items()]
        return httpx.Response(200, json={"status": "success", "data": {"resultType": "matrix", "result": rows}})

    run = replace(JOB, name="gpt-2", selector=(("app", "gpt"),), earlier=("gpt-1",))
    metrics = opened(httpx.MockTransport(handle))
    readings = metrics.history([run], 0.0, 1000.0, 30.0)[run]
    assert [each.time_s for each in readings] == [100.0, 900.0]
    assert all("gpt-1|gpt-2" in each for each in asked)
    assert "gpt-1" not in next(iter(metrics.queries([run])))[1]


def test_a_bare_pods_series_have_its_very_name() -> None:
    pod = replace(JOB, kind="Pod")
    rows: Rows = [({"namespace": "team-a", "pod": "gpt"}, "0.4")]
    assert opened(answers(mfu_only(rows))).latest([pod], 1000.0)[pod][0].values == {Signal.MFU: 0.4}
