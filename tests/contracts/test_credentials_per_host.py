"""Each server of an application is shown its own credentials: two of Git, a Helm repository and a registry."""

import hashlib
import io
import json
import os
import tarfile
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.api.bound_address import Bound
from mfu_operator.errors import Stall
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.ports import Credentials
from tests.support.built import built
from tests.support.certificates import Authority, server_context
from tests.support.git_http import served
from tests.support.layouts import chart
from tests.support.loopback import running
from tests.support.suspect_story import Story

HELM = built("helm", "helm")
pytestmark = pytest.mark.skipif(not HELM, reason="helm is compiled with the cluster's programs")
LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(HELM or "").parent), os.environ["PATH"]]))


def archive() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for path, text in chart("gpt/").items():
            member = tarfile.TarInfo(path)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


@dataclass
class ChartServer:
    """A Helm repository and a registry in one, which want a password; a registry gives a token for it."""

    password: str
    chart: bytes = field(default_factory=archive)
    shown: set[str] = field(default_factory=set)

    def answer(self, base: str, path: str, header: str) -> tuple[int, Mapping[str, str], bytes]:
        kind, _, sent = header.partition(" ")
        password = b64decode(sent).decode().partition(":")[2] if kind == "Basic" else ""
        self.shown |= {password} - {""}
        known, digest = password == self.password, f"sha256:{hashlib.sha256(self.chart).hexdigest()}"
        if path.startswith("/token"):
            return 200, {}, json.dumps({"token": "given" if known else "anonymous"}).encode()
        if path.startswith("/v2/") and header != "Bearer given":
            return 401, {"WWW-Authenticate": f'Bearer realm="{base}/token",service="here"'}, b""
        if "/manifests/" in path:
            layers = [{"mediaType": LAYER, "digest": digest, "size": len(self.chart)}]
            return 200, {"Content-Type": MANIFEST}, json.dumps({"schemaVersion": 2, "layers": layers}).encode()
        if not known and not path.startswith("/v2/"):
            return 401, {"WWW-Authenticate": 'Basic realm="charts"'}, b""
        index = f"entries:\n  gpt:\n  - {{version: 1.0.0, digest: {digest}, urls: [gpt-1.0.0.tgz]}}\n"
        return 200, {}, index.encode() if path.endswith("index.yaml") else self.chart

    @contextmanager
    def running(self, authority: Authority) -> Iterator[str]:
        """Its address, over TLS."""
        charts = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                base = f"https://127.0.0.1:{self.server.server_address[1]}"  # type: ignore[index]
                status, headers, body = charts.answer(base, self.path, self.headers.get("Authorization", ""))
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        pair = authority.issue(f"charts-{server.server_address[1]}")
        server.socket = server_context(pair).wrap_socket(server.socket, server_side=True)
        with running(server) as port:
            yield f"https://127.0.0.1:{port}"


def secret(name: str, password: str, *addresses: str, ca: Authority | None = None) -> Credentials:
    """What a Secret for these addresses holds."""
    authority = ca.certificate.read_text() if ca is not None else None
    return Credentials("robot", password, authority, bound=(Bound("team-a", name, addresses),))


@dataclass
class Servers:
    """Two Git servers, the second over TLS with an authority of its own, and one for charts."""

    models: Story
    values: Story
    git: tuple[str, str]
    git_shown: tuple[set[str], set[str]]
    charts: ChartServer
    chart_address: str
    authority: Authority

    def credentials(self, *, values: str = "values-pw", charts: str = "charts-pw", twin: bool = False) -> Credentials:
        """Of the forge, and beside them those of the other hosts."""
        others = [secret("values", values, self.git[1], ca=self.authority),
                  secret("charts", charts, self.chart_address, ca=self.authority)]  # fmt: skip
        if twin:
            others.append(secret("twin", "twin-pw", self.git[1]))
        return Credentials(None, "models-pw", bound=(Bound("team-a", "forge", (self.git[0],)),), beside=tuple(others))

    def found(self, credentials: Credentials | None, registry: bool = False) -> Findings:
        """Which commit did it, of an application of both repositories and a chart."""
        repository = self.chart_address.replace("https://", "oci://" if registry else "https://")
        values = f"{self.git[1]}/values/models.git"
        sources: list[Mapping[str, Any]] = [
            {"repoURL": f"{self.git[0]}/models/models.git", "targetRevision": "main", "ref": "here"},
            {"repoURL": values, "targetRevision": "main", "ref": "values"},
            {"repoURL": repository, "chart": "gpt", "targetRevision": "1.0.0",
             "helm": {"valueFiles": ["$values/prod.yaml", "$here/gpt.yaml"]}},
        ]  # fmt: skip
        head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
        source = Source(
            f"{self.git[0]}/models/models.git", "main", "", (), None, objects=({**head, "spec": {"sources": sources}},)
        )
        bad = self.models.upstream.git("rev-parse", "HEAD")
        workload = WorkloadRef("batch/v1", "Job", "training", "gpt")
        asked = Question(source, self.models.shas["Good"], bad, workload, "DataLoaderWorkers")
        return GitRepository(transports=("http", "https"), deadline_s=60).investigate(asked, credentials)


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    models, values = Story(tmp_path / "one" / "models"), Story(tmp_path / "two" / "values")
    values.commit("Values", {"prod.yaml": "seed: 7\n"})
    models.commit("Good", {"gpt.yaml": "workers: 8\n"})
    models.commit("Words", {"README.md": "x\n"})
    models.replace("Workers", "gpt.yaml", "8", "0")
    authority, shown = Authority(tmp_path / "ca"), (set[str](), set[str]())
    charts = ChartServer("charts-pw")
    with (
        served(tmp_path / "one", "models-pw", shown=shown[0]) as first,
        served(tmp_path / "two", "values-pw", shown=shown[1], pair=authority.issue("git")) as second,
        charts.running(authority) as address,
    ):
        yield Servers(models, values, (first, second), shown, charts, address, authority)


@pytest.mark.usefixtures("engines")
@pytest.mark.parametrize("registry", [False, True], ids=["Helm repository", "registry"])
def test_each_server_is_shown_its_own_credentials_and_no_others(servers: Servers, registry: bool) -> None:
    findings = servers.found(servers.credentials(), registry)
    assert findings.ranking.chosen is not None, findings
    assert findings.ranking.chosen.commit.subject == "Workers"
    assert servers.git_shown == ({"models-pw"}, {"values-pw"})
    assert servers.charts.shown == {"charts-pw"}


@pytest.mark.usefixtures("engines")
def test_a_server_that_refuses_what_it_is_shown_blames_nobody_and_is_named(servers: Servers) -> None:
    chartless = servers.found(servers.credentials(charts="wrong"))
    assert chartless.ranking.chosen is None
    assert servers.chart_address in chartless.not_rendered and "needs credentials" in chartless.not_rendered
    assert "wrong" not in repr(chartless)


@pytest.mark.usefixtures("engines")
def test_two_secrets_for_one_server_are_told_before_either_is_sent(servers: Servers) -> None:
    with pytest.raises(Stall, match="team-a/values and team-a/twin are both for") as raised:
        servers.found(servers.credentials(twin=True))
    assert raised.value.reason == "CredentialsUnfit"
    assert servers.git_shown == (set(), set())
