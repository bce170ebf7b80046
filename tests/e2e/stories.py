"""The stories that the end-to-end tests look at: side by side on one cluster, each in a namespace of its own."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.layout import NODE_NAME
from tests.cluster.process import await_condition, output_of
from tests.demo.environment import OPERATOR_NAMESPACE, ROOT, Environment
from tests.demo.scenario import Scenario
from tests.demo.story import Story, has_diagnosis, has_incident, is_settled, tell

WRONG_TOKEN = "not-the-token"

PATIENCE_S = 600.0
"""For whatever is awaited: nothing here is about how fast the machine is."""


@dataclass
class Seen:
    """What a story left behind, read before its namespace goes."""

    scenario: Scenario
    status: Mapping[str, Any] = field(default_factory=dict)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    pods: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    pull_requests: list[dict[str, Any]] = field(default_factory=list)

    def look(self) -> None:
        """Read everything that tests ask about."""
        self.status = self.scenario.status()
        self.jobs = self.scenario.jobs()
        self.pods = self.scenario.pods()
        self.events = self.scenario.events()
        self.messages = self.scenario.messages()
        self.branches = self.scenario.branches()
        self.pull_requests = self.scenario.pull_requests()


@dataclass
class MainJob(Seen):
    """The whole main job, with the leading operator pod killed in the middle of the incident and a second replica."""

    story: Story | None = None
    deposed: str = ""
    trainer_before_profile: tuple[str, ...] = ()
    trainer_after_profile: tuple[str, ...] = ()
    table: str = ""
    described: str = ""
    told: str = ""
    explained: str = ""
    branch_config: str = ""
    pull_request: Mapping[str, Any] = field(default_factory=dict)


def main_job(environment: Environment, after_the_deposition: Callable[[], None]) -> MainJob:
    """Tell the demo's story; kill the leader once the incident is open and told, and then say so."""
    scenario = Scenario(environment, "main-job")
    seen = MainJob(scenario)

    def in_the_middle() -> None:
        scenario.await_event("Regressed", timeout_s=60)
        seen.trainer_before_profile = _trainers(scenario)
        seen.deposed = depose(environment)
        after_the_deposition()

    def once_proposed() -> None:
        seen.trainer_after_profile = _trainers(scenario)
        scenario.await_event("Proposed", timeout_s=60)
        baseline = ("tb", scenario.baseline, f"--namespace={scenario.namespace}")
        seen.table = environment.kubectl.run("get", *baseline)
        seen.described = environment.kubectl.run("describe", *baseline)
        seen.told, seen.explained = (kubectl_mfu(scenario, command) for command in ("status", "explain"))

    story = tell(scenario, {"regressed": in_the_middle, "proposed": once_proposed})
    seen.story = story
    seen.look()
    seen.pull_request = scenario.pull_request(int(story.pull_request["number"]))
    seen.branch_config = scenario.config_at(str(story.pull_request["head"]["sha"]))
    return seen


@dataclass
class QuietJob(Seen):
    """Nothing happens to it but dips. `least_running_ratio`: of any reading's window, by which the dips are known.

    `pages`: the same run as a second baseline sees it, which reads the pods' own metrics pages.
    """

    least_running_ratio: float = 1.0
    pages: Scenario | None = None


def quiet_job(environment: Environment) -> QuietJob:
    """A job that only has dips, and a commit of no importance."""
    scenario = Scenario(environment, "quiet-job")
    pages = Scenario(environment, "quiet-job", mode="Observe", baseline="gpt-small-pages")
    scenario.deploy()
    scenario.watch()
    pages.watch(metrics={"pods": {}}, profiling={"mode": "Never"})
    scenario.await_status("the healthy profile", is_settled, timeout_s=PATIENCE_S)
    harmless = scenario.commit("Log less often", lambda text: text.replace("every_steps: 200", "every_steps: 250"))
    scenario.synced(harmless)
    scenario.await_status(
        "the harmless revision to be known as good",
        lambda status: status.get("knownGood", {}).get("revision") == harmless,
        timeout_s=PATIENCE_S,
    )
    seen = QuietJob(scenario, pages=pages)
    seen.look()
    ratio = f'min_over_time(mfu_probe_window_running_ratio{{namespace="{scenario.namespace}"}}[20m])'
    seen.least_running_ratio = min(float(row["value"][1]) for row in environment.prometheus.query(ratio))
    return seen


