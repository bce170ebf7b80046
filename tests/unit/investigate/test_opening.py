"""The sources of an application: which repository each is, and the revisions between which it is compared."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.adapters.git.store import Store
from mfu_operator.errors import Unreadable
from mfu_operator.gitops.sources.plan import Part, Plan, Source
from mfu_operator.gitops.sources.tree import CHART, Entry, NotRenderable
from mfu_operator.investigate import sources
from mfu_operator.investigate.sources import Opened, clone_of, open_all, same_address, stores
from tests.support.comparisons import URL, opened_of, request_of
from tests.support.memory_store import MemoryStore

OTHER = "https://git.example/ml/values"
CHARTS = "https://charts.example/ml"
CHARTED = Source(CHARTS, "1.x", chart="gpt")


def line(count: int, url: str | None = URL) -> tuple[MemoryStore, list[str]]:
    """A store with some commits."""
    store = MemoryStore(url)
    return store, [store.add(f"Commit {number}", {"a.yaml": str(number)}) for number in range(count)]


def opened(
    main: MemoryStore, *listed: Source, stores: Mapping[str, MemoryStore] | None = None, **asked: Any
) -> list[Opened]:
    """The sources, of which `models` is the repository that is asked about."""
    known = {"models": main, **(stores or {})}
    return open_all(request_of(**asked), Plan(listed, (Part(),)), known.__getitem__)


def test_a_source_reads_blobs_of_its_store_alone() -> None:
    store, shas = line(2)
    one = opened_of(store, *shas)
    assert one.blob(store.tree(shas[0])["a.yaml"].oid) == b"0"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(9.0, 0), (10.0, 1), (19.0, 1), (20.0, 2), (25.0, 2), (30.0, 3), (40.0, 3)]
)
def test_a_source_ran_what_was_deployed_last_before_a_time(seconds: float, expected: int) -> None:
    store, shas = line(4)
    deployed = ((shas[1], 10.0), (shas[2], 20.0), (shas[3], 30.0), ("ff" * 20, 35.0))
    one = opened_of(store, shas[0], shas[3], source=Source(URL, deployed=deployed))
    assert one.at(seconds) == shas[expected]


def test_a_source_of_a_chart_knows_any_version_that_was_deployed() -> None:
    trees = ({CHART: Entry("chart", "1.0.0")}, {CHART: Entry("chart", "1.2.0")})
    source = replace(CHARTED, deployed=(("1.0.0", 10.0), ("1.1.0", 20.0)))
    one = Opened(source, "gpt", None, "1.0.0", "1.2.0", [], trees)
    assert one.at(25.0) == "1.1.0"
    assert one.tree_at("1.1.0") == {CHART: Entry("chart", "1.1.0")}
    assert [one.tree_at(each) for each in ("1.0.0", "1.2.0")] == list(trees)


def test_a_source_has_the_trees_of_its_ends_at_hand() -> None:
    store, shas = line(3)
    trees = ({"good": Entry("100644", "1")}, {"bad": Entry("100644", "2")})
    one = opened_of(store, shas[0], shas[2], trees=trees)
    assert [one.tree_at(each) for each in (shas[0], shas[2])] == list(trees)
    assert one.tree_at(shas[1]) == store.tree(shas[1])
    same = opened_of(store, shas[0], shas[0], trees=trees)
    assert same.tree_at(shas[0]) is trees[0]


def test_a_repository_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, str, Mapping[str, str] | None]] = []

    def store(address: str, folder: Path, env: Mapping[str, str] | None) -> Store:
        made.append((address, folder.name, env))
        assert folder.is_dir()
        return MemoryStore(address)

    monkeypatch.setattr(sources, "Store", store)
    of = stores(request_of(env={"A": "1"}), tmp_path)
    assert of("one") is of("one") is not of("two")
    assert made == [("one", "source-0", {"A": "1"}), ("two", "source-1", {"A": "1"})]


def test_the_source_that_is_asked_about_is_the_one_with_its_address() -> None:
    store, shas = line(2)
    found = opened(store, Source(OTHER), Source(f"{URL}.git"), good=shas[0], bad=shas[1],
                   clones={OTHER: "values"}, stores={"values": line(1, OTHER)[0]})  # fmt: skip
    assert [each.main for each in found] == [False, True]
    assert (found[1].good, found[1].bad, found[1].name) == (shas[0], shas[1], f"{URL}.git")


def test_the_source_that_is_asked_about_is_the_one_at_the_remote_of_its_clone_or_at_the_address_asked() -> None:
    store, shas = line(1, None)
    asked = request_of(shas[0], shas[0], repository=URL, clones={OTHER: "values"})
    values = line(1, OTHER)[0]
    found = open_all(asked, Plan((Source(OTHER), Source(URL)), (Part(),)), {URL: store, "values": values}.get)  # type: ignore[arg-type]
    assert [each.main for each in found] == [False, True]


def test_the_source_that_is_asked_about_is_else_the_first_that_no_clone_was_given_for() -> None:
    store, shas = line(1, "https://mirror.example/models")
    found = opened(store, CHARTED, Source(OTHER), Source(URL), good=shas[0], bad=shas[0],
                   clones={OTHER: "values"}, stores={"values": line(1, OTHER)[0]})  # fmt: skip
    assert [each.main for each in found] == [False, False, True]


def test_the_source_that_is_asked_about_is_else_the_first_in_git() -> None:
    store, shas = line(1, None)
    found = opened(store, CHARTED, Source(OTHER), good=shas[0], bad=shas[0], clones={OTHER: "values"})
    assert [(each.main, each.store) for each in found] == [(False, None), (True, store)]


def test_the_source_that_is_asked_about_is_missed_where_all_are_charts() -> None:
    with pytest.raises(NotRenderable, match="no Git source"):
        opened(MemoryStore(), CHARTED)


def test_another_source_of_the_same_repository_is_read_from_its_clone() -> None:
    store, shas = line(2)
    found = opened(store, Source(URL), Source(f"{URL}/"), Source(""), good=shas[0], bad=shas[1])
    assert [each.store for each in found] == [store] * 3
    assert [each.main for each in found] == [True, False, False]
    assert [(each.good, each.bad) for each in found] == [(shas[0], shas[1])] * 3
    assert [each.name for each in found] == [URL, f"{URL}/", URL]


def test_another_source_without_an_address_is_named_as_it_was_asked_for() -> None:
    store, shas = line(1, None)
    assert opened(store, Source(""), good=shas[0], bad=shas[0])[0].name == "models"


def test_another_source_with_the_remote_of_what_is_asked_about_is_read_from_its_clone() -> None:
    store, shas = line(1, URL)
    found = opened(store, Source("", "main"), Source(URL), good=shas[0], bad=shas[0])
    assert found[1].store is store


def test_another_source_that_was_not_given_is_asked_for() -> None:
    store, shas = line(1)
    with pytest.raises(NotRenderable, match=f"--values {OTHER}=PATH"):
        opened(store, Source(URL), Source(OTHER), good=shas[0], bad=shas[0])


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, (2, 2)),
        ({OTHER: ("aaaa", None)}, (2, 2)),
        ({f"{OTHER}.git": (0, 1)}, (0, 1)),
        ({"values": (0, 1)}, (0, 1)),
        ({"other": (0, 1)}, (2, 2)),
        ({OTHER: (0, None)}, (0, 2)),
        ({OTHER: (None, 1)}, (2, 1)),
    ],
)
def test_another_source_has_the_revisions_that_were_given_for_it(
    others: Mapping[str, tuple[Any, Any]], expected: tuple[int, int]
) -> None:
    store, shas = line(1)
    values, theirs = line(3, OTHER)
    values.tagged["aaaa"] = theirs[2]
    given = {name: tuple(theirs[each] if isinstance(each, int) else each for each in pair)
             for name, pair in others.items()}  # fmt: skip
    found = opened(store, Source(URL), Source(OTHER, "main", ref="values"), good=shas[0], bad=shas[0],
                   clones={OTHER: "values"}, stores={"values": values}, others=given)  # fmt: skip
    assert (found[1].good, found[1].bad) == (theirs[expected[0]], theirs[expected[1]])


def test_another_source_is_asked_for_wherever_it_is_listed() -> None:
    store, shas = line(1)
    with pytest.raises(NotRenderable, match=f"source {OTHER} "):
        opened(store, Source(OTHER), Source(URL), good=shas[0], bad=shas[0])


def test_another_source_at_the_remote_of_a_clone_that_is_a_source_itself_is_read_from_it() -> None:
    store, shas = line(1)
    asked = request_of(shas[0], shas[0], repository=OTHER)
    found = open_all(asked, Plan((Source(OTHER), Source(URL)), (Part(),)), lambda _: store)
    assert [(each.main, each.store) for each in found] == [(True, store), (False, store)]


def test_another_source_that_is_a_fork_does_not_take_its_own_deployment_for_that_of_the_other() -> None:
    store, shas = line(1)
    fork, theirs = line(3, OTHER)
    main = Source(URL, deployed=((shas[0], 20.0),))
    forked = Source(OTHER, deployed=((theirs[1], 10.0), (theirs[2], 20.0), (shas[0], 30.0)))
    found = opened(store, forked, main, good=shas[0], bad=shas[0], clones={OTHER: "v"}, stores={"v": fork})
    assert (found[0].good, found[0].bad) == (theirs[2], theirs[2])


def test_another_source_has_the_revisions_that_were_recorded_with_those_that_are_asked_about() -> None:
    store, shas = line(2)
    values, theirs = line(3, OTHER)
    main = Source(URL, deployed=((shas[0], 10.0), (shas[1], 20.0)))
    other = Source(OTHER, "main", deployed=((theirs[0], 10.0), (theirs[1], 20.0)))
    found = opened(store, main, other, good=shas[0], bad=shas[1], clones={OTHER: "v"}, stores={"v": values})
    assert (found[1].good, found[1].bad) == (theirs[0], theirs[1])
    assert [step.commit.sha for step in found[1].steps] == [theirs[1]]


@pytest.mark.parametrize(
    ("target", "expected"),
    [("", 2), ("main", 2), ("refs/heads/main", 2), ("refs/tags/v1.0.0", 0), ("v1.0.0", 0), ("1.x", 1)],
)
def test_another_source_follows_else_its_target(target: str, expected: int) -> None:
    store, shas = line(1)
    values, theirs = line(3, OTHER)
    values.tagged |= {"v1.0.0": theirs[0], "v1.1.0": theirs[1]}
    found = opened(store, Source(URL), Source(OTHER, target), good=shas[0], bad=shas[0], clones={OTHER: "v"},
                   stores={"v": values})  # fmt: skip
    assert (found[1].good, found[1].bad, found[1].steps) == (theirs[expected], theirs[expected], [])


def test_another_source_whose_target_is_nothing_cannot_be_read() -> None:
    store, shas = line(1)
    with pytest.raises(Unreadable):
        opened(store, Source(URL), Source(OTHER, "gone"), good=shas[0], bad=shas[0], clones={OTHER: "v"},
               stores={"v": line(1, OTHER)[0]})  # fmt: skip


def test_the_window_holds_at_most_a_thousand() -> None:
    store, shas = line(1002)
    narrow, wide = (opened(store, Source(URL), good=good, bad=shas[-1])[0] for good in (shas[1], shas[0]))
    assert (len(narrow.steps), narrow.why_not) == (1000, "")
    assert (wide.steps, wide.why_not[:26]) == ([], "more than 1000 commits lie")


def test_the_window_is_told_where_bad_does_not_descend_from_good() -> None:
    store, shas = line(3)
    found = opened(store, Source(URL), good=shas[2], bad=shas[1])[0]
    assert found.steps == []
    assert found.why_not.startswith(f"bad {shas[1][:12]} does not descend from good {shas[2][:12]}")


def test_the_window_has_both_trees() -> None:
    store, shas = line(3)
    found = opened(store, Source(URL), good=shas[0], bad=shas[2])[0]
    assert found.trees == (store.tree(shas[0]), store.tree(shas[2]))
    assert [step.commit.sha for step in found.steps] == [shas[2], shas[1]]


@pytest.mark.parametrize(("folder", "path"), [("prod", "prod/hydrator.metadata"), (".", "hydrator.metadata"),
                                              ("prod", "hydrator.metadata")])  # fmt: skip
def test_the_window_of_a_hydrated_branch_is_that_of_the_dry_commits(folder: str, path: str) -> None:
    store, shas = line(2)
    wet = [store.add(f"Wet {sha[:7]}", {path: json.dumps({"drySha": sha})}, branch="env") for sha in shas]
    found = opened(store, Source(URL, hydrated=folder), good=wet[0], bad=wet[1])[0]
    assert (found.good, found.bad) == (shas[0], shas[1])


def test_the_window_of_a_hydrated_branch_reads_the_folders_own_note_first() -> None:
    store, shas = line(2)
    notes = {"prod/hydrator.metadata": json.dumps({"drySha": shas[0]}),
             "hydrator.metadata": json.dumps({"drySha": shas[1]})}  # fmt: skip
    wet = store.add("Wet", notes, branch="env")
    assert opened(store, Source(URL, hydrated="prod"), good=wet, bad=wet)[0].good == shas[0]


def test_the_window_of_a_hydrated_branch_without_notes_is_its_own() -> None:
    store, shas = line(2)
    assert opened(store, Source(URL, hydrated="."), good=shas[0], bad=shas[1])[0].good == shas[0]


@pytest.mark.parametrize("note", ["{", "{}", "[]"])
def test_the_window_of_a_hydrated_branch_whose_note_cannot_be_read_is_not_guessed(note: str) -> None:
    store, shas = line(1)
    wet = store.add("Wet", {"hydrator.metadata": note}, branch="env")
    with pytest.raises(Unreadable, match="names no dry commit") as refused:
        opened(store, Source(URL, hydrated="."), good=shas[0], bad=wet)
    assert refused.value.reason == "ManifestUnreadable"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, ("1.x", "1.x")),
        ({CHARTS: ("1.0.0", "1.1.0")}, ("1.0.0", "1.1.0")),
        ({f"{CHARTS}/gpt": ("1.0.0", None)}, ("1.0.0", "1.x")),
        ({f"{CHARTS}/gpt": (None, "1.1.0")}, ("1.x", "1.1.0")),
    ],
)
def test_a_chart_has_the_versions_that_are_given_or_asked_for(
    others: Mapping[str, tuple[str | None, str | None]], expected: tuple[str, str]
) -> None:
    store, shas = line(1)
    found = opened(store, Source(URL), CHARTED, good=shas[0], bad=shas[0], others=others)[1]
    assert (found.good, found.bad, found.name) == (*expected, f"{CHARTS}/gpt")
    assert found.trees == tuple({CHART: Entry("chart", version)} for version in expected)


@pytest.mark.parametrize(
    ("deployed", "expected"),
    [
        ((("1.0.0", 10.0), ("1.1.0", 20.0)), ("1.0.0", "1.1.0")),
        ((("1.0.0", 5.0), ("1.0.1", 10.0), ("1.1.0", 20.0)), ("1.0.1", "1.1.0")),
        ((("1.0.0", 10.0), ("1.0.1", 10.0), ("1.1.0", 20.0)), ("1.0.1", "1.1.0")),
        ((("1.0.0", 11.0), ("1.1.0", 21.0)), ("1.0.0", "1.1.0")),
        ((("1.0.0", 11.0),), ("1.x", "1.x")),
        ((("1.0.0", 11.0), ("1.1.0", 21.0), ("1.2.0", 31.0)), ("1.x", "1.x")),
    ],
)
def test_a_chart_has_the_versions_that_were_deployed_with_the_revisions(
    deployed: tuple[tuple[str, float], ...], expected: tuple[str, str]
) -> None:
    store, shas = line(2)
    main = Source(URL, deployed=((shas[0], 10.0), (shas[1], 20.0)))
    found = opened(store, main, replace(CHARTED, deployed=deployed), good=shas[0], bad=shas[1])[1]
    assert (found.good, found.bad) == expected


@pytest.mark.parametrize(("letters", "expected"), [(6, "1.x"), (7, "1.0.0"), (40, "1.0.0")])
def test_a_chart_is_found_by_seven_letters_of_the_revision(letters: int, expected: str) -> None:
    store, shas = line(1)
    store.tagged[shas[0][:6]] = shas[0]
    main = Source(URL, deployed=((shas[0], 10.0),))
    charted = replace(CHARTED, deployed=(("1.0.0", 10.0),))
    assert opened(store, charted, main, good=shas[0][:letters], bad=shas[0])[0].good == expected


def test_a_chart_is_not_found_by_what_another_chart_was() -> None:
    store, shas = line(1)
    other = Source(CHARTS, "1.x", chart="other", deployed=((shas[0], 10.0),))
    charted = replace(CHARTED, deployed=(("1.0.0", 10.0),))
    found = opened(store, other, charted, Source(URL), good=shas[0], bad=shas[0])
    assert found[1].good == "1.x"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (URL, f"{URL}.git/"),
        (URL, "git@git.example:ml/models"),
        ("file:///srv/../srv/models", "/srv/models"),
        ("/srv/models/", "/srv/models"),
        ("", ""),
    ],
)
def test_one_repository_has_addresses_in_several_spellings(one: str, other: str) -> None:
    assert same_address(one) == same_address(other)


@pytest.mark.parametrize("address", ["", "models\0"])
def test_what_is_no_address_is_none(address: str) -> None:
    assert same_address(address) == ""


@pytest.mark.parametrize("address", ["https://[", "m" * 5000, f"git@git.example:{'m' * 5000}"])
def test_an_address_that_nobody_can_read_is_that_of_nothing_else(address: str) -> None:
    assert same_address(address) not in ("", same_address(URL))


def test_addresses_of_two_repositories_are_two() -> None:
    assert len({same_address(each) for each in (URL, OTHER, "/srv/models", "/srv/other", "")}) == 5


def test_a_folder_that_is_there_is_itself_wherever_it_is_named_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "a:b").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("models", "a:b"):
        assert same_address(name) == str((tmp_path / name).resolve())


def test_a_clone_is_found_by_the_repositorys_address() -> None:
    request = request_of(clones={f"{OTHER}.git": "values", URL: "clone"})
    assert [clone_of(request, each) for each in (OTHER, URL, CHARTS)] == ["values", "clone", None]
