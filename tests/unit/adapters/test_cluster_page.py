"""A pod's page through the API server, as `kubectl mfu doctor` reads it."""

from urllib.parse import unquote

import pytest
from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.errors import MfuError, Retry, Stall
from tests.support.metrics_page import TEXT, Page, serving_page


def cluster_at(port: int) -> KubernetesCluster:
    return KubernetesCluster(client.ApiClient(client.Configuration(host=f"http://127.0.0.1:{port}")))


def test_a_page_is_asked_for_at_the_pods_proxy_with_its_port_and_path() -> None:
    page = Page("mfu_probe_mfu_ratio 0.4\n")
    with serving_page(page) as port:
        found = cluster_at(port).pod_page("team-a", "gpt-0", 9400, "/stats/metrics")
    assert found == (TEXT, "mfu_probe_mfu_ratio 0.4\n")
    assert [unquote(path) for path in page.asked] == ["/api/v1/namespaces/team-a/pods/gpt-0:9400/proxy/stats/metrics"]


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [(503, Retry, "PodUnreachable"), (404, Retry, "PodUnreachable"), (403, Stall, "ClusterAccessDenied")],
)
def test_a_pod_that_cannot_be_read_is_told_from_a_right_that_is_missing(
    status: int, kind: type[MfuError], reason: str
) -> None:
    with serving_page(Page(status=status)) as port, pytest.raises(kind) as caught:
        cluster_at(port).pod_page("team-a", "gpt-0", 9400, "/metrics")
    assert caught.value.reason == reason
    assert "team-a/gpt-0" in caught.value.message