@dataclass
class CarefulJob(Seen):
    """A regression under mode Observe, then under DryRun with a token that is refused, then with the right one."""

    off: Seen | None = None
    refused: Mapping[str, Any] = field(default_factory=dict)


def careful_job(environment: Environment) -> CarefulJob:
    """Regress under Observe; then ask for a dry run."""
    scenario = Scenario(environment, "careful-job", mode="Observe")
    scenario.deploy()
    scenario.watch()
    scenario.await_status("the healthy profile", is_settled, timeout_s=PATIENCE_S)
    scenario.synced(scenario.regress().elsewhere)
    scenario.await_status("the incident", has_incident, timeout_s=PATIENCE_S)
    scenario.await_status("the diagnosis", has_diagnosis, timeout_s=PATIENCE_S)
    scenario.await_status("the confirmation", lambda status: "confirmedAt" in status["incident"], timeout_s=PATIENCE_S)
    seen = CarefulJob(scenario, off=Seen(scenario))
    assert seen.off is not None
    seen.off.look()
    scenario.mode = "DryRun"
    scenario.watch(token=WRONG_TOKEN)
    seen.refused = scenario.await_status("the refusal", _is("ProposalFailed", "RepositoryAccessDenied"), PATIENCE_S)
    scenario.watch()
    scenario.await_status("the dry run", lambda status: "proposal" in status["incident"], timeout_s=PATIENCE_S)
    seen.look()
    return seen


TRAINER = "trainer"
"""The training container, in the run's pod and in its copy."""

DEVICE = "example.com/accelerator"
"""An extended resource that the tests advertise on the node: GPUs are asked for in the same way."""


SHORT_S = 20
"""The deadline of a profiling Job that is to wait in vain."""

UNHURRIED_STEPS = 400
"""Before the recording of the Job that is evicted while it runs: some eight seconds, in which two commands have to
reach its pod."""

LOW = {"record": None, "values": {"mfu": 0.03}}
"""A level that the job holds however many stories run beside it: nothing is to be found out about its speed."""


@dataclass
class HinderedJob(Seen):
    """A healthy job whose profiling pod finds no free device, then is evicted, then records."""

    unschedulable: Mapping[str, Any] = field(default_factory=dict)
    never_scheduled: Mapping[str, Any] = field(default_factory=dict)
    writing: str = ""
    evicted: Mapping[str, Any] = field(default_factory=dict)


def hindered_job(environment: Environment) -> HinderedJob:
    """The training job holds the only device; a second one comes once a profiling Job has waited in vain."""
    advertise(environment, 1)
    scenario = Scenario(environment, "hindered-job", mode="Observe", devices={DEVICE: "1"})
    seen = HinderedJob(scenario)
    scenario.deploy()
    scenario.watch(profiling={"deadline": f"{SHORT_S}s"}, baseline=LOW)
    seen.unschedulable = scenario.await_status("a Job without a node", _fails("JobUnschedulable"), PATIENCE_S)
    seen.never_scheduled = scenario.await_status("its deadline", never_scheduled, PATIENCE_S)
    scenario.watch(profiling={"warmupSteps": UNHURRIED_STEPS}, baseline=LOW)
    await_condition("a profiling Job that has time", lambda: has_time(scenario), PATIENCE_S)
    advertise(environment, 2)
    pod = recording_pod(scenario)
    seen.writing = write_to_the_runs_volume(scenario, pod)
    evict(scenario, pod)
    seen.evicted = scenario.await_status("the eviction told", _fails("JobEvicted"), PATIENCE_S)
    scenario.await_status("the healthy profile", is_settled, timeout_s=PATIENCE_S)
    seen.look()
    return seen


def never_scheduled(status: Mapping[str, Any]) -> bool:
    """A Job's deadline is over before a node was found for it. The next attempt follows at once."""
    return "failure" in status["healthyProfile"] and _fails("JobUnschedulable")(status)


