"""Pins: an image's digest, a chart's version or a parameter that ran where it was fast, set in a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.errors import AskPerson
from mfu_operator.gitops.blame.model import Blame, Moved, Window
from mfu_operator.gitops.rendered.objects import Thing, things
from mfu_operator.gitops.sources.plan import Engine, HelmOptions, Part, Plan, Source, Substitution
from mfu_operator.gitops.sources.tree import CHART, SYMLINK, Entry, NotRenderable, Tree
from mfu_operator.investigate.compare import Comparison, window
from mfu_operator.investigate.desk import Offer
from mfu_operator.investigate.propose import propose
from mfu_operator.investigate.sources import Opened
from tests.support.comparisons import URL, blamed, comparison_of, config, manifest, opened_of, request_of
from tests.support.memory_store import MemoryStore

A, B = (f"sha256:{letter * 64}" for letter in "ab")
CHARTS = "https://charts.example"
Files = dict[str, str | bytes | Entry | None]


def job(image: str, beside: str = "", name: str = "gpt") -> str:
    """A job of one or two images."""
    second = f"      - name: data\n        image: {beside}\n" if beside else ""
    head = f"apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\nspec:\n  template:\n    spec:\n"
    return f"{head}      containers:\n      - name: trainer\n        image: {image}\n{second}"


def asked(*states: Files, parts: Sequence[Part] = (Part(),), **request: Any) -> tuple[Comparison, Window]:
    """The window of such commits."""
    store = MemoryStore(URL)
    shas = [store.add(str(number), files) for number, files in enumerate(states)]
    comparison = comparison_of(opened_of(store, shas[0], shas[-1]), parts, request_of(shas[0], shas[-1], **request))
    return comparison, window(comparison)


def offered(found: Offer | AskPerson | None) -> tuple[str, Mapping[str, bytes | None], tuple[str, ...]]:
    assert isinstance(found, Offer), found
    return found.candidate.kind, found.candidate.files, found.pins


@pytest.mark.parametrize(
    ("old", "new", "digests", "names", "expected"),
    [
        (("gpt:v1", ""), ("gpt:v2", ""), {"gpt:v1": A}, (), (f"gpt@{A}", "")),
        (("gpt:v1", "data:v1"), ("gpt:v2", "data:v2"), {"gpt:v1": A, "data:v1": B}, (), (f"gpt@{A}", f"data@{B}")),
        (("gpt:v1", "data:v1"), ("gpt:v2", "data:v2"), {"gpt:v1": A}, (), None),
        (("gpt:v1", ""), ("gpt:v2", ""), {}, (), None),
        ((f"gpt@{A}", ""), ("gpt:v2", ""), {}, (), None),
        (("gpt:v1", ""), ("other:v2", ""), {"gpt:v1": A}, (), None),
        (("gpt:v1", ""), ("gpt:v2", "data:v2"), {"gpt:v1": A}, ("trainer",), (f"gpt@{A}", "data:v2")),
        (("gpt:v1", ""), ("gpt:v2", "data:v2"), {"gpt:v1": A}, (), None),
    ],
)
def test_a_new_image_gives_way_to_the_digest_that_ran_where_only_images_are_guilty(
    old: tuple[str, str], new: tuple[str, str], digests: Mapping[str, str], names: tuple[str, ...],
    expected: tuple[str, str] | None,
) -> None:  # fmt: skip
    comparison, found = asked({"job.yaml": job(*old)}, {"job.yaml": job(*new)}, good_images=digests)
    kind, files, _ = offered(propose(comparison, found, blamed(found, "1", *names)))
    if expected is None:
        assert (kind, files) == ("Revert", {"job.yaml": job(*old).encode()})
    else:
        assert (kind, files) == ("PinDigest", {"job.yaml": job(*expected).encode()})


def test_a_pin_is_made_in_the_files_that_the_workload_is_rendered_from() -> None:
    link = Entry(SYMLINK, "gone")
    states: list[Files] = [
        {
            "gpt/job.yaml": job("gpt:v1"),
            "gpt/a.yaml": config(),
            "gpt/b.yaml": job("gpt:v0", name="other"),
            "c.yaml": job("gpt:v1"),
            "link": link,
        },
        {"gpt/job.yaml": job("gpt:v2")},
    ]
    comparison, found = asked(*states, parts=[Part(path="gpt")], good_images={"gpt:v1": A})
    _, files, _ = offered(propose(comparison, found, blamed(found, "1")))
    assert files == {"gpt/job.yaml": job(f"gpt@{A}").encode()}


def test_a_tag_beside_a_repository_is_pinned_as_well() -> None:
    def values(tag: str) -> str:
        return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: vars\ndata:\n  repository: gpt\n  tag: {tag}\n"

    part = Part(substitution=Substitution(from_objects=(("ConfigMap", "vars", False),)))
    comparison, found = asked(
        {"job.yaml": job("${repository}:${tag}"), "a.yaml": values("v1")}, {"a.yaml": values("v2")},
        parts=[part], good_images={"gpt:v1": A},
    )  # fmt: skip
    kind, files, _ = offered(propose(comparison, found, blamed(found, "1")))
    assert (kind, files) == ("PinDigest", {"a.yaml": values(f"v1@{A}").encode()}), "the tag that ran by this digest"


REBUILT = (Moved("gpt:v1", A, B),)


def two(first: Files, second: Files, third: Files | None = None) -> tuple[Comparison, Window]:
    """Two or three sources, of which the second is asked about."""
    opened = []
    for number, files in enumerate((first, second, *([third] if third else []))):
        store = MemoryStore(f"{URL}-{number}")
        shas = store.add("0", files), store.add("1", {"README.md": "new"})
        source = Source(str(store.url), "main")
        opened.append(opened_of(store, *shas, source=source, name=str(store.url), main=number == 1))
    comparison = comparison_of(opened, [Part(source=number) for number in range(len(opened))])
    return comparison, window(comparison)


def test_an_image_that_was_rebuilt_is_pinned_to_what_ran() -> None:
    comparison, found = two({"c.yaml": config()}, {"job.yaml": job("gpt:v1")}, {"d.yaml": config("d")})
    offer = propose(comparison, found, blamed(found, None, rebuilt=REBUILT))
    told = f"gpt:v1 ran as {A} while it was fast, and as {B} since"
    assert offered(offer) == ("PinDigest", {"job.yaml": job(f"gpt@{A}").encode()}, (told,))
    assert isinstance(offer, Offer)
    assert (offer.desk.number, offer.candidate.restored) == (1, True)


def test_an_image_of_another_source_is_not_pinned() -> None:
    comparison, found = two({"job.yaml": job("gpt:v1")}, {"c.yaml": config()})
    assert propose(comparison, found, blamed(found, None, rebuilt=REBUILT)) is None
    assert propose(comparison, found, blamed(found, None)) is None


def test_an_image_that_no_file_names_is_not_pinned() -> None:
    comparison, found = two({"c.yaml": config()}, {"job.yaml": job("gpt:v1")})
    assert propose(comparison, found, blamed(found, None, rebuilt=(Moved("other:v1", A, B),))) is None
    both = (*REBUILT, Moved("other:v1", A, B))
    assert propose(comparison, found, blamed(found, None, rebuilt=both)) is None


def test_a_pin_that_cannot_be_rendered_is_not_offered() -> None:
    class Strict(Renderer):
        def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
            found = super().render(trees, afresh)
            if "@" in str(found[0].body):
                raise NotRenderable("the policy refuses digests")
            return found

    comparison, found = two({"c.yaml": config()}, {"job.yaml": job("gpt:v1")})
    comparison.renderer = Strict(replace(comparison.renderer.plan, parts=(Part(source=1),)), comparison.renderer.blobs)
    assert propose(comparison, found, blamed(found, None, rebuilt=REBUILT)) is None


class OfChart(Renderer):
    """Renders a chart as its version says."""

    def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
        if "broken" in trees[1][CHART].oid:
            raise NotRenderable("broken")
        return things(manifest(WORKERS=trees[1][CHART].oid.partition("+")[0]))


def charts(files: Files, *versions: tuple[str, str], name: str = "gpt") -> tuple[Comparison, Window, Blame]:
    """A repository with a commit that costs nothing, and charts whose range moved."""
    store = MemoryStore(URL)
    shas = store.add("0", files), store.add("1", {"README.md": f"{name} 1.x"})
    opened = [opened_of(store, *shas, source=Source(URL, "main", ref="values"))]
    for good, bad in versions:
        trees = ({CHART: Entry("chart", good)}, {CHART: Entry("chart", bad)})
        source = Source(CHARTS, "1.x", chart=name)
        opened.append(Opened(source, f"{CHARTS}/{name}", None, good, bad, [], trees))
    comparison = comparison_of(opened, [Part(source=1, chart=name)])
    comparison.renderer = OfChart(comparison.renderer.plan, comparison.renderer.blobs)
    found = window(comparison)
    return comparison, found, blamed(found, None, outside=found.changed)


def wants(name: str, version: str) -> str:
    return f"source:\n  chart: {name}\n  targetRevision: {version}\n"


ASKS = wants("gpt", "1.x")
TOLD = "The application asks for chart gpt 1.x outside https://git.example/ml/models: set its targetRevision to 1.0.0."


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ({"apps/gpt.yaml": ASKS}, "apps/gpt.yaml"),
        ({"apps/gpt.yml": ASKS}, "apps/gpt.yml"),
        ({"a.yaml": wants("gpt", "2.x"), "b.yaml": wants("other", "1.x"), "d.yaml": ASKS}, "d.yaml"),
        ({"c.yaml": "# gpt 1.x", "d.yaml": ASKS}, "d.yaml"),
        ({"a.yaml": Entry(SYMLINK, "gone"), "b.yaml": ASKS}, "b.yaml"),
        ({"apps/gpt.txt": ASKS}, None),
        ({"a.yaml": wants("gpt", "2.x")}, None),
    ],
)  # fmt: skip
def test_a_chart_whose_range_moved_is_pinned_where_a_manifest_asks_for_it(files: Files, path: str | None) -> None:
    comparison, found, blame = charts(files, ("1.0.0", "1.1.0"))
    offer = propose(comparison, found, blame)
    if path is None:
        assert isinstance(offer, AskPerson)
        assert (offer.reason, offer.message) == ("NothingToPin", TOLD)
        return
    pins = ("chart gpt was 1.0.0 while it was fast, and is 1.1.0 since",)
    assert offered(offer) == ("PinChart", {path: wants("gpt", "1.0.0").encode()}, pins)


@pytest.mark.parametrize("versions", [("1.0.0+a", "1.0.0+b"), ("broken", "1.1.0")])
def test_a_chart_that_brings_nothing_back_is_not_pinned(versions: tuple[str, str]) -> None:
    comparison, found, blame = charts({"a.yaml": ASKS}, versions)
    other, _, _ = charts({"a.yaml": ASKS}, ("1.0.0", "1.1.0"))
    good = window(other)
    places = replace(blame, outside=good.changed)
    assert propose(comparison, replace(found, good=good.good), places) is None or versions[0] != "broken"
    comparison.opened[1].trees = ({CHART: Entry("chart", "broken")}, comparison.opened[1].trees[1])
    assert propose(comparison, replace(found, good=good.good, bad=good.bad), places) is None


def test_of_several_charts_the_one_that_brings_it_back_is_pinned() -> None:
    comparison, found, blame = charts({"a.yaml": ASKS}, ("1.0.0", "1.1.0"), ("2.0.0", "2.0.0"), ("3.0.0", "3.1.0"))
    assert offered(propose(comparison, found, blame))[0] == "PinChart"
    first, second = comparison.opened[1], comparison.opened[3]
    first.source, second.source = replace(first.source, target="9.x"), replace(first.source, chart="other")
    asked_for = propose(comparison, found, blame)
    assert isinstance(asked_for, AskPerson)


def test_nothing_is_pinned_where_nothing_came_from_outside() -> None:
    comparison, found, blame = charts({"a.yaml": ASKS}, ("1.0.0", "1.1.0"))
    assert propose(comparison, found, replace(blame, outside=())) is None
    same, window_of_same, _ = charts({"a.yaml": ASKS}, ("1.0.0", "1.0.0"))
    assert propose(same, replace(window_of_same, bad=found.bad), blame) is None


class OfParameters(Renderer):
    """Renders what an application's parameters say."""

    def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
        values = {name: value for part in self.plan.parts
                  for name, value, _ in self._overridden(part, trees).helm.parameters}  # fmt: skip
        return things(manifest(**values))


