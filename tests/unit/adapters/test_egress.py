"""Where the operator goes: an address of others is judged after it was resolved, and that very address is asked."""

import http.client
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx
import pytest
from kubernetes.client import ApiClient, Configuration

from mfu_operator.adapters.egress import ANYWHERE, Egress, Resolve, egress_of
from mfu_operator.adapters.forges import Web, forge
from mfu_operator.adapters.git.environment import environment
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.guarded_http import client
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.adapters.scrape.pod_pages import HttpPages
from mfu_operator.adapters.scrape.pod_targets import Target
from mfu_operator.errors import MfuError, Stall
from mfu_operator.model.baseline import ForgeKind, MetricsSource, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.ports import Credentials
from mfu_operator.process.wiring import adapters_of, hosts_of
from mfu_operator.settings import Settings

API_SERVER = "https://10.96.0.1:443"
TOKEN = Credentials(password="t0ken")
JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")


def names(**addresses: str | Sequence[str]) -> Resolve:
    """A name server that knows these, by their first label, and addresses as themselves."""

    def resolve(host: str, port: int) -> Sequence[str]:
        found = addresses.get(host.partition(".")[0], host)
        return [found] if isinstance(found, str) else found

    return resolve


def guarded(resolve: Resolve | None = None, hosts: Sequence[str] = ("*",), laboratory: bool = False) -> Egress:
    return egress_of(hosts, ["10.9.0.0/24"], laboratory, API_SERVER, resolve or names())


@contextmanager
def server() -> Iterator[tuple[int, list[str]]]:
    """A server on loopback; its port and the Host headers of what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(str(self.headers["Host"]))
            self.send_response(302 if self.path == "/moved" else 200)
            self.send_header("Location", "http://elsewhere.example/")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        yield listening.server_address[1], asked
        listening.shutdown()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1", "fd00:ec2::254",
        "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "::ffff:127.0.0.1",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "10.9.0.7", "10.96.0.1", "224.0.0.1",
    ],
)  # fmt: skip
def test_what_is_never_asked_is_refused_by_its_address_whatever_name_leads_there(address: str) -> None:
    egress = guarded(names(innocent=["192.0.2.7", address]))
    with pytest.raises(Stall) as raised:
        egress.addresses("innocent.example", 443)
    assert raised.value.reason == "AddressRefused"
    assert "innocent.example leads to" in raised.value.message


def test_public_and_private_addresses_are_asked() -> None:
    egress = guarded(names(prometheus="10.1.2.3", forge="192.0.2.7", six="2001:db8::1"))
    for host, address in (("prometheus", "10.1.2.3"), ("forge", "192.0.2.7"), ("six", "2001:db8::1")):
        assert egress.addresses(f"{host}.example", 9090) == (address,)
    assert egress.addresses("10.96.0.1", 9090) == ("10.96.0.1",), "the API server is its address and its port"


def test_the_laboratory_asks_loopback_and_nothing_else_that_is_refused() -> None:
    egress = guarded(laboratory=True)
    assert egress.addresses("127.0.0.1", 80) == ("127.0.0.1",)
    for address in ("169.254.169.254", "10.9.0.7", "0.0.0.0"):
        with pytest.raises(Stall):
            egress.addresses(address, 80)


@pytest.mark.parametrize(
    ("host", "asked"),
    [("git.example.org", True), ("GIT.example.org", True), ("a.b.corp.example", True), ("corp.example", False),
     ("evilcorp.example", False), ("git.example.org.evil.example", False), ("10.1.2.3", False)],
)  # fmt: skip
def test_of_a_list_of_hosts_those_alone_are_asked(host: str, asked: bool) -> None:
    egress = guarded(hosts=["git.example.org", "*.corp.example"])
    if asked:
        egress.require(f"https://{host}/team/models", with_credentials=True)
        return
    with pytest.raises(Stall) as raised:
        egress.require(f"https://{host}/team/models", with_credentials=True)
    assert "egress.hosts" in raised.value.message


def test_without_a_list_no_host_is_asked() -> None:
    with pytest.raises(Stall, match=r"may ask .none.: .* egress\.hosts"):
        guarded(hosts=()).require("https://git.example.org/team/models", with_credentials=False)
    guarded(hosts=(), laboratory=True).require("https://git.example.org/team/models", with_credentials=False)


@pytest.mark.parametrize(
    "url",
    ["https://x.example/?q=", "https://x.example/a#b", "https://me:pw@x.example/", "https://x.example/../admin",
     "file:///etc/passwd", "https://x.example:99999/", "https://x.example/a b", "gopher://x", "https:///a"],
)  # fmt: skip
def test_an_address_that_would_swallow_our_path_is_refused(url: str) -> None:
    with pytest.raises(Stall) as raised:
        guarded().require(url, with_credentials=False)
    assert raised.value.reason == "AddressRefused"
    assert "pw" not in raised.value.message


def test_credentials_go_over_http_in_a_laboratory_alone() -> None:
    with pytest.raises(Stall) as raised:
        guarded().require("http://prometheus.example:9090", with_credentials=True)
    assert raised.value.reason == "CredentialsUnencrypted"
    guarded().require("http://prometheus.example:9090", with_credentials=False)
    guarded(laboratory=True).require("http://prometheus.example:9090", with_credentials=True)


def test_the_address_that_was_judged_is_the_one_that_is_asked_and_the_name_stays_the_servers() -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])
    egress = egress_of([], [], True, API_SERVER, names())
    egress = Egress(refused=egress.refused, resolve=lambda host, port: next(answers))
    with server() as (port, asked):
        http = client(f"http://prometheus.example:{port}", egress, {}, 5.0)
        assert http.get(f"http://prometheus.example:{port}/").text == "ok"
        assert asked == [f"prometheus.example:{port}"]
        with pytest.raises(Stall):
            http.get(f"http://prometheus.example:{port}/")
        assert len(asked) == 1


def test_the_next_address_of_a_name_is_tried_where_one_takes_no_connection() -> None:
    with server() as (port, asked):
        egress = guarded(names(both=["127.0.0.2", "127.0.0.1"]), laboratory=True)
        assert client(f"http://both.example:{port}", egress, {}, 5.0).get(f"http://both.example:{port}/").text == "ok"
    assert len(asked) == 1


def test_no_redirect_is_followed() -> None:
    with server() as (port, asked):
        answer = client(f"http://127.0.0.1:{port}", ANYWHERE, {}, 5.0).get(f"http://127.0.0.1:{port}/moved")
    assert (answer.status_code, len(asked)) == (http.client.FOUND, 1)


def test_a_name_without_an_address_is_unreachable_and_no_failure_of_ours() -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    with pytest.raises(httpx.ConnectError):
        client("https://nowhere.example", guarded(unknown), {}, 5.0).get("https://nowhere.example/")


def test_behind_a_proxy_an_address_that_is_written_out_is_judged_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    http = client("https://169.254.169.254", guarded(), {}, 5.0, proxied=True)
    with pytest.raises(Stall):
        http.get("https://169.254.169.254/latest/meta-data")


def wired(monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, ...]) -> list[MfuError]:
    """What each client of the running operator says to an address of the metadata service."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    configuration = Configuration()
    configuration.host = API_SERVER
    adapters = adapters_of(Settings(egress_hosts=hosts), ApiClient(configuration))
    url = "https://169.254.169.254/team/models.git"

    def ask_prometheus() -> object:
        sources = adapters.sweep._sources  # type: ignore[attr-defined]
        return sources.open(MetricsSource(address="https://169.254.169.254"), TOKEN).latest([JOB], 0.0)

    def ask_pod() -> object:
        pods = adapters.sweep._sources._pods  # type: ignore[attr-defined]
        return pods._fetch(Target(JOB, "gpt-0", "169.254.169.254", 80, "/"))

    said = []
    for ask in (
        ask_prometheus,
        ask_pod,
        lambda: adapters.forge(ForgeKind.GITEA, url, None, TOKEN).find("x"),
        lambda: adapters.repository.investigate(question(url), TOKEN),
    ):
        with pytest.raises(MfuError) as raised:
            ask()
        said.append(raised.value)
    return said


