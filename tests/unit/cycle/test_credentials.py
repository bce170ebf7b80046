"""What a metrics source refers to, read from Secrets, and the operator's own from a mounted one."""

from pathlib import Path

import pytest

from mfu_operator.adapters.credentials_folder import CredentialsFolder
from mfu_operator.api.bound_address import Bound
from mfu_operator.cycle.credentials import source_credentials
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource, SecretRef
from mfu_operator.ports import Credentials
from tests.support.cluster_double import ClusterDouble


@pytest.fixture
def cluster() -> ClusterDouble:
    cluster = ClusterDouble()
    cluster.secrets["team-a", "token"] = {"token": "t", "address": "https://mimir.example"}
    cluster.secrets["team-a", "ca"] = {"ca.crt": "CA"}
    cluster.secrets["team-a", "pair"] = {
        "tls.crt": "CERT",
        "tls.key": "KEY",
        "address": "https://mimir.example https://thanos.example",
    }
    return cluster


def test_each_part_comes_from_its_own_secret(cluster: ClusterDouble) -> None:
    source = MetricsSource(secret=SecretRef("token"), ca=SecretRef("ca"), certificate=SecretRef("pair"))
    found = source_credentials(cluster, "team-a", source)
    token = Bound("team-a", "token", ("https://mimir.example",))
    pair = Bound("team-a", "pair", ("https://mimir.example", "https://thanos.example"))
    assert found == Credentials(password="t", ca="CA", certificate="CERT", private_key="KEY", bound=(token, pair))
    assert "KEY" not in repr(found)


def test_what_is_sent_together_goes_where_each_secret_may_go(cluster: ClusterDouble) -> None:
    source = MetricsSource(secret=SecretRef("token"), ca=SecretRef("ca"), certificate=SecretRef("pair"))
    found = source_credentials(cluster, "team-a", source)
    assert found is not None
    found.require("https://mimir.example/prometheus")
    with pytest.raises(Stall, match=r"Secret team-a/token is for https://mimir\.example alone"):
        found.require("https://thanos.example")


def test_parts_that_are_not_named_are_absent(cluster: ClusterDouble) -> None:
    assert source_credentials(cluster, "team-a", MetricsSource()) is None
    assert source_credentials(cluster, "team-a", MetricsSource(ca=SecretRef("ca"))) == Credentials(ca="CA")


@pytest.mark.parametrize("source", [MetricsSource(ca=SecretRef("pair")), MetricsSource(certificate=SecretRef("ca"))])
def test_a_secret_without_the_key_is_named(cluster: ClusterDouble, source: MetricsSource) -> None:
    with pytest.raises(Stall, match=r"has no key (ca\.crt|tls\.crt)") as caught:
        source_credentials(cluster, "team-a", source)
    assert caught.value.reason == "CredentialsMissing"


def test_a_mounted_secret_is_read_again_every_minute(tmp_path: Path) -> None:
    now_s = [0.0]
    folder = CredentialsFolder(tmp_path, lambda: now_s[0])
    (tmp_path / "token").write_text("old\n")
    assert folder() == Credentials(password="old")
    (tmp_path / "token").write_text("new\n")
    (tmp_path / "ca.crt").write_text("CA")
    assert folder() == Credentials(password="old")
    now_s[0] = 61.0
    assert folder() == Credentials(password="new", ca="CA")
