"""Proposals that set what ran where it was fast: an image's digest, a chart's version, an application's parameter."""

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from mfu_operator.errors import AskPerson
from mfu_operator.gitops.blame.cleared import pin_id
from mfu_operator.gitops.blame.model import Blame, Window
from mfu_operator.gitops.images import Image, parse
from mfu_operator.gitops.pin import pin, pin_chart, pin_tag
from mfu_operator.gitops.rendered.difference import Difference
from mfu_operator.gitops.sources.plan import Part, settings_changed
from mfu_operator.gitops.sources.tree import NotRenderable
from mfu_operator.investigate.compare import Comparison
from mfu_operator.investigate.desk import Candidate, Desk, Files, Offer, encoded
from mfu_operator.investigate.desk import desk as desk_of
from mfu_operator.investigate.sources import Opened
from mfu_operator.model.masking import is_secret_key, masked

Parameter = tuple[str, str, bool]
"""Name, value, and whether it is a text whatever it looks like."""

MANIFESTS = 2000
"""Files of a branch that are looked through for the one that asks for a chart."""


def pinned(desk: Desk, guilty: Sequence[Difference]) -> Candidate | None:
    """The good digest of an image, where only images are guilty and what ran is known."""
    digest_of = desk.comparison.request.good_digest
    if not guilty or any(each.name != "image" for each in guilty):
        return None
    if any("@" in str(each.old) for each in guilty):
        return None
    ran = [(parse(str(each.old)), digest_of(str(each.old))) for each in guilty]
    wanted = {image.name: replace(image, digest=digest) for image, digest in ran if digest}
    return _with_digests(desk, wanted) if all(digest_of(str(each.old)) for each in guilty) else None


def _with_digests(desk: Desk, wanted: Mapping[str, Image]) -> Candidate | None:
    """Files in which images, by their names, are set to digests; None where no file takes all of them."""
    if not wanted:
        return None
    files: dict[str, bytes | None] = {}
    for part in desk.comparison.renderer.parts(desk.trees):
        if part.source != desk.number:
            continue
        for path in sorted(desk.comparison.renderer.files(part, desk.trees)):
            text = desk.text(path)
            for image in wanted.values():
                for way in (_pinned_name, _pinned_tag):
                    new = _pin(way, text, image)
                    if text is not None and new is not None and _shows(desk, {path: encoded(new)}, image):
                        files[path] = encoded(new)
                        text = new
                        break
    candidate = desk.tried("PinDigest", files, [])
    return candidate if candidate and all(_shows(desk, files, image) for image in wanted.values()) else None


def _pinned_name(text: str, image: Image) -> str:
    return pin(text, image.name, str(image.digest))


def _pinned_tag(text: str, image: Image) -> str:
    return pin_tag(text, image.name, str(image.digest), image.tag)


def _pin(way: Callable[[str, Image], str], text: str | None, image: Image) -> str | None:
    try:
        return way(text, image) if text is not None else None
    except AskPerson:
        return None


def _shows(desk: Desk, files: Files, image: Image) -> bool:
    """Whether the workload's image has the digest once the files are changed."""
    store = desk.store
    after = (*desk.trees[: desk.number], store.tree(store.write(desk.trees[desk.number], files)),
             *desk.trees[desk.number + 1 :])  # fmt: skip
    try:
        leaves = desk.comparison.delivered(after).leaves.values()
    except NotRenderable:
        return False
    found = [parse(str(leaf.value)) for leaf in leaves if leaf.name == "image"]
    return any(each.digest == image.digest and each.full_name == image.full_name for each in found)


def moved(comparison: Comparison, window: Window, blame: Blame) -> Offer | None:
    """The pin of the known good digest, where an image was rebuilt under its tag and no commit is suspected."""
    if not blame.rebuilt or window.good is None:
        return None
    main = next(index for index, each in enumerate(comparison.opened) if each.main)
    desk = desk_of(comparison, main, window.good)
    wanted = {image.name: image for each in blame.rebuilt
              if (image := replace(parse(each.reference), digest=each.good))}  # fmt: skip
    candidate = _with_digests(desk, wanted)
    pins = tuple(
        f"{each.reference} ran as {each.good} while it was fast, and as {each.bad} since" for each in blame.rebuilt
    )
    return Offer(desk, candidate, pins=pins, pin=pin_id((), blame.rebuilt)) if candidate is not None else None


