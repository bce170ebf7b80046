"""A training run of four pods with a real torch on the cluster, which is captured while it trains.

torch is mounted from this machine: an image of it would be 0.8 GB to build and load for a run of minutes.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from string import Template
from typing import Any

from mfu_operator.model.account import StepAccount
from mfu_operator.trace import termination_message
from tests.cluster.cluster import Cluster
from tests.cluster.layout import NODE_NAME
from tests.cluster.process import await_condition
from tests.demo.environment import ROOT, Environment
from tests.demo.scenario import CONFIG, JOB, MANIFEST, Scenario
from tests.e2e.stories import kubectl_mfu
from tests.live.environment import python

HERE = Path(__file__).parent
RANKS = 4
TOKEN_SECRET = "mfu-capture"
PATIENCE_S = 600.0
AHEAD = 40
"""Steps between the writing of a change and the first step with it: every rank reads it in time."""


class LiveRun(Scenario):
    """The run, deployed by Argo CD and watched like the demo's."""

    def __init__(self, environment: Environment, namespace: str, mode: str = "PullRequest") -> None:
        super().__init__(environment, namespace, mode)
        assert isinstance(environment.cluster, Cluster), "torch is mounted from this machine"
        self.shared = environment.cluster.state / "volumes" / namespace
        values = {
            "image": environment.images["demo-workload"].reference,
            "checkpoints": environment.volume(namespace),
            "python": str(python()),
            "probe": str(ROOT / "operator"),
            "scripts": str(HERE / "scripts"),
            **_mounted(),
        }
        self._files[MANIFEST] = Template((HERE / "repository" / "job.yaml").read_text()).substitute(values)
        self._files[CONFIG] = (HERE / "repository" / "config.yaml").read_text()

    def deploy(self) -> str:
        """Make the capture token, and deploy."""
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": TOKEN_SECRET, "namespace": self.namespace},
            "stringData": {"token": "a-token-of-the-tests"},
        }
        self.environment.kubectl.apply(space, secret)
        self._advertise_storage()
        return super().deploy()

    def watch(self, token: str | None = None, **changes: Any) -> None:
        """Apply the baseline of this run."""
        own = {
            "comparable": {
                "model": "torch-ddp",
                "gpu": "cpu",
                "worldSize": RANKS,
                "globalBatch": RANKS * 8,
                "sequenceLength": 1,
            },
            "profiling": {"steps": 12, "warmupSteps": None},
        }
        super().watch(token, **(own | changes))

    def _advertise_storage(self) -> None:
        """The node of the tests does not count ephemeral storage, which the coordinating Job asks for."""
        patch = [{"op": "add", "path": "/status/capacity/ephemeral-storage", "value": "20Gi"}]
        self.environment.kubectl.run(
            "patch", "node", NODE_NAME, "--subresource=status", "--type=json", f"--patch={json.dumps(patch)}"
        )

    def uid(self) -> str:
        """Of the Job that runs now."""
        found = self.environment.kubectl.get("job", JOB, self.namespace) or {}
        return str(found["metadata"]["uid"])

    def step(self, rank: int = 0) -> int:
        """The step that a rank says it runs."""
        said = self.ask(rank)
        return int(said["step"])

    def ask(self, rank: int) -> Mapping[str, Any]:
        """What a rank answers to GET /capture."""
        command = ["curl", "-sf", "-m", "20", "-H", "Authorization: Bearer a-token-of-the-tests"]
        url = f"http://{self.address(rank)}:9400/capture"
        done = subprocess.run([*command, "--noproxy", "*", url], capture_output=True, text=True, check=True)
        said: Mapping[str, Any] = json.loads(done.stdout)
        return said

    def pod(self, rank: int) -> dict[str, Any]:
        """The running pod of a rank."""
        label = "batch.kubernetes.io/job-completion-index"
        return next(
            pod
            for pod in self.pods()
            if pod["metadata"]["labels"].get(label) == str(rank) and pod["status"].get("phase") == "Running"
        )

    def address(self, rank: int) -> str:
        """Of a rank's pod."""
        return str(self.pod(rank)["status"]["podIP"])

    def change(self, **what: Any) -> None:
        """Change the running job on all ranks at one step, and wait until they have done some with it."""
        plans = self.shared / "plans" / self.uid()
        plans.mkdir(parents=True, exist_ok=True)
        first = max(self.step(rank) for rank in range(RANKS)) + AHEAD
        (plans / f"from-{first}.json").write_text(json.dumps(what))
        await_condition(
            f"the change at step {first}",
            lambda: min(self.step(rank) for rank in range(RANKS)) > first + AHEAD // 2,
            timeout_s=PATIENCE_S,
        )

    def capture(self, *asked: str) -> StepAccount:
        """What `kubectl mfu capture` finds now, with these options."""
        image = self.environment.images["mfu-profiler"].reference
        said = kubectl_mfu(self, "capture", "--output=json", f"--image={image}", *asked)
        return termination_message.decode(said)

    def link(self, rank: int) -> str:
        """The node's end of the link of a rank's pod."""
        name = self.pod(rank)["metadata"]["name"]
        index = self.environment.kubectl.run(
            "exec", name, f"--namespace={self.namespace}", "--", "cat", "/sys/class/net/eth0/iflink"
        ).strip()
        lines = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout.splitlines()
        return next(line.split(":")[1].strip().split("@")[0] for line in lines if line.startswith(f"{index}:"))

    def serving(self) -> None:
        """Wait until every rank answers and knows how long its steps take."""
        await_condition("every rank to know its steps", self._serves, timeout_s=PATIENCE_S)

    def _serves(self) -> bool:
        with suppress(subprocess.CalledProcessError, StopIteration):
            return all(self.ask(rank)["stepSeconds"] is not None for rank in range(RANKS))
        return False


def _mounted() -> Mapping[str, str]:
    """The lines of the manifest that mount torch's interpreter and the probe at their own places."""
    venv = python().parents[1]
    places = [venv, ROOT / "operator"]
    if not sys.base_prefix.startswith("/usr"):
        places.append(Path(sys.base_prefix).resolve())
    mounts = (f'            - {{name: m{n}, mountPath: "{each}", readOnly: true}}' for n, each in enumerate(places))
    volumes = (f'        - {{name: m{n}, hostPath: {{path: "{each}"}}}}' for n, each in enumerate(places))
    return {"mounts": "\n".join(mounts), "volumes": "\n".join(volumes)}
