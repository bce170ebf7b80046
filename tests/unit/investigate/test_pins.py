"""Pins: the digest, the chart version or the parameter that ran where it was fast, where no commit changed it."""

import json
from pathlib import Path

import pytest

from tests.support.built import built
from tests.support.layouts import CHARTS, TRAIN, URL, application, chart, given, sent_chart
from tests.support.suspect_story import Story, Told, config_map, job

HELM = built("helm", "helm")
pytestmark = [] if HELM else [pytest.mark.cluster]
DIGESTS = tuple(f"sha256:{letter * 64}" for letter in "ab")


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    if HELM:
        monkeypatch.setenv("PATH", str(Path(HELM).parent), prepend=":")


def ran(image: str) -> tuple[str, ...]:
    return "--good-image", f"{image}@{DIGESTS[0]}", "--bad-image", f"{image}@{DIGESTS[1]}"


def of_a_range(story: Story, application_in_git: bool) -> Told:
    """An application whose chart's range moved from 1.0.0 to 1.1.0, beside a commit that costs nothing."""
    values = {"repoURL": URL, "targetRevision": "main", "ref": "values"}
    asked = {"repoURL": CHARTS, "chart": "gpt", "targetRevision": "1.x",
             "helm": {"valueFiles": ["$values/prod/values.yaml"]}}  # fmt: skip
    live = application(sources=[asked, values])
    manifest = {"apps/gpt.yaml": json.dumps(live, indent=2) + "\n"} if application_in_git else {}
    story.commit("Good", {"prod/values.yaml": "seed: 8\n", **manifest})
    story.replace("Seed", "prod/values.yaml", "8", "9")
    history = [
        {"id": number, "deployedAt": f"2023-11-1{number}T00:00:00Z", "revisions": [version, story.shas[subject]],
         "sources": live["spec"]["sources"]}
        for number, (version, subject) in enumerate((("1.0.0", "Good"), ("1.1.0", "Seed")))
    ]  # fmt: skip
    options = given(story, {**live, "status": {"history": history}})
    return story.ask("DataLoaderWorkers", *options, *sent_chart(story, "1.0.0", 8), *sent_chart(story, "1.1.0", 0))


def test_a_chart_whose_range_moved_is_pinned_where_git_asks_for_it(tmp_path: Path) -> None:
    told = of_a_range(Story(tmp_path / "models"), application_in_git=True)
    proposal = told.json["proposal"]
    assert told.chosen is None
    assert f"chart {CHARTS}/gpt 1.0.0 → 1.1.0" in told.because
    assert (proposal["kind"], proposal["files"]) == ("PinChart", ["apps/gpt.yaml"])
    assert [line for line in proposal["diff"].splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")] == [
        '-        "targetRevision": "1.x",', '+        "targetRevision": "1.0.0",'
    ]  # fmt: skip


def test_a_chart_that_git_does_not_ask_for_is_told(tmp_path: Path) -> None:
    told = of_a_range(Story(tmp_path / "models"), application_in_git=False)
    assert told.json["proposal"] is None
    assert "set its targetRevision to 1.0.0" in told.because


