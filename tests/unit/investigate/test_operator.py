"""What the operator asks: the same code as the command's, in a process of its own, on a clone of its own."""

import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.render import program
from mfu_operator.errors import Retry
from mfu_operator.investigate.findings import findings
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials
from tests.support.built import built
from tests.support.git_http import files_served, served
from tests.support.layouts import chart
from tests.support.suspect_story import Story, config_map, job

HELM, KUSTOMIZE = built("helm", "helm"), built("kustomize", "kustomize")
needs_engines = pytest.mark.skipif(
    not (HELM and KUSTOMIZE), reason="kustomize and helm are compiled with the cluster's programs"
)
TRAIN = "loader:\n  num_workers: 8\n  prefetch_factor: 4\nseed: 1\n"
BASE = "resources: [job.yaml]\nconfigMapGenerator:\n  - name: gpt-config\n    files: [train.yaml]\n"
CHART = "https://git.example/ml/charts"
DAY_S, T0 = 86400.0, datetime(2026, 11, 10, tzinfo=UTC).timestamp()
PASSWORD = "s3cret-t0ken"
OLD, NEW = "sha256:" + "a" * 64, "sha256:" + "b" * 64


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [str(Path(program).parent) for program in (HELM, KUSTOMIZE) if program]
    monkeypatch.setenv("PATH", os.pathsep.join([*folders, os.environ["PATH"]]))


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path / "models")


def application(story: Story, **source: Any) -> Mapping[str, Any]:
    """An Argo CD Application as the API server has it."""
    spec = {"source": {"repoURL": story.upstream.bare.as_uri(), "targetRevision": "main", **source}}
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
    return {**head, "spec": spec}


def found(story: Story, path: str = "gpt", cause: str = "DataLoaderWorkers", **changes: Any) -> Findings:
    """What the operator finds between the commit Good and the branch's head."""
    source = Source(story.upstream.bare.as_uri(), "main", path, (), None, objects=changes.pop("objects", ()))
    workload = WorkloadRef("batch/v1", "Job", "training", changes.pop("name", "gpt"))
    egress = changes.pop("egress", ANYWHERE)
    asked = Question(source, story.shas["Good"], story.upstream.git("rev-parse", "HEAD"), workload, cause)
    repository = GitRepository(transports=("file", "http"), deadline_s=60, egress=egress)
    return repository.investigate(replace(asked, **changes), None)


def chosen(story: Story, findings: Findings) -> str | None:
    """The subject of the commit that is blamed."""
    one = findings.ranking.chosen
    return one.commit.subject if one else None


def overlays(story: Story) -> None:
    story.commit("Good", {
        "base/kustomization.yaml": BASE, "base/job.yaml": job(), "base/train.yaml": TRAIN,
        "staging/kustomization.yaml": "resources: [../base]\nimages: [{name: registry.example/gpt, newTag: s1}]\n",
        "production/kustomization.yaml": "resources: [../base]\n",
    })  # fmt: skip


@needs_engines
@pytest.mark.usefixtures("engines")
def test_a_commit_to_staging_is_innocent_of_production(story: Story) -> None:
    overlays(story)
    story.replace("Staging", "staging/kustomization.yaml", "s1", "s2")
    findings = found(story, "production", objects=(application(story, path="production"),))
    assert chosen(story, findings) is None and findings.not_rendered == ""
    assert "does not change what Job/gpt gets" in findings.ranking.because


@needs_engines
@pytest.mark.usefixtures("engines")
def test_a_job_whose_name_contains_ours_and_another_generators_file_are_innocent(story: Story) -> None:
    both = f"{BASE}  - name: eval-config\n    files: [eval.yaml]\n".replace("[job.yaml]", "[job.yaml, eval-job.yaml]")
    story.commit("Good", {
        "gpt/kustomization.yaml": both, "gpt/job.yaml": job(), "gpt/train.yaml": TRAIN,
        "gpt/eval-job.yaml": job("gpt-eval", config="eval-config"), "gpt/eval.yaml": TRAIN,
    })  # fmt: skip
    story.replace("Evaluate with fewer workers", "gpt/eval.yaml", "num_workers: 8", "num_workers: 0")
    story.replace("Seed", "gpt/train.yaml", "seed: 1", "seed: 2")
    findings = found(story)
    assert chosen(story, findings) is None
    scores = {suspect.commit.subject: suspect.score for suspect in findings.ranking.suspects}
    assert scores["Evaluate with fewer workers"] == 0.0


