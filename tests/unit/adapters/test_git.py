"""The Git adapter against real repositories: merges, pins, hydrated branches, failures, and what it must never show."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mfu_operator.adapters.git.environment import environment
from mfu_operator.adapters.git.protocol import (
    Action,
    Answer,
    Failure,
    Identity,
    Request,
    decode_answer,
    decode_request,
    encode,
)
from mfu_operator.adapters.git.repository import GitRepository, clean_url
from mfu_operator.errors import AskPerson, MfuError, Retry, Stall
from mfu_operator.model.commit import Hydrated, Source
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials
from tests.support.git_http import served
from tests.support.git_repository import GitUpstream

PASSWORD = "s3cret-t0ken"
GOOD = f"sha256:{'a' * 64}"


@pytest.fixture
def upstream(tmp_path: Path) -> GitUpstream:
    made = GitUpstream(tmp_path)
    made.commit({"apps/gpt/train.yaml": "workers: 4\n", "apps/gpt/job.yaml": "image: repo.example/gpt:v1\n"}, "Start")
    return made


@pytest.fixture
def repository() -> GitRepository:
    return GitRepository(transports=("file", "http"), deadline_s=60)


def source(upstream: GitUpstream, url: str | None = None, branch: str = "main") -> Source:
    return Source(url or upstream.bare.as_uri(), branch, "apps/gpt", (), None)


def proposal(sha: str | None = None, pins: tuple[tuple[str, str, str], ...] = ()) -> Proposal:
    kind = ProposalKind.PIN if pins else ProposalKind.REVERT
    return Proposal(kind, "mfu-operator/gpt-1", "main", "t", "b", "Undo\n", revert_sha=sha, pins=pins)


def test_a_merge_is_one_commit_of_the_line_and_is_reverted_to_its_first_parent(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    good = upstream.git("rev-parse", "HEAD")
    upstream.git("checkout", "--quiet", "-b", "feature")
    upstream.commit({"apps/gpt/train.yaml": "workers: 2\n"}, "Half")
    upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "None")
    upstream.git("checkout", "--quiet", "main")
    upstream.git("merge", "--quiet", "--no-ff", "-m", "Merge feature", "feature")
    merge = upstream.push()
    (commit,) = repository.commits(source(upstream), good, merge, None)
    assert (commit.sha, len(commit.parents), commit.subject) == (merge, 2, "Merge feature")
    (change,) = commit.changes
    assert (change.before, change.after) == ("workers: 4\n", "workers: 0\n")
    assert "+workers: 4" in repository.preview(source(upstream), proposal(merge), None)


def test_the_same_head_gives_the_same_commit_to_every_replica(upstream: GitUpstream, repository: GitRepository) -> None:
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    once = repository.ensure_branch(source(upstream), proposal(slow), None)
    upstream.git("update-ref", "-d", "refs/heads/mfu-operator/gpt-1", folder=upstream.bare)
    assert repository.ensure_branch(source(upstream), proposal(slow), None) == once


def test_the_commit_carries_the_configured_identity(upstream: GitUpstream) -> None:
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    named = GitRepository(Identity("Robot", "robot@example.invalid"), transports=("file",))
    sha = named.ensure_branch(source(upstream), proposal(slow), None)
    shown = upstream.git("show", "--no-patch", "--format=%an <%ae> %cn <%ce> %P", sha, folder=upstream.bare)
    assert shown == f"Robot <robot@example.invalid> Robot <robot@example.invalid> {slow}"


def test_a_pin_changes_one_line_of_one_file(upstream: GitUpstream, repository: GitRepository) -> None:
    pins = (("apps/gpt/job.yaml", "repo.example/gpt", GOOD),)
    diff = repository.preview(source(upstream), proposal(pins=pins), None)
    changed = [line for line in diff.splitlines() if re.match(r"[-+][^-+]", line)]
    assert changed == ["-image: repo.example/gpt:v1", f"+image: repo.example/gpt@{GOOD}"]
    sha = repository.ensure_branch(source(upstream), proposal(pins=pins), None)
    listed = upstream.git("diff", "--name-only", "main", sha, folder=upstream.bare)
    assert listed == "apps/gpt/job.yaml"


def test_files_outside_the_path_are_read_where_a_kustomization_refers_to_them(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    good = upstream.commit({"apps/gpt/kustomization.yaml": "resources: [../../base]\n"}, "Use a base")
    bad = upstream.commit({"base/job.yaml": "kind: Job\n", "other/job.yaml": "kind: Job\n"}, "Two folders")
    (commit,) = repository.commits(source(upstream), good, bad, None)
    assert {change.path: (change.read, change.after) for change in commit.changes} == {
        "base/job.yaml": (True, "kind: Job\n"),
        "other/job.yaml": (False, None),
    }


def test_a_rendered_revision_stands_for_the_dry_one_it_was_made_from(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    dry = [upstream.git("rev-parse", "HEAD"), upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")]
    upstream.git("checkout", "--quiet", "--orphan", "rendered")
    rendered = []
    for sha in dry:
        content = {"gpt/manifest.yaml": f"# {sha}\n", "gpt/hydrator.metadata": json.dumps({"drySha": sha})}
        rendered.append(upstream.commit(content, "Rendered"))
    hydrated = Source(
        upstream.bare.as_uri(), "main", "apps/gpt", (), None, hydrated=Hydrated(branch="rendered", path="gpt")
    )
    assert [commit.sha for commit in repository.commits(hydrated, rendered[0], rendered[1], None)] == dry[1:]


def test_a_binary_file_has_no_text(upstream: GitUpstream, repository: GitRepository) -> None:
    good = upstream.git("rev-parse", "HEAD")
    (upstream.work / "apps/gpt/model.bin").write_bytes(b"\0\1\2")
    bad = upstream.commit({}, "Weights")
    (change,) = repository.commits(source(upstream), good, bad, None)[0].changes
    assert change.binary and change.after is None


def test_hooks_and_configuration_of_this_machine_do_not_run(
    upstream: GitUpstream, repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    (hooks / "pre-push").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(
        f'[core]\n\thooksPath = {hooks}\n[url "file:///nowhere"]\n\tinsteadOf = file:\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    assert repository.ensure_branch(source(upstream), proposal(slow), None)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("password", [None, "wr0ng-t0ken"])
def test_refused_access_names_the_remedy_and_never_the_secret(
    upstream: GitUpstream, repository: GitRepository, tmp_path: Path, password: str | None
) -> None:
    with served(tmp_path, PASSWORD) as base:
        url = f"{base}/models.git".replace("http://", "http://pat:in-the-address@")
        with pytest.raises(Retry) as raised:
            repository.preview(source(upstream, url), proposal("1" * 40), password and Credentials(password=password))  # type: ignore[arg-type]
    assert raised.value.reason == "RepositoryAccessDenied"
    assert "secretRef" in raised.value.message
    assert "wr0ng-t0ken" not in raised.value.message and "in-the-address" not in raised.value.message


def test_the_token_is_in_no_argument_and_in_no_environment_value_but_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    env = environment("https://git.example.org/team/models.git", Credentials(password=PASSWORD), "/home", ("https",))
    assert [name for name, value in env.items() if PASSWORD in value] == ["MFU_GIT_PASSWORD"]
    seen: list[object] = []

    def started(command: list[str], **options: object) -> None:
        seen.append(command)
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(FileNotFoundError):
        GitRepository().preview(
            Source("https://git.example.org/team/models.git", "main", "", (), None),
            proposal("1" * 40),
            Credentials(password=PASSWORD),
        )
    assert PASSWORD not in repr(seen)


def test_a_git_that_reads_no_ssl_cert_file_is_told_the_same_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    def bundle() -> str | None:
        return environment("https://git.example.org/x/y", None, os.curdir, ("https",)).get("GIT_SSL_CAINFO")

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
    assert bundle() is None
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/mfu-operator/ca/ca.crt")
    assert bundle() == "/etc/mfu-operator/ca/ca.crt"
    monkeypatch.setenv("GIT_SSL_CAINFO", "/git.crt")
    assert bundle() == "/git.crt"


def test_the_helper_answers_for_the_repositorys_own_host_only() -> None:
    env = environment("https://git.example.org:8443/x/y", Credentials(password=PASSWORD), os.curdir, ("https",))
    question = "protocol=https\nhost={}\n\n"
    asked = {
        host: subprocess.run(
            ["git", "credential", "fill"],
            input=question.format(host),
            env=env,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for host in ("git.example.org:8443", "elsewhere.example.org")
    }
    assert f"password={PASSWORD}" in asked["git.example.org:8443"]
    assert PASSWORD not in asked["elsewhere.example.org"]


def test_a_server_that_does_not_answer_is_given_up_at_the_deadline(
    upstream: GitUpstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(slow))
    with pytest.raises(Retry) as raised:
        GitRepository(transports=("file",), deadline_s=0.2).preview(source(upstream), proposal("1" * 40), None)
    assert raised.value.reason == "RepositoryUnreachable"


def test_a_process_that_dies_is_told_without_its_secret(
    upstream: GitUpstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python"
    broken.write_text('#!/bin/sh\necho "no $MFU_GIT_PASSWORD here" >&2\nexit 3\n')
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(Retry) as raised:
        GitRepository(transports=("file",)).preview(
            source(upstream), proposal("1" * 40), Credentials(password=PASSWORD)
        )
    assert raised.value.message.endswith("no *** here")


@pytest.mark.parametrize(
    ("url", "branch", "kind", "reason"),
    [
        ("http://127.0.0.1:1/team/models.git", "main", Retry, "RepositoryUnreachable"),
        ("ext::sh -c 'touch ran'", "main", Stall, "RepositoryUnsupported"),
        ("ftp://git.example.org/x/y", "main", Stall, "RepositoryUnsupported"),
        ("", "no-such-branch", Stall, "BranchMissing"),
    ],
)
def test_what_cannot_work_is_named(
    upstream: GitUpstream, repository: GitRepository, url: str, branch: str, kind: type[MfuError], reason: str
) -> None:
    with pytest.raises(kind) as raised:
        repository.preview(source(upstream, url or None, branch), proposal("1" * 40), None)
    assert raised.value.reason == reason
    assert "spec.remediation." in raised.value.message


def test_a_push_that_the_server_declines_is_refused(upstream: GitUpstream, repository: GitRepository) -> None:
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    hook = upstream.bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho signed commits only >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(Retry) as raised:
        repository.ensure_branch(source(upstream), proposal(slow), None)
    assert raised.value.reason == "RepositoryRefused"
    assert "signed commits only" in raised.value.message


def test_what_a_server_says_is_cut_without_leaving_half_of_a_secret(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    hook = upstream.bare / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\necho {'x' * 285} $MFU_GIT_PASSWORD >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(Retry) as raised:
        repository.ensure_branch(source(upstream), proposal(slow), Credentials(password=PASSWORD))
    assert "xxx ***" in raised.value.message
    assert PASSWORD[:6] not in raised.value.message


def test_a_pin_of_a_file_that_is_gone_needs_a_person(upstream: GitUpstream, repository: GitRepository) -> None:
    with pytest.raises(AskPerson) as raised:
        repository.preview(source(upstream), proposal(pins=(("apps/gpt/gone.yaml", "repo.example/gpt", GOOD),)), None)
    assert raised.value.reason == "NothingToPin"


def test_nothing_is_left_behind(
    upstream: GitUpstream, repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    repository.preview(source(upstream), proposal(slow), None)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("repository", "url"),
    [
        ("git@github.com:team/models.git", "https://github.com/team/models.git"),
        ("ssh://git@git.example.org:2222/team/models", "https://git.example.org/team/models"),
        ("https://pat:token@git.example.org:8443/team/models.git", "https://git.example.org:8443/team/models.git"),
    ],
)
def test_an_address_is_used_without_its_credentials_and_over_https(repository: str, url: str) -> None:
    assert clean_url(repository) == url


def test_what_is_asked_and_answered_survives_the_pipe(upstream: GitUpstream) -> None:
    request = Request(Action.PREVIEW, "https://x", "/tmp/x", source(upstream), Identity(), proposal=proposal("1" * 40))
    assert decode_request(encode(request)) == request
    answer = Answer(text="ok", failure=Failure("AskPerson", "RevertConflict", "by hand"))
    assert decode_answer(encode(answer)) == answer
