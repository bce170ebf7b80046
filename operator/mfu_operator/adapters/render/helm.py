"""Helm: `helm template` of a chart that lies in a folder. No cluster is asked, so that `lookup` finds nothing."""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mfu_operator.adapters.render.program import run
from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.plan import HelmOptions
from mfu_operator.gitops.sources.tree import NotRenderable

_CLOCK = re.compile(r"\{\{[^}]{0,500}?\b(?:now|ago|unixEpoch|genCA|genSelfSignedCert|genSignedCert)\b")
DEFAULT_RELEASE = "release-name"

Lend = Callable[[str, str, str], Path | None]
"""(repository, name, version) → the folder of a chart; None: not at hand. Raises NotRenderable."""


def template(
    chart: Path,
    release: str,
    namespace: str | None,
    options: HelmOptions,
    files: Sequence[Path],
    home: Path,
    lend: Lend | None = None,
) -> str:
    """The manifests of a chart.

    Args:
        chart: its folder.
        release: the release's name.
        namespace: the release's namespace; None: the default one.
        options: values and parameters; `value_files` are not read, `files` are.
        files: the value files, in their order.
        home: an empty folder for the engine.
        lend: where a chart that this one depends on lies; None: nowhere.

    Raises:
        NotRenderable: helm says so.
    """
    _lend_dependencies(chart, lend)
    inline = [_inline(values, home, number) for number, values in enumerate(options.values)]
    ordered = [*inline, *files] if options.values_first else [*files, *inline]
    arguments = ["template", release, str(chart), *(f"--values={file}" for file in ordered)]
    arguments += [f"--namespace={namespace}"] if namespace else []
    for name, value, as_string in options.parameters:
        arguments += ["--set-string" if as_string else "--set", f"{name}={_escaped(value)}"]
    arguments += [f"--kube-version={options.kube_version}"] if options.kube_version else []
    arguments += [f"--api-versions={version}" for version in options.api_versions]
    arguments += ["--skip-crds"] if options.skip_crds else ["--include-crds"]
    return run("helm", [*arguments, "--skip-tests"], home)


def of_kustomization(chart: Mapping[str, Any], folder: Path, path: Path, root: Path, home: Path) -> str:
    """The manifests of one entry of a kustomization's `helmCharts`."""
    named = [chart.get("valuesFile"), *(chart.get("additionalValuesFiles") or [])]
    files = [folder / str(name) for name in named if name]
    if any(root.resolve() not in file.resolve().parents for file in files):
        raise NotRenderable(f"chart {chart.get('name')} reads values outside the repository")
    values = chart.get("valuesInline")
    options = HelmOptions(
        values=(values,) if isinstance(values, dict) else (),
        kube_version=chart.get("kubeVersion"),
        api_versions=tuple(map(str, chart.get("apiVersions") or ())),
        skip_crds=not chart.get("includeCRDs"),
        values_first=chart.get("valuesMerge") == "merge",
    )
    return template(
        path, str(chart.get("releaseName") or DEFAULT_RELEASE), chart.get("namespace"), options, files, home
    )


def uses_the_clock(chart: Path) -> bool:
    """Whether a template of the chart prints the time: two renderings within a second would not show it."""
    return any(
        _CLOCK.search(file.read_text("utf-8", "replace"))
        for file in chart.rglob("*")
        if file.suffix in (".yaml", ".yml", ".tpl", ".json", ".txt") and "templates" in file.parts and file.is_file()
    )


def _inline(values: Mapping[str, Any], home: Path, number: int) -> Path:
    file = home / f"mfu-values-{number}.yaml"
    file.write_text(json.dumps(values))
    return file


def _escaped(value: str) -> str:
    """A value for --set: commas are Helm's own separator; as Argo CD has it."""
    return value if value.startswith("{") else value.replace("\\,", ",").replace(",", "\\,")


def _lend_dependencies(chart: Path, lend: Lend | None) -> None:
    """Lay what Chart.yaml asks for into charts/: from the repository (file://) or as it was given, as locked."""
    lock = chart / "Chart.lock"
    locked = {(each.get("name"), each.get("repository")): each.get("version") for each in
              (_dependencies(lock) if lock.is_file() else ())}  # fmt: skip
    for dependency in _dependencies(chart / "Chart.yaml"):
        name, repository = str(dependency.get("name")), str(dependency.get("repository") or "")
        target = chart / "charts" / name
        if target.exists() or any((chart / "charts").glob(f"{name}-*.tgz")):
            continue
        if not repository.startswith("file://"):
            if repository:
                version = locked.get((dependency.get("name"), dependency.get("repository")), dependency.get("version"))
                shutil.copytree(_lent(chart, repository, name, str(version), lend), target, symlinks=True)
            continue
        shutil.copytree(chart / repository.removeprefix("file://"), target, symlinks=True)


def _lent(chart: Path, repository: str, name: str, version: str, lend: Lend | None) -> Path:
    found = lend(repository, name, version) if lend is not None else None
    if found is None:
        raise NotRenderable(
            f"chart {chart.name} depends on {name} {version} of {repository}, which is neither in its charts folder "
            f"nor given: give it by --chart {repository}/{name}@{version}=PATH"
        )
    return found


def _dependencies(file: Path) -> list[Mapping[str, Any]]:
    try:
        documents = yaml_documents(file.read_text("utf-8", "replace"))
    except (OSError, UnreadableText) as error:
        raise NotRenderable(f"{file.name} cannot be read: {error}") from error
    content = documents[0] if documents and isinstance(documents[0], dict) else {}
    return [each for each in content.get("dependencies") or [] if isinstance(each, dict)]


__all__ = ["DEFAULT_RELEASE", "of_kustomization", "template", "uses_the_clock"]