@needs_engines
@pytest.mark.usefixtures("engines")
def test_a_parameter_of_the_application_hides_what_the_values_say(story: Story) -> None:
    workers = '[{name: NUM_WORKERS, value: "{{ .Values.workers }}"}]'
    story.commit("Good", {
        "gpt/Chart.yaml": "apiVersion: v2\nname: gpt\nversion: 1.0.0\n", "gpt/values.yaml": "workers: 8\n",
        "gpt/templates/job.yaml": job("{{ .Release.Name }}", env=workers),
    })  # fmt: skip
    story.replace("Fewer workers", "gpt/values.yaml", "8", "0")
    parameters = {"parameters": [{"name": "workers", "value": "8"}]}
    assert chosen(story, found(story, objects=(application(story, path="gpt", helm=parameters),))) is None
    assert chosen(story, found(story, objects=(application(story, path="gpt"),))) == "Fewer workers"


def test_without_the_engine_nothing_is_blamed_and_the_engine_is_named(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(shutil.which("git") or "")
    overlays(story)
    story.replace("Fewer workers", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    findings = found(story, "production")
    assert findings.ranking.chosen is None
    assert "kustomize is not installed" in findings.not_rendered


@needs_engines
def test_a_rendering_that_was_not_done_in_time_is_tried_again(
    story: Story, engines: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlays(story)
    program.version.cache_clear()
    story.replace("Workers", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    sha = story.upstream.git("rev-parse", "HEAD")
    monkeypatch.setattr(program, "DEADLINE_S", 0.0)
    source = Source(str(story.repo), "main", "base", (), None)
    question = Question(
        source, story.shas["Good"], sha, WorkloadRef("batch/v1", "Job", "training", "gpt"), "DataLoaderWorkers"
    )
    with pytest.raises(Retry, match="met its limit of 0 s") as raised:
        findings(question, story.repo / ".git", story.shas["Good"], sha, os.environ)
    assert raised.value.reason == "InvestigationTimedOut"


def test_a_repository_that_may_not_be_fetched_is_not_rendered(story: Story) -> None:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    story.replace("Fewer workers", "gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    sources = [{"repoURL": story.upstream.bare.as_uri(), "path": "gpt", "targetRevision": "main"},
               {"repoURL": "http://169.254.169.254/ml/charts", "path": "x"}]  # fmt: skip
    head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
    findings = found(story, objects=({**head, "spec": {"sources": sources}},), egress=Egress())
    assert findings.ranking.chosen is None
    assert "169.254.169.254" in findings.not_rendered


def test_the_guilty_key_alone_is_undone_where_the_commit_changed_more_than_ours(story: Story) -> None:
    bert = {"bert/job.yaml": job("bert", config="bert-config"), "bert/config.yaml": config_map(TRAIN, "bert-config")}
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN), **bert})
    slow = TRAIN.replace("num_workers: 8", "num_workers: 0")
    sha = story.commit("All", {"gpt/config.yaml": config_map(slow),
                               "bert/config.yaml": config_map(slow, "bert-config")})  # fmt: skip
    findings = found(story)
    undoing = findings.undoing
    assert undoing is not None
    assert (undoing.kind, undoing.base, undoing.also) == (ProposalKind.MINIMAL_REVERT, sha, ())
    assert [edit.path for edit in undoing.edits] == ["gpt/config.yaml"]
    proposal = Proposal(undoing.kind, "mfu-operator/undo-1", "main", "t", "b", "Undo\n", base_sha=sha,
                        edits=undoing.edits)  # fmt: skip
    source = Source(story.upstream.bare.as_uri(), "main", "gpt", (), None)
    pushed = GitRepository(transports=("file",)).ensure_branch(source, proposal, None)
    changed = story.upstream.git("diff", "--stat", sha, pushed, folder=story.upstream.bare)
    assert "gpt/config.yaml" in changed and "bert" not in changed
    assert (
        story.upstream.git("show", f"{pushed}:gpt/config.yaml", folder=story.upstream.bare) == config_map(TRAIN).strip()
    )


def test_a_tag_is_pinned_to_the_digest_that_ran(story: Story) -> None:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    story.replace("New image", "gpt/job.yaml", "gpt:v1", "gpt:v2")
    ran: dict[str, Any] = {
        "good_images": (f"registry.example/gpt@{OLD}",),
        "bad_images": (f"registry.example/gpt@{NEW}",),
    }
    findings = found(story, cause="PrecisionLost", **ran)
    assert findings.undoing is not None and findings.undoing.kind is ProposalKind.PIN_DIGEST
    assert f"image: registry.example/gpt@{OLD}" in str(findings.undoing.edits[0].after)
    same = found(story, cause="PrecisionLost", **{**ran, "bad_images": ran["good_images"]})
    assert chosen(story, same) is None


def test_a_tag_that_was_rebuilt_is_pinned_on_the_branch_with_no_commit(story: Story) -> None:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    findings = found(story, cause="PrecisionLost", good_images=(f"registry.example/gpt@{OLD}",),
                     bad_images=(f"registry.example/gpt@{NEW}",))  # fmt: skip
    undoing = findings.undoing
    assert findings.ranking.chosen is None and undoing is not None
    assert (undoing.kind, undoing.remaining, undoing.also) == (ProposalKind.PIN_DIGEST, (), ())
    assert undoing.pins == (f"registry.example/gpt:v1 ran as {OLD} while it was fast, and as {NEW} since",)
    proposal = Proposal(undoing.kind, "mfu-operator/pin-1", "main", "t", "b", "Pin\n", base_sha=undoing.base,
                        edits=undoing.edits)  # fmt: skip
    source = Source(story.upstream.bare.as_uri(), "main", "gpt", (), None)
    pushed = GitRepository(transports=("file",)).ensure_branch(source, proposal, None)
    shown = story.upstream.git("show", f"{pushed}:gpt/job.yaml", folder=story.upstream.bare)
    assert f"image: registry.example/gpt@{OLD}" in shown


def test_after_a_commit_that_did_not_do_it_the_next_one_is_considered_and_none_is_said_to_lie_outside(
    story: Story,
) -> None:
    words = ["--num-workers=8", "--prefetch-factor=4"]
    story.commit("Good", {"gpt/job.yaml": job(args=words), "gpt/config.yaml": config_map("a: 1")})
    first = story.replace("Workers", "gpt/job.yaml", "workers=8", "workers=0")
    alone = found(story, exonerated=(first,))
    assert chosen(story, alone) is None
    assert "undoing it brought nothing back" in alone.ranking.because
    assert "outside" not in alone.ranking.because
    story.replace("Prefetch", "gpt/job.yaml", "factor=4", "factor=1")
    assert chosen(story, found(story, exonerated=(first,))) == "Prefetch"


def test_a_rollback_is_not_rolled_back(story: Story) -> None:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    story.replace('Revert "More workers"', "gpt/config.yaml", "num_workers: 8", "num_workers: 0")
    findings = found(story)
    assert findings.undoing is None and findings.declined is not None
    assert findings.declined[0] == "RollbackOfRollback"


def test_the_files_of_a_whole_window_come_in_one_batch(story: Story) -> None:
    story.commit("Good", {"gpt/job.yaml": job(), "gpt/config.yaml": config_map(TRAIN)})
    for number in range(40):
        story.upstream.git("checkout", "--quiet", "main")
        (story.repo / "gpt" / "config.yaml").write_text(config_map(TRAIN.replace("seed: 1", f"seed: {number + 2}")))
        story.upstream.git("commit", "--quiet", "--all", "-m", f"Seed {number}")
    story.upstream.push()
    asked: list[str] = []
    with served(story.folder, PASSWORD, asked) as base:
        source = Source(f"{base}/models.git", "main", "gpt", (), None)
        question = Question(source, story.shas["Good"], story.upstream.git("rev-parse", "HEAD"),
                            WorkloadRef("batch/v1", "Job", "training", "gpt"), "DataLoaderWorkers")  # fmt: skip
        findings = GitRepository(transports=("http",)).investigate(question, Credentials(password=PASSWORD))
    assert len(findings.ranking.suspects) == 40 and findings.not_rendered == ""
    sent = [path for path in asked if path.endswith("git-upload-pack") and "service" not in path]
    assert len(sent) <= 4, asked


def of_a_remote_base(story: Story, address: str) -> None:
    """An overlay of a base that lies in another repository, at v1 fast and at v2 slow."""
    bases = Story(story.folder / "bases")
    bases.commit("Fast", {"base/kustomization.yaml": BASE, "base/job.yaml": job(), "base/train.yaml": TRAIN})
    bases.upstream.git("tag", "v1")
    bases.replace("Slow", "base/train.yaml", "num_workers: 8", "num_workers: 0")
    bases.upstream.git("tag", "v2")
    bases.upstream.git("push", "--quiet", "--tags", "origin")
    root = "resources: ['{address}/bases/models.git//base?ref=%s']\n".replace("{address}", address)
    story.commit("Good", {"prod/kustomization.yaml": root % "v1"})
    story.commit("Docs", {"README.md": "x\n"})
    story.commit("Newer base", {"prod/kustomization.yaml": root % "v2"})


@needs_engines
@pytest.mark.usefixtures("engines")
def test_a_remote_base_is_fetched_by_the_operator_without_its_password(story: Story) -> None:
    asked: list[str] = []
    with served(story.folder, "", asked) as address:
        of_a_remote_base(story, address)
        findings = found(story, "prod")
        refused = found(story, "prod", egress=Egress())
    assert chosen(story, findings) == "Newer base", findings
    assert any("/bases/models.git" in path for path in asked)
    assert chosen(story, refused) is None and "which is remote and is not fetched" in refused.not_rendered


@needs_engines
@pytest.mark.usefixtures("engines")
def test_a_remote_base_behind_a_password_is_told_and_blames_nobody(story: Story) -> None:
    with served(story.folder, PASSWORD) as address:
        of_a_remote_base(story, address)
        findings = found(story, "prod")
    assert chosen(story, findings) is None and "which is remote and is not fetched" in findings.not_rendered


@needs_engines
@pytest.mark.usefixtures("engines")
def test_a_chart_of_a_repository_is_fetched_by_the_operator_and_rendered(story: Story, tmp_path: Path) -> None:
    archive = tmp_path / "charts" / "gpt-1.0.0.tgz"
    archive.parent.mkdir()
    for path, text in chart(str(tmp_path / "gpt") + "/").items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "gpt", "gpt")
    (archive.parent / "index.yaml").write_text("entries:\n  gpt:\n  - {version: 1.0.0, urls: [gpt-1.0.0.tgz]}\n")
    with files_served(archive.parent) as address:
        story.commit("Good", {"prod/values.yaml": "workers: 8\n"})
        story.replace("Workers", "prod/values.yaml", "8", "0")
        asked = {"repoURL": address, "chart": "gpt", "targetRevision": "1.0.0",
                 "helm": {"valueFiles": ["$values/prod/values.yaml"]}}  # fmt: skip
        values = {"repoURL": story.upstream.bare.as_uri(), "targetRevision": "main", "ref": "values"}
        head = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"}}
        findings = found(story, "", objects=({**head, "spec": {"sources": [asked, values]}},))
        refused = found(story, "", objects=({**head, "spec": {"sources": [asked, values]}},), egress=Egress())
    assert chosen(story, findings) == "Workers"
    assert chosen(story, refused) is None
    assert "may not be fetched" in refused.not_rendered


