"""Which adapter stands behind which port in the running operator."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from kubernetes.client import ApiClient, CustomObjectsApi

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.credentials_folder import CredentialsFolder
from mfu_operator.adapters.delivery.argocd import ArgoCD
from mfu_operator.adapters.delivery.flux import Flux
from mfu_operator.adapters.egress import Egress, egress_of
from mfu_operator.adapters.forges import AppTokens, Web, forge
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.scrape.pod_pages import HttpPages
from mfu_operator.adapters.scrape.sources import PodSources
from mfu_operator.cycle.adapters import Adapters
from mfu_operator.cycle.profiling.budgets import Budgets
from mfu_operator.measure.sources import SourcesByKind
from mfu_operator.measure.sweep import Sweep
from mfu_operator.model.baseline import Budget, MetricsSource
from mfu_operator.model.web_address import flaw
from mfu_operator.ports import Cluster, Credentials, MetricsSources
from mfu_operator.settings import Settings


def adapters_of(settings: Settings, api: ApiClient) -> Adapters:
    """The real adapters. The sweep is not started yet."""
    objects = CustomObjectsApi(api)
    cluster = KubernetesCluster(api)
    egress = egress_of(hosts_of(settings), settings.egress_refused, settings.laboratory, api.configuration.host)
    return Adapters(
        cluster=cluster,
        budgets=Budgets(Budget(settings.captures_per_day, settings.copy_gpu_minutes_per_day)),
        sweep=Sweep(sources_of(settings, cluster, egress), time.time, settings.sweep_interval_s, time.monotonic),
        deliveries={"Application": ArgoCD(objects), "Kustomization": Flux(objects)},
        repository=GitRepository(egress=egress),
        forge=partial(forge, web=Web(egress)),
        exchange=AppTokens(Web(egress)).exchange,
    )


def hosts_of(settings: Settings) -> tuple[str, ...]:
    """Those that an administrator named: in the list, and as the address of the operator's own Prometheus."""
    address = settings.prometheus_address
    own = urlsplit(address).hostname if address and not flaw(address) else None
    return (*([own] if own else []), *settings.egress_hosts)


def sources_of(settings: Settings, cluster: Cluster, egress: Egress) -> MetricsSources:
    """Prometheus with the operator's own credentials, and the pods themselves."""
    fleet = fleet_of(settings)
    prometheus = PrometheusSources(fleet, own_credentials(settings), egress=egress)
    return SourcesByKind(prometheus, PodSources(fleet, cluster.endpoints, HttpPages(egress=egress).fetch))


def own_credentials(settings: Settings) -> Callable[[], Credentials] | None:
    """Reads what the operator's own Prometheus wants; None where it wants nothing."""
    folder = settings.prometheus_credentials
    return CredentialsFolder(Path(folder), time.time) if folder else None


def fleet_of(settings: Settings) -> MetricsSource:
    """The operator's own Prometheus and names, for baselines that declare none."""
    return MetricsSource(
        address=settings.prometheus_address,
        tenant=settings.prometheus_tenant,
        profile=settings.metrics_profile,
        names=settings.metric_names,
        labels=settings.metric_labels,
    )
