"""Many pages at once: none holds up the others."""

import threading
from collections import Counter
from dataclasses import replace

from mfu_operator.adapters.metric_names import names_of
from mfu_operator.adapters.scrape.fair_queue import AT_ONCE, OF_ONE_WORKLOAD
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.adapters.scrape.sources import PodMetrics
from mfu_operator.model.baseline import MetricsSource, PodScrape, Signal, WorkloadRef
from mfu_operator.model.workload import PodEndpoint
from tests.support.metrics_page import TEXT
from tests.support.pods_double import JOB, PROBE


def test_pages_that_hang_do_not_hold_up_the_others() -> None:
    released = threading.Event()

    def fetch(target: Target) -> tuple[str, str]:
        if target.pod == "silent":
            released.wait(30)
        return TEXT, PROBE

    endpoints = (PodEndpoint("silent", "10.0.0.1"), PodEndpoint("gpt-0", "10.0.0.2"))
    names = names_of(MetricsSource())
    metrics = PodMetrics(PodScrape((9400,)), names, lambda refs: {JOB: endpoints}, fetch=fetch, deadline_s=2.0)
    try:
        reading = metrics.latest([JOB], 1000.0)[JOB][0]
    finally:
        released.set()
    assert reading.incarnation == "gpt-0"


class Together:
    """Pages that are answered once `count` are being read at the same time; `most` were, by workload and in all."""

    def __init__(self, count: int) -> None:
        self._begun = threading.Barrier(count)
        self._lock = threading.Lock()
        self._now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def fetch(self, target: Target) -> tuple[str, str]:
        who = target.workload.name
        with self._lock:
            self._now.update((who, "all"))
            self.most |= self._now
        self._begun.wait(60)
        with self._lock:
            self._now.subtract((who, "all"))
        return TEXT, PROBE


def running(*jobs: str, pods: int) -> dict[WorkloadRef, tuple[PodEndpoint, ...]]:
    return {
        replace(JOB, name=job): tuple(PodEndpoint(f"{job}-{pod}", f"10.0.{index}.{pod}") for pod in range(pods))
        for index, job in enumerate(jobs)
    }


def test_at_most_so_many_pages_are_asked_for_at_once() -> None:
    together, found = Together(AT_ONCE), running("a", "b", "c", "d", "e", "f", pods=AT_ONCE // 2)
    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=together.fetch)
    looks = metrics.looks(list(found))
    assert (len(looks), {look.problem for look in looks}) == (3 * AT_ONCE, {None})
    assert together.most["all"] == AT_ONCE


def test_one_job_may_not_take_all_turns() -> None:
    together, found = Together(OF_ONE_WORKLOAD), running("a", pods=2 * OF_ONE_WORKLOAD)
    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=together.fetch)
    assert len(metrics.looks(list(found))) == 2 * OF_ONE_WORKLOAD
    assert together.most["a"] == OF_ONE_WORKLOAD


def test_a_job_none_of_whose_many_pods_answers_holds_up_no_other() -> None:
    released, found = threading.Event(), running("silent", "good", pods=2 * AT_ONCE)

    def fetch(target: Target) -> tuple[str, str]:
        if target.workload.name == "silent":
            released.wait(30)
        return TEXT, PROBE

    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=fetch, deadline_s=2.0)
    try:
        looks = metrics.looks(list(found))
    finally:
        released.set()
    assert sum(look.problem is None for look in looks) == 2 * AT_ONCE
    assert {look.target.workload.name for look in looks if look.problem is None} == {"good"}


def test_a_page_whose_last_request_is_still_open_is_not_asked_for_again() -> None:
    released, asked = threading.Event(), list[str]()

    def fetch(target: Target) -> tuple[str, str]:
        asked.append(target.pod)
        released.wait(30)
        return TEXT, PROBE

    found = running("a", pods=1)
    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=fetch, deadline_s=0.1)
    try:
        (first,), (second,) = metrics.looks(list(found)), metrics.looks(list(found))
    finally:
        released.set()
    assert asked == ["a-0"]
    assert first.problem is not None
    assert second.problem is not None
    assert "has not answered since the last sweep" in second.problem.message


def test_two_baselines_of_one_pod_share_its_page() -> None:
    asked, tokens = list[str](), [0]

    def fetch(target: Target) -> tuple[str, str]:
        asked.append(target.url)
        tokens[0] += 30_000
        return TEXT, f"tokens_total {tokens[0]}\n"

    side = replace(JOB, container="side")
    names = names_of(MetricsSource(names={"throughput": "tokens_total", "mfu": ""}))
    now = [1000.0]
    pod = PodEndpoint("gpt-0", "10.0.0.1")
    found = {JOB: (pod,), side: (pod,)}
    metrics = PodMetrics(PodScrape((9400,)), names, lambda refs: found, lambda: now[0], fetch)
    for _ in range(2):
        now[0] += 30
        latest = metrics.latest([JOB, side], now[0])
    assert len(asked) == 2
    assert [latest[ref][0].values for ref in (JOB, side)] == [{Signal.THROUGHPUT: 1000.0}] * 2


def test_namespaces_whose_many_pages_hang_hold_up_no_other() -> None:
    """Each page of a hostile one hangs for as long as it may, and there are more of them than a sweep can ask for."""
    released, good = threading.Event(), replace(JOB, namespace="team-z", name="good")
    hostile = {
        replace(JOB, namespace=f"hostile-{space}", name=f"job-{job}"): tuple(
            PodEndpoint(f"hostile-{space}-{job}-{pod}", f"10.{space}.{job}.{pod}") for pod in range(4)
        )
        for space in range(AT_ONCE // 4)
        for job in range(AT_ONCE)
    }
    found = hostile | {good: (PodEndpoint("good-0", "10.99.0.1"),)}

    def fetch(target: Target) -> tuple[str, str]:
        if target.workload != good:
            released.wait(30)
        return TEXT, PROBE

    metrics = PodMetrics(PodScrape((9400,)), names_of(MetricsSource()), lambda refs: found, fetch=fetch, deadline_s=2.0)
    try:
        looks = metrics.looks(list(found))
    finally:
        released.set()
    assert [look.target.workload for look in looks if look.problem is None] == [good]
