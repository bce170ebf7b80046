"""The window: both ends and every commit between them, compared as the workload gets them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from mfu_operator.adapters.render.renderer import Renderer
from mfu_operator.gitops.blame.model import Moved, Window
from mfu_operator.gitops.rendered.objects import Thing
from mfu_operator.gitops.sources.plan import HelmOptions, Part, Source
from mfu_operator.gitops.sources.tree import CHART, SUBMODULE, Entry, NotNow, NotRenderable, Tree
from mfu_operator.investigate.compare import Comparison, window
from mfu_operator.investigate.sources import Opened
from tests.support.comparisons import URL, comparison_of, config, manifest, opened_of, request_of, told
from tests.support.memory_store import MemoryStore

OTHER = "https://git.example/ml/values"
ENV = "Job/gpt spec.template.spec.containers[trainer].env"
A, B = (f"sha256:{letter * 64}" for letter in "ab")


class Busy(Renderer):
    """Renders nothing of a tree with one of two files: `broken` for good, `busy` this time."""

    def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
        if "broken.yaml" in trees[0]:
            raise NotRenderable("broken")
        if "busy.yaml" in trees[0]:
            raise NotNow("busy")
        return super().render(trees, afresh)


def line(*states: dict[str, str | Entry | None], store: MemoryStore | None = None) -> tuple[MemoryStore, list[str]]:
    """Commits 0, 1, …: each with the files that it changes."""
    store = store or MemoryStore(URL)
    return store, [store.add(str(number), files) for number, files in enumerate(states)]


def compared(*states: dict[str, str | Entry | None], renderer: type[Renderer] = Renderer) -> Window:
    """The window of such commits."""
    store, shas = line(*states)
    comparison = comparison_of(opened_of(store, shas[0], shas[-1]))
    comparison.renderer = renderer(comparison.renderer.plan, comparison.renderer.blobs)
    return window(comparison)


def steps(found: Window) -> list[tuple[str, list[str] | None]]:
    return [(step.commit.subject, told(step.changed)) for step in found.steps]


def test_each_commit_is_compared_with_the_one_before_it_and_bad_with_good() -> None:
    found = compared(
        {"job.yaml": manifest(A=1, config="c")},
        {"job.yaml": manifest(A=2, config="c"), "c.yaml": config("c", B=1)},
        {"c.yaml": config("c", B=2), "README.md": ""},
        {"README.md": None, "job.yaml": manifest(A=3, config="c")},
    )
    assert steps(found) == [
        ("3", [f"{ENV}[A].value: 2 → 3"]),
        ("2", ["ConfigMap/c data.B: 1 → 2"]),
        ("1", ["ConfigMap/c data.B: (absent) → 1", f"{ENV}[A].value: 1 → 2"]),
    ]
    assert told(found.changed) == ["ConfigMap/c data.B: (absent) → 2", f"{ENV}[A].value: 1 → 3"]
    assert found.not_compared == ("ConfigMap/c is not among the rendered objects",)
    assert (found.why_not, found.passing, found.left_out, found.outside) == ("", False, (), ())
    assert [(step.source, step.why_not, step.passing) for step in found.steps] == [(URL, "", False)] * 3


def test_what_both_ends_miss_is_told_once() -> None:
    job = manifest(config="z", A=1), manifest(config="z", A=2)
    assert compared({"job.yaml": job[0]}, {"job.yaml": job[1]}).not_compared == (
        "ConfigMap/z is not among the rendered objects",
    )


@pytest.mark.parametrize(
    ("good", "bad", "expected", "passing"),
    [
        ("broken.yaml", "", "good ({}): broken", False),
        ("", "broken.yaml", "bad ({}): broken", False),
        ("broken.yaml", "busy.yaml", "good ({}): broken", True),
        ("busy.yaml", "broken.yaml", "good ({}): busy", True),
        ("busy.yaml", "", "good ({}): busy", True),
    ],
)
def test_an_end_that_cannot_be_rendered_is_told_the_good_one_first(
    good: str, bad: str, expected: str, passing: bool
) -> None:
    found = compared(
        {"job.yaml": manifest(), **({good: ""} if good else {})},
        {**({good: None} if good else {}), **({bad: ""} if bad else {}), "job.yaml": manifest(A=1)},
        renderer=Busy,
    )
    side = found.steps[0].commit.parents[0] if expected.startswith("good") else found.steps[0].commit.sha
    assert (found.why_not, found.passing) == (expected.format(side[:12]), passing)
    assert (found.good is None, found.bad is None, found.changed) == (bool(good), bool(bad), ())


@pytest.mark.parametrize(("file", "passing"), [("broken", False), ("busy", True)])
def test_a_commit_that_cannot_be_rendered_is_not_compared_and_the_others_are(file: str, passing: bool) -> None:
    found = compared(
        {"job.yaml": manifest(A=1)},
        {f"{file}.yaml": ""},
        {f"{file}.yaml": None, "job.yaml": manifest(A=2)},
        {"job.yaml": manifest(A=3)},
        renderer=Busy,
    )
    assert steps(found) == [("3", [f"{ENV}[A].value: 2 → 3"]), ("2", None), ("1", None)]
    assert [(step.why_not, step.passing) for step in found.steps] == [("", False), (file, passing), (file, passing)]
    assert (found.why_not, found.passing) == ("", False)


def test_a_commit_that_changes_what_nothing_reads_here_is_not_compared() -> None:
    found = compared(
        {"job.yaml": manifest(A=1), "lib": Entry(SUBMODULE, "1")},
        {"lib": Entry(SUBMODULE, "2")},
        {"job.yaml": manifest(A=2)},
    )
    assert steps(found) == [("2", [f"{ENV}[A].value: 1 → 2"]), ("1", None)]
    assert found.why_not == "lib (a submodule, which is not fetched) is another one at bad than at good"


def test_a_history_that_says_nothing_is_told_where_all_was_rendered() -> None:
    store, shas = line({"job.yaml": manifest()}, {"a.yaml": ""})
    other = Opened(Source(OTHER), OTHER, store, shas[0], shas[0], [], (store.tree(shas[0]),) * 2)
    one = opened_of(store, *shas, why_not="history was rewritten")
    assert window(comparison_of([other, one])).why_not == "history was rewritten"
    store.add("broken", {"job.yaml": None})
    gone = opened_of(store, shas[0], store.heads["main"], why_not="history was rewritten")
    assert window(comparison_of(gone)).why_not.startswith("bad (")


def test_what_is_taken_as_it_is_now_is_told() -> None:
    store, shas = line({"job.yaml": manifest()}, {"a.yaml": ""})
    comparison = comparison_of(opened_of(store, *shas), at_good=(Part(assumed=("Secret/vars",)),))
    assert window(comparison).not_compared == ("Secret/vars at good: it is taken as it is now",)


def test_good_is_rendered_with_the_settings_that_the_application_had_then() -> None:
    store, shas = line({"gpt/job.yaml": manifest(A=1), "old/job.yaml": manifest(A=0)}, {"README.md": ""})
    comparison = comparison_of(opened_of(store, *shas), [Part(path="gpt")])
    comparison.then = comparison_of(opened_of(store, *shas), [Part(path="old")]).renderer
    found = window(comparison)
    assert told(found.changed) == [f"{ENV}[A].value: 0 → 1"]
    assert steps(found) == [("1", [])]
    assert found.outside == ("the application's own settings (values, images, path or patches)",)


def test_an_end_that_cannot_be_rendered_with_the_settings_of_then_is_not_rendered_with_those_of_now() -> None:
    store, shas = line({"gpt/job.yaml": manifest()}, {"README.md": ""})
    comparison = comparison_of(opened_of(store, *shas), [Part(path="gpt")])
    comparison.then = comparison_of(opened_of(store, *shas), [Part(path="gone")]).renderer
    found = window(comparison)
    assert (found.good, found.bad is None, found.why_not[:6]) == (None, False, "good (")


def charted(good: str, bad: str) -> Opened:
    trees = ({CHART: Entry("chart", good)}, {CHART: Entry("chart", bad)})
    return Opened(Source("https://charts.example", chart="gpt"), "charts.example/gpt", None, good, bad, [], trees)


def test_a_chart_of_another_version_is_told_beside_the_settings() -> None:
    store, shas = line({"job.yaml": manifest()}, {"job.yaml": manifest(A=1)})
    one = opened_of(store, *shas)
    comparison = comparison_of([one, charted("1.0.0", "1.1.0"), charted("1.0.0", "1.0.0")])
    was, now = (replace(comparison.renderer.plan, parts=(Part(helm=HelmOptions(parameters=(("a", value, False),))),))
                for value in "12")  # fmt: skip
    comparison.then = Renderer(was, comparison.renderer.blobs)
    comparison.renderer = Renderer(now, comparison.renderer.blobs)
    chart = "chart charts.example/gpt 1.0.0 → 1.1.0"
    assert window(comparison).outside == (chart, "the application's parameter a: 1 → 2")
    comparison.then = None
    assert window(comparison).outside == (chart,)


class Dice(Renderer):
    """Renders a chart's template that prints another number each time."""

    rolled = 0

    def render(self, trees: Sequence[Tree], afresh: bool = False) -> tuple[Thing, ...]:
        Dice.rolled += 1
        self.engines["helm v3"] = None
        job, *rest = super().render(trees, afresh)
        spec = {**job.body, "spec": {**job.body["spec"], "dice": Dice.rolled, "again": Dice.rolled}}
        return (replace(job, body=spec), *rest)


