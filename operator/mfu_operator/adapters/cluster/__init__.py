"""The Kubernetes API behind the `Cluster` port, and the Lease that lets one of several replicas act."""

from mfu_operator.adapters.cluster.installation import cluster_id
from mfu_operator.adapters.cluster.kubernetes import KubernetesCluster, connect
from mfu_operator.adapters.cluster.lease import Leadership

__all__ = ["KubernetesCluster", "Leadership", "cluster_id", "connect"]
