"""Everything that has to be installed or compiled before a cluster can start: Debian packages and Go programs."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.process import output_of
from tests.cluster.state import cache_dir

_GO_MODULES = Path(__file__).parent / "go"
COMPONENTS_OUTSIDE_MAIN = ("contrib", "non-free", "non-free-firmware")
_SOURCES_PARTS = Path("/etc/apt/sources.list.d")
_NON_FREE_SOURCES = _SOURCES_PARTS / "mfu-operator-non-free.sources"
_DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_POLICY = Path("/usr/sbin/policy-rc.d")
_POLICY_TEXT = "#!/bin/sh\n# mfu-operator: a package must not start its service while it is installed\nexit 101\n"
_HEARTBEAT_S = 15.0


@dataclass(frozen=True)
class SourceEdit:
    """One text in one file of a Go module that is compiled as another text; the module itself is left as it is.

    Attributes:
        module: The path of the Go module.
        file: The file inside it.
        text: What stands there, exactly once.
        compiled_as: What is compiled in its place.
    """

    module: str
    file: str
    text: str
    compiled_as: str


@dataclass(frozen=True)
class GoBuild:
    """How one module below ``tests/cluster/go`` is compiled.

    Attributes:
        binaries: The name of each binary by the package that it is built from.
        tags: Build tags.
        link_variables: Values of string variables that the linker sets, by their full name.
        cgo: Whether C code is compiled in (needs gcc).
        source_edits: What has no setting and must be otherwise here.
    """

    binaries: Mapping[str, str]
    tags: tuple[str, ...] = ()
    link_variables: Mapping[str, str] = field(default_factory=dict)
    cgo: bool = False
    source_edits: tuple[SourceEdit, ...] = ()

    def flags(self) -> list[str]:
        """Return the flags of ``go build``."""
        variables = [f"-X {name}={value}" for name, value in sorted(self.link_variables.items())]
        linker = " ".join(["-s", "-w", *variables])
        return ["-trimpath", "-buildvcs=false", "-mod=readonly", f"-tags={','.join(self.tags)}", f"-ldflags={linker}"]


_KUBERNETES_VERSION = "v1.35.4"
_KUBERNETES_MAJOR_MINOR = {"Major": "1", "Minor": "35"}

GO_BUILDS: Mapping[str, GoBuild] = {
    "kubernetes": GoBuild(
        binaries={
            "go.etcd.io/etcd/server/v3": "etcd",
            "k8s.io/kubernetes/cmd/kube-apiserver": "kube-apiserver",
            "k8s.io/kubernetes/cmd/kube-controller-manager": "kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-scheduler": "kube-scheduler",
            "k8s.io/kubernetes/cmd/kubectl": "kubectl",
            "k8s.io/kubernetes/cmd/kubelet": "kubelet",
        },
        link_variables={
            "k8s.io/component-base/version.gitVersion": _KUBERNETES_VERSION,
            "k8s.io/client-go/pkg/version.gitVersion": _KUBERNETES_VERSION,
        },
    ),
    "argocd": GoBuild(
        binaries={"github.com/argoproj/argo-cd/v3/cmd": "argocd"},
        link_variables={"github.com/argoproj/argo-cd/v3/common.version": "3.2.11"},
        source_edits=(
            SourceEdit(
                module="github.com/argoproj/argo-cd/v3",
                file="controller/appcontroller.go",
                text='metricsAddr := fmt.Sprintf("0.0.0.0:%d", metricsPort)',
                compiled_as='metricsAddr := fmt.Sprintf("127.0.0.1:%d", metricsPort)',
            ),
        ),
    ),
    "gitea": GoBuild(
        binaries={"code.gitea.io/gitea": "gitea"},
        tags=("sqlite", "sqlite_unlock_notify"),
        link_variables={"main.Version": "1.26.0"},
        cgo=True,
    ),
    "prometheus": GoBuild(  # Debian's own has no discovery of Kubernetes compiled in
        binaries={
            "github.com/prometheus/prometheus/cmd/prometheus": "prometheus",
            "github.com/prometheus/prometheus/cmd/promtool": "promtool",
        },
        tags=("remove_all_sd", "enable_kubernetes_sd"),
        link_variables={"github.com/prometheus/common/version.Version": "3.13.5"},
    ),
    "helm": GoBuild(
        binaries={"helm.sh/helm/v3/cmd/helm": "helm"},
        link_variables={
            "helm.sh/helm/v3/internal/version.version": "v3.22.0",
            **{
                f"helm.sh/helm/v3/pkg/{package}.k8sVersion{part}": number
                for package in ("chartutil", "lint/rules")
                for part, number in _KUBERNETES_MAJOR_MINOR.items()
            },
        },
    ),
}


def go_binaries(module: str) -> Path:
    """Return the folder of the binaries of ``tests/cluster/go/<module>``, compiling them where they are not cached.

    An interrupted build leaves nothing that a later one would take for finished.

    Raises:
        KeyError: No recipe is known for the module.
        CommandFailed: The module does not compile.
    """
    finished = go_binaries_folder(module)
    if finished.exists():
        return finished
    with exclusive(cache_dir() / "bin" / f".{module}.lock"):
        if not finished.exists():
            with progress(f"compile {module}"):
                _compile(_GO_MODULES / module, GO_BUILDS[module], finished)
    return finished


def go_binaries_folder(module: str) -> Path:
    """Return the folder where :func:`go_binaries` puts a module's binaries, whether they are there or not."""
    return cache_dir() / "bin" / f"{module}-{_build_key(_GO_MODULES / module, GO_BUILDS[module])}"


