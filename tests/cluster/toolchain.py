"""Go programs, compiled once: a control plane, Argo CD, Gitea, Prometheus, Helm."""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.cache import content_key, exclusive
from tests.cluster.process import CommandFailed, output_of
from tests.cluster.progress import progress
from tests.cluster.state import cache_dir

_GO_MODULES = Path(__file__).parent / "go"
_HERE = {"x86_64": "amd64", "aarch64": "arm64"}
"""Go's names of the processors, by those of the kernel."""


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
    "alertmanager": GoBuild(  # without its pages, which are compiled with tools of their own
        binaries={
            "github.com/prometheus/alertmanager/cmd/alertmanager": "alertmanager",
            "github.com/prometheus/alertmanager/cmd/amtool": "amtool",
        },
        source_edits=(
            SourceEdit(
                module="github.com/prometheus/alertmanager",
                file="ui/web.go",
                text="//go:embed app/dist",
                compiled_as="//go:embed app/public",
            ),
        ),
    ),
    "victoriametrics": GoBuild(
        binaries={"github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics": "victoria-metrics"}
    ),
    "kustomize": GoBuild(
        binaries={"sigs.k8s.io/kustomize/kustomize/v5": "kustomize"},
        link_variables={"sigs.k8s.io/kustomize/api/provenance.version": "v5.8.1"},
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
    with exclusive(finished.parent / f".{module}.lock"):
        if not finished.exists():
            with progress(f"compile {module}"):
                _compile(_GO_MODULES / module, GO_BUILDS[module], finished)
    return finished


def go_binaries_folder(module: str) -> Path:
    """Return the folder where :func:`go_binaries` puts a module's binaries, whether they are there or not.

    Those for another processor (``GOARCH``) are apart from those that run here.
    """
    processor = os.environ.get("GOARCH", "")
    folder = cache_dir() / "bin" / ("" if processor == _HERE.get(platform.machine()) else processor)
    return folder / f"{module}-{_build_key(_GO_MODULES / module, GO_BUILDS[module])}"


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


def _compile(source: Path, build: GoBuild, finished: Path) -> None:
    unfinished = finished.with_name(f".{finished.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    environment = os.environ | {"CGO_ENABLED": "1" if build.cgo else "0", "GOWORK": "off"}
    with tempfile.TemporaryDirectory() as edited:
        modfile = _modfile(source, build.source_edits, Path(edited))
        argv = ["go", "build", *build.flags(), f"-modfile={modfile}", "-o", f"{unfinished}/", *build.binaries]
        status = subprocess.run(argv, cwd=source, env=environment, check=False).returncode
    if status != 0:
        raise CommandFailed(f"go build of {source.name} ended with status {status}; what it said stands above")
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
    """Return the name that ``go build`` gives a package's binary: its last element that is not a version."""
    elements = package.split("/")
    return elements[-2] if re.fullmatch(r"v\d+", elements[-1]) else elements[-1]
