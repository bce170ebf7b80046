"""The quiet job's run after its story: one loader worker stops, and later a commit makes the loss NaN.

Two baselines watch it: one reads the operator's Prometheus, the other the pods' own metrics pages.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.demo.scenario import JOB, Scenario
from tests.e2e.stories import PATIENCE_S, TRAINER, QuietJob, Seen, kubectl_mfu

Status = Mapping[str, Any]

TRAINERS_CHILDREN = "/proc/1/task/1/children"
"""In the training container, where the training program is process 1: its loader's workers."""


@dataclass(frozen=True)
class Told:
    """One thing as both baselines' statuses told it."""

    by_prometheus: Status
    by_pages: Status


@dataclass(frozen=True)
class AilingJob:
    """What both baselines and `kubectl mfu doctor` said of it, and what was there in the end."""

    healthy: Told
    doctor_of_prometheus: str
    doctor_of_pages: str
    hung: Told
    moving: Told
    slip: str
    not_learning: Told
    by_prometheus: Seen
    by_pages: Seen


def ailing_job(quiet: QuietJob, until_the_operator_stays: Callable[[], object]) -> AilingJob:
    """Ask the doctor, stop a loader worker and let it go on, then raise the learning rate a millionfold."""
    scenario, pages = quiet.scenario, quiet.pages
    assert pages is not None

    def told(what: str, check: Callable[[Status], bool]) -> Told:
        """Both are awaited at once: what one of them says may be over when the other comes to say it."""
        with ThreadPoolExecutor(2) as pool:
            by_prometheus = pool.submit(scenario.await_status, f"{what} by Prometheus", check, PATIENCE_S)
            by_pages = pool.submit(pages.await_status, f"{what} by the pods' pages", check, PATIENCE_S)
        return Told(by_prometheus.result(), by_pages.result())

    until_the_operator_stays()
    healthy = told("a healthy verdict", is_well)
    doctor_of_prometheus = kubectl_mfu(scenario, "doctor", f"--prometheus={scenario.environment.prometheus.url}")
    doctor_of_pages = kubectl_mfu(pages, "doctor")
    signal_a_loader_worker(scenario, "STOP")
    hung = told("the hang", hangs)
    signal_a_loader_worker(scenario, "CONT")
    moving = told("the end of the hang", is_waited_for)
    slip = scenario.commit("Train faster", lambda text: text.replace("learning_rate: 0.003", "learning_rate: 3.0e+3"))
    scenario.synced(slip)
    not_learning = told("the lost loss, at full speed", is_fast_and_lost)
    seen = seen_now(scenario), seen_now(pages)
    end(scenario)
    return AilingJob(
        healthy,
        doctor_of_prometheus,
        doctor_of_pages,
        hung,
        moving,
        slip,
        not_learning,
        *seen,
    )


def end(scenario: Scenario) -> None:
    """Let nobody pay for a run whose loss is lost, and the stories beside it have its processor."""
    scenario.environment.kubectl.run(
        "patch", "job", JOB, f"--namespace={scenario.namespace}", "--type=merge", '--patch={"spec":{"suspend":true}}'
    )


def seen_now(scenario: Scenario) -> Seen:
    """Everything that tests ask about, as it is now."""
    seen = Seen(scenario)
    seen.look()
    return seen


def is_well(status: Status) -> bool:
    """A healthy verdict that nothing gates, and no symptom."""
    judgement = status.get("judgement", {})
    return judgement.get("verdict") == "Healthy" and not judgement.get("gates") and not status.get("symptoms")


def is_waited_for(status: Status) -> bool:
    """There is no symptom, and readings are not compared with the run yet. A neighbour's profile on the node is another
    gate, and puts this one off."""
    return not status.get("symptoms") and status["judgement"].get("gates") == ["Restarting"]


def hangs(status: Status) -> bool:
    """The hang is a symptom and the verdict: of one tick, or of the next."""
    return ails("Hung")(status) and status["judgement"]["reason"] == "Hung"


def is_fast_and_lost(status: Status) -> bool:
    """The loss is NaN, and the run that was restarted is measured again."""
    return ails("LossNotFinite")(status) and status["judgement"]["verdict"] == "Healthy"


def ails(reason: str) -> Callable[[Status], bool]:
    """A symptom of this reason is in the status."""
    return lambda status: any(each["reason"] == reason for each in status.get("symptoms", []))


def signal_a_loader_worker(scenario: Scenario, name: str) -> None:
    """Send a signal to the first of the loader's workers: one that is stopped is as one whose storage blocks."""
    [pod] = [each["metadata"]["name"] for each in scenario.pods()]
    command = f"kill -{name} $(cut -d' ' -f1 {TRAINERS_CHILDREN})"
    container = f"--container={TRAINER}"
    scenario.environment.kubectl.run(
        "exec", pod, f"--namespace={scenario.namespace}", container, "--", "sh", "-c", command
    )
