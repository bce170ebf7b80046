"""What git and the forge are shown: what a Secret holds, or what is given for an App's key in it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.api.bound_address import Bound
from mfu_operator.cycle.credentials import credentials_of, forge_credentials, forge_of, source_credentials
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import ForgeKind, MetricsSource, SecretRef
from mfu_operator.ports import FORGE, AppKey, Credentials
from tests.support import worlds
from tests.support.adapters_double import Stage
from tests.support.cluster_double import ClusterDouble
from tests.support.worlds import spec, world

BOUND = (Bound("team-a", "forge", ()),)
KEY = {"githubAppID": " 12 ", "githubAppPrivateKey": " PEM\n"}


def read(**data: str) -> Credentials | None:
    cluster = ClusterDouble()
    cluster.secrets["team-a", "forge"] = data
    return credentials_of(cluster, "team-a", SecretRef("forge"), FORGE)


READ: list[tuple[Mapping[str, str], Credentials]] = [
    ({"token": " t0ken\n"}, Credentials(None, "t0ken", bound=BOUND)),
    ({"token": "t0ken", "username": " bot "}, Credentials("bot", "t0ken", bound=BOUND)),
    ({"token": "t0ken", "password": "other"}, Credentials(None, "t0ken", bound=BOUND)),
    ({"password": "secret", "username": "bot"}, Credentials("bot", "secret", bound=BOUND)),
    ({"token": " \n", "password": "secret"}, Credentials(None, "secret", bound=BOUND)),
    ({"password": "secret", "username": " "}, Credentials(None, "secret", bound=BOUND)),
    ({"token": "t0ken", **KEY}, Credentials(None, "t0ken", bound=BOUND)),
    ({"token": "t0ken", "sshSigningKey": "SSH"}, Credentials(None, "t0ken", signing_key="SSH", bound=BOUND)),
    ({"token": "t0ken", "sshSigningKey": ""}, Credentials(None, "t0ken", bound=BOUND)),
    ({"token": "t0ken", "gpgSigningKey": "PGP"}, Credentials(None, "t0ken", signing_key="PGP", bound=BOUND)),
    (KEY, Credentials(bound=BOUND, app=AppKey("12", "PEM", None))),
    ({**KEY, "githubAppInstallationID": " 7\n"}, Credentials(bound=BOUND, app=AppKey("12", "PEM", "7"))),
    ({**KEY, "githubAppInstallationID": " "}, Credentials(bound=BOUND, app=AppKey("12", "PEM", None))),
    ({**KEY, "sshSigningKey": "SSH"}, Credentials(bound=BOUND, signing_key="SSH", app=AppKey("12", "PEM", None))),
    ({"token": "t0ken", "address": "https://a https://b"},
     Credentials(None, "t0ken", bound=(Bound("team-a", "forge", ("https://a", "https://b")),))),
]  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), READ)
def test_a_secret_holds_a_token_a_password_or_the_key_of_an_app(data: Mapping[str, str], expected: Credentials) -> None:
    assert read(**data) == expected


@pytest.mark.parametrize(
    "data",
    [{}, {"username": "bot"}, {"token": "", "password": ""}, {"token": "\n"}, {"password": " "},
     {"githubAppID": "12"}, {"githubAppPrivateKey": "PEM"}, {"githubAppID": " ", "githubAppPrivateKey": "PEM"}],
)  # fmt: skip
def test_a_secret_that_holds_nothing_of_it_is_told_with_what_it_should_hold(data: dict[str, str]) -> None:
    with pytest.raises(Stall) as caught:
        read(**data)
    assert caught.value.reason == "CredentialsMissing"
    assert caught.value.message == f"Secret team-a/forge has none of what is read: {FORGE.wanted}"


@pytest.mark.parametrize(
    "wrong",
    [{"githubAppID": "my-app"}, {"githubAppInstallationID": "team"}, {"githubAppID": "١٢"}, {"githubAppID": "²"}],
)
def test_the_ids_of_an_app_are_numbers(wrong: dict[str, str]) -> None:
    with pytest.raises(Stall) as caught:
        read(**(KEY | wrong))
    assert caught.value.reason == "CredentialsUnfit"


def test_without_a_secret_there_are_no_credentials() -> None:
    assert credentials_of(ClusterDouble(), "team-a", None, FORGE) is None


class Given:
    """Gives a token for a key, and notes for which."""

    def __init__(self, given: Credentials | None) -> None:
        self.given, self.asked = given, list[Any]()

    def __call__(self, *asked: Any) -> Credentials | None:
        self.asked.append(asked)
        return self.given


def shown(given: Credentials | None, **data: str) -> tuple[Credentials | None, list[Any]]:
    stage, exchange = Stage(), Given(given)
    stage.cluster.secrets["team-a", "forge"] = data
    wanted = spec() if data else spec(remediation=replace(spec().remediation, secret=None))
    here = world(spec=wanted)
    adapters = replace(stage.adapters, exchange=exchange)
    return forge_credentials(adapters, here, worlds.source()), exchange.asked


def test_what_is_given_for_a_key_signs_with_the_key_beside_it() -> None:
    token = Credentials(None, "given", bound=BOUND)
    found, asked = shown(token, **KEY, sshSigningKey="SSH")
    assert found == replace(token, signing_key="SSH")
    (asked_with,) = asked
    assert asked_with[:3] == (ForgeKind.GITEA, worlds.REPOSITORY, "https://git.example")
    assert asked_with[3].app == AppKey("12", "PEM", None)


def test_where_nothing_is_given_nothing_is_shown() -> None:
    assert shown(None, token="t0ken")[0] is None
    assert shown(None)[0] is None
    own = Credentials(None, "the operator's own", signing_key="OWN")
    assert shown(own)[0] == own


def with_hosts(forge: Mapping[str, str] | None, *names: str) -> Credentials | None:
    stage = Stage()
    stage.cluster.secrets["team-a", "charts"] = {
        "username": "robot",
        "password": "c",
        "address": "https://charts.example",
    }
    stage.cluster.secrets["team-a", "open"] = {"ca.crt": "CA", "address": "https://git.internal"}
    remediation = spec().remediation
    if forge is not None:
        stage.cluster.secrets["team-a", "forge"] = forge
    chosen = remediation.secret if forge is not None else None
    wanted = replace(remediation, secret=chosen, credentials=tuple(map(SecretRef, names)))
    return forge_credentials(stage.adapters, world(spec=spec(remediation=wanted)), worlds.source())


def test_beside_the_forges_are_those_of_the_other_hosts_each_for_its_own() -> None:
    found = with_hosts(
        {"token": "t0ken", "ca.crt": "ROOT", "address": "https://git.example"}, "charts", "open", "forge"
    )
    assert found is not None and (found.password, found.ca, len(found.beside)) == ("t0ken", "ROOT", 2)

    def password(url: str) -> str | None:
        one = found.toward(url) if found else None
        return one.password if one else "nobody's"

    assert password("https://charts.example/ml/index.yaml") == "c"
    assert password("https://git.example/team/values") == "t0ken"
    assert password("https://elsewhere.example") == "nobody's"
    internal = found.toward("https://git.internal/a/b")
    assert internal is not None and (internal.password, internal.ca) == (None, "CA")


def test_those_of_other_hosts_need_none_of_the_forge() -> None:
    found = with_hosts(None, "charts")
    assert found is not None and found.password is None
    assert [each.username for each in found.beside] == ["robot"]
    with pytest.raises(Stall) as caught:
        with_hosts(None, "absent")
    assert caught.value.reason == "CredentialsMissing"


def test_the_forge_is_opened_with_what_it_is_shown() -> None:
    stage = Stage()
    opened = list[Any]()

    def opening(*of: Any) -> Any:
        opened.append(of)
        return stage.forge

    found = forge_of(replace(stage.adapters, forge=opening), world(), worlds.source())
    assert found is stage.forge
    bound = (Bound("team-a", "forge", ("https://git.example",)),)
    expected = Credentials(None, "t0ken", bound=bound)
    assert opened == [(ForgeKind.GITEA, worlds.REPOSITORY, "https://git.example", expected)]


def sourced(**refs: str) -> Credentials | None:
    cluster = ClusterDouble()
    cluster.secrets["team-a", "token"] = {"token": "t", "address": "https://a"}
    cluster.secrets["team-a", "ca"] = {"ca.crt": "CA"}
    cluster.secrets["team-a", "pair"] = {"tls.crt": "CERT", "tls.key": "KEY", "address": "https://b"}
    cluster.secrets["team-a", "half"] = {"tls.crt": "CERT"}
    cluster.secrets["team-a", "empty"] = {"ca.crt": ""}
    source = MetricsSource(**{name: SecretRef(secret) for name, secret in refs.items()})  # type: ignore[arg-type]
    return source_credentials(cluster, "team-a", source)


TOKEN, PAIR = Bound("team-a", "token", ("https://a",)), Bound("team-a", "pair", ("https://b",))


def test_a_metrics_source_is_shown_what_it_refers_to_and_nothing_else() -> None:
    assert sourced() is None
    assert sourced(secret="token") == Credentials(None, "t", bound=(TOKEN,))
    assert sourced(ca="ca") == Credentials(ca="CA")
    assert sourced(certificate="pair") == Credentials(certificate="CERT", private_key="KEY", bound=(PAIR,))
    assert sourced(secret="token", ca="ca", certificate="pair") == Credentials(
        None, "t", ca="CA", certificate="CERT", private_key="KEY", bound=(TOKEN, PAIR)
    )
    assert sourced(secret="token", ca="ca") == Credentials(None, "t", ca="CA", bound=(TOKEN,))


@pytest.mark.parametrize(("refs", "key"), [({"certificate": "half"}, "tls.key"), ({"ca": "empty"}, "ca.crt"),
                                           ({"ca": "half"}, "ca.crt")])  # fmt: skip
def test_a_secret_of_which_a_key_is_absent_or_empty_is_named(refs: dict[str, str], key: str) -> None:
    with pytest.raises(Stall) as caught:
        sourced(**refs)
    assert caught.value.reason == "CredentialsMissing"
    assert caught.value.message.endswith(f"has no key {key}")
