"""A real Prometheus over a database made of given samples: no scraping, no waiting."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.toolchain import go_binaries
from tests.support.built import built
from tests.support.certificates import Pair
from tests.support.held_port import held_port

READY_S = 180.0


NEEDS_PROMETHEUS = (
    [] if built("prometheus", "prometheus") and built("prometheus", "promtool") else [pytest.mark.cluster]
)
"""Where it is not built yet, the tests wait for the cluster's programs, which are compiled with it."""


def _program(name: str) -> str:
    return built("prometheus", name) or str(go_binaries("prometheus") / name)


@dataclass(frozen=True, slots=True)
class Guard:
    """What a server asks of its clients: TLS with a certificate of theirs, a user and a password (bcrypt)."""

    server: Pair
    client_authority: Path
    user: str
    password_bcrypt: str

    def written(self) -> str:
        """As Prometheus' web configuration has it."""
        tls = {
            "cert_file": str(self.server.certificate),
            "key_file": str(self.server.key),
            "client_auth_type": "RequireAndVerifyClientCert",
            "client_ca_file": str(self.client_authority),
        }
        return json.dumps({"tls_server_config": tls, "basic_auth_users": {self.user: self.password_bcrypt}})


def sample(name: str, labels: Mapping[str, str], value: float, time_s: float) -> str:
    """One line of OpenMetrics."""
    text = ",".join(f'{label}="{content}"' for label, content in labels.items())
    return f"{name}{{{text}}} {value} {time_s:.3f}\n"


@contextmanager
def serving(
    families: Iterable[tuple[str, str, Iterable[str]]], folder: Path, guard: Guard | None = None
) -> Iterator[str]:
    """Yield the address of a server whose database holds `families`: (name, type, lines of `sample`)."""
    exposition = folder / "samples.om"
    with exposition.open("w") as file:
        for family, kind, lines in families:
            file.write(f"# TYPE {family} {kind}\n")
            file.writelines(lines)
        file.write("# EOF\n")
    command = [_program("promtool"), "tsdb", "create-blocks-from", "openmetrics", str(exposition), str(folder / "data")]
    subprocess.run(command, check=True, capture_output=True)
    with _running({}, folder, guard) as address:
        yield address


@contextmanager
def scraping(target: str, folder: Path) -> Iterator[str]:
    """Yield the address of a server that scrapes `target` (host:port) twice a second, honouring its labels."""
    job = {"job_name": "training", "honor_labels": True, "static_configs": [{"targets": [target]}]}
    settings = {"global": {"scrape_interval": "500ms", "scrape_timeout": "400ms"}, "scrape_configs": [job]}
    with _running(settings, folder) as address:
        yield address


@contextmanager
def _running(settings: Mapping[str, object], folder: Path, guard: Guard | None = None) -> Iterator[str]:
    with held_port() as port:
        yield from _listening(settings, folder, guard, f"127.0.0.1:{port}")


def _listening(settings: Mapping[str, object], folder: Path, guard: Guard | None, address: str) -> Iterator[str]:
    (folder / "prometheus.yml").write_text(json.dumps(settings))
    arguments = [
        _program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={address}",
    ]
    if guard is not None:
        (folder / "web.yml").write_text(guard.written())
        arguments.append(f"--web.config.file={folder / 'web.yml'}")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=log)
    try:
        _wait_until_ready(folder / "log", process)
        yield f"{'http' if guard is None else 'https'}://{address}"
    finally:
        process.terminate()
        process.wait(60)


def _wait_until_ready(log: Path, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        if "Server is ready to receive web requests" in log.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(f"prometheus did not become ready: {log.read_text()[-2000:]}")
