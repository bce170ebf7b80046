"""A rendering engine as a process that sees one folder: no credentials, plugins, cluster, network or git.

Go's own limits are used where the kernel's would kill it: GOMEMLIMIT keeps the heap below RLIMIT_DATA, and the address
space stays unlimited because Go reserves much more of it than it uses.
"""

import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from mfu_operator.gitops.sources.tree import NotNow, NotRenderable

MEMORY_BYTES = 768 * 1024 * 1024
CPU_S = 30
OUTPUT_BYTES = 32 * 1024 * 1024
DEADLINE_S = 60.0

_LIMITED = 'ulimit -d "$1" && ulimit -t "$2" && ulimit -f "$3" && ulimit -c 0 && shift 3 && exec "$@"'
_NOWHERE = "http://127.0.0.1:9"


def program(name: str) -> str:
    """The path of an engine: beside this program, else on PATH.

    Raises:
        NotRenderable: it is not installed.
    """
    beside = Path(sys.argv[0]).resolve().parent / name
    found = str(beside) if os.access(beside, os.X_OK) and beside.is_file() else shutil.which(name)
    if found is None:
        raise NotRenderable(f"{name} is not installed: it is looked for beside this program and on PATH")
    return str(Path(found).resolve())


@functools.cache
def version(name: str) -> str:
    """What the engine calls its version. Raises NotRenderable, NotNow."""
    arguments = {"helm": ["version", "--template={{.Version}}"], "kustomize": ["version"]}[name]
    try:
        done = subprocess.run([program(name), *arguments], capture_output=True, text=True, timeout=DEADLINE_S,
                              check=False, env=_environment(Path("/nonexistent")))  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NotNow(f"{name} met its limit of {DEADLINE_S:.0f} s") from None
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "unknown"


def run(name: str, arguments: Sequence[str], home: Path) -> str:
    """What the engine prints.

    Args:
        name: kustomize or helm.
        arguments: after the program's name.
        home: the folder that it may write to and is started in.

    Raises:
        NotRenderable: it failed, or met a bound; with its words. NotNow: it was not done in time.
    """
    out = home / "mfu-output"
    limits = [str(MEMORY_BYTES // 1024), str(CPU_S), str(OUTPUT_BYTES // 512)]
    command = [*_isolated(), "/bin/sh", "-c", _LIMITED, "sh", *limits, program(name), *arguments]
    with out.open("wb") as stdout:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, cwd=home,
                                   env=_environment(home), start_new_session=True)  # fmt: skip
        try:
            _, stderr = process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise NotNow(f"{name} met its limit of {DEADLINE_S:.0f} s") from None
    if process.returncode != 0:
        raise NotRenderable(f"{name} {_failed(process.returncode, stderr, home)}")
    if out.stat().st_size >= OUTPUT_BYTES:
        raise NotRenderable(f"{name} printed over {OUTPUT_BYTES // 2**20} MiB, its limit")
    return out.read_text("utf-8", "replace")


def _failed(code: int, stderr: bytes, home: Path) -> str:
    if code in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL):
        return f"met its limit of {CPU_S} s of CPU"
    if code in (-signal.SIGXFSZ, 128 + signal.SIGXFSZ):
        return f"met its limit of {OUTPUT_BYTES // 2**20} MiB of output"
    said = " ".join(stderr.decode(errors="replace").replace(str(home), "").split())
    if "out of memory" in said or "cannot allocate memory" in said:
        return f"met its limit of {MEMORY_BYTES // 2**20} MiB of memory"
    return f"failed: {said[:400] or code}"


def _environment(home: Path) -> dict[str, str]:
    helm = {f"HELM_{kind}_HOME": str(home / f".helm-{kind.lower()}") for kind in ("CACHE", "CONFIG", "DATA")}
    return {
        **helm,
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": "/nonexistent",
        "KUBECONFIG": "/nonexistent/kubeconfig",
        "HELM_PLUGINS": "/nonexistent/plugins",
        "KUSTOMIZE_PLUGIN_HOME": "/nonexistent/plugins",
        "GOMEMLIMIT": str(MEMORY_BYTES * 3 // 4),
        "GOMAXPROCS": "2",
        "GOTRACEBACK": "none",
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
        "ALL_PROXY": _NOWHERE,
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


@functools.cache
def _isolated() -> tuple[str, ...]:
    """A network namespace of its own, where the machine lets us make one."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    command = (unshare, "--net") if os.geteuid() == 0 else (unshare, "--user", "--map-current-user", "--net")
    done = subprocess.run([*command, "/bin/true"], capture_output=True, check=False, timeout=DEADLINE_S)
    return command if done.returncode == 0 else ()
