"""A GitHub App's key is exchanged for a token, which is renewed before its end, and goes nowhere itself."""

import logging
from datetime import UTC, datetime
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.types import Options

from mfu_operator.adapters.egress import Egress
from mfu_operator.adapters.forges import AppTokens, Web, forge
from mfu_operator.adapters.forges.github_app import RENEWED_S
from mfu_operator.api.bound_address import Bound
from mfu_operator.cycle.credentials import credentials_of
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import ForgeKind, SecretRef
from mfu_operator.ports import FORGE, PASSWORD, AppKey, Credentials
from tests.support.cluster_double import ClusterDouble
from tests.support.forge_servers import GitHubServer

REPOSITORY = "https://github.com/team/models.git"
HOUR_S = 3600.0
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
).decode()
LINE = PEM.splitlines()[3]


class AppServer:
    """What GitHub's API description says of Apps: a proof of ten minutes, an installation, a token of an hour."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0
        self.proofs: list[dict[str, Any]] = []
        self.requests: list[httpx.Request] = []
        self.installed = True

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        proof = request.headers["authorization"].removeprefix("Bearer ")
        try:
            unchecked: Options = {"verify_exp": False, "verify_iat": False}
            said = jwt.decode(proof, KEY.public_key(), algorithms=["RS256"], options=unchecked)
        except jwt.PyJWTError:
            return httpx.Response(401, json={"message": "A JSON web token could not be decoded"})
        if said["iss"] != "1234" or not said["iat"] <= self.now_s < said["exp"] <= self.now_s + 600:
            return httpx.Response(401, json={"message": "Integration not found"})
        self.proofs.append(said)
        path = request.url.path.removeprefix("/api/v3")
        if (request.method, path) == ("GET", "/repos/team/models/installation") and self.installed:
            return httpx.Response(200, json={"id": 77, "app_id": 1234})
        if (request.method, path) == ("POST", "/app/installations/77/access_tokens") and self.installed:
            ends = datetime.fromtimestamp(self.now_s + HOUR_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            return httpx.Response(201, json={"token": f"ghs_{len(self.proofs)}", "expires_at": ends})
        return httpx.Response(404, json={"message": "Not Found"})

    @property
    def asked(self) -> list[str]:
        return [each.url.path for each in self.requests]


@pytest.fixture
def server() -> AppServer:
    return AppServer()


@pytest.fixture
def tokens(server: AppServer) -> AppTokens:
    return AppTokens(Web(Egress(), httpx.MockTransport(server.handle)), lambda: server.now_s)


def given(installation: str | None = "77", key: str = PEM, address: str = "https://github.com/team") -> Credentials:
    return Credentials(bound=(Bound("team-a", "app", (address,)),), app=AppKey("1234", key, installation))


def token(tokens: AppTokens, credentials: Credentials, repository: str = REPOSITORY) -> str:
    found = tokens.exchange(None, repository, None, credentials)
    assert found is not None and found.app is None and found.username == "x-access-token" and found.password
    return found.password


def test_a_key_becomes_a_token_that_the_forge_takes(server: AppServer, tokens: AppTokens) -> None:
    found = tokens.exchange(None, REPOSITORY, None, given())
    github = GitHubServer()
    github.token = lambda request: request.headers["authorization"].replace("ghs_1", "right-token")  # type: ignore[method-assign]
    assert forge(None, REPOSITORY, None, found, Web(transport=github.transport())).find("x") is None
    assert len(github.requests) == 1


def test_the_installation_is_asked_for_where_nobody_wrote_it(server: AppServer, tokens: AppTokens) -> None:
    assert token(tokens, given(installation=None)) == "ghs_2"
    assert server.asked == ["/repos/team/models/installation", "/app/installations/77/access_tokens"]


def test_a_token_is_kept_and_renewed_before_its_end(server: AppServer, tokens: AppTokens) -> None:
    assert [token(tokens, given()) for _ in range(3)] == ["ghs_1"] * 3
    server.now_s += HOUR_S - RENEWED_S - 1
    assert token(tokens, given()) == "ghs_1"
    server.now_s += 1
    assert token(tokens, given()) == "ghs_2"


def test_another_key_gets_no_token_of_the_first(server: AppServer, tokens: AppTokens) -> None:
    token(tokens, given())
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(Retry) as raised:
        token(tokens, given(key=other.decode()))
    assert raised.value.reason == "ForgeAccessDenied"


def test_the_key_is_sent_nowhere(server: AppServer, tokens: AppTokens, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token(tokens, given(installation=None))
    for request in server.requests:
        assert request.url.host == "api.github.com"
        said = f"{request.url} {dict(request.headers)} {request.content!r}"
        assert LINE not in said and "PRIVATE KEY" not in said
    assert LINE not in caplog.text and "ghs_" not in caplog.text
    assert LINE not in repr(given()) + repr(tokens.__dict__) and "ghs_" not in repr(
        tokens.exchange(None, REPOSITORY, None, given())
    )


def test_a_key_is_used_for_its_own_address_alone_though_a_token_is_kept(server: AppServer, tokens: AppTokens) -> None:
    token(tokens, given())
    asked = len(server.requests)
    with pytest.raises(Stall, match=r"Secret team-a/app is for https://github\.com/others alone") as raised:
        token(tokens, given(address="https://github.com/others"))
    assert raised.value.reason == "CredentialsUnbound" and len(server.requests) == asked


REFUSED: dict[str, tuple[Credentials, str, str]] = {
    "no key": (given(key="-----BEGIN NONSENSE-----"), REPOSITORY, "CredentialsUnfit"),
    "a key of another kind": (given(key="ssh-ed25519 AAAA"), REPOSITORY, "CredentialsUnfit"),
    "another forge": (given(address="https://gitlab.com"), "https://gitlab.com/team/models", "CredentialsUnfit"),
    "another installation": (given(installation="78"), REPOSITORY, "ForgeAccessDenied"),
    "another repository": (given(installation=None), "https://github.com/team/other", "ForgeAccessDenied"),
}


@pytest.mark.parametrize(("credentials", "repository", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_gives_no_token_is_told_without_the_key(
    tokens: AppTokens, credentials: Credentials, repository: str, reason: str
) -> None:
    with pytest.raises(MfuError) as raised:
        token(tokens, credentials, repository)
    assert raised.value.reason == reason
    assert credentials.app is not None and credentials.app.private_key not in raised.value.message


@pytest.mark.parametrize(
    "answer",
    [
        b"[]",
        b'{"token": 5, "expires_at": "2027-01-15T09:00:00Z"}',
        b'{"token": "x"}',
        b'{"token": "x", "expires_at": "soon"}',
    ],
)
def test_an_answer_that_holds_no_token_is_told(server: AppServer, answer: bytes) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(201, content=answer))
    with pytest.raises(Retry) as raised:
        token(AppTokens(Web(Egress(), transport), lambda: server.now_s), given())
    assert raised.value.reason == "ForgeUnreachable"


def test_an_enterprise_server_is_asked_below_its_own_address(server: AppServer, tokens: AppTokens) -> None:
    address = "https://ghe.example.org"
    found = tokens.exchange(ForgeKind.GITHUB, f"{address}/team/models", None, given(address=address))
    assert found is not None and found.password == "ghs_1"
    assert str(server.requests[0].url) == f"{address}/api/v3/app/installations/77/access_tokens"


def test_a_token_stays_as_it_is_and_asks_nobody(server: AppServer, tokens: AppTokens) -> None:
    plain = Credentials(password="t")
    assert tokens.exchange(None, REPOSITORY, None, plain) is plain
    assert tokens.exchange(None, REPOSITORY, None, None) is None
    assert server.requests == []


APP = {"githubAppID": "1234\n", "githubAppPrivateKey": PEM, "address": "https://github.com/team"}


def read(data: dict[str, str], use: Any = FORGE) -> Credentials | None:
    cluster = ClusterDouble()
    cluster.secrets["team-a", "app"] = data
    return credentials_of(cluster, "team-a", SecretRef("app"), use)


def test_an_app_is_read_from_the_keys_that_argo_cd_and_flux_read() -> None:
    assert read({**APP, "githubAppInstallationID": "77"}) == given(key=PEM.strip())
    assert read(APP) == given(None, PEM.strip())
    with_token = read({**APP, "token": "t"})
    assert with_token is not None and with_token.app is None and with_token.password == "t"


BROKEN: dict[str, tuple[dict[str, str], Any, str]] = {
    "no key": ({"githubAppID": "1"}, FORGE, "CredentialsMissing"),
    "a name for a number": ({**APP, "githubAppID": "../1"}, FORGE, "CredentialsUnfit"),
    "a path for an installation": ({**APP, "githubAppInstallationID": "7/../8"}, FORGE, "CredentialsUnfit"),
    "a Prometheus": (APP, PASSWORD, "CredentialsMissing"),
}


@pytest.mark.parametrize(("data", "use", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_secret_that_holds_no_app_is_refused(data: dict[str, str], use: Any, reason: str) -> None:
    with pytest.raises(Stall) as raised:
        read(data, use)
    assert raised.value.reason == reason and LINE not in raised.value.message
