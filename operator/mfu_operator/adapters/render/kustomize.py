"""Kustomize: builds a folder, with the delivery tool's own settings merged into its kustomization."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mfu_operator.adapters.render import helm
from mfu_operator.adapters.render.mounts import Mount, localised
from mfu_operator.adapters.render.program import run
from mfu_operator.gitops.rendered.reading import UnreadableText, yaml_documents
from mfu_operator.gitops.sources.plan import KustomizeOptions
from mfu_operator.gitops.sources.reach import KUSTOMIZATIONS
from mfu_operator.gitops.sources.tree import NotRenderable

_LISTS = ("images", "patches", "components", "replicas")
_HARMLESS = ("chart", "enableHelm")


def build(root: Path, path: str, options: KustomizeOptions, home: Path, mounts: Mapping[str, Mount]) -> str:
    """The manifests of a kustomization.

    Args:
        root: the exported repository.
        path: the folder of the kustomization in it.
        options: what the delivery tool sets.
        home: an empty folder for the engine.
        mounts: by address, the folder below `root` of another repository.

    Raises:
        NotRenderable: kustomize says so, or the repository's kustomization needs what is not run here.
    """
    folder = root / path
    for name in KUSTOMIZATIONS:
        for file in sorted(root.rglob(name)):
            _expand_charts(file, root, home)
            _localise(file, root, mounts)
    if options.settings:
        _merge(folder, options.settings)
    restriction = "LoadRestrictionsNone" if options.unrestricted else "LoadRestrictionsRootOnly"
    return run("kustomize", ["build", f"--load-restrictor={restriction}", str(folder)], home)


def _localise(file: Path, root: Path, mounts: Mapping[str, Mount]) -> None:
    if mounts and not file.is_symlink():
        content = _read(file)
        if localised(content, file, root, mounts):
            _write(file, content)


def _merge(folder: Path, settings: Mapping[str, Any]) -> None:
    """As `kustomize edit set` does it: an image of the same name is replaced, a prefix set, lists joined."""
    file = next((folder / name for name in KUSTOMIZATIONS if (folder / name).exists()), folder / KUSTOMIZATIONS[0])
    content: dict[str, Any] = _read(file) if file.exists() else {"resources": _manifests(folder)}
    for key, value in settings.items():
        if key in _LISTS and isinstance(value, list):
            known = content.get(key) or []
            names = {each.get("name") for each in value if isinstance(each, dict)} - {None}
            kept = [each for each in known if not (isinstance(each, dict) and each.get("name") in names)]
            content[key] = [*(known if key == "patches" else kept), *value]
        elif isinstance(value, dict) and isinstance(content.get(key), dict):
            content[key] = {**content[key], **value}
        else:
            content[key] = value
    _write(file, content)


def _manifests(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.suffix in (".yaml", ".yml"))


def _expand_charts(file: Path, root: Path, home: Path) -> None:
    """Render `helmCharts` that lie in the repository, so that kustomize need not start a program."""
    if file.is_symlink():
        return
    content = _read(file)
    charts = content.pop("helmCharts", None)
    if not isinstance(charts, list):
        return
    base = Path((content.pop("helmGlobals", None) or {}).get("chartHome") or "charts")
    resources = list(content.get("resources") or [])
    for number, chart in enumerate(charts):
        chart_folder = file.parent / base / str(chart.get("name"))
        if not (chart_folder / "Chart.yaml").exists() or root.resolve() not in chart_folder.resolve().parents:
            raise NotRenderable(
                f"{file.relative_to(root)} reads chart {chart.get('name')}, which is not in the repository"
            )
        rendered = file.parent / f"mfu-chart-{number}.yaml"
        rendered.write_text(helm.of_kustomization(chart, file.parent, chart_folder, root, home))
        resources.append(rendered.name)
    content["resources"] = resources
    _write(file, content)


def _read(file: Path) -> dict[str, Any]:
    try:
        documents = yaml_documents(file.read_text("utf-8", "replace"))
    except UnreadableText as error:
        raise NotRenderable(f"{file.name} cannot be read: {error}") from error
    return dict(documents[0]) if documents and isinstance(documents[0], dict) else {}


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True))