def outside(comparison: Comparison, window: Window, blame: Blame) -> Offer | AskPerson | None:
    """The pin of a chart's version or of a parameter, where what is guilty came with none of the commits."""
    if window.good is None or not blame.outside:
        return None
    main = next(index for index, each in enumerate(comparison.opened) if each.main)
    desk = desk_of(comparison, main, window.good)
    found: AskPerson | None = None
    for number, each in enumerate(comparison.opened):
        if each.store is None and each.good != each.bad:
            pinned_chart = _chart(desk, number, each, blame)
            if isinstance(pinned_chart, Offer):
                return pinned_chart
            found = found or pinned_chart
    return _parameters(desk, blame) or found


def _chart(desk: Desk, number: int, chart: Opened, blame: Blame) -> Offer | AskPerson | None:
    """The version of a chart that ran where it was fast, in the manifest of the branch that asks for it."""
    trees = (*desk.trees[:number], chart.trees[0], *desk.trees[number + 1 :])
    there = replace(desk, trees=trees)
    name, places = str(chart.source.chart), [each.place for each in blame.outside]
    before = desk.comparison
    if not _restored(before, there, places):
        return None
    tree = desk.trees[desk.number]
    paths = [path for path in sorted(tree) if path.endswith((".yaml", ".yml"))][:MANIFESTS]
    desk.store.fetch(tree[path].oid for path in paths)
    for path in paths:
        text = desk.text(path)
        if text is None or name not in text or chart.source.target not in text:
            continue
        try:
            new = pin_chart(text, name, chart.source.target, chart.good)
        except AskPerson:
            continue
        candidate = there.tried("PinChart", {path: encoded(new)}, places)
        if candidate is not None and candidate.restored:
            pins = (f"chart {name} was {chart.good} while it was fast, and is {chart.bad} since",)
            return Offer(desk, candidate, pins=pins, pin=pin_id(blame.outside, ()))
    return AskPerson(
        "NothingToPin",
        f"The application asks for chart {name} {chart.source.target} outside {desk.one.name}: set its targetRevision "
        f"to {chart.good}.",
    )


def _restored(comparison: Comparison, desk: Desk, places: Sequence[tuple[str, str]]) -> bool:
    try:
        return not desk.still(comparison.delivered(desk.trees), places)
    except NotRenderable:
        return False


def _parameters(desk: Desk, blame: Blame) -> Offer | None:
    """The parameters that the application had, in the file by which Argo CD lets a repository override them.

    The file's list takes the place of the application's: it holds those that did not change too, and is not written
    where one of them is a secret.
    """
    comparison = desk.comparison
    if comparison.then is None:
        return None
    places = [each.place for each in blame.outside]
    for was, now in zip(comparison.then.plan.parts, comparison.renderer.plan.parts, strict=True):
        changed = {name: value for name, value, _ in _changed(was, now)}
        path = posixpath.join(now.path, f".argocd-source-{now.name}.yaml")
        if not changed or now.source != desk.number or now.chart or path in desk.trees[desk.number]:
            continue
        kept = {one[0]: one for one in (*now.helm.parameters, *_changed(was, now))}
        if any(is_secret_key(name) or masked(value) != value for name, value, _ in kept.values()):
            continue
        entries = "".join(map(_entry, kept.values()))
        candidate = desk.tried("PinParameter", {path: f"helm:\n  parameters:\n{entries}".encode()}, places)
        if candidate is not None and candidate.restored:
            listed = ", ".join(f"{name} {value}" for name, value in changed.items())
            remark = f"{path} sets {listed} for Application {now.name} alone, whatever the Application itself says."
            old, new = (replace(now, helm=replace(now.helm, parameters=tuple(
                one for one in side.helm.parameters if one[0] in changed))) for side in (was, now))  # fmt: skip
            pins = settings_changed((old,), (new,))
            return Offer(desk, candidate, remark=remark, pins=pins, pin=pin_id(blame.outside, ()))
    return None


def _entry(parameter: Parameter) -> str:
    name, value, forced = parameter
    entry = f"    - name: {json.dumps(name)}\n      value: {json.dumps(value)}\n"
    return f"{entry}      forceString: true\n" if forced else entry


def _changed(was: Part, now: Part) -> Iterator[Parameter]:
    """The good values of parameters that are others now; those that were not set cannot be taken back by a file."""
    values = {name: value for name, value, _ in now.helm.parameters}
    for name, value, forced in was.helm.parameters:
        if values.get(name) != value:
            yield name, value, forced