def parameters(
    was: Mapping[str, str], now: Mapping[str, str], files: Files | None = None,
    of: Callable[[Part], Sequence[Part]] = lambda part: (part,), forced: bool = False,
) -> tuple[Comparison, Window, Blame]:  # fmt: skip
    """An application whose parameters were others where it was fast."""
    store = MemoryStore(URL)
    shas = store.add("0", {"gpt/values.yaml": "a: 1\n", **(files or {})}), store.add("1", {"README.md": "new"})
    comparison = comparison_of(opened_of(store, *shas))
    renderers = []
    for side in (was, now):
        options = HelmOptions(parameters=tuple((name, value, forced) for name, value in side.items()))
        part = Part(path="gpt", name="app", helm=options, engine=Engine.PLAIN)
        renderers.append(OfParameters(Plan(parts=tuple(of(part))), comparison.renderer.blobs))
    comparison.then, comparison.renderer = renderers
    found = window(comparison)
    return comparison, found, blamed(found, None, outside=found.changed)


def of_w(blame: Blame) -> Blame:
    """Blame for the value of W alone."""
    return replace(blame, outside=tuple(each for each in blame.outside if "[W]" in str(each)))


FILE = "gpt/.argocd-source-app.yaml"


def test_parameters_that_were_others_are_set_in_the_repository_with_those_that_were_not() -> None:
    comparison, found, blame = parameters(
        {"W": "8", "S": "2", "P": "1"}, {"W": "0", "N": "3", "P": "1", "S": "1"})  # fmt: skip
    offer = propose(comparison, found, of_w(blame))
    kind, files, pins = offered(offer)
    entries = [("W", "8"), ("N", "3"), ("P", "1"), ("S", "2")]
    text = "".join(f'    - name: "{name}"\n      value: "{value}"\n' for name, value in entries)
    assert (kind, files) == ("PinParameter", {FILE: f"helm:\n  parameters:\n{text}".encode()})
    assert pins == tuple(f"the application's parameter {each}" for each in ("S: 2 → 1", "W: 8 → 0"))
    assert isinstance(offer, Offer)
    told = f"{FILE} sets W 8, S 2 for Application app alone, whatever the Application itself says."
    assert offer.remark == told


