"""One client for equal declarations, with the credentials that belong to its address and no others."""

import gc
import weakref

import httpx
import pytest

from mfu_operator.adapters.metric_names import names_of, of_fleet
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.prometheus.sources import at_own_address
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import MetricsSource, SecretRef
from mfu_operator.ports import Credentials
from tests.support.prometheus_double import FLEET, JOB, answers, fails, mfu_only, opened


def test_equal_arguments_open_the_same_source() -> None:
    sources = PrometheusSources(FLEET, None, fails(200))
    assert sources.open(MetricsSource(), None) is sources.open(MetricsSource(), None)
    assert sources.open(MetricsSource(), None) is not sources.open(MetricsSource(tenant="b"), None)


@pytest.mark.parametrize("header", ["X-Scope-OrgID", "THANOS-TENANT"])
def test_the_tenant_travels_in_the_header_of_whoever_is_asked(header: str) -> None:
    sent: list[httpx.Request] = []
    opened(answers(mfu_only([]), sent), MetricsSource(tenant="team")).latest([JOB], 1.0)
    assert sent[0].headers[header] == "team"
    sent.clear()
    opened(answers(mfu_only([]), sent)).latest([JOB], 1.0)
    assert header not in sent[0].headers


def test_credentials_travel_in_headers() -> None:
    sent: list[httpx.Request] = []
    opened(answers(mfu_only([]), sent), MetricsSource(tenant="team"), Credentials(password="t")).latest([JOB], 1.0)
    assert sent[0].headers["authorization"] == "Bearer t"
    sent.clear()
    opened(answers(mfu_only([]), sent), None, Credentials("u", "p")).latest([JOB], 1.0)
    assert sent[0].headers["authorization"].startswith("Basic ")
    assert all(value != "t" for value in sent[0].url.params.values())


OWN = Credentials(password="fleet-token", ca=None)


def sent_by(source: MetricsSource, credentials: Credentials | None = None) -> httpx.Request:
    sent: list[httpx.Request] = []
    fleet = MetricsSource(
        address="http://own:9090", tenant="own", profile="torchtitan", names={"info": "x"}, labels={"pod": "host"}
    )
    sources = PrometheusSources(fleet, lambda: OWN, answers(mfu_only([]), sent))
    sources.open(source, credentials).latest([JOB], 1.0)
    return sent[0]


def test_a_baseline_that_says_nothing_gets_the_fleets_choice() -> None:
    request = sent_by(MetricsSource())
    assert request.url.host == "own"
    assert (request.headers["authorization"], request.headers["x-scope-orgid"]) == ("Bearer fleet-token", "own")
    assert "mfu___" in request.content.decode()


@pytest.mark.parametrize(
    "source",
    [
        MetricsSource(address="http://elsewhere:9090"),
        MetricsSource(tenant="somebody-else"),
        MetricsSource(address="http://elsewhere:9090", tenant="own"),
    ],
)
def test_the_operators_own_credentials_go_to_no_address_or_tenant_of_a_baseline(source: MetricsSource) -> None:
    request = sent_by(source)
    assert "authorization" not in request.headers
    assert request.headers.get("x-scope-orgid") == source.tenant


def test_a_baselines_own_credentials_replace_the_operators() -> None:
    source = MetricsSource(secret=SecretRef("mine"))
    request = sent_by(source, Credentials(password="mine"))
    assert request.headers["authorization"] == "Bearer mine"
    assert "x-scope-orgid" not in request.headers


def test_a_baseline_that_chooses_a_profile_gets_none_of_the_fleets_names() -> None:
    fleet = MetricsSource(profile="torchtitan", names={"mfu": "ours"}, labels={"pod": "host"})
    names = names_of(of_fleet(MetricsSource(profile="mfu_probe"), fleet))
    assert (names.names["mfu"], names.pod) == ("mfu_probe_mfu_ratio", "host")
    assert names_of(of_fleet(MetricsSource(), fleet)).names["mfu"] == "ours"


@pytest.mark.parametrize("address", [None, "http://ours:9090"])
def test_no_baseline_says_which_label_tells_the_namespaces_of_the_fleets_prometheus_apart(address: str | None) -> None:
    sources = PrometheusSources(MetricsSource(address="http://ours:9090/", labels={"namespace": "exported_namespace"}))
    for label in ("namespace", "job_name", ""):
        with pytest.raises(Stall, match=r"on the operator's own Prometheus it is exported_namespace") as raised:
            sources.open(MetricsSource(address=address, labels={"namespace": label}), None)
        assert raised.value.reason == "NamespaceLabelFixed"
    for labels in ({}, {"namespace": "exported_namespace"}, {"pod": "host"}):
        assert sources.open(MetricsSource(address=address, labels=labels), None) is not None
    assert sources.open(MetricsSource(address="http://mine:9090", labels={"namespace": "ns"}), None) is not None


def test_a_source_that_nobody_holds_is_let_go_with_its_secret() -> None:
    sources = PrometheusSources(FLEET, None, fails(200))
    held = weakref.ref(sources.open(MetricsSource(), Credentials(password="old")))
    gc.collect()
    assert held() is None


def test_the_authority_of_the_operators_own_address_is_no_secret() -> None:
    """A baseline with a token of its own has to trust the same server; one with an authority of its own, that."""
    own = Credentials(password="own", ca="OWN")
    mine = MetricsSource(secret=SecretRef("mine"))
    assert at_own_address(MetricsSource(), None, own) == own
    assert at_own_address(MetricsSource(ca=SecretRef("ca")), Credentials(ca="MINE"), own) == Credentials(ca="MINE")
    assert at_own_address(mine, Credentials(password="mine"), own) == Credentials(password="mine", ca="OWN")
    assert at_own_address(mine, Credentials(password="mine", ca="MINE"), own).ca == "MINE"
