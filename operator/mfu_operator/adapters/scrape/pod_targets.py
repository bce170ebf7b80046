"""Which pages of a pod are asked for. What a pod's annotations say is a tenant's text: it is checked, not believed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mfu_operator.errors import MfuError, Wait
from mfu_operator.model.baseline import PodScrape, WorkloadRef
from mfu_operator.model.whole_number import whole_number
from mfu_operator.model.workload import PodEndpoint

LAST_PORT = 65_535
LONGEST_PATH = 1024
"""Characters; a page's path has a dozen."""

_PORT, _PATH, _SCRAPE = "prometheus.io/port", "prometheus.io/path", "prometheus.io/scrape"
_PORT_NAME = "metrics"
_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Target:
    """One page of one pod of a workload."""

    workload: WorkloadRef
    pod: str
    ip: str
    port: int
    path: str

    @property
    def instance(self) -> str:
        """What tells processes of one pod apart: address and port, as Prometheus has it."""
        host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{self.instance}{self.path}"

    @property
    def page(self) -> tuple[str, str, str]:
        """Equal for targets that are one page, of one pod, for several baselines."""
        return self.workload.namespace, self.pod, self.url


def targets_of(workload: WorkloadRef, endpoint: PodEndpoint, scrape: PodScrape) -> tuple[Target, ...]:
    """The pages of a pod: the declared ports, else its annotation, else its container ports called metrics…

    None where the path cannot be one.
    """
    path = _path(endpoint, scrape)
    if path is None:
        return ()
    return tuple(Target(workload, endpoint.name, endpoint.ip, port, path) for port in _ports(endpoint, scrape))


def no_target(workload: WorkloadRef, endpoints: Sequence[PodEndpoint], scrape: PodScrape) -> MfuError:
    """Why no page of a workload can be asked for."""
    who = f"{workload.kind} {workload.namespace}/{workload.name}"
    if not endpoints:
        return Wait("NoSeries", f"no pod of {who} runs")
    odd = next((each for each in endpoints if _path(each, scrape) is None), None)
    if odd is not None:
        return Wait(
            "NoMetricsPort",
            f"the path of pod {odd.name} of {who} is invalid: correct metrics.pods.path or the annotation {_PATH} "
            f"(at most {LONGEST_PATH} printable ASCII characters without spaces)",
        )
    wanted = ", ".join(str(port) for port in scrape.ports)
    if wanted:
        return Wait("NoMetricsPort", f"no pod of {who} has a container port of the name {wanted}")
    return Wait(
        "NoMetricsPort",
        f"pod {endpoints[0].name} of {who} does not say where its metrics are: write metrics.pods.ports, annotate it "
        f'with {_PORT} (1 to {LAST_PORT}), or call a container port "{_PORT_NAME}"',
    )


def _path(endpoint: PodEndpoint, scrape: PodScrape) -> str | None:
    path = scrape.path or endpoint.annotations.get(_PATH) or "/metrics"
    if len(path) > LONGEST_PATH or not _PRINTABLE.fullmatch(path):
        return None
    return path if path.startswith("/") else f"/{path}"


def _ports(endpoint: PodEndpoint, scrape: PodScrape) -> Iterator[int]:
    if scrape.ports:
        for wanted in scrape.ports:
            port = endpoint.ports.get(wanted) if isinstance(wanted, str) else wanted
            if port is not None:
                yield port
        return
    if endpoint.annotations.get(_SCRAPE) == "false":
        return
    annotated = whole_number(endpoint.annotations.get(_PORT, ""))
    if annotated is not None and 1 <= annotated <= LAST_PORT:
        yield annotated
        return
    yield from (port for name, port in sorted(endpoint.ports.items()) if name.startswith(_PORT_NAME))