def test_what_two_renderings_give_otherwise_is_left_out_of_the_window_and_of_every_commit() -> None:
    found = compared({"job.yaml": manifest(A=1)}, {"job.yaml": manifest(A=2)}, renderer=Dice)
    assert told(found.changed) == [f"{ENV}[A].value: 1 → 2"]
    assert steps(found) == [("1", [f"{ENV}[A].value: 1 → 2"])]
    assert found.left_out == ("Job/gpt: spec.again", "Job/gpt: spec.dice")


def two_sources(second: MemoryStore, good: str, bad: str, *times: float, **source: object) -> Comparison:
    """`gpt` of one repository with a commit at each time, and values of another one."""
    store = MemoryStore(URL)
    shas = [store.add("0", {"job.yaml": manifest(config="c", A=0)}, time_s=0.0)]
    shas += [store.add(str(number), {"job.yaml": manifest(config="c", A=number)}, time_s=time_s)
             for number, time_s in enumerate(times, 1)]  # fmt: skip
    values = opened_of(second, good, bad, source=Source(OTHER, **source), name=OTHER, main=False)  # type: ignore[arg-type]
    return comparison_of([opened_of(store, shas[0], shas[-1]), values], [Part(), Part(source=1)])


def test_the_commits_of_all_sources_are_in_one_order_whatever_a_committers_clock_said() -> None:
    second = MemoryStore(OTHER)
    theirs = [second.add(f"values {time_s}", {"c.yaml": config("c", B=time_s)}, time_s=time_s)
              for time_s in (0.0, 150.0, 120.0, 400.0)]  # fmt: skip
    found = window(two_sources(second, theirs[0], theirs[-1], 100.0, 140.0, 300.0))
    assert [step.commit.subject for step in found.steps] == [
        "values 400.0",
        "3",
        "values 120.0",
        "values 150.0",
        "2",
        "1",
    ]
    assert {step.source for step in found.steps} == {URL, OTHER}