def test_a_parameter_that_was_set_outside_git_is_pinned_for_its_application_alone(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    story.commit("Good", chart())
    story.commit("Docs", {"README.md": "x"})

    def source(workers: int) -> dict[str, object]:
        parameters = [{"name": "workers", "value": str(workers)}]
        return {"repoURL": URL, "targetRevision": "main", "path": "charts/gpt", "helm": {"parameters": parameters}}

    history = [
        {"id": number, "deployedAt": f"2023-11-1{number}T00:00:00Z", "revision": story.shas[subject],
         "source": source(workers)}
        for number, (subject, workers) in enumerate((("Good", 8), ("Docs", 0)))
    ]  # fmt: skip
    told = story.ask("DataLoaderWorkers", *given(story, application(source=source(0), status={"history": history})))
    proposal = told.json["proposal"]
    assert told.chosen is None
    assert "the application's parameter workers: 8 → 0" in told.because
    assert (proposal["kind"], proposal["files"]) == ("PinParameter", ["charts/gpt/.argocd-source-gpt.yaml"])
    assert proposal["remaining"] == proposal["alsoChanges"] == []


@pytest.mark.parametrize(
    ("other", "value", "proposed"),
    [("tag", "v1", True), ("apiToken", "v1", False), ("store", "https://user:secret@store.example", False)],
)
def test_a_pinned_parameter_keeps_those_that_did_not_change_and_writes_no_secret(
    tmp_path: Path, other: str, value: str, proposed: bool
) -> None:
    """In Argo CD the list of the file takes the place of the application's."""
    story = Story(tmp_path / "models")
    story.commit("Good", chart())
    story.commit("Docs", {"README.md": "x"})

    def source(workers: int) -> dict[str, object]:
        parameters = [
            {"name": other, "value": value, "forceString": True},
            {"name": "workers", "value": str(workers)},
        ]
        return {"repoURL": URL, "targetRevision": "main", "path": "charts/gpt", "helm": {"parameters": parameters}}

    history = [
        {"id": 0, "deployedAt": "2023-11-10T00:00:00Z", "revision": story.shas["Good"], "source": source(8)},
        {"id": 1, "deployedAt": "2023-11-11T00:00:00Z", "revision": story.shas["Docs"], "source": source(0)},
    ]
    told = story.ask("DataLoaderWorkers", *given(story, application(source=source(0), status={"history": history})))
    proposal = told.json["proposal"]
    assert (proposal is not None) is proposed
    if proposed:
        assert proposal["kind"] == "PinParameter"
        for line in (f'- name: "{other}"', f'value: "{value}"', "forceString: true", '- name: "workers"', 'value: "8"'):
            assert line in proposal["diff"]


def test_a_digest_is_pinned_in_values_whose_keys_are_no_words(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    files = chart()
    files["charts/gpt/templates/job.yaml"] = files["charts/gpt/templates/job.yaml"].replace(
        "registry.example/gpt:v1", '"{{ .Values.image.repository }}:{{ .Values.image.tag }}"'
    )
    files["charts/gpt/values.yaml"] += "image:\n  repository: registry.example/gpt\n  tag: main  # moves\n"
    story.commit("Good", files)
    story.commit("Docs", {"README.md": "x"})
    told = story.ask("Unfused", *given(story, application(path="charts/gpt")), *ran("registry.example/gpt:main"))
    assert told.json["proposal"]["kind"] == "PinDigest"
    assert f"+  tag: main@{DIGESTS[0]}  # moves" in told.json["proposal"]["diff"]


def test_a_value_of_several_words_is_undone_alone_beside_a_later_change_of_its_line(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    words = ["data.num_workers=8", "trainer.precision=bf16-mixed"]
    story.commit("Good", {"gpt/job.yaml": job(args=words), "gpt/config.yaml": config_map(TRAIN)})
    story.replace("Precision", "gpt/job.yaml", "bf16-mixed", "32-true")
    story.replace("Workers", "gpt/job.yaml", "num_workers=8", "num_workers=4")
    told = story.ask("PrecisionLost", "--path", "gpt")
    assert told.chosen == "Precision"
    assert told.json["proposal"]["kind"] == "MinimalRevert"
    assert '"data.num_workers=4", "trainer.precision=bf16-mixed"]' in told.json["proposal"]["diff"]


def test_a_tag_that_is_followed_is_told_where_the_branch_is_mended_already(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    story.commit("Good", {"gpt/job.yaml": job(args=["--num-workers=8"]), "gpt/config.yaml": config_map("a: 1")})
    story.replace("Workers", "gpt/job.yaml", "workers=8", "workers=0")
    story.upstream.git("tag", "v1.3")
    story.replace("Mended", "gpt/job.yaml", "workers=0", "workers=8")
    follows = application(source={"repoURL": URL, "targetRevision": "v1.3", "path": "gpt"})
    told = story.ask("DataLoaderWorkers", *given(story, follows), bad="Workers")
    assert told.chosen == "Workers"
    assert told.json["proposal"] is None
    assert "The application follows v1.3: let it follow what came after." in told.because


def test_a_rebuilt_image_is_not_pinned_for_a_cause_that_no_image_brings_about(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    story.commit("Docs", {"README.md": "x\n"})
    options = ("--path", "gpt", *ran("registry.example/gpt:v1"))
    assert story.ask("SlowStorage", *options).json["proposal"] is None
    assert story.ask("Straggler", *options).json["proposal"] is None
    assert story.ask("PrecisionLost", *options).json["proposal"]["kind"] == "PinDigest"


def test_a_rebuilt_image_of_a_sidecar_is_not_held_responsible(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    beside = "      containers:\n        - {name: proxy, image: registry.example/proxy:v1}\n"
    story.commit(
        "Good", {"gpt/job.yaml": job().replace("      containers:\n", beside), "gpt/config.yaml": config_map(TRAIN)}
    )
    story.commit("Docs", {"README.md": "x\n"})
    told = story.ask("PrecisionLost", "--path", "gpt", *ran("registry.example/proxy:v1"))
    assert (told.chosen, told.json["proposal"]) == (None, None)
    assert "proxy" not in told.because


def test_one_revision_on_both_sides_is_compared_by_what_ran(tmp_path: Path) -> None:
    story = Story(tmp_path / "models")
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    told = story.ask("PrecisionLost", "--path", "gpt", *ran("registry.example/gpt:v1"))
    assert told.json["window"]["commits"] == 0
    assert told.json["proposal"]["kind"] == "PinDigest"
    assert "no commit of the window can have caused PrecisionLost" in told.because