def has_time(scenario: Scenario) -> bool:
    """A profiling Job waits that no short deadline will end in the middle of its recording."""
    return any(job["spec"]["activeDeadlineSeconds"] > SHORT_S for job in scenario.jobs())


def advertise(environment: Environment, amount: int) -> None:
    """Let the node have this many devices, as a device plugin would."""
    path = f"/status/capacity/{DEVICE.replace('/', '~1')}"
    patch = json.dumps([{"op": "add", "path": path, "value": str(amount)}])
    environment.kubectl.run("patch", "node", NODE_NAME, "--subresource=status", "--type=json", f"--patch={patch}")


def evict(scenario: Scenario, pod: str) -> None:
    """Evict a pod as draining its node would."""
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": scenario.namespace},
    }
    path = f"/api/v1/namespaces/{scenario.namespace}/pods/{pod}/eviction"
    scenario.environment.kubectl.run("create", f"--raw={path}", "--filename=-", stdin_text=json.dumps(eviction))


def write_to_the_runs_volume(scenario: Scenario, pod: str) -> str:
    """Try to write where the run keeps its checkpoints, from the copy of its container; what the shell said."""
    command = "touch /checkpoints/from-the-copy 2>&1 || true"
    return scenario.environment.kubectl.run(
        "exec", pod, f"--namespace={scenario.namespace}", f"--container={TRAINER}", "--", "sh", "-c", command
    )


def recording_pod(scenario: Scenario) -> str:
    """The profiling pod whose copy of the training container runs; waits for it."""

    def recording() -> list[str]:
        return [pod["metadata"]["name"] for pod in scenario.profiling_pods() if _records(pod)]

    await_condition("a profiling pod that records", lambda: bool(recording()), timeout_s=PATIENCE_S)
    return recording()[0]


def _records(pod: Mapping[str, Any]) -> bool:
    copies = [each for each in pod["status"].get("initContainerStatuses", []) if each["name"] == TRAINER]
    return "deletionTimestamp" not in pod["metadata"] and any("running" in each["state"] for each in copies)


def _fails(reason: str) -> Callable[[Mapping[str, Any]], bool]:
    return _is("ProfilingFailed", reason)


def _is(kind: str, reason: str) -> Callable[[Mapping[str, Any]], bool]:
    """A condition is True for this reason."""
    return lambda status: (
        (kind, "True", reason)
        in [(each["type"], each["status"], each["reason"]) for each in status.get("conditions", [])]
    )


def kubectl_mfu(scenario: Scenario, command: str, *options: str) -> str:
    """What a command of `kubectl mfu` about the baseline prints on this machine, outside the cluster."""
    argv = [sys.executable, "-m", "mfu_operator", command, scenario.baseline, f"--namespace={scenario.namespace}"]
    environment = {
        "KUBECONFIG": str(scenario.environment.cluster.kubeconfig),
        "KUBECACHEDIR": str(ROOT / "build" / "kubectl-cache"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "operator"),
    }
    return output_of([*argv, *options], env=environment)


def depose(environment: Environment) -> str:
    """Kill the operator pod that leads, without grace, and wait until the other one leads; the deposed pod's name."""

    def holder() -> str:
        lease = environment.kubectl.get("leases.coordination.k8s.io", "mfu-operator", OPERATOR_NAMESPACE) or {}
        return str(lease.get("spec", {}).get("holderIdentity", ""))

    deposed = holder()
    environment.kubectl.run(
        "delete", "pod", deposed, f"--namespace={OPERATOR_NAMESPACE}", "--grace-period=0", "--force", "--wait=false"
    )
    await_condition("another operator pod to lead", lambda: holder() not in ("", deposed), PATIENCE_S)
    return deposed


def _trainers(scenario: Scenario) -> tuple[str, ...]:
    """The run's pods that are running, with their restarts."""
    running = [pod for pod in scenario.pods() if pod["status"].get("phase") == "Running"]
    return tuple(sorted(f"{pod['metadata']['name']} restarted {_restarts(pod)} times" for pod in running))


def _restarts(pod: Mapping[str, Any]) -> int:
    return sum(int(each["restartCount"]) for each in pod["status"].get("containerStatuses", []))