@needs_engines
def test_after_a_chart_s_pin_that_did_not_help_the_commit_that_it_hid_is_considered(
    story: Story, engines: None, tmp_path: Path
) -> None:
    with ranged(story, tmp_path, {"1.0.0": 8, "1.1.0": 0}) as live:
        asked, values = live["spec"]["sources"]
        story.replace("Prefetch", "prod/values.yaml", "4", "1")
        deployed = [("1.0.0", story.shas["Good"]), ("1.1.0", story.shas["Prefetch"])]
        first = found(story, "", objects=({**live, "status": history(deployed)},))
        assert (chosen(story, first), first.undoing and first.undoing.kind) == (None, ProposalKind.PIN_CHART)
        assert first.undoing is not None
        bad = story.shas["Prefetch"]
        story.replace("Pin the last good chart", "apps/gpt.yaml", "1.x", "1.0.0")
        pinned = {**live, "spec": {"sources": [{**asked, "targetRevision": "1.0.0"}, values]},
                  "status": history([*deployed, ("1.0.0", story.shas["Pin the last good chart"])])}  # fmt: skip
        again = found(story, "", objects=(pinned,), bad=bad, exonerated=(first.undoing.pin,))
    assert chosen(story, again) == "Prefetch"
    assert again.undoing is not None and again.undoing.kind is not ProposalKind.PIN_CHART


