"""TLS to a server on loopback, with certificates made for the test."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import MetricsSource, WorkloadRef
from mfu_operator.ports import Credentials
from tests.support.certificates import Authority, Pair
from tests.support.loopback import running

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")


class _Empty(BaseHTTPRequestHandler):
    """A Prometheus that has nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"status": "success", "data": {"result": []}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    """Says nothing of handshakes that fail: that is what the tests are about."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def served(pair: Pair | None, client_authority: Path | None = None) -> Iterator[int]:
    """The port of a server, with TLS where there is a pair."""
    server = _Server(("127.0.0.1", 0), _Empty)
    if pair is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        if client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(client_authority)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with running(server) as port:
        yield port


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def asked(port: int, credentials: Credentials | None, scheme: str = "https") -> None:
    source = MetricsSource(address=f"{scheme}://127.0.0.1:{port}")
    assert PrometheusSources(MetricsSource()).open(source, credentials).latest([JOB], 1000.0) == {}


def problem(port: int, credentials: Credentials | None) -> MfuError:
    with pytest.raises(MfuError) as caught:
        asked(port, credentials)
    return caught.value


def client(authority: Authority, pair: Pair | None = None) -> Credentials:
    return Credentials(
        ca=authority.certificate.read_text(),
        certificate=pair.certificate.read_text() if pair else None,
        private_key=pair.key.read_text() if pair else None,
    )


def test_a_server_of_the_named_authority_is_trusted(authority: Authority) -> None:
    with served(authority.issue("server")) as port:
        asked(port, client(authority))


def test_a_server_of_an_unknown_authority_is_not_and_the_field_is_named(authority: Authority) -> None:
    with served(authority.issue("server")) as port:
        found = problem(port, None)
    assert isinstance(found, Retry)
    assert found.reason == "PrometheusTlsFailed"
    assert "prometheus.caSecretRef" in found.message


def test_a_certificate_for_another_name_says_so(authority: Authority) -> None:
    with served(authority.issue("elsewhere", "DNS:prometheus.example")) as port:
        found = problem(port, client(authority))
    assert "write the address by a name that stands in the certificate" in found.message


def test_a_certificate_that_has_expired_says_so(authority: Authority) -> None:
    with served(authority.issue("old", days=-1)) as port:
        assert "renew it" in problem(port, client(authority)).message


def test_a_server_that_wants_a_client_certificate_gets_it(authority: Authority) -> None:
    with served(authority.issue("server"), authority.certificate) as port:
        asked(port, client(authority, authority.issue("client")))


def test_a_server_that_wants_a_client_certificate_and_gets_none_names_the_field(authority: Authority) -> None:
    with served(authority.issue("server"), authority.certificate) as port:
        assert "prometheus.certificateSecretRef" in problem(port, client(authority)).message


def test_a_client_certificate_of_a_stranger_is_refused(authority: Authority, tmp_path: Path) -> None:
    stranger = Authority(tmp_path / "stranger", "stranger").issue("client")
    with served(authority.issue("server"), authority.certificate) as port:
        assert "refuses the client certificate" in problem(port, client(authority, stranger)).message


def test_a_server_without_tls_says_so(authority: Authority) -> None:
    with served(None) as port:
        assert "it speaks no TLS" in problem(port, client(authority)).message


@pytest.mark.parametrize(
    ("credentials", "told"),
    [
        (Credentials(ca="no certificate"), "ca.crt"),
        (Credentials(ca=""), "ca.crt"),
        (Credentials(ca="\n"), "ca.crt"),
        (Credentials(ca="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "ca.crt"),
        (Credentials(ca="-----BEGIN CERTIFICATE-----\nAéAA\n-----END CERTIFICATE-----\n"), "ca.crt"),
        (Credentials(certificate="a"), "both keys"),
        (Credentials(certificate="a", private_key="b"), "not a pair"),
    ],
)
def test_what_is_no_certificate_stalls_and_is_not_repeated(credentials: Credentials, told: str) -> None:
    with pytest.raises(Stall, match=told) as caught:
        asked(1, credentials)
    assert caught.value.reason == "CertificateUnreadable"


def test_a_key_of_another_certificate_is_no_pair(authority: Authority) -> None:
    mixed = Pair(authority.issue("one").certificate, authority.issue("two").key)
    with pytest.raises(Stall, match="not a pair"):
        asked(1, client(authority, mixed))


def test_an_encrypted_key_asks_nobody_for_a_password(authority: Authority) -> None:
    pair = authority.issue("locked")
    sealed = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGjMF8=\n-----END ENCRYPTED PRIVATE KEY-----\n"
    with pytest.raises(Stall):
        asked(1, Credentials(certificate=pair.certificate.read_text(), private_key=sealed))


def test_a_client_certificate_is_presented_where_no_file_can_be_written(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its private key reaches no disk."""
    pair = authority.issue("client")
    with served(authority.issue("server"), authority.certificate) as port:
        held = client(authority, pair)
        monkeypatch.setattr("tempfile.tempdir", "/nowhere")
        asked(port, held)


@pytest.mark.parametrize("mark", ["\ufeff", "# Autorité de certification\n", "Subject: CN = Büro\n"])
def test_what_stands_around_a_certificate_does_not_matter(authority: Authority, mark: str) -> None:
    pair = client(authority, authority.issue("client"))
    marked = Credentials(
        ca=f"{mark}{pair.ca}{mark}",
        certificate=f"{mark}{pair.certificate}{mark}",
        private_key=f"{mark}{pair.private_key}{mark}",
    )
    with served(authority.issue("server"), authority.certificate) as port:
        asked(port, marked)


def test_every_authority_of_a_bundle_is_trusted(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other").certificate.read_text()
    with served(authority.issue("server")) as port:
        asked(port, Credentials(ca=f"# one\n{other}\n# zwei für alle\n{authority.certificate.read_text()}"))
