"""What the cluster and its services listen on: this machine's loopback address and the node's bridge."""

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.layout import API_ADDRESS, HOST_ADDRESS, LOOPBACK
from tests.cluster.process import Process
from tests.demo.environment import Environment
from tests.support.listening import addresses

pytestmark = pytest.mark.cluster


def test_nothing_that_was_started_listens_anywhere_but_on_loopback_and_the_bridge(environment: Environment) -> None:
    assert isinstance(environment.cluster, Cluster)
    bound = {}
    for recorded in environment.cluster.state.glob("*/pid"):
        pid = Process(recorded.parent.name, (), state=recorded.parents[1]).pid
        assert pid is not None, recorded
        bound[recorded.parent.name] = addresses(pid)
    assert bound["kube-apiserver"] == {API_ADDRESS}
    assert {"etcd", "kubelet", "containerd", "gitea", "prometheus", "argocd-repo-server"} <= bound.keys()
    assert {name: found for name, found in bound.items() if found - {LOOPBACK, HOST_ADDRESS, API_ADDRESS}} == {}
