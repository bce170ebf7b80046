"""Each dependency behind a proxy that may fail, with one call of the operator's own adapter."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from kubernetes import client

from mfu_operator.adapters.cluster import KubernetesCluster
from mfu_operator.adapters.forges import forge
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.prometheus import PrometheusSources
from mfu_operator.model.baseline import ForgeKind, MetricsSource, WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Question
from mfu_operator.ports import Credentials, ObjectVersion
from tests.faults.proxy import FaultProxy, before
from tests.support.forge_servers import REPOSITORY, TOKEN, GiteaServer
from tests.support.git_http import served
from tests.support.git_repository import GitUpstream
from tests.support.loopback import running

JOB = WorkloadRef("batch/v1", "Job", "team-a", "gpt")
GIT_DEADLINE_S = 30.0
Call = Callable[[], object]


def _handler(answer: Callable[[httpx.Request], httpx.Response]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            url = f"http://{self.headers['Host']}{self.path}"
            found = answer(httpx.Request(self.command, url, headers=dict(self.headers), content=content))
            self.send_response(found.status_code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(found.content)))
            self.end_headers()
            self.wfile.write(found.content)

        def do_GET(self) -> None:
            self._serve()

        def do_POST(self) -> None:
            self._serve()

        def do_PATCH(self) -> None:
            self._serve()

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


@contextmanager
def _git(folder: Path) -> Iterator[tuple[FaultProxy, Call]]:
    upstream = GitUpstream(folder)
    good = upstream.commit({"apps/gpt/train.yaml": "num_workers: 4\n"}, "Begin")
    bad = upstream.commit({"apps/gpt/train.yaml": "num_workers: 0\n"}, "Save memory")
    with served(folder, "s3cret") as url, before(_port(url)) as proxy:
        source = Source(f"http://127.0.0.1:{proxy.port}/models.git", "main", "apps/gpt", (), None)
        repository = GitRepository(deadline_s=GIT_DEADLINE_S)
        question = Question(source, good, bad, JOB, None)
        yield proxy, lambda: repository.investigate(question, Credentials("person", "s3cret"))


@contextmanager
def _forge(folder: Path) -> Iterator[tuple[FaultProxy, Call]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(GiteaServer().handle))
    with running(server) as port, before(port) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        gitea = forge(ForgeKind.GITEA, f"{address}/{REPOSITORY}.git", address, Credentials(None, TOKEN))
        yield proxy, lambda: gitea.find("mfu-operator/nobody")


@contextmanager
def _prometheus(folder: Path) -> Iterator[tuple[FaultProxy, Call]]:
    nothing = {"status": "success", "data": {"resultType": "vector", "result": []}}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda request: httpx.Response(200, json=nothing)))
    with running(server) as port, before(port) as proxy:
        source = MetricsSource(address=f"http://127.0.0.1:{proxy.port}")
        metrics = PrometheusSources(source).open(source, None)
        yield proxy, lambda: metrics.latest([JOB], time.time())


@contextmanager
def _api_server(folder: Path) -> Iterator[tuple[FaultProxy, Call]]:
    stored = {"metadata": {"uid": "u", "resourceVersion": "7"}, "status": {"observedGeneration": 1}}
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda request: httpx.Response(200, json=stored)))
    with running(server) as port, before(port) as proxy:
        configuration: Any = client.Configuration(host=f"http://127.0.0.1:{proxy.port}")
        configuration.retries = 1
        cluster = KubernetesCluster(client.ApiClient(configuration))
        read = ObjectVersion("team-a", "gpt", "u", "6")
        yield proxy, lambda: json.dumps(cluster.write_status(read, {"observedGeneration": 1}))


DEPENDENCIES = {"git": _git, "forge": _forge, "prometheus": _prometheus, "api server": _api_server}


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
