"""What is proposed: rendered before it is told, and git takes it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.built import built
from tests.support.suspect_story import Story, Told, config_map, job

KUSTOMIZE = built("kustomize", "kustomize")
needs_kustomize = pytest.mark.usefixtures("engines") if KUSTOMIZE else pytest.mark.cluster
TRAIN = "# the loader\nloader:\n  num_workers: 8  # one for each GPU\n  prefetch_factor: 4\nprecision: bf16\nseed: 1\n"
PATH = ("--path", "apps/gpt")
OLD, NEW = "sha256:" + "a" * 64, "sha256:" + "b" * 64


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if KUSTOMIZE:
        monkeypatch.setenv("PATH", os.pathsep.join([str(Path(KUSTOMIZE).parent), os.environ["PATH"]]))
    yield


@pytest.fixture
def story(tmp_path: Path) -> Story:
    made = Story(tmp_path)
    made.commit("Good", {"apps/gpt/job.yaml": job(), "apps/gpt/config.yaml": config_map(TRAIN)})
    return made


def applied(story: Story, told: Told, path: str) -> str:
    """A file after `git apply` of the proposal on its base."""
    proposal = told.json["proposal"]
    story.upstream.git("checkout", "--quiet", "--detach", proposal["base"]["sha"])
    subprocess.run(["git", "apply", "-"], cwd=story.repo, input=proposal["diff"], text=True, check=True)
    return (story.repo / path).read_text()


def test_a_clean_commit_is_reverted(story: Story) -> None:
    good = (story.repo / "apps/gpt/config.yaml").read_text()
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    story.commit("Later", {"README.md": "later\n"})
    told = story.ask("DataLoaderWorkers", *PATH)
    proposal = told.json["proposal"]
    assert (proposal["kind"], proposal["base"]["branch"]) == ("Revert", "main")
    assert proposal["files"] == ["apps/gpt/config.yaml"]
    assert (proposal["remaining"], proposal["alsoChanges"], proposal["conflicts"]) == ([], [], [])
    assert applied(story, told, "apps/gpt/config.yaml") == good


def test_what_still_differs_from_the_known_good_is_said(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    story.commit("Image", {"apps/gpt/job.yaml": job(args=["--tag=x"])})
    remaining = story.ask("DataLoaderWorkers", *PATH).json["proposal"]["remaining"]
    assert [(row["field"], row["knownGood"], row["afterProposal"]) for row in remaining] == [
        ("spec.template.spec.containers[trainer].args[2]", None, "--tag=x")
    ]


def test_where_a_revert_conflicts_only_the_key_is_set_back(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8  #", "num_workers: 0  #")
    story.replace("Reword", "apps/gpt/config.yaml", "# one for each GPU", "# see wiki")
    told = story.ask("DataLoaderWorkers", *PATH)
    proposal = told.json["proposal"]
    assert told.chosen == "Fewer workers"
    assert (proposal["kind"], proposal["conflicts"]) == ("MinimalRevert", ["apps/gpt/config.yaml"])
    assert "num_workers: 8  # see wiki\n" in applied(story, told, "apps/gpt/config.yaml")


def test_a_commit_that_touches_other_workloads_is_undone_in_its_guilty_key_alone(story: Story) -> None:
    story.commit("Bert", {"apps/bert/job.yaml": job("bert", config="bert-config"),
                          "apps/bert/config.yaml": config_map(TRAIN, "bert-config")})  # fmt: skip
    ours = TRAIN.replace("num_workers: 8", "num_workers: 0").replace("seed: 1", "seed: 2")
    story.commit("All", {
        "apps/gpt/config.yaml": config_map(ours),
        "apps/bert/config.yaml": config_map(TRAIN.replace("num_workers: 8", "num_workers: 2"), "bert-config"),
    })  # fmt: skip
    told = story.ask("DataLoaderWorkers", *PATH, good="Bert")
    proposal = told.json["proposal"]
    assert (proposal["kind"], proposal["files"], proposal["alsoChanges"]) == (
        "MinimalRevert",
        ["apps/gpt/config.yaml"],
        [],
    )
    text = applied(story, told, "apps/gpt/config.yaml")
    assert "num_workers: 8  # one for each GPU" in text and "seed: 2" in text


@needs_kustomize
def test_what_a_shared_base_gives_others_is_said(tmp_path: Path) -> None:
    story = Story(tmp_path)
    generator = "configMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"
    overlay = "resources: [../../base]\nnamePrefix: %s-\n"
    story.commit("Good", {
        "base/kustomization.yaml": f"resources: [job.yaml]\n{generator}",
        "base/job.yaml": job(), "base/train.yaml": TRAIN,
        "overlays/a/kustomization.yaml": overlay % "a", "overlays/b/kustomization.yaml": overlay % "b",
    })  # fmt: skip
    story.replace("Workers", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", "--path", "overlays/a", workload="Job/a-gpt")
    assert told.chosen == "Workers"
    assert told.json["proposal"]["alsoChanges"] == [
        {"object": "ConfigMap/b-gpt-config", "field": 'data["train.yaml"].loader.num_workers'}
    ]
    assert "overlays/b" in told.because


def test_a_commit_whose_revert_was_refused_gets_no_proposal(story: Story) -> None:
    sha = story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    told = story.ask("DataLoaderWorkers", *PATH, "--refused", sha)
    assert told.chosen == "Fewer workers"
    assert told.json["proposal"] is None
    assert "refused" in told.because


def test_an_image_whose_digest_is_known_is_pinned(story: Story) -> None:
    story.replace("New image", "apps/gpt/job.yaml", "gpt:v1", "gpt:v2")
    told = story.ask("PrecisionLost", *PATH, "--good-image", f"registry.example/gpt:v1@{OLD}")
    assert told.json["proposal"]["kind"] == "PinDigest"
    assert f"image: registry.example/gpt@{OLD}" in applied(story, told, "apps/gpt/job.yaml")


def test_a_tag_that_was_rebuilt_is_found_without_a_commit_and_pinned(story: Story) -> None:
    story.commit("Docs", {"README.md": "x\n"})
    told = story.ask("PrecisionLost", *PATH, "--good-image", f"registry.example/gpt:v1@{OLD}",
                     "--bad-image", f"registry.example/gpt:v1@{NEW}")  # fmt: skip
    assert told.chosen is None
    assert "ran as sha256:aaaaaaaaaaaa at good and as sha256:bbbbbbbbbbbb at bad" in told.because
    assert told.json["proposal"]["kind"] == "PinDigest"


def test_a_rebuilt_tag_beside_a_plausible_commit_leaves_it_open(story: Story) -> None:
    story.replace("Shuffle", "apps/gpt/config.yaml", "precision: bf16", "precision: fp32\n    seed2: 1")
    told = story.ask("DataLoaderWorkers", *PATH, "--good-image", f"registry.example/gpt:v1@{OLD}",
                     "--bad-image", f"registry.example/gpt:v1@{NEW}")  # fmt: skip
    assert told.chosen is None


def test_another_tag_of_the_same_digest_is_no_change(story: Story) -> None:
    story.replace("Retag", "apps/gpt/job.yaml", "gpt:v1", "gpt:stable")
    told = story.ask("PrecisionLost", *PATH, "--good-image", f"registry.example/gpt:v1@{OLD}",
                     "--bad-image", f"registry.example/gpt:stable@{OLD}")  # fmt: skip
    assert told.chosen is None
    assert told.suspect("Retag")["score"] == 0


def test_a_file_that_the_commit_took_away_comes_back(story: Story) -> None:
    head = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\n"
    quota = head + "spec: {limits: [{type: Container, default: {cpu: '1'}}]}\n"
    story.commit("Limits", {"apps/gpt/limits.yaml": quota})
    told = story.ask("DataLoaderWorkers", *PATH)
    assert told.json["proposal"]["kind"] == "Revert"
    assert "deleted file" in told.json["proposal"]["diff"]


def test_nothing_is_written_into_the_clone(story: Story) -> None:
    story.replace("Fewer workers", "apps/gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    before = story.upstream.git("count-objects", "-v"), story.upstream.git("status", "--porcelain")
    assert story.ask("DataLoaderWorkers", *PATH).json["proposal"] is not None
    assert before == (story.upstream.git("count-objects", "-v"), story.upstream.git("status", "--porcelain"))


def test_a_commit_that_moves_the_file_too_is_reverted_whole(story: Story) -> None:
    moved = config_map(TRAIN.replace("num_workers: 8", "num_workers: 0"))
    story.commit("Move", {"apps/gpt/config.yaml": None, "apps/gpt/moved.yaml": moved})
    proposal = story.ask("DataLoaderWorkers", *PATH).json["proposal"]
    assert (proposal["kind"], proposal["alsoChanges"], proposal["remaining"]) == ("Revert", [], [])
