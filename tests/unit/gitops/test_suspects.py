"""Which commit did it: golden folders, one a story, and what holds for all of them."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.gitops.suspects import MARGIN, PLAUSIBLE, mounted, rank
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Commit, FileChange

DATA = Path(__file__).parents[2] / "data" / "commits"
STORIES = sorted(path for path in DATA.iterdir() if (path / "story.yaml").exists())
WORKLOAD = WorkloadRef("batch/v1", "Job", "training", "gpt-small")
PATH = "apps/gpt"


def story(folder: Path) -> tuple[dict[str, Any], list[Commit]]:
    """A folder with `story.yaml` and one folder of files for each state of the repository: 0, 1, 2, …"""
    told = yaml.safe_load((folder / "story.yaml").read_text())
    states = [files(state) for state in sorted(folder.iterdir()) if state.is_dir()]
    commits = [
        Commit(
            sha=f"{index:x}" * 40,
            parents=(f"{index - 1:x}" * 40,) * (2 if subject.startswith("Merge") else 1),
            author="Pat",
            time_s=float(index),
            subject=subject,
            changes=tuple(
                FileChange(path, before.get(path), after.get(path), read=path.startswith("base/"))
                for path in sorted(before.keys() | after.keys())
                if before.get(path) != after.get(path)
            ),
        )
        for index, (subject, before, after) in enumerate(
            zip(told["commits"], states, states[1:], strict=False), start=1
        )
    ]
    return told, commits[::-1]


def files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("folder", STORIES, ids=lambda path: path.name)
def test_a_story_ends_with_the_right_commit_or_with_none(folder: Path) -> None:
    told, commits = story(folder)
    ranking = rank(commits, PATH, WORKLOAD, told["cause"], told.get("configmaps"))
    by_subject = {suspect.commit.subject: suspect for suspect in ranking.suspects}
    assert (ranking.chosen.commit.subject if ranking.chosen else None) == told["chosen"], ranking.because
    for subject, changed in told.get("changed", {}).items():
        assert list(by_subject[subject].changed) == changed
    for subject, reason in told.get("ruled_out", {}).items():
        assert by_subject[subject].score == 0
        assert any(reason in because for because in by_subject[subject].because), by_subject[subject].because
    assert told.get("because", "") in ranking.because


@pytest.mark.parametrize("folder", STORIES, ids=lambda path: path.name)
def test_the_order_in_which_commits_are_given_does_not_matter(folder: Path) -> None:
    told, commits = story(folder)
    rankings = {rank(order, PATH, WORKLOAD, told["cause"]) for order in itertools.permutations(commits)}
    assert len(rankings) == 1


def config(**values: object) -> str:
    return yaml.safe_dump(values)


def commit(number: int, before: str | None, after: str | None, path: str = f"{PATH}/train.yaml") -> Commit:
    change = FileChange(path, before, after)
    return Commit(f"{number:040x}", (f"{number - 1:040x}",), "Pat", float(number), f"Commit {number}", (change,))


keys = st.sampled_from(["num_workers", "precision", "seed", "bucket_cap_mb", "notes", "loader.x", "image"])
values = st.one_of(st.integers(0, 9), st.booleans(), st.sampled_from(["bf16", "fp32", "a:b", "c"]), st.none())
configurations = st.dictionaries(keys, values, max_size=5)
causes = st.sampled_from([None, "DataLoaderWorkers", "PrecisionLost", "InputStarved", "Unheard"])


@given(configurations, st.lists(configurations, max_size=4), causes, st.randoms())
def test_a_commit_without_meaning_is_never_chosen(
    first: dict[str, object], others: list[dict[str, object]], cause: str | None, chance: Any
) -> None:
    quiet = commit(1, config(**first), "# why\n" + config(**first) + "\n\n")
    loud = [commit(index, config(), config(**other)) for index, other in enumerate(others, start=2)]
    commits: list[Commit] = [quiet, *loud]
    chance.shuffle(commits)
    ranking = rank(commits, PATH, WORKLOAD, cause)
    assert ranking.chosen is None or ranking.chosen.commit != quiet
    assert next(suspect for suspect in ranking.suspects if suspect.commit == quiet).score == 0


@given(st.lists(st.tuples(configurations, configurations), max_size=5), causes, st.randoms())
def test_what_is_chosen_is_plausible_and_stands_out(
    pairs: Sequence[tuple[dict[str, object], dict[str, object]]], cause: str | None, chance: Any
) -> None:
    commits = [commit(index, config(**old), config(**new)) for index, (old, new) in enumerate(pairs, start=1)]
    ranking = rank(commits, PATH, WORKLOAD, cause)
    shuffled = list(commits)
    chance.shuffle(shuffled)
    assert rank(shuffled, PATH, WORKLOAD, cause) == ranking
    if ranking.chosen is not None:
        assert ranking.chosen.score >= PLAUSIBLE
        rest = [suspect.score for suspect in ranking.suspects if suspect is not ranking.chosen]
        assert all(score <= ranking.chosen.score - MARGIN for score in rest)


@given(
    st.text(max_size=200), st.text(max_size=200), st.sampled_from(["x.yaml", "x.json", "x.py", "x.env", "x.toml", "x"])
)
def test_no_content_of_a_file_breaks_the_ranking(before: str, after: str, name: str) -> None:
    ranking = rank([commit(1, before, after, f"{PATH}/{name}")], PATH, WORKLOAD, None)
    assert before != after or ranking.chosen is None


def test_an_alias_bomb_is_a_text_and_no_bomb() -> None:
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))
    (suspect,) = rank([commit(1, "a: 1\n", f"a0: &a0 x\n{levels}\n")], PATH, WORKLOAD, None).suspects
    assert suspect.changed == (f"{PATH}/train.yaml (text changed)",)


def test_an_undiagnosed_loss_has_a_suspect_only_where_one_key_is_known_to_cost_time() -> None:
    slow = commit(1, config(num_workers=4), config(num_workers=0))
    unknown = commit(2, config(foo=1), config(foo=2), f"{PATH}/b.yaml")
    chosen = rank([slow, unknown], PATH, WORKLOAD, None).chosen
    assert chosen is not None and chosen.commit == slow
    assert rank([unknown], PATH, WORKLOAD, None).chosen is None


def test_an_empty_window_has_no_suspect() -> None:
    assert rank([], PATH, WORKLOAD, "DataLoaderWorkers").chosen is None


def test_values_of_secrets_are_never_shown() -> None:
    secret = "kind: Secret\nmetadata: {name: s}\nstringData:\n  x: "
    before, after = (f"{secret}{value}\n" for value in ("hunter1", "hunter2"))
    (suspect,) = rank([commit(1, before, after)], PATH, WORKLOAD, None).suspects
    assert suspect.changed == ("Secret/s stringData.x (hidden) → (hidden)",)


def test_the_configmaps_of_a_template_are_found_wherever_they_are_named() -> None:
    template = {
        "spec": {
            "volumes": [{"configMap": {"name": "a"}}, {"projected": {"sources": [{"configMap": {"name": "b"}}]}}],
            "containers": [
                {
                    "envFrom": [{"configMapRef": {"name": "c"}}],
                    "env": [{"valueFrom": {"configMapKeyRef": {"name": "d"}}}],
                }
            ],
        }
    }
    assert mounted(template) == {"a", "b", "c", "d"}
