"""A repository's objects: git's own, and those in memory that tests of the investigation read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mfu_operator.adapters.git.store import Store
from mfu_operator.errors import Unreadable
from tests.support.git_repository import GitUpstream
from tests.support.memory_store import MemoryStore

ABSENT = "0" * 40


@dataclass
class Arena:
    """Three commits, and the store that reads them."""

    commit: Callable[[Mapping[str, str | None], str], str]
    opened: Callable[[], Store]
    shas: list[str] = field(default_factory=list)


@pytest.fixture(params=["git", "memory"])
def arena(request: pytest.FixtureRequest, tmp_path: Path) -> Arena:
    if request.param == "memory":
        memory = MemoryStore()
        return Arena(lambda files, subject: memory.add(subject, files), lambda: memory)
    upstream = GitUpstream(tmp_path)
    (tmp_path / "store").mkdir()
    return Arena(upstream.commit, lambda: Store(str(upstream.work), tmp_path / "store"))


def test_a_store_reads_a_line_of_commits_and_writes_trees(arena: Arena) -> None:
    first = arena.commit({"a.yaml": "1\n", "b.yaml": "1\n"}, "First")
    second = arena.commit({"a.yaml": "2\n", "c.yaml": "3\n"}, "Second")
    third = arena.commit({"a.yaml": "3\n", "b.yaml": None}, "Third")
    store = arena.opened()
    assert {store.resolve(name) for name in ("main", "HEAD", third, third[:10])} == {third}
    with pytest.raises(Unreadable) as unknown:
        store.resolve("other")
    assert unknown.value.reason == "RevisionUnknown"
    assert (dict(store.branches()), store.current_branch(), dict(store.tags())) == ({"main": third}, "main", {})
    assert (store.is_ancestor(first, third), store.is_ancestor(third, first)) == (True, False)
    assert store.is_ancestor(first, first)
    steps = store.window(first, third, 9)
    assert [step.commit.subject for step in steps] == ["Third", "Second"]
    assert steps[0].commit.parents == (second,)
    assert [list(step.changed) for step in steps] == [["a.yaml", "b.yaml"], ["a.yaml", "c.yaml"]]
    assert (steps[0].changed["b.yaml"], steps[1].before["c.yaml"]) == (None, None)
    assert [step.commit.subject for step in store.window(first, third, 1)] == ["Third"]
    tree = store.tree(third)
    assert list(tree) == ["a.yaml", "c.yaml"]
    assert (store.blob(tree["a.yaml"].oid), store.blob(ABSENT)) == (b"3\n", None)
    assert dict(store.tree(store.resolve_tree(third))) == dict(tree)
    assert store.write(tree, {}) == store.resolve_tree(third)
    assert list(store.tree(store.write(tree, {"c.yaml": None, "d.yaml": b"4\n"}))) == ["a.yaml", "d.yaml"]
    undone, conflicts = store.reverted(third, third)
    assert (dict(store.tree(undone)), conflicts) == (dict(store.tree(second)), ())
    assert store.reverted(second, third)[1] == ("a.yaml",)
    assert "-3\n+2\n" in store.diff(store.resolve_tree(third), undone)