def question(url: str) -> Question:
    return Question(Source(url, "main", "", (), None), "1" * 40, "2" * 40, JOB, None)


def test_every_client_of_the_running_operator_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {error.reason for error in wired(monkeypatch, ("*",))} == {"AddressRefused"}


def test_without_a_list_the_running_operator_asks_its_own_prometheus_and_pods_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prometheus, pod, forge_of, git = (error.message for error in wired(monkeypatch, ()))
    assert all("egress.hosts" in message for message in (prometheus, forge_of, git))
    assert "link-local" in pod, "a pod's address is the API server's word"
    own = Settings(prometheus_address="http://Prometheus.monitoring:9090", egress_hosts=("git.example",))
    assert hosts_of(own) == ("prometheus.monitoring", "git.example")
    assert hosts_of(Settings(prometheus_address="http://[prometheus:9090")) == (), (
        "the baselines say what is wrong with it"
    )


def test_git_is_told_the_addresses_that_were_judged() -> None:
    judged = {"https://git.example.org/a/b": ["192.0.2.7", "2001:db8::1"], "https://other.example/c": ["192.0.2.8"]}
    env = environment({}, "/home", ("https",), judged)
    told = [(env[f"GIT_CONFIG_KEY_{n}"], env[f"GIT_CONFIG_VALUE_{n}"]) for n in range(int(env["GIT_CONFIG_COUNT"]))]
    resolved = [value for key, value in told if key == "http.curloptResolve"]
    assert resolved == ["git.example.org:443:192.0.2.7,[2001:db8::1]", "other.example:443:192.0.2.8"]


def test_git_connects_to_what_was_judged(tmp_path: object) -> None:
    with server() as (port, asked):
        repository = GitRepository(transports=("http",), egress=guarded(names(git="127.0.0.1"), laboratory=True))
        with pytest.raises(MfuError):
            repository.investigate(question(f"http://git.example:{port}/team/models.git"), None)
    assert asked and set(asked) == {f"git.example:{port}"}


def test_each_client_refuses_credentials_over_http_before_anything_is_sent() -> None:
    sent: list[httpx.Request] = []

    def note(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={})

    transport = httpx.MockTransport(note)
    url, egress = "http://git.example.org/a/b", guarded()
    for ask in (
        lambda: forge(ForgeKind.GITEA, url, None, TOKEN, Web(egress, transport)).find("x"),
        lambda: PrometheusSources(MetricsSource(), None, transport, egress).open(MetricsSource(address=url), TOKEN),
        lambda: GitRepository(egress=egress).investigate(question(url), TOKEN),
    ):
        with pytest.raises(Stall) as raised:
            ask()
        assert raised.value.reason == "CredentialsUnencrypted"
    assert sent == []


def test_a_pod_whose_address_is_the_nodes_own_is_not_asked() -> None:
    with pytest.raises(Stall):
        HttpPages(egress=guarded()).fetch(Target(JOB, "gpt-0", "127.0.0.1", 10250, "/pods"))
