"""States of the sources, rendered and remembered: what the workload gets in each."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.gitops.rendered import fields
from mfu_operator.gitops.rendered.difference import differences
from mfu_operator.gitops.rendered.objects import Thing, things
from mfu_operator.gitops.rendered.workload import Wanted
from mfu_operator.gitops.sources.plan import HelmOptions, Part, Plan
from mfu_operator.gitops.sources.tree import SUBMODULE, Entry, NotRenderable, Tree
from mfu_operator.investigate import compare
from mfu_operator.investigate.compare import Comparison, release_of, unfolded
from tests.support.comparisons import URL, comparison_of, config, manifest, opened_of, request_of, told
from tests.support.memory_store import MemoryStore

RELEASE = Thing("HelmRelease", "", "gpt", {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"})
PLAN = Plan()


@dataclass
class Scripted(Renderer):
    """Renders what it is told to: by a file of the tree, objects; `dice` is another value in each rendering."""

    told: dict[str, Sequence[Thing] | NotRenderable] = field(default_factory=dict)
    held: dict[str, set[str]] = field(default_factory=dict)
    dice: bool = False
    rendered: list[str] = field(default_factory=list)

    known: dict[str, tuple[Thing, ...]] = field(default_factory=dict)

    def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
        name = next(iter(trees[0])).removesuffix(".yaml")
        found = self.told[name]
        self.rendered.append(name)
        if isinstance(found, NotRenderable):
            raise found
        if afresh or name not in self.known:
            self.known[name] = (*found, *(things(manifest(DICE=len(self.rendered))) if self.dice else ()))
        return self.known[name]

    def holders(self, trees: Sequence[Tree]) -> set[str]:
        return self.held.get(next(iter(trees[0])).removesuffix(".yaml"), set())


def scripted(
    good: Sequence[Thing] | NotRenderable, bad: Sequence[Thing] | NotRenderable, plan: Plan = PLAN, **fields: object
) -> tuple[Comparison, Scripted]:
    """A comparison of two states of a source, in which these objects are rendered."""
    store = MemoryStore(URL)
    shas = store.add("Good", {"good.yaml": ""}), store.add("Bad", {"good.yaml": None, "bad.yaml": ""})
    one = opened_of(store, *shas)
    renderer = Scripted(plan, [one.blob], told={"good": good, "bad": bad}, **fields)  # type: ignore[arg-type]
    return Comparison(request_of(*shas), [one], renderer), renderer


def pair(before: dict[str, str | Entry], after: dict[str, str | Entry | None], *parts: Part) -> Comparison:
    """A comparison of two commits."""
    store = MemoryStore(URL)
    shas = store.add("Good", before), store.add("Bad", after)
    return comparison_of(opened_of(store, *shas), parts or (Part(),))


def test_a_state_is_rendered_once_and_read_once() -> None:
    comparison, renderer = scripted(things(manifest(A=1)), NotRenderable("broken"))
    good, bad = (comparison.opened[0].trees[side] for side in (0, 1))
    assert comparison.delivered((good,)) is comparison.delivered((good,))
    for _ in range(2):
        with pytest.raises(NotRenderable, match="broken"):
            comparison.delivered((bad,))
    assert renderer.rendered == ["good", "bad"]


def test_what_is_left_out_is_not_delivered_from_then_on() -> None:
    comparison, _ = scripted(things(manifest(A=1, B=1)), ())
    trees = (comparison.opened[0].trees[0],)
    whole = comparison.delivered(trees)
    place = next(place for place in whole.leaves if place[1].endswith("env[B].value"))
    comparison.left_out.add(place)
    assert whole.leaves.keys() - comparison.delivered(trees).leaves.keys() == {place}


def test_good_is_rendered_with_the_settings_of_then() -> None:
    comparison, now = scripted(things(manifest(A=1)), ())
    trees = (comparison.opened[0].trees[0],)
    assert comparison.delivered(trees, good=True) is comparison.delivered(trees)
    comparison.then = Scripted(Plan(), now.blobs, told={"good": things(manifest(A=2))})
    found = differences(comparison.delivered(trees), comparison.delivered(trees, good=True))
    assert told(found) == ["Job/gpt spec.template.spec.containers[trainer].env[A].value: 1 → 2"]


ONE = Entry(SUBMODULE, "1")
LIB = "lib (a submodule, which is not fetched) changed with it"
JSONNET = "b.libsonnet (Jsonnet, which is not rendered) changed with it"


@pytest.mark.parametrize(
    ("before", "after", "part", "expected"),
    [
        ({"lib": ONE}, {"lib": Entry(SUBMODULE, "2")}, Part(), LIB),
        ({"lib": ONE}, {"lib": None}, Part(), LIB),
        ({}, {"lib": ONE}, Part(), LIB),
        ({"a.jsonnet": "1", "b.libsonnet": "1"}, {"b.libsonnet": "2"}, Part(), JSONNET),
        ({"lib": ONE}, {"a.yaml": "2"}, Part(), None),
        ({"lib": ONE}, {"lib": Entry(SUBMODULE, "2")}, Part(path="gpt"), None),
        ({"a.yaml": "1"}, {"a.yaml": "2"}, Part(), None),
    ],
)
def test_two_states_are_not_compared_where_what_nothing_reads_here_changed(
    before: dict[str, str | Entry], after: dict[str, str | Entry | None], part: Part, expected: str | None
) -> None:
    comparison = pair({"gpt/job.yaml": manifest(), **before}, after, part)
    one = comparison.opened[0]
    ends = [(tree,) for tree in one.trees]
    if expected is None:
        comparison.require_read(after, *ends)
        return
    with pytest.raises(NotRenderable) as refused:
        comparison.require_read(after, *ends)
    assert str(refused.value) == expected
    comparison.require_read(["gpt/job.yaml"], *ends)


def test_a_workload_under_another_name_of_its_stem_is_the_same_one() -> None:
    for kind in ("Job", "job"):
        comparison = pair({"job.yaml": manifest("gpt-v1", A=1)}, {"job.yaml": manifest("gpt-v2", A=2)})
        comparison.request = replace(comparison.request, wanted=Wanted(kind, "gpt-v1"))
        found = differences(*(comparison.delivered((tree,)) for tree in comparison.opened[0].trees))
        assert [each.identity for each in found] == ["Job/gpt-v1"]


def test_of_two_runs_the_one_that_is_asked_about_is_read() -> None:
    runs = {f"{number}.yaml": manifest(f"gpt-v{number}", A=number) for number in (1, 2)}
    comparison = pair({**runs}, {"a.yaml": ""})
    comparison.request = replace(comparison.request, wanted=Wanted("Job", "gpt-v1"))
    assert comparison.delivered((comparison.opened[0].trees[0],)).objects == ("Job/gpt-v1",)


def test_another_workload_keeps_its_name() -> None:
    comparison = pair({"job.yaml": manifest("other")}, {"job.yaml": None})
    (other,) = comparison.things((comparison.opened[0].trees[0],))
    assert comparison.of(other, [other]).objects == ("Job/other",)


def test_a_workload_that_gets_too_much_is_not_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MAX_LEAVES", 1)
    comparison = pair({"job.yaml": manifest(A=1)}, {"a.yaml": ""})
    with pytest.raises(NotRenderable):
        comparison.delivered((comparison.opened[0].trees[0],))


def test_what_is_taken_as_it_is_now_is_told_of_the_rendering_and_of_the_settings() -> None:
    comparison = pair({"job.yaml": manifest()}, {"a.yaml": ""})
    comparison.renderer.assumed["Secret/vars"] = None
    comparison.at_good = (Part(assumed=("what Application gpt itself sets",)), Part())
    assert comparison.assumed() == {"Secret/vars", "what Application gpt itself sets"}


def test_secrets_have_one_key_for_one_question_and_another_for_another() -> None:
    one, again, other = (pair({"a.yaml": text}, {"b.yaml": ""}) for text in ("", "", ""))
    other.opened[0].bad = "0" * 40
    assert one.secret_key() == again.secret_key() != other.secret_key()
    assert len(one.secret_key()) == 32


MANY = [Thing("Job", f"n{number}", "gpt", {}, origin="Application/a" if number == 1 else "") for number in range(7)]
PODS = things("\n---\n".join(manifest(f"other-{number}") for number in range(7)))
TWO = "Job/n0/gpt, Job/n1/gpt of Application/a"
ASKED = "give its manifest with its namespace as the workload"
FIVE = "Job/other-0, Job/other-1, Job/other-2, Job/other-3, Job/other-4"
FAILED = {f"Application/{letter}": "no" for letter in "abcd"}
THREE = "".join(f"; Application/{letter} could not be rendered: no" for letter in "abc")


@pytest.mark.parametrize(
    ("found", "unrendered", "expected"),
    [
        (MANY, {}, f"rendered 7 times ({TWO}, Job/n2/gpt, Job/n3/gpt, Job/n4/gpt): {ASKED}"),
        (MANY[:2], {}, f"rendered 2 times ({TWO}): {ASKED}"),
        ((), {}, "not among the 0 rendered objects (none that makes pods)"),
        (things(config()), {}, "not among the 1 rendered objects (none that makes pods)"),
        ((*PODS, *things(config())), {}, f"not among the 8 rendered objects ({FIVE})"),
        ((), FAILED, f"not among the 0 rendered objects (none that makes pods){THREE}"),
    ],
)
def test_a_workload_that_is_not_rendered_is_missed_with_what_may_be_why(
    found: Sequence[Thing], unrendered: dict[str, str], expected: str
) -> None:
    comparison, _ = scripted(found, (), unrendered=unrendered)
    with pytest.raises(NotRenderable) as refused:
        comparison.delivered((comparison.opened[0].trees[0],))
    assert str(refused.value) == f"Job/gpt is {expected}"


def test_what_nothing_reads_here_may_be_why_a_workload_is_missed() -> None:
    links = {f"lib-{number}": Entry(SUBMODULE, str(number)) for number in range(4)}
    comparison = pair({"job.yaml": manifest("other")}, {**links})
    with pytest.raises(NotRenderable) as refused:
        comparison.delivered((comparison.opened[0].trees[0],))
    assert str(refused.value).split("; ")[1:] == [
        f"lib-{number} (a submodule, which is not fetched)" for number in range(3)
    ]


def test_what_nothing_reads_of_another_source_may_be_why_as_well() -> None:
    comparison = pair({"job.yaml": manifest("other")}, {"a.yaml": ""}, Part(), Part(source=1))
    lent = pair({"lib": ONE}, {"a.yaml": ""}).opened[0]
    comparison = replace(comparison, opened=[comparison.opened[0], lent], renderer=scripted((), ())[1])
    comparison.renderer = replace(comparison.renderer, plan=Plan(parts=(Part(), Part(source=1))))
    with pytest.raises(NotRenderable, match=r"lib \(a submodule"):
        comparison._delivered(())


@pytest.mark.parametrize("clock", [False, True])
def test_what_two_renderings_by_helm_give_otherwise_is_left_out(clock: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[bool] = []
    monkeypatch.setattr(compare, "wait_for_the_clock", lambda: waited.append(True))
    comparison, _ = scripted((), (), dice=True, engines={"plain": None, "helm v3.1": None}, clock=clock)
    comparison.settle()
    assert comparison.left_out == {("Job/gpt", "spec.template.spec.containers[trainer].env[DICE].value")}
    assert waited == [True] * clock


def test_what_no_template_renders_is_not_rendered_again() -> None:
    comparison, renderer = scripted((), (), dice=True, engines={"plain": None, "kustomize helm": None})
    comparison.settle()
    assert (comparison.left_out, renderer.rendered) == (set(), [])


@pytest.mark.parametrize("sides", [(NotRenderable("broken"), ()), ((), NotRenderable("broken"))])
def test_a_side_that_cannot_be_rendered_does_not_hide_what_the_other_one_shows(
    sides: tuple[Sequence[Thing] | NotRenderable, Sequence[Thing] | NotRenderable],
) -> None:
    comparison, _ = scripted(*sides, dice=True, engines={"helm": None})
    comparison.settle()
    assert len(comparison.left_out) == 1


GPT = things(manifest())


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        (GPT, GPT, False),
        ((*GPT, RELEASE), (*GPT, RELEASE), False),
        ((), (), False),
        ((RELEASE,), (RELEASE,), True),
        ((RELEASE,), GPT, True),
        ((RELEASE,), (), True),
        (GPT, (RELEASE,), True),
        (NotRenderable("broken"), (RELEASE,), True),
        ((RELEASE,), NotRenderable("broken"), True),
        (NotRenderable("broken"), NotRenderable("broken"), False),
    ],
)
def test_rendered_releases_are_rendered_in_their_turn_where_the_workload_is_not_rendered_at_once(
    good: Sequence[Thing] | NotRenderable, bad: Sequence[Thing] | NotRenderable, expected: bool
) -> None:
    comparison, _ = scripted(good, bad)
    found = unfolded(comparison)
    assert (found is not None) == expected
    assert found is None or (found.nested, found.parts, found.asked) == (True, (Part(),), ())


@pytest.mark.parametrize("side", ["good", "bad"])
def test_what_was_given_and_is_rendered_is_left_to_what_is_rendered(side: str) -> None:
    parts = (Part(held="Application/gpt"), Part(held="Application/other"), Part())
    comparison, _ = scripted(GPT, GPT, Plan(parts=parts), held={side: {"Application/gpt", "Application/third"}})
    found = unfolded(comparison)
    assert found is not None
    assert (found.parts, found.asked) == (parts[1:], ("Application/gpt",))


@pytest.mark.parametrize(
    ("rendered", "wanted", "expected"),
    [
        (things(manifest("release-name-gpt")), Wanted("Job", "llama-gpt"), "llama"),
        (things(manifest("release-name")), Wanted("Job", "llama"), "llama"),
        (things(manifest("ml-release-name-gpt")), Wanted("Job", "ml-llama-gpt"), "llama"),
        (things(manifest("release-name-gpt")), Wanted("job", "llama-gpt"), "llama"),
        (things(manifest("release-name-gpt")), Wanted("Job", "-gpt"), None),
        (things(manifest("release-name-gpt")), Wanted("Job", "llama"), None),
        (things(manifest("ml-release-name-gpt")), Wanted("Job", "llama-gpt"), None),
        (things(manifest("release-name-gpt")), Wanted("JobSet", "llama-gpt"), None),
        (things(manifest("llama")), Wanted("Job", "llama-gpt"), None),
        (things(manifest("other-gpt")), Wanted("Job", "llama-gpt"), None),
        (things(f"{manifest('release-name-gpt')}\n---\n{manifest('llama-gpt')}"), Wanted("Job", "llama-gpt"), None),
        (things(f"{manifest('other')}\n---\n{manifest('release-name-gpt')}"), Wanted("Job", "llama-gpt"), "llama"),
        (NotRenderable("broken"), Wanted("Job", "llama-gpt"), None),
    ],
)
def test_the_release_of_a_chart_is_named_after_the_workload(
    rendered: Sequence[Thing] | NotRenderable, wanted: Wanted, expected: str | None
) -> None:
    comparison, _ = scripted((), rendered)
    comparison.request = replace(comparison.request, wanted=wanted)
    assert release_of(comparison) == expected
    named = Plan(parts=(Part(helm=HelmOptions(release="ours")),))
    comparison.renderer = replace(comparison.renderer, plan=named)
    assert release_of(comparison) is None
    comparison.renderer = replace(comparison.renderer, plan=Plan(parts=(*named.parts, Part())))
    assert release_of(comparison) == expected