def test_a_commit_is_compared_beside_what_ran_of_the_other_source_at_its_time() -> None:
    second = MemoryStore(OTHER)
    theirs = [second.add(str(number), {"c.yaml": config("c", B=number)}, time_s=float(number)) for number in range(3)]
    store = MemoryStore(URL)
    shas = [store.add(subject, {"job.yaml": manifest(config=name)}, time_s=time_s)
            for subject, name, time_s in (("0", "", 0.0), ("1", "c", 100.0), ("2", "", 200.0))]  # fmt: skip
    deployed = Source(OTHER, deployed=((theirs[1], 150.0), (theirs[2], 250.0)))
    values = opened_of(second, theirs[0], theirs[2], source=deployed, main=False)
    found = window(comparison_of([opened_of(store, shas[0], shas[2]), values], [Part(), Part(source=1)]))
    read = {step.commit.subject: str(step.changed[0]) for step in found.steps if step.changed}
    assert read == {"1": "ConfigMap/c data.B: (absent) → 0", "2": "ConfigMap/c data.B: 1 → (absent)"}


class Warmed(Renderer):
    """Tells which states were rendered side by side."""

    states: ClassVar[list[list[Sequence[Tree]]]] = []

    def warm(self, states: Sequence[Sequence[Tree]]) -> None:
        Warmed.states.append(list(states))


