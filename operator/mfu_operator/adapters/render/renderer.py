"""One application, rendered from its sources' trees; what was rendered once from the same files is remembered."""

import posixpath
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from mfu_operator.adapters.render import helm, kustomize
from mfu_operator.adapters.render.export import Blob, export, inside
from mfu_operator.adapters.render.program import version
from mfu_operator.gitops.rendered.objects import Thing, UnreadableText, doubled, things
from mfu_operator.gitops.sources import argocd
from mfu_operator.gitops.sources.plan import Engine, Part, Plan, Substitution
from mfu_operator.gitops.sources.reach import engine_of, plain, reach
from mfu_operator.gitops.sources.substitution import substituted
from mfu_operator.gitops.sources.tree import CHART, NotRenderable, Tree, clean

Key = tuple[object, ...]
"""Equal for two renderings that read the same files."""

_REMEMBERED_TREES = 64
_SIDE_BY_SIDE = 2
"""Engines that run at a time: each may take the memory limit of one."""


@dataclass(slots=True)
class Renderer:
    """Renders a plan's parts.

    Attributes:
        plan: what is rendered, and how.
        blobs: by source, how its files are read.
        charts: by `REPO/NAME@VERSION`, folders of charts that were fetched beforehand.
    """

    plan: Plan
    blobs: Sequence[Blob]
    charts: Mapping[str, Path] = field(default_factory=dict)
    engines: dict[str, None] = field(default_factory=dict)
    clock: bool = False
    _known: dict[Key, tuple[Thing, ...] | NotRenderable] = field(default_factory=dict)
    _parsed: dict[tuple[str, str], tuple[Thing, ...]] = field(default_factory=dict)
    _reached: dict[tuple[int, int], tuple[Tree, frozenset[str]]] = field(default_factory=dict)
    _data: dict[tuple[str, str, str], Mapping[str, str] | None] = field(default_factory=dict)

    def keys(self, trees: Sequence[Tree]) -> tuple[Key, ...]:
        """What each part's rendering depends on. Raises NotRenderable."""
        return tuple(self._key(number, part, trees) for number, part in enumerate(self.plan.parts))

    def files(self, part: Part, trees: Sequence[Tree]) -> frozenset[str]:
        """The files of the part's own source that it reads. Raises NotRenderable."""
        tree = trees[part.source]
        known = self._reached.get((id(part), id(tree)))
        if known is None or known[0] is not tree:
            found = reach(self._overridden(part, trees), tree, self._reader(part.source, tree))
            if len(self._reached) > _REMEMBERED_TREES:
                self._reached.clear()
            known = self._reached[id(part), id(tree)] = (tree, found)
        return known[1]

    def warm(self, states: Sequence[Sequence[Tree]]) -> None:
        """Render several states side by side; what cannot be rendered is remembered as that."""
        fresh: dict[tuple[Key, ...], Sequence[Tree]] = {}
        for trees in states:
            with suppress(NotRenderable):
                keys = self.keys(trees)
                if any(key not in self._known for key in keys):
                    fresh.setdefault(keys, trees)
        if len(fresh) > 1:
            with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
                list(pool.map(self._quietly, fresh.values()))

    def _quietly(self, trees: Sequence[Tree]) -> None:
        with suppress(NotRenderable):
            self.render(trees)

    def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
        """The objects of all parts.

        Args:
            trees: by source, the files of its revision.
            afresh: whether to render again what is known.

        Raises:
            NotRenderable: with the words why.
        """
        found: list[Thing] = []
        for number, part in enumerate(self.plan.parts):
            key = self._key(number, part, trees)
            if afresh or key not in self._known:
                try:
                    known: tuple[Thing, ...] | NotRenderable = self._render(part, trees)
                except NotRenderable as error:
                    known = error
                if afresh:
                    if isinstance(known, NotRenderable):
                        raise known
                    found.extend(known)
                    continue
                self._known[key] = known
            remembered = self._known[key]
            if isinstance(remembered, NotRenderable):
                raise remembered
            found.extend(remembered)
        twice = doubled(found)
        if twice:
            raise NotRenderable(
                f"{', '.join(twice[:3])} is rendered more than once, with different content: "
                "name the folder that is deployed"
            )
        return tuple(found)

    def _key(self, number: int, part: Part, trees: Sequence[Tree]) -> Key:
        own = trees[part.source]
        files = tuple((path, own[path].oid) for path in sorted(self.files(part, trees)))
        lent = tuple((index, path, trees[index][path].oid) for index, path in self._lent(part, trees))
        filled = self._variables(part, part.substitution, trees) if part.substitution else {}
        version = own[CHART].oid if part.chart else ""
        return (number, files, lent, version, tuple(sorted(filled.items())))

    def _overridden(self, part: Part, trees: Sequence[Tree]) -> Part:
        """The part with what `.argocd-source*.yaml` beside its manifests says otherwise."""
        tree = trees[part.source]
        for name in (".argocd-source.yaml", f".argocd-source-{part.name}.yaml"):
            path = posixpath.join(part.path, name)
            if path in tree and not part.chart:
                part = argocd.overridden(part, self._reader(part.source, tree)(path) or "", path)
        return part

    def _lent(self, part: Part, trees: Sequence[Tree]) -> list[tuple[int, str]]:
        found = []
        for file in part.helm.value_files:
            if file.startswith("$"):
                index, path = self._reference(file)
                if path in trees[index]:
                    found.append((index, path))
        return found

    def _reference(self, file: str) -> tuple[int, str]:
        name, _, path = file.removeprefix("$").partition("/")
        for index, source in enumerate(self.plan.sources):
            if source.ref == name:
                return index, clean(path)
        raise NotRenderable(f"value file {file} names source ${name}, which the application does not have")

    def _reader(self, source: int, tree: Tree) -> Callable[[str], str | None]:
        def read(path: str) -> str | None:
            entry = tree.get(path)
            data = self.blobs[source](entry.oid) if entry else None
            return data.decode("utf-8", "replace") if data is not None else None

        return read

    def _render(self, part: Part, trees: Sequence[Tree]) -> tuple[Thing, ...]:
        part = self._overridden(part, trees)
        engine = Engine.HELM if part.chart else engine_of(part, trees[part.source])
        if engine is Engine.NONE:
            raise NotRenderable("the renderer is switched off (--renderer none)")
        if engine is Engine.PLAIN:
            self.engines["plain"] = None
            return self._plain(part, trees)
        self.engines[f"{engine} {version(engine)}"] = None
        with tempfile.TemporaryDirectory(prefix="mfu-render-") as folder:
            text = self._engine(engine, part, trees, Path(folder))
        try:
            return things(self._filled(part, text, trees))
        except UnreadableText as error:
            raise NotRenderable(f"what {engine} rendered of {part.path or 'the repository'} is {error}") from error

    def _engine(self, engine: Engine, part: Part, trees: Sequence[Tree], folder: Path) -> str:
        root, home = folder / "repository", folder / "home"
        root.mkdir()
        home.mkdir()
        export(trees[part.source], self.files(part, trees), self.blobs[part.source], root)
        if engine is Engine.KUSTOMIZE:
            return kustomize.build(root, part.path, part.kustomize, home)
        files = self._value_files(part, trees, root, folder)
        chart = self._chart(part, trees) if part.chart else root / part.path
        self.clock = self.clock or helm.uses_the_clock(chart)
        return helm.template(chart, part.helm.release or helm.DEFAULT_RELEASE, part.namespace, part.helm, files, home)

    def _chart(self, part: Part, trees: Sequence[Tree]) -> Path:
        repository = self.plan.sources[part.source].repository
        wanted = f"{repository.rstrip('/')}/{part.chart}@{trees[part.source][CHART].oid}"
        for name, path in self.charts.items():
            if name == wanted or name.removeprefix("oci://") == wanted.removeprefix("oci://"):
                return path
        raise NotRenderable(f"chart {wanted} is not at hand: give it by --chart {wanted}=PATH")

    def _value_files(self, part: Part, trees: Sequence[Tree], root: Path, folder: Path) -> list[Path]:
        found = []
        for number, file in enumerate(part.helm.value_files):
            if file.startswith("$"):
                index, path = self._reference(file)
                target = folder / f"lent-{number}" / inside(path)
                if path in trees[index]:
                    export(trees[index], [path], self.blobs[index], folder / f"lent-{number}")
            elif "://" in file:
                raise NotRenderable(f"value file {file} is remote")
            else:
                target = root / (clean(file) if file.startswith("/") else clean(posixpath.join(part.path, file)))
            if target.exists():
                found.append(target)
            elif not part.helm.ignore_missing:
                raise NotRenderable(f"value file {file} is not in the repository")
        return found

    def _plain(self, part: Part, trees: Sequence[Tree]) -> tuple[Thing, ...]:
        tree = trees[part.source]
        reader = self._reader(part.source, tree)
        found: list[Thing] = []
        for path in plain(part, tree):
            key = (path, tree[path].oid)
            if key not in self._parsed or part.substitution:
                try:
                    self._parsed[key] = things(self._filled(part, reader(path) or "", trees), path)
                except UnreadableText as error:
                    raise NotRenderable(f"{path} is {error}") from error
            found.extend(self._parsed[key])
        return tuple(found)

    def _filled(self, part: Part, text: str, trees: Sequence[Tree]) -> str:
        if part.substitution is None:
            return text
        return substituted(text, self._variables(part, part.substitution, trees))

    def _variables(self, part: Part, substitution: Substitution, trees: Sequence[Tree]) -> Mapping[str, str]:
        """The variables, of objects that lie in the same repository and of the Kustomization's own; these win."""
        found: dict[str, str] = {}
        for kind, name, optional in substitution.from_objects:
            values = self._object_data(part, kind, name, trees)
            if values is None and not optional:
                raise NotRenderable(f"{kind}/{name}, which postBuild.substituteFrom names, is not in the repository")
            found |= values or {}
        return found | dict(substitution.variables)

    def _object_data(self, part: Part, kind: str, name: str, trees: Sequence[Tree]) -> Mapping[str, str] | None:
        tree = trees[part.source]
        reader = self._reader(part.source, tree)
        for path in sorted(path for path in tree if path.endswith((".yaml", ".yml"))):
            key = (tree[path].oid, kind, name)
            if key not in self._data:
                text = reader(path) or ""
                self._data[key] = _data(text, kind, name) if name in text and kind in text else None
            if self._data[key] is not None:
                return self._data[key]
        return None


def _data(text: str, kind: str, name: str) -> Mapping[str, str] | None:
    try:
        found = things(text)
    except UnreadableText:
        return None
    for thing in found:
        if (thing.kind, thing.name) == (kind, name):
            data = {**(thing.body.get("data") or {}), **(thing.body.get("stringData") or {})}
            return {key: str(value) for key, value in data.items()}
    return None


def wait_for_the_clock() -> None:
    """Long enough that a template which prints seconds prints another one."""
    time.sleep(1.1)


def with_release(plan: Plan, release: str) -> Plan:
    """The plan with a release's name for charts that have none."""
    parts = [part if part.helm.release else replace(part, helm=replace(part.helm, release=release))
             for part in plan.parts]  # fmt: skip
    return replace(plan, parts=tuple(parts))
