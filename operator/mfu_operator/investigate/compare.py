"""Every revision of the window rendered, and what each commit changed of what the workload gets."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from mfu_operator.adapters.git.store import Step as History
from mfu_operator.adapters.render.helm import DEFAULT_RELEASE
from mfu_operator.adapters.render.renderer import Renderer, wait_for_the_clock, with_release
from mfu_operator.gitops.blame.model import Moved, Step, Window
from mfu_operator.gitops.rendered.difference import Difference, differences
from mfu_operator.gitops.rendered.fields import TooManyLeaves
from mfu_operator.gitops.rendered.objects import Thing
from mfu_operator.gitops.rendered.workload import Delivered, Wanted, delivered, find, find_renamed, has_pods, meaning
from mfu_operator.gitops.sources.nested import is_holder, without
from mfu_operator.gitops.sources.plan import Part, Plan, settings_changed
from mfu_operator.gitops.sources.reach import may_be_unread, unread
from mfu_operator.gitops.sources.tree import SUBMODULE, Entry, NotNow, NotRenderable, Tree
from mfu_operator.investigate.request import Request
from mfu_operator.investigate.sources import Opened

_CHUNK = 16
Trees = tuple[Tree, ...]


@dataclass(slots=True)
class Comparison:
    """Renders states of the sources and remembers what the workload gets in each."""

    request: Request
    opened: Sequence[Opened]
    renderer: Renderer
    then: Renderer | None = None
    """Renders the good revision, where the application had other settings when it was deployed."""
    at_good: tuple[Part, ...] = ()
    """What the application was at good, as far as that is known."""
    left_out: set[tuple[str, str]] = field(default_factory=set)
    _known: dict[object, Delivered | NotRenderable] = field(default_factory=dict)

    def things(self, trees: Trees) -> tuple[Thing, ...]:
        """The rendered objects of a state. Raises NotRenderable."""
        return self.renderer.render(trees)

    def delivered(self, trees: Trees, good: bool = False) -> Delivered:
        """What the workload gets in a state; `good` renders it with the settings of then. Raises NotRenderable."""
        renderer = (self.then if good else None) or self.renderer
        key = (id(renderer), renderer.keys(trees), frozenset(self.left_out))
        if key not in self._known:
            try:
                self._known[key] = self._without(self._delivered(renderer.render(trees)))
            except NotRenderable as error:
                self._known[key] = error
        known = self._known[key]
        if isinstance(known, NotRenderable):
            raise known
        return known

    def require_read(self, paths: Iterable[str], before: Trees, after: Trees) -> None:
        """Raise NotRenderable where two states, which differ in these files, differ in what no rendering here reads."""
        if not any(may_be_unread(path, tree[path]) for path in paths for tree in (*before, *after) if path in tree):
            return
        for part in self.renderer.parts(after):
            was, now = (unread(part, trees[part.source]) for trees in (before, after))
            changed = sorted(path for path in was.keys() | now.keys() if was.get(path) != now.get(path))
            if changed:
                raise NotRenderable(f"{_told_unread(changed[0], {**was, **now}[changed[0]])} changed with it")

    def of(self, workload: Thing, things: Sequence[Thing], ours: bool = False) -> Delivered:
        """What a workload gets of rendered objects; `ours` is the one that is asked about. Raises NotRenderable."""
        try:
            name = self.request.wanted.name if ours else None
            return self._without(delivered(workload, things, self.secret_key(), name))
        except TooManyLeaves as error:
            raise NotRenderable(str(error)) from error

    def assumed(self) -> set[str]:
        """What is taken as it is now, because nothing says how it was."""
        return {*self.renderer.assumed, *(each for part in self.at_good for each in part.assumed)}

    def secret_key(self) -> bytes:
        """Keys the hashes of Secrets: of this question alone, and the same when it is asked again."""
        return hashlib.sha256("\0".join(f"{each.good} {each.bad}" for each in self.opened).encode()).digest()

    def _delivered(self, things: Sequence[Thing]) -> Delivered:
        workload = find(things, self.request.wanted) or find_renamed(things, self.request.wanted)
        if workload is None:
            unread_here = [_told_unread(path, entry) for part in self.renderer.plan.parts
                           for path, entry in unread(part, self.opened[part.source].trees[1]).items()]  # fmt: skip
            raise NotRenderable(_not_found(self.request.wanted, things, self.renderer.unrendered, unread_here))
        return self.of(workload, things, ours=True)

    def _without(self, found: Delivered) -> Delivered:
        kept = {place: leaf for place, leaf in found.leaves.items() if place not in self.left_out}
        return replace(found, leaves=kept)

    def settle(self) -> None:
        """Find what two renderings of one revision give differently, and leave it out from then on."""
        names = [name for name in self.renderer.engines if name.startswith("helm")]
        if not names:
            return
        if self.renderer.clock:
            wait_for_the_clock()
        for side in (0, 1):
            trees = tuple(each.trees[side] for each in self.opened)
            try:
                first, again = self.delivered(trees), self._delivered(self.renderer.render(trees, afresh=True))
            except NotRenderable:
                continue
            self.left_out |= {difference.place for difference in differences(first, again)}


def window(comparison: Comparison) -> Window:
    """The window of all sources, rendered and compared."""
    sides: list[Delivered | None] = []
    why_not, passing = "", False
    for side, name in enumerate(("good", "bad")):
        trees = tuple(each.trees[side] for each in comparison.opened)
        try:
            sides.append(comparison.delivered(trees, good=not side))
        except NotRenderable as error:
            sides.append(None)
            passing = passing or isinstance(error, NotNow)
            why_not = (
                why_not
                or f"{name} ({comparison.opened[0].good[:12] if not side else comparison.opened[0].bad[:12]}): {error}"
            )
    if all(sides):
        comparison.settle()
        ends = [tuple(each.trees[side] for each in comparison.opened) for side in (0, 1)]
        sides = [comparison.delivered(ends[0], good=True), comparison.delivered(ends[1])]
        try:
            paths = {path for each in comparison.opened for step in each.steps for path in step.before}
            comparison.require_read(paths, *ends)
        except NotRenderable as error:
            why_not = str(error).replace("changed with it", "is another one at bad than at good")
    good, bad = sides
    changed = differences(good, bad) if good and bad else ()
    steps = _in_order([_steps(comparison, number) for number in range(len(comparison.opened))])
    missing = {f"{name} is not among the rendered objects" for side in sides if side for name in side.missing}
    missing |= {f"{name} at good: it is taken as it is now" for name in comparison.assumed()}
    told = [f"{name}: {key}" for name, key in sorted(comparison.left_out)]
    moved, alike = _digests(comparison.request, good, bad)
    why_not, absent = why_not or _history(comparison), tuple(sorted(missing))
    outside = tuple(
        f"chart {each.name} {each.good} → {each.bad}"
        for each in comparison.opened
        if each.store is None and each.good != each.bad
    )
    if comparison.then is not None:
        outside += settings_changed(comparison.then.plan.parts, comparison.renderer.plan.parts)
    return Window(tuple(steps), good, bad, changed, why_not, tuple(told), absent, outside, moved, alike, passing)


def _in_order(by_source: Sequence[Sequence[Step]]) -> list[Step]:
    """The commits of all sources, newest first. Within a source history orders them, whatever a committer's clock said:
    one that is older than its parent by its time counts as made with it."""
    timed: list[tuple[float, Step]] = []
    for steps in by_source:
        times_s = list(accumulate((step.commit.time_s for step in reversed(steps)), max))
        timed += zip(reversed(times_s), steps, strict=True)
    return [step for _, step in sorted(timed, key=lambda each: -each[0])]


def _digests(
    request: Request, good: Delivered | None, bad: Delivered | None
) -> tuple[tuple[Moved, ...], frozenset[tuple[str, str]]]:
    """Images that were rebuilt under their tag, and pairs of references under which the same digest ran."""
    then, now = (_images(side) for side in (good, bad))
    was = {reference: request.good_digest(reference) for reference in then}
    runs = {reference: request.bad_digest(reference) for reference in now}
    moved = tuple(
        Moved(reference, old, new)
        for reference in sorted(then & now)
        if (old := was[reference]) and (new := runs[reference]) and old != new and "@" not in reference
    )
    alike = frozenset(
        (one, other) for one in then for other in now if one != other and was[one] and was[one] == runs[other]
    )
    return moved, alike


def _images(side: Delivered | None) -> set[str]:
    """The images of containers that train."""
    if side is None:
        return set()
    return {str(leaf.value) for leaf in side.leaves.values()
            if leaf.name == "image" and side.containers.get(leaf.container) is not False}  # fmt: skip


def _history(comparison: Comparison) -> str:
    return next((each.why_not for each in comparison.opened if each.why_not), "")


def _steps(comparison: Comparison, number: int) -> list[Step]:
    one = comparison.opened[number]
    found = []
    after: dict[str, Entry] = dict(one.trees[1])
    for index, step in enumerate(one.steps):
        if index % _CHUNK == 0:
            _warm(comparison, number, after, one.steps[index : index + _CHUNK])
        before = _undone(after, step.before)
        others = [_at(each, step.commit.time_s) for each in comparison.opened]
        changed: tuple[Difference, ...] | None
        why_not, passing = "", False
        try:
            states = _with(others, number, before), _with(others, number, after)
            comparison.require_read(step.before, *states)
            changed = differences(*map(comparison.delivered, states))
        except NotRenderable as error:
            changed, why_not, passing = None, str(error), isinstance(error, NotNow)
        found.append(Step(step.commit, one.name, changed, why_not, passing))
        after = before
    return found


def _warm(comparison: Comparison, number: int, after: Tree, steps: Sequence[History]) -> None:
    """Render the states of some commits side by side."""
    states = []
    for step in steps:
        after = _undone(after, step.before)
        others = [_at(each, step.commit.time_s) for each in comparison.opened]
        states.append(_with(others, number, after))
    comparison.renderer.warm(states)


def _undone(tree: Mapping[str, Entry], before: Mapping[str, Entry | None]) -> dict[str, Entry]:
    found = dict(tree)
    for path, entry in before.items():
        if entry is None:
            found.pop(path, None)
        else:
            found[path] = entry
    return found


def _at(one: Opened, seconds: float) -> Tree:
    return one.tree_at(one.at(seconds))


def _with(trees: Sequence[Tree], number: int, tree: Tree) -> Trees:
    return (*trees[:number], tree, *trees[number + 1 :])


def _not_found(
    wanted: Wanted, things: Sequence[Thing], unrendered: Mapping[str, str], unread_here: Sequence[str]
) -> str:
    alike = meaning(things, wanted)
    if alike:
        listed = ", ".join(f"{thing} of {thing.origin}" if thing.origin else str(thing) for thing in alike[:5])
        return (
            f"{wanted} is rendered {len(alike)} times ({listed}): give its manifest with its namespace as the workload"
        )
    named = [str(thing) for thing in things if has_pods(thing)]
    listed = ", ".join(named[:5]) or "none that makes pods"
    why = [*unread_here[:3], *(f"{name} could not be rendered: {why}" for name, why in list(unrendered.items())[:3])]
    return "; ".join([f"{wanted} is not among the {len(things)} rendered objects ({listed})", *why])


def _told_unread(path: str, entry: Entry) -> str:
    what = "a submodule, which is not fetched" if entry.mode == SUBMODULE else "Jsonnet, which is not rendered"
    return f"{path} ({what})"


def unfolded(comparison: Comparison) -> Plan | None:
    """The plan in which rendered objects of the delivery tool are rendered in their turn; None where none need be.

    They are where the workload is not among what is rendered at once, or where one of them is what was given as it is
    now: Git says how it was at each revision.
    """
    plan = comparison.renderer.plan
    names: dict[str, None] = {}
    holders, found = False, True
    for side in (0, 1):
        trees = tuple(each.trees[side] for each in comparison.opened)
        try:
            things = comparison.things(trees)
        except NotRenderable:
            continue
        held = comparison.renderer.holders(trees)
        names |= dict.fromkeys(part.held for part in plan.parts if part.held in held)
        holders = holders or any(map(is_holder, things))
        found = found and find(things, comparison.request.wanted) is not None
    return without(plan, tuple(names)) if names or (holders and not found) else None


def release_of(comparison: Comparison) -> str | None:
    """The release's name of a chart that nothing names, from the name of the workload that is asked about."""
    wanted = comparison.request.wanted
    if all(part.helm.release for part in comparison.renderer.plan.parts):
        return None
    try:
        things = comparison.things(tuple(each.trees[1] for each in comparison.opened))
    except NotRenderable:
        return None
    if find(things, wanted) is not None:
        return None
    for thing in things:
        before, mark, after = thing.name.partition(DEFAULT_RELEASE)
        if thing.kind.lower() == wanted.kind.lower() and mark:
            middle = wanted.name.removeprefix(before).removesuffix(after)
            if f"{before}{middle}{after}" == wanted.name and middle:
                return middle
    return None


__all__ = ["Comparison", "release_of", "window", "with_release"]
