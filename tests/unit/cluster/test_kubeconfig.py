"""Our context in a person's own kubeconfig."""

from pathlib import Path
from typing import Any

import yaml

from tests.cluster.kubeconfig import PersonalKubeconfig, merged, unmerged
from tests.cluster.layout import CONTEXT

_OURS = {
    "clusters": [{"name": CONTEXT, "cluster": {"server": "https://here"}}],
    "users": [{"name": CONTEXT, "user": {}}],
    "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
}


def _theirs(current: str | None = "work") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {"colors": True},
        "clusters": [{"name": "work", "cluster": {"server": "https://work"}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
        **({"current-context": current} if current else {}),
    }


def test_our_context_becomes_current_beside_theirs() -> None:
    result = merged(_theirs(), _OURS)
    assert result["current-context"] == CONTEXT
    assert [context["name"] for context in result["contexts"]] == ["work", CONTEXT]


def test_merging_twice_is_merging_once() -> None:
    once = merged(_theirs(), _OURS)
    assert merged(once, _OURS) == once


def test_merging_does_not_change_what_it_is_given() -> None:
    theirs = _theirs()
    merged(theirs, _OURS)
    assert theirs == _theirs()


def test_unmerging_restores_the_file_and_the_former_context() -> None:
    assert unmerged(merged(_theirs(), _OURS), "work") == _theirs()


def test_a_context_chosen_meanwhile_stays_current() -> None:
    chosen = {**merged(_theirs(), _OURS), "current-context": "work"}
    assert unmerged(chosen, None)["current-context"] == "work"


def test_a_former_context_that_is_gone_is_not_made_current() -> None:
    assert "current-context" not in unmerged(merged(_theirs(), _OURS), "removed")


def test_a_file_that_was_not_there_is_not_there_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "home" / ".kube" / "config"
    personal = PersonalKubeconfig(path, tmp_path / "state")
    personal.add(_OURS)
    assert yaml.safe_load(path.read_text())["current-context"] == CONTEXT
    personal.remove()
    assert not path.parent.exists()


def test_a_second_up_does_not_forget_which_context_was_current(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(_theirs()))
    for server in ("https://one", "https://two"):
        renewed = {**_OURS, "clusters": [{"name": CONTEXT, "cluster": {"server": server}}]}
        PersonalKubeconfig(path, tmp_path / "state").add(renewed)
    PersonalKubeconfig(path, tmp_path / "state").remove()
    assert yaml.safe_load(path.read_text()) == _theirs()


def test_a_person_without_a_current_context_has_none_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(_theirs(current=None)))
    personal = PersonalKubeconfig(path, tmp_path / "state")
    personal.add(_OURS)
    personal.remove()
    assert yaml.safe_load(path.read_text()) == _theirs(current=None)
