"""A real Prometheus over a database made of given samples: no scraping, no waiting."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

READY_S = 60.0


def available() -> bool:
    """Whether the server and its tool are installed."""
    return all(shutil.which(name) is not None for name in ("prometheus", "promtool"))


def sample(name: str, labels: Mapping[str, str], value: float, time_s: float) -> str:
    """One line of OpenMetrics."""
    text = ",".join(f'{label}="{content}"' for label, content in labels.items())
    return f"{name}{{{text}}} {value} {time_s:.3f}\n"


@contextmanager
def serving(families: Iterable[tuple[str, str, Iterable[str]]], folder: Path) -> Iterator[str]:
    """Yield the address of a server whose database holds `families`: (name, type, lines of `sample`)."""
    exposition, data = folder / "samples.om", folder / "data"
    with exposition.open("w") as file:
        for family, kind, lines in families:
            file.write(f"# TYPE {family} {kind}\n")
            file.writelines(lines)
        file.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(exposition), str(data)]
    subprocess.run(command, check=True, capture_output=True)
    (folder / "empty.yml").write_text("global: {}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    arguments = [
        "prometheus",
        f"--config.file={folder / 'empty.yml'}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={address}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=log)
    try:
        _wait_until_ready(f"http://{address}", process, folder / "log")
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{address}/-/ready", timeout=2, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"prometheus did not become ready: {log.read_text()[-2000:]}")