def installed(package: str) -> bool:
    """Tell whether dpkg knows this Debian package as installed."""
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    return answer.returncode == 0 and answer.stdout == "installed"


def apt_install(*packages: str) -> None:
    """Install the Debian packages that are missing, without letting any of them start a service.

    Packages of the component non-free are found through a sources file of our own.

    Raises:
        CommandFailed: apt-get could not install them.
    """
    if all(installed(package) for package in packages):
        return
    with exclusive(cache_dir() / ".apt.lock"):
        missing = [package for package in packages if not installed(package)]
        if missing:
            with progress(f"install {' '.join(missing)}"), _services_held_back():
                _apt_install(missing)


@dataclass(frozen=True)
class AptSource:
    """One Debian mirror that this machine's apt uses."""

    uri: str
    suites: str
    components: tuple[str, ...]
    signed_by: str

    def asking_for(self, *components: str) -> str:
        """Return the deb822 stanza that asks this mirror for other components."""
        lines = ["Types: deb", f"URIs: {self.uri}", f"Suites: {self.suites}", f"Components: {' '.join(components)}"]
        return "\n".join([*lines, f"Signed-By: {self.signed_by}"]) + "\n"


def debian_sources() -> list[AptSource]:
    """Return the Debian mirrors of this machine's own apt configuration, the archive before its security updates.

    Raises:
        LookupError: The configuration names no Debian mirror.
    """
    found = [source for source in _sources() if "main" in source.components]
    if not found:
        raise LookupError(f"no Debian mirror with the component main in {_SOURCES_PARTS} or /etc/apt/sources.list")
    return sorted(found, key=lambda source: "security" in source.suites)


def parse_deb822(text: str) -> list[AptSource]:
    """Return the Debian mirrors that a deb822 sources file names."""
    uncommented = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found = []
    for stanza in re.split(r"\n\s*\n", uncommented):
        fields = {name.lower(): value.strip() for name, value in re.findall(r"(?m)^([\w-]+):(.*)$", stanza)}
        if _is_debian(fields.get("uris", ""), fields.get("suites", "")) and fields.get("enabled", "yes") != "no":
            keyring = fields.get("signed-by", _DEBIAN_KEYRING)
            found.append(AptSource(fields["uris"], fields["suites"], tuple(fields["components"].split()), keyring))
    return found


def parse_one_line(text: str) -> list[AptSource]:
    """Return the Debian mirrors that a one-line ``sources.list`` names."""
    lines = re.findall(r"(?m)^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+([^#\n]*)", text)
    return [
        AptSource(uri, suite, tuple(components.split()), _DEBIAN_KEYRING)
        for uri, suite, components in lines
        if _is_debian(uri, suite)
    ]


def non_free_stanzas(sources: Sequence[AptSource]) -> list[str]:
    """Return the stanzas that ask each mirror for the components outside main that this machine does not ask for.

    nsight-systems is in non-free, and what it depends on in the two others.
    """
    asked_for = {component for source in sources for component in source.components}
    missing = [component for component in COMPONENTS_OUTSIDE_MAIN if component not in asked_for]
    mirrors = [source for source in sources if "main" in source.components]
    return [mirror.asking_for(*missing) for mirror in mirrors] if missing else []


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold a lock file, so that two programs do not do the same work at once; waits for the other one."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextmanager
def progress(stage: str) -> Iterator[None]:
    """Say that a stage has begun, that it is alive, and how long it took.

    A terminal shows the seconds count up; elsewhere a stage is one line when it ends, and one more every
    quarter of a minute while it lasts.
    """
    reporter = _Reporter(stage)
    try:
        yield
    except BaseException:
        reporter.end("failed after")
        raise
    reporter.end("took")


