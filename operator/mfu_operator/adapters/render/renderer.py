"""One application, rendered from its sources' trees; what was rendered once from the same files is remembered."""

import functools
import posixpath
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from mfu_operator.adapters.render import helm, kustomize, variables
from mfu_operator.adapters.render.export import Blob, export, inside
from mfu_operator.adapters.render.mounts import Mount, reading, with_mounts
from mfu_operator.adapters.render.program import version
from mfu_operator.gitops.rendered.objects import Thing, UnreadableText, doubled, meant, things
from mfu_operator.gitops.sources import argocd
from mfu_operator.gitops.sources.nested import Held, held
from mfu_operator.gitops.sources.plan import Engine, Part, Plan, Substitution
from mfu_operator.gitops.sources.reach import engine_of, followed, plain, reach
from mfu_operator.gitops.sources.substitution import substituted
from mfu_operator.gitops.sources.tree import CHART, NotRenderable, Tree, clean
from mfu_operator.gitops.sources.versions import is_range, meets
from mfu_operator.gitops.sources.versions import version as number_of

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
        mounts: by address as kustomizations write it, folders of other repositories.
    """

    plan: Plan
    blobs: Sequence[Blob]
    charts: Mapping[str, Path] = field(default_factory=dict)
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    fetch: Callable[[str, str, str], Path] | None = None
    """Fetches a chart that is not at hand, by its repository, name and version. Raises NotRenderable."""
    engines: dict[str, None] = field(default_factory=dict)
    clock: bool = False
    _known: dict[Key, tuple[Thing, ...] | NotRenderable] = field(default_factory=dict)
    _parsed: dict[tuple[str, str], tuple[Thing, ...]] = field(default_factory=dict)
    _reached: dict[tuple[int, int], tuple[Part, Tree, frozenset[str]]] = field(default_factory=dict)
    _data: dict[tuple[str, str, str], tuple[str, Mapping[str, str]] | None] = field(default_factory=dict)
    _held: dict[Key, tuple[Held, ...]] = field(default_factory=dict)
    unrendered: dict[str, str] = field(default_factory=dict)
    """By object of the delivery tool that was rendered, why what it deploys could not be."""
    assumed: dict[str, None] = field(default_factory=dict)
    """What was taken as it is now."""
    consulted: set[tuple[int, str]] = field(default_factory=set)
    """(source, path) of files that were read beside those of the parts."""

    def keys(self, trees: Sequence[Tree]) -> tuple[Key, ...]:
        """What each part's rendering depends on. Raises NotRenderable."""
        outer = self._outer(trees)
        if not self.plan.nested:
            return outer
        found = [*outer]
        for part, _ in self._inner(trees):
            with suppress(NotRenderable):
                found.append(self._key(repr(part), part, trees))
        return tuple(found)

    def _outer(self, trees: Sequence[Tree]) -> tuple[Key, ...]:
        return tuple(self._key(number, part, trees) for number, part in enumerate(self.plan.parts))

    def files(self, part: Part, trees: Sequence[Tree]) -> frozenset[str]:
        """The files of the part's own source that it reads. Raises NotRenderable."""
        tree = trees[part.source]
        known = self._reached.get((id(part), id(tree)))
        if known is None or known[0] is not part or known[1] is not tree:
            whole = with_mounts(tree, self.mounts)
            beside = {address: mount.folder for address, mount in self.mounts.items()}
            found = reach(self._overridden(part, trees), whole, self._reader(part.source, whole), beside)
            if len(self._reached) > _REMEMBERED_TREES:
                self._reached.clear()
            known = self._reached[id(part), id(tree)] = (part, tree, found)
        return known[2]

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
            found.extend(self._once(self._key(number, part, trees), part, trees, afresh))
        for part, name in self._inner(trees) if self.plan.nested else ():
            try:
                inner = self._once(self._key(repr(part), part, trees), part, trees, afresh)
            except NotRenderable as error:
                self.unrendered.setdefault(name, str(error))
                continue
            found.extend(replace(thing, origin=name) for thing in inner)
        found = meant(found, self.plan.asked)
        twice = doubled(found)
        if twice:
            raise NotRenderable(
                f"{', '.join(twice[:3])} is rendered more than once, with different content: "
                "name the folder that is deployed"
            )
        return tuple(found)

    def _once(self, key: Key, part: Part, trees: Sequence[Tree], afresh: bool) -> tuple[Thing, ...]:
        if afresh:
            return self._render(part, trees)
        if key not in self._known:
            try:
                self._known[key] = self._render(part, trees)
            except NotRenderable as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, NotRenderable):
            raise known
        return known

    def _inner(self, trees: Sequence[Tree]) -> Iterator[tuple[Part, str]]:
        """The parts that rendered objects of the delivery tool are for, and these objects' names."""
        waiting = [(part, number) for number, part in enumerate(self.plan.parts)]
        seen = {part.held for part in self.plan.parts if part.held}
        given = {str(thing): thing for thing in self.plan.makers()}
        for part, number in waiting:
            key: Key = ()
            with suppress(NotRenderable):
                key = self._key(number if number >= 0 else repr(part), part, trees)
                things = self._once(key, part, trees, afresh=False)
                given = {name: thing for name, thing in given.items() if all(str(each) != name for each in things)}
                key = self._hold(key, things, part.source, trees)
            yield from self._new(self._held.get(key, ()), seen, waiting)
        made = self._hold(("given", *given), tuple(given.values()), 0, trees)
        yield from self._new(self._held[made], seen, waiting)

    def _new(
        self, found: Sequence[Held], seen: set[str], waiting: list[tuple[Part, int]]
    ) -> Iterator[tuple[Part, str]]:
        for each in found:
            if each.name in seen:
                continue
            seen.add(each.name)
            if each.why_not:
                self.unrendered.setdefault(each.name, each.why_not)
            for inner in each.parts:
                waiting.append((inner, -1))
                yield inner, each.name

    def _hold(self, key: Key, things: Sequence[Thing], source: int, trees: Sequence[Tree]) -> Key:
        """Remember what rendered objects deploy, under the key that is returned."""
        if any(thing.kind == "ApplicationSet" for thing in things):  # it may read any file
            key = (key, tuple(frozenset(tree.items()) for tree in trees))
        if key not in self._held:
            self._held[key] = held(things, self.plan, source, lambda index: self._readers(index, trees[index]))
        return key

    def _readers(self, source: int, tree: Tree) -> Mapping[str, Callable[[], str | None]]:
        read = self._reader(source, tree)

        def consulted(path: str) -> str | None:
            self.consulted.add((source, path))
            return read(path)

        return {path: functools.partial(consulted, path) for path in tree}

    def parts(self, trees: Sequence[Tree]) -> list[Part]:
        """All that is rendered in a state: the plan's parts, and those of rendered objects."""
        return [*self.plan.parts, *((part for part, _ in self._inner(trees)) if self.plan.nested else ())]

    def holders(self, trees: Sequence[Tree]) -> set[str]:
        """The objects of the delivery tool that are rendered, or made by an ApplicationSet, by `Kind/name`."""
        every = replace(self.plan, parts=tuple(replace(part, held="") for part in self.plan.parts))
        return {name for _, name in replace(self, plan=every)._inner(trees)}

    def _key(self, number: object, part: Part, trees: Sequence[Tree]) -> Key:
        own = with_mounts(trees[part.source], self.mounts)
        files = tuple((path, own[path].oid) for path in sorted(self.files(part, trees)))
        lent = tuple((index, path, trees[index][path].oid) for index, path in self._lent(part, trees))
        filled = self._variables(part, part.substitution, trees) if part.substitution else {}
        version = self._version(part, trees) if part.chart else ""
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
            if source.ref == name or name == str(index):
                return index, clean(path)
        raise NotRenderable(f"value file {file} names source ${name}, which the application does not have")

    def _reader(self, source: int, tree: Tree) -> Callable[[str], str | None]:
        def read(path: str) -> str | None:
            entry = tree.get(path)
            data = self._blob(source)(entry.oid) if entry else None
            return data.decode("utf-8", "replace") if data is not None else None

        return read

    def _blob(self, source: int) -> Blob:
        return reading(self.blobs[source], self.mounts)

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
        whole = with_mounts(trees[part.source], self.mounts)
        export(whole, self.files(part, trees), self._blob(part.source), root)
        if engine is Engine.KUSTOMIZE:
            return kustomize.build(root, part.path, part.kustomize, home, self.mounts)
        files = self._value_files(part, trees, root, folder)
        chart = root / part.path
        if part.chart:
            chart = folder / "chart" / part.chart.rpartition("/")[2]
            shutil.copytree(self._chart(part, trees), chart, symlinks=True)
        self.clock = self.clock or helm.uses_the_clock(chart)
        release = part.helm.release or helm.DEFAULT_RELEASE
        return helm.template(chart, release, part.namespace, part.helm, files, home, self._lend)

    def _chart(self, part: Part, trees: Sequence[Tree]) -> Path:
        repository = part.repository or self.plan.sources[part.source].repository
        wanted = f"{repository.rstrip('/')}/{part.chart}@{self._version(part, trees)}"
        found = self._lend(repository, str(part.chart), self._version(part, trees))
        if found is None:
            raise NotRenderable(f"chart {wanted} is not at hand: give it by --chart {wanted}=PATH")
        return found

    def _lend(self, repository: str, name: str, version: str) -> Path | None:
        """A chart that was given, else one that is fetched; None: neither."""
        wanted = f"{repository.rstrip('/')}/{name}@{version}".removeprefix("oci://")
        for given, path in self.charts.items():
            if given.removeprefix("oci://") == wanted:
                return path
        return self.fetch(repository, name, version) if self.fetch is not None else None

    def _version(self, part: Part, trees: Sequence[Tree]) -> str:
        """The version of a chart: that of its source, or of those at hand the highest that is asked for."""
        if not part.repository:
            return trees[part.source][CHART].oid
        wanted = part.version or "*"
        if not is_range(wanted):
            return wanted
        start = f"{part.repository.rstrip('/')}/{part.chart}@".removeprefix("oci://")
        known = [name.removeprefix("oci://").removeprefix(start) for name in self.charts
                 if name.removeprefix("oci://").startswith(start)]  # fmt: skip
        fitting = [each for each in known if (number := number_of(each)) and meets(number, wanted)]
        return fitting[0] if len(fitting) == 1 else wanted

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
            file = followed(path, tree, reader)
            key = (path, tree[file].oid)
            known = self._parsed.get(key) if part.substitution is None else None
            if known is None:
                try:
                    known = things(self._filled(part, reader(file) or "", trees), path)
                except UnreadableText as error:
                    raise NotRenderable(f"{path} is {error}") from error
                if part.substitution is None:
                    self._parsed[key] = known
            found.extend(known)
        return tuple(found)

    def _filled(self, part: Part, text: str, trees: Sequence[Tree]) -> str:
        if part.substitution is None:
            return text
        return substituted(text, self._variables(part, part.substitution, trees))

    def _variables(self, part: Part, substitution: Substitution, trees: Sequence[Tree]) -> Mapping[str, str]:
        """The variables, of objects that lie in the same repository and of the Kustomization's own; these win."""
        tree = trees[part.source]
        asked = variables.Asked(tree, self._reader(part.source, tree), lambda: self._read_by_parts(part.source, trees))
        found: dict[str, str] = {}
        for kind, name, optional in substitution.from_objects:
            paths, values = variables.of_object(asked, kind, name, substitution.namespace, self._data)
            self.consulted |= {(part.source, path) for path in paths}
            if values is None and (kind, name) in substitution.given:
                self.assumed[f"{kind}/{name}"] = None
                values = substitution.given[kind, name]
            if values is None and not optional:
                raise NotRenderable(
                    f"{kind}/{name}, which postBuild.substituteFrom names, is neither in the repository nor given"
                )
            found |= values or {}
        return found | dict(substitution.variables)

    def _read_by_parts(self, source: int, trees: Sequence[Tree]) -> set[str]:
        found: set[str] = set()
        for part in self.plan.parts:
            if part.source == source and not part.chart:
                with suppress(NotRenderable):
                    found |= self.files(part, trees)
        return found


def wait_for_the_clock() -> None:
    """Long enough that a template which prints seconds prints another one."""
    time.sleep(1.1)


def with_release(plan: Plan, release: str) -> Plan:
    """The plan with a release's name for charts that have none."""
    parts = [part if part.helm.release else replace(part, helm=replace(part.helm, release=release))
             for part in plan.parts]  # fmt: skip
    return replace(plan, parts=tuple(parts))
