"""Secrets as the API server answers with them, read for one use."""

import base64
import json
from collections.abc import Mapping

import pytest
from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.errors import Stall
from mfu_operator.ports import AUTHORITY, CLIENT_CERTIFICATE, PASSWORD, SecretUse
from tests.support.metrics_page import Page, serving_page

LABELS = {"mfu-operator.io/credentials": "true"}


def read(kind: str, data: Mapping[str, bytes], use: SecretUse, labels: Mapping[str, str] = LABELS) -> Mapping[str, str]:
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    body = json.dumps({"kind": "Secret", "metadata": {"labels": labels}, "type": kind, "data": encoded})
    with serving_page(Page(body, content_type="application/json")) as port:
        api = client.ApiClient(client.Configuration(host=f"http://127.0.0.1:{port}"))
        return KubernetesCluster(api).secret("team-a", "kept", use)


def test_only_the_keys_that_are_asked_for_are_decoded() -> None:
    data = {"tls.crt": b"CERT", "tls.key": b"KEY", "ca.crt": b"CA", "keystore.jks": b"\xfe\xed\xfe\xed"}
    assert read("kubernetes.io/tls", data, CLIENT_CERTIFICATE) == {"tls.crt": "CERT", "tls.key": "KEY"}
    assert read("kubernetes.io/tls", data, AUTHORITY) == {"ca.crt": "CA"}


def test_where_it_may_be_sent_is_read_with_it() -> None:
    data = {"token": b"t", "address": b"https://a.example"}
    assert read("Opaque", data, PASSWORD) == {"token": "t", "address": "https://a.example"}


@pytest.mark.parametrize("labels", [{}, {"mfu-operator.io/credentials": "false"}, {"app": "payroll"}])
def test_a_secret_that_nobody_made_for_baselines_is_not_read(labels: Mapping[str, str]) -> None:
    with pytest.raises(Stall, match=r"kubectl patch secret kept -n team-a .*mfu-operator\.io/credentials") as raised:
        read("Opaque", {"token": b"t0ken", "address": b"https://a.example"}, PASSWORD, labels)
    assert raised.value.reason == "CredentialsUnbound" and "t0ken" not in raised.value.message


def test_a_key_that_holds_no_text_is_named() -> None:
    with pytest.raises(Stall, match="key token of Secret 'kept' in namespace 'team-a' is not text") as raised:
        read("Opaque", {"token": b"\xff\xfe"}, PASSWORD)
    assert raised.value.reason == "CredentialsUnfit"


def test_a_tls_secret_is_not_sent_as_a_password() -> None:
    with pytest.raises(Stall, match=r"is of type kubernetes\.io/tls") as raised:
        read("kubernetes.io/tls", {"tls.key": b"KEY", "token": b"t0ken"}, PASSWORD)
    assert raised.value.reason == "CredentialsUnfit"


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (PASSWORD, "create it with key token, or with keys username and password"),
        (AUTHORITY, "create it with key ca.crt"),
        (CLIENT_CERTIFICATE, "create it with keys tls.crt and tls.key"),
    ],
)
def test_a_missing_secret_is_told_with_the_keys_of_its_field_alone(use: SecretUse, told: str) -> None:
    with serving_page(Page(status=404)) as port, pytest.raises(Stall) as raised:
        api = client.ApiClient(client.Configuration(host=f"http://127.0.0.1:{port}"))
        KubernetesCluster(api).secret("team-a", "nothing", use)
    assert raised.value.message == f"there is no Secret 'nothing' in namespace 'team-a'; {told}"