class _Reporter:
    """The line of one stage, drawn by a thread of its own."""

    _screen = threading.Lock()

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._began_s = time.monotonic()
        self._over = threading.Event()
        self._terminal = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._show_life, daemon=True)
        self._thread.start()

    def end(self, verb: str) -> None:
        self._over.set()
        self._thread.join()
        self._write(f"  {self._stage}: {verb} {self._elapsed_s():.1f} s\n")

    def _show_life(self) -> None:
        interval_s = 1.0 if self._terminal else _HEARTBEAT_S
        while not self._over.wait(interval_s):
            ending = "" if self._terminal else "\n"
            self._write(f"  {self._stage} … {self._elapsed_s():.0f} s{ending}")

    def _write(self, text: str) -> None:
        with self._screen:
            sys.stderr.write(f"\r\033[K{text}" if self._terminal else text)
            sys.stderr.flush()

    def _elapsed_s(self) -> float:
        return time.monotonic() - self._began_s


def _build_key(source: Path, build: GoBuild) -> str:
    go_version = output_of(["go", "env", "GOVERSION", "GOARCH"], cwd=source)
    parts = [
        (source / "go.mod").read_text(),
        (source / "go.sum").read_text(),
        repr(sorted(build.binaries.items())),
        repr(build.flags()),
        repr(build.cgo),
        go_version,
        *map(repr, build.source_edits),
    ]
    return content_key(*parts)


def content_key(*parts: str) -> str:
    """Return a short name that differs where any of the parts differs."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:16]


def _compile(source: Path, build: GoBuild, finished: Path) -> None:
    unfinished = finished.with_name(f".{finished.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    environment = os.environ | {"CGO_ENABLED": "1" if build.cgo else "0", "GOWORK": "off"}
    with tempfile.TemporaryDirectory() as edited:
        modfile = _modfile(source, build.source_edits, Path(edited))
        argv = ["go", "build", *build.flags(), f"-modfile={modfile}", "-o", f"{unfinished}/", *build.binaries]
        subprocess.run(argv, cwd=source, env=environment, check=True)
    for package, name in build.binaries.items():
        (unfinished / _name_given_by_go(package)).rename(unfinished / name)
    unfinished.rename(finished)


def _modfile(source: Path, edits: Sequence[SourceEdit], folder: Path) -> Path:
    """Return a go.mod in the folder that is the module's own, with edited copies in the place of what is edited.

    Go refuses ``-overlay`` for files of its module cache, so that an edit takes a copy of the edited module.
    """
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(source / name, folder / name)
    for edit in edits:
        copy = folder / content_key(edit.module)
        if not copy.exists():
            download = ["go", "mod", "download", "-json", edit.module]
            answer = subprocess.run(download, cwd=source, stdout=subprocess.PIPE, text=True, check=True).stdout
            shutil.copytree(json.loads(answer)["Dir"], copy, copy_function=shutil.copyfile)
            replacement = f"-replace={edit.module}={copy}"
            subprocess.run(["go", "mod", "edit", replacement, str(folder / "go.mod")], check=True)
        before, after = (copy / edit.file).read_text().split(edit.text)
        (copy / edit.file).write_text(before + edit.compiled_as + after)
    return folder / "go.mod"


def _name_given_by_go(package: str) -> str:
    """Return the name that ``go build`` gives a package's binary: its last element that is no version."""
    elements = package.split("/")
    return elements[-2] if re.fullmatch(r"v\d+", elements[-1]) else elements[-1]


def _apt_install(packages: Sequence[str]) -> None:
    non_free = non_free_stanzas(_sources())
    if non_free:
        _NON_FREE_SOURCES.write_text("\n".join(non_free))
    else:
        _NON_FREE_SOURCES.unlink(missing_ok=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    output_of(["apt-get", "update", "-qq"], env=environment)
    output_of(["apt-get", "install", "-qq", "--yes", "--no-install-recommends", *packages], env=environment)


def _sources() -> list[AptSource]:
    deb822 = [path for path in sorted(_SOURCES_PARTS.glob("*.sources")) if path != _NON_FREE_SOURCES]
    one_line = [
        path for path in [Path("/etc/apt/sources.list"), *sorted(_SOURCES_PARTS.glob("*.list"))] if path.exists()
    ]
    found = [source for path in deb822 for source in parse_deb822(path.read_text())]
    return found + [source for path in one_line for source in parse_one_line(path.read_text())]


def _is_debian(uri: str, suites: str) -> bool:
    return bool(re.search(r"/debian(-security)?/?$", uri)) and "bookworm" in suites


@contextmanager
def _services_held_back() -> Iterator[None]:
    ours = not _POLICY.exists() or _POLICY.read_text() == _POLICY_TEXT
    if ours:
        _POLICY.write_text(_POLICY_TEXT)
        _POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            _POLICY.unlink(missing_ok=True)