@needs_engines
@pytest.mark.parametrize(("good_s", "chosen_version"), [(T0 + 1.5 * DAY_S, "1.1.0"), (T0 + 0.5 * DAY_S, "1.0.0")])
def test_a_chart_that_moved_while_no_commit_did_is_pinned_at_what_ran_last_while_it_was_fast(
    story: Story, engines: None, tmp_path: Path, good_s: float, chosen_version: str
) -> None:
    """1.0.0, 1.1.0 and 1.2.0 ran with one commit of the values."""
    workers = {"1.0.0": 8, "1.1.0": 6, "1.2.0": 0}
    with ranged(story, tmp_path, workers) as live:
        deployed = [(version, story.shas["Good"]) for version in workers]
        objects = ({**live, "status": history(deployed)},)
        answer = found(story, "", objects=objects, good_s=good_s, bad_s=T0 + 2 * DAY_S)
    assert answer.undoing is not None and answer.undoing.kind is ProposalKind.PIN_CHART
    assert chosen_version in "".join(map(str, answer.undoing.edits))


@contextmanager
def ranged(story: Story, folder: Path, workers: Mapping[str, int]) -> Iterator[Mapping[str, Any]]:
    """An Application that asks for a range of a served chart's versions (version → its workers), with values from Git;
    the commit Good holds both."""
    served_from = folder / "charts"
    served_from.mkdir()
    entries = [packed(folder / version, served_from, version, number) for version, number in workers.items()]
    (served_from / "index.yaml").write_text("entries:\n  gpt:\n" + "".join(entries))
    with files_served(served_from) as address:
        values = {"repoURL": story.upstream.bare.as_uri(), "targetRevision": "main", "ref": "values"}
        asked = {"repoURL": address, "chart": "gpt", "targetRevision": "1.x",
                 "helm": {"valueFiles": ["$values/prod/values.yaml"]}}  # fmt: skip
        live = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "gpt"},
                "spec": {"sources": [asked, values]}}  # fmt: skip
        story.commit("Good", {"prod/values.yaml": "prefetch: 4\n", "apps/gpt.yaml": json.dumps(live, indent=2)})
        yield live


def packed(folder: Path, into: Path, version: str, workers: int) -> str:
    """Packs a version of a chart that knows prefetching too; its entry of the index."""
    for path, text in chart("", version, workers).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        more = '[{name: PREFETCH_FACTOR, value: "{{ .Values.prefetch }}"}, {name: NUM_WORKERS'
        (folder / path).write_text(text.replace("[{name: NUM_WORKERS", more))
    with tarfile.open(into / f"gpt-{version}.tgz", "w:gz") as tar:
        tar.add(folder, "gpt")
    return f"  - {{version: {version}, urls: [gpt-{version}.tgz]}}\n"


def history(deployed: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
    """What Argo CD recorded of an application with a chart and its values."""
    return {"history": [{"id": number, "deployedAt": f"2026-11-1{number}T00:00:00Z", "revisions": list(revisions)}
                        for number, revisions in enumerate(deployed)]}  # fmt: skip
