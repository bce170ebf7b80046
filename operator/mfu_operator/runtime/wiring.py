"""Which adapter stands behind which port in the running operator."""

import time
from collections.abc import Callable
from pathlib import Path

from kubernetes.client import ApiClient, CustomObjectsApi

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.credentials_folder import CredentialsFolder
from mfu_operator.adapters.delivery.argocd import ArgoCD
from mfu_operator.adapters.delivery.flux import Flux
from mfu_operator.adapters.forges import forge
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.scrape import PodSources
from mfu_operator.model.baseline import MetricsSource
from mfu_operator.ports import Cluster, Credentials, MetricsSources
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.sources import SourcesByKind
from mfu_operator.runtime.sweep import Sweep
from mfu_operator.settings import Settings


def hands_of(settings: Settings, api: ApiClient) -> Hands:
    """The real adapters. The sweep is not started yet."""
    objects = CustomObjectsApi(api)
    cluster = KubernetesCluster(api)
    return Hands(
        cluster=cluster,
        sweep=Sweep(sources_of(settings, cluster), time.time, settings.sweep_interval_s),
        deliveries={"Application": ArgoCD(objects), "Kustomization": Flux(objects)},
        repository=GitRepository(),
        forge=forge,
    )


def sources_of(settings: Settings, cluster: Cluster) -> MetricsSources:
    """Prometheus with the operator's own credentials, and the pods themselves."""
    fleet = fleet_of(settings)
    return SourcesByKind(PrometheusSources(fleet, own_credentials(settings)), PodSources(fleet, cluster.endpoints))


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
