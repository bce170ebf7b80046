"""Which adapter stands behind which port in the running operator."""

import time

from kubernetes.client import ApiClient, CustomObjectsApi

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.delivery.argocd import ArgoCD
from mfu_operator.adapters.delivery.flux import Flux
from mfu_operator.adapters.forges import forge
from mfu_operator.adapters.git import GitRepository
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.runtime.hands import Hands
from mfu_operator.runtime.sweep import Sweep
from mfu_operator.settings import Settings


def hands_of(settings: Settings, api: ApiClient) -> Hands:
    """The real adapters. The sweep is not started yet."""
    objects = CustomObjectsApi(api)
    sources = PrometheusSources(settings.prometheus_address)
    return Hands(
        cluster=KubernetesCluster(api),
        sweep=Sweep(sources, time.time, settings.sweep_interval_s),
        deliveries={"Application": ArgoCD(objects), "Kustomization": Flux(objects)},
        repository=GitRepository(),
        forge=forge,
    )
