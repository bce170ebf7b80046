"""Which cluster this is."""

from kubernetes import client

from mfu_operator.adapters.cluster.failures import translated
from mfu_operator.errors import Stall

REQUEST_TIMEOUT_S = 15.0

_ITS_OWN = "kube-system"
"""The one namespace that every cluster has and nobody makes again: its uid stands for the cluster's."""


def cluster_id(api: client.ApiClient) -> str:
    """The uid of the namespace kube-system, the same for every replica and release of a cluster.

    Raises:
        Retry, Stall: the API server could not be asked, or refused.
    """
    with translated(f"reading namespace {_ITS_OWN}"):
        found = client.CoreV1Api(api).list_namespace(
            field_selector=f"metadata.name={_ITS_OWN}", limit=1, _request_timeout=REQUEST_TIMEOUT_S
        )
    ids = [item.metadata.uid for item in found.items if item.metadata is not None]
    if not ids:
        raise Stall(
            "InvalidSetting", f"no namespace {_ITS_OWN} is there whose uid names this cluster: set MFU_INSTALLATION"
        )
    return str(ids[0])