def test_a_parameter_that_is_a_text_stays_one() -> None:
    _, files, _ = offered(propose(*parameters({"W": "8"}, {"W": "0"}, forced=True)))
    entry = '    - name: "W"\n      value: "8"\n      forceString: true\n'
    assert files == {FILE: f"helm:\n  parameters:\n{entry}".encode()}


@pytest.mark.parametrize(
    ("was", "now", "files"),
    [
        ({"W": "8"}, {"W": "8", "N": "3"}, {}),
        ({"W": "8"}, {"W": "0"}, {FILE: "kustomize: {}\n"}),
        ({"W": "8", "API_TOKEN": "1"}, {"W": "0", "API_TOKEN": "1"}, {}),
        ({"W": "8", "U": "https://user:hunter2@git.example"}, {"W": "0", "U": "1"}, {}),
        ({"W": "8", "U": "1"}, {"W": "0", "U": "1", "X": "https://user:hunter2@git.example"}, {}),
    ],
)
def test_a_parameter_is_not_set_where_a_file_cannot_say_it(
    was: Mapping[str, str], now: Mapping[str, str], files: Files
) -> None:
    comparison, found, blame = parameters(was, now, files)
    assert propose(comparison, found, of_w(blame)) is None


@pytest.mark.parametrize("change", [{"source": 1}, {"chart": "gpt"}])
def test_a_parameter_of_what_is_not_in_the_repository_is_not_set(change: Mapping[str, Any]) -> None:
    comparison, found, blame = parameters({"W": "8"}, {"W": "0"})
    for renderer in (comparison.renderer, comparison.then):
        assert renderer is not None
        renderer.plan = replace(renderer.plan, parts=tuple(replace(part, **change) for part in renderer.plan.parts))
    comparison.opened = [comparison.opened[0], replace(comparison.opened[0], main=False)]
    assert propose(comparison, found, blame) is None


def test_the_part_whose_parameters_changed_is_found_among_others() -> None:
    def beside(part: Part) -> Sequence[Part]:
        return Part(path="none", engine=Engine.PLAIN), part

    _, files, pins = offered(propose(*parameters({"W": "8"}, {"W": "0"}, of=beside)))
    assert (list(files), len(pins)) == ([FILE], 1)


def test_a_parameter_that_brings_nothing_back_is_not_set() -> None:
    comparison, found, blame = parameters({"W": "8"}, {"W": "0"})
    _, _, other = parameters({"V": "1", "W": "8"}, {"V": "2", "W": "0"})
    assert propose(comparison, found, replace(blame, outside=other.outside)) is not None
    changed = replace(blame, outside=(replace(blame.outside[0], key="env"),))
    comparison.renderer.plan = replace(comparison.renderer.plan, parts=(replace(
        comparison.renderer.plan.parts[0], name="other"),))  # fmt: skip
    assert propose(comparison, found, changed) is not None
    comparison.then = None
    assert propose(comparison, found, blame) is None