def test_the_states_of_sixteen_commits_are_rendered_side_by_side() -> None:
    Warmed.states.clear()
    store = MemoryStore(URL)
    states: list[dict[str, str | Entry | None]] = [
        {"job.yaml": manifest(A=number), **({"new.yaml": ""} if number == 3 else {})} for number in range(21)
    ]
    _, shas = line(*states, store=store)
    comparison = comparison_of(opened_of(store, shas[0], shas[-1]))
    comparison.renderer = Warmed(comparison.renderer.plan, comparison.renderer.blobs)
    window(comparison)
    expected = [
        [(store.tree(sha),) for sha in reversed(shas[4:20])],
        [(store.tree(sha),) for sha in reversed(shas[:4])],
    ]
    assert Warmed.states == expected


@pytest.mark.parametrize(
    ("images", "good_images", "bad_images", "moved", "alike"),
    [
        (("gpt:v1", "gpt:v1"), {"gpt:v1": A}, {"gpt:v1": B}, [("gpt:v1", A, B)], []),
        (("gpt:v1", "gpt:v1"), {"gpt:v1": A}, {"gpt:v1": A}, [], []),
        (("gpt:v1", "gpt:v1"), {"gpt:v1": A}, {}, [], []),
        (("gpt:v1", "gpt:v1"), {}, {"gpt:v1": B}, [], []),
        (("gpt:v1", "gpt:v2"), {"gpt:v1": A}, {"gpt:v2": B}, [], []),
        (("gpt:v1", "gpt:v2"), {"gpt:v1": A}, {"gpt:v2": A}, [], [("gpt:v1", "gpt:v2")]),
        (("gpt:v1", "gpt:v2"), {}, {}, [], []),
        ((f"gpt@{A}", f"gpt@{A}"), {f"gpt@{A}": A}, {f"gpt@{A}": B}, [], []),
    ],
)
def test_an_image_that_was_rebuilt_under_its_tag_is_told_from_one_by_another_name(
    images: tuple[str, str], good_images: dict[str, str], bad_images: dict[str, str],
    moved: list[tuple[str, str, str]], alike: list[tuple[str, str]],
) -> None:  # fmt: skip
    store, shas = line({"job.yaml": manifest(image=images[0])}, {"job.yaml": manifest(image=images[1], A=1)})
    request = request_of(*shas, good_images=good_images, bad_images=bad_images)
    found = window(comparison_of(opened_of(store, *shas), request=request))
    assert found.moved == tuple(Moved(*each) for each in moved)
    assert found.alike == frozenset(alike)


def test_the_image_of_what_runs_beside_the_training_is_not_asked_for() -> None:
    job = json.loads(manifest(image="gpt:v1", IMAGE="eval:v1"))
    job["spec"]["template"]["spec"]["initContainers"] = [{"name": "wait", "image": "wait:v1"}]
    store, shas = line({"job.yaml": json.dumps(job)}, {"a.yaml": ""})
    was, now = (dict.fromkeys(("gpt:v1", "wait:v1", "eval:v1"), digest) for digest in (A, B))
    request = request_of(*shas, good_images=was, bad_images=now)
    found = window(comparison_of(opened_of(store, *shas), request=request))
    assert [each.reference for each in found.moved] == ["gpt:v1"]
