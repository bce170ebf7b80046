"""The Prometheus that a command asks, and what it is shown. A secret comes from a Secret, a file or the environment,
never from an argument: those are everybody's to read."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path

import click

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.credentials_folder import CredentialsFolder
from mfu_operator.adapters.prometheus import PrometheusMetrics, PrometheusSources
from mfu_operator.cli.connection import connected
from mfu_operator.cycle.credentials import source_credentials
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import BaselineSpec, MetricsSource
from mfu_operator.ports import Credentials
from mfu_operator.process.wiring import own_credentials
from mfu_operator.settings import from_environment

TOKEN_VARIABLE = "MFU_PROMETHEUS_TOKEN"  # noqa: S105 - a variable's name


@dataclass(frozen=True, slots=True)
class Asked:
    """What the arguments say of the Prometheus; None: what the baseline says, or the operator's settings."""

    address: str | None = None
    tenant: str | None = None
    folder: Path | None = None


def prometheus_options(about: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add `--prometheus` (`about` says what for), `--tenant` and `--credentials`; the command gets them as `asked`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_asked(
            *arguments: object,
            prometheus: str | None,
            tenant: str | None,
            credentials: Path | None,
            **named: object,
        ) -> None:
            command(*arguments, asked=Asked(prometheus, tenant, credentials), **named)

        folder = click.Path(exists=True, file_okay=False, path_type=Path)
        for option in (
            click.option("--credentials", metavar="FOLDER", type=folder,
                         help="Its files are sent to the Prometheus, named as in its Secrets: token, or username and "
                              "password; ca.crt; tls.crt and tls.key."),
            click.option("--tenant", help="of a Mimir, Cortex or Thanos; default: the baseline's."),
            click.option("--prometheus", metavar="URL", help=f"{about} Bearer token: {TOKEN_VARIABLE}."),
        ):  # fmt: skip
            with_asked = option(with_asked)
        return with_asked

    return decorate


def opened(spec: BaselineSpec, fleet: MetricsSource, asked: Asked) -> PrometheusMetrics:
    """The baseline's Prometheus with what it is shown, as the operator opens it.

    Without `asked.folder`, the Secrets that the baseline names are read with the caller's own rights; to an address
    that he names himself, they are sent whatever address they are for.

    Raises:
        Stall: (NoPrometheus) nobody here says where it is; and what reading the Secrets raises.
    """
    declared = spec.metrics
    source = replace(declared, address=asked.address or declared.address, tenant=asked.tenant or declared.tenant)
    if not (source.address or fleet.address):
        raise Stall(
            "NoPrometheus",
            "the baseline names no Prometheus, and the operator's own is not known outside of it: name one as seen "
            "from here with --prometheus URL (kubectl port-forward), or set MFU_PROMETHEUS_ADDRESS",
        )
    own = None if asked.folder is not None else own_credentials(from_environment())
    credentials = _credentials(spec, asked)
    metrics = PrometheusSources(fleet, own).open(source, credentials)
    assert isinstance(metrics, PrometheusMetrics)
    return metrics


def _credentials(spec: BaselineSpec, asked: Asked) -> Credentials | None:
    token = os.environ.get(TOKEN_VARIABLE)
    found = _given(spec, asked.folder)
    if found is not None and asked.address is not None:
        found = replace(found, bound=())
    return replace(found or Credentials(), username=None, password=token) if token else found


def _given(spec: BaselineSpec, folder: Path | None) -> Credentials | None:
    if folder is not None:
        return CredentialsFolder(folder, time.time)()
    source = spec.metrics
    if not any((source.secret, source.ca, source.certificate)):
        return None
    return source_credentials(KubernetesCluster(connected()), spec.workload.namespace, source)
