"""The Git adapter against real repositories: merges, pins, hydrated branches, failures, and what it must never show."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from mfu_operator.adapters.egress import Egress
from mfu_operator.adapters.git import limits
from mfu_operator.adapters.git.environment import environment
from mfu_operator.adapters.git.failures import explained
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
from mfu_operator.model.baseline import WorkloadRef
from mfu_operator.model.commit import Hydrated, Source
from mfu_operator.model.investigation import Question
from mfu_operator.model.proposal import Edit, Proposal, ProposalKind
from mfu_operator.ports import Credentials
from tests.support.git_http import served
from tests.support.git_repository import GitUpstream
from tests.support.suspect_story import config_map, job

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


def proposal(sha: str | None = None, *edits: Edit) -> Proposal:
    kind = ProposalKind.PIN_DIGEST if edits else ProposalKind.REVERT
    return Proposal(kind, "mfu-operator/gpt-1", "main", "t", "b", "Undo\n", revert_sha=sha, edits=edits)


def question(of: Source, good: str, bad: str) -> Question:
    return Question(of, good, bad, WorkloadRef("batch/v1", "Job", "training", "gpt"), "DataLoaderWorkers")


def test_a_merge_is_reverted_to_its_first_parent(upstream: GitUpstream, repository: GitRepository) -> None:
    upstream.git("checkout", "--quiet", "-b", "feature")
    upstream.commit({"apps/gpt/train.yaml": "workers: 2\n"}, "Half")
    upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "None")
    upstream.git("checkout", "--quiet", "main")
    upstream.git("merge", "--quiet", "--no-ff", "-m", "Merge feature", "feature")
    merge = upstream.push()
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


IMAGE = Edit("apps/gpt/job.yaml", "image: repo.example/gpt:v1\n", f"image: repo.example/gpt@{GOOD}\n")


def test_an_edit_changes_one_line_of_one_file(upstream: GitUpstream, repository: GitRepository) -> None:
    diff = repository.preview(source(upstream), proposal(None, IMAGE), None)
    changed = [line for line in diff.splitlines() if re.match(r"[-+][^-+]", line)]
    assert changed == ["-image: repo.example/gpt:v1", f"+image: repo.example/gpt@{GOOD}"]
    sha = repository.ensure_branch(source(upstream), proposal(None, IMAGE), None)
    listed = upstream.git("diff", "--name-only", "main", sha, folder=upstream.bare)
    assert listed == "apps/gpt/job.yaml"


def test_an_edit_can_bring_a_file_back_and_take_one_away(upstream: GitUpstream, repository: GitRepository) -> None:
    edits = Edit("apps/gpt/new.yaml", None, "a: 1\n"), Edit("apps/gpt/train.yaml", "workers: 4\n", None)
    sha = repository.ensure_branch(source(upstream), proposal(None, *edits), None)
    listed = upstream.git("diff", "--name-status", "main", sha, folder=upstream.bare)
    assert listed.split() == ["A", "apps/gpt/new.yaml", "D", "apps/gpt/train.yaml"]


def test_a_branch_of_edits_is_known_again_after_others_changed_the_same_file(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    rest = "".join(f"line: {number}\n" for number in range(9))
    base = upstream.commit({"apps/gpt/job.yaml": f"workers: 0\n{rest}end: 1\n"}, "Long")

    def edit(end: int) -> Edit:
        return Edit("apps/gpt/job.yaml", f"workers: 0\n{rest}end: {end}\n", f"workers: 4\n{rest}end: {end}\n")

    once = repository.ensure_branch(source(upstream), replace(proposal(None, edit(1)), base_sha=base), None)
    later = upstream.commit({"apps/gpt/job.yaml": f"workers: 0\n{rest}end: 2\n"}, "Another end")
    again = replace(proposal(None, edit(2)), base_sha=later)
    assert repository.ensure_branch(source(upstream), again, None) == once


def test_a_proposal_is_made_on_the_commit_on_which_it_was_rendered(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    slow = upstream.commit({"apps/gpt/train.yaml": "workers: 0\n"}, "Fewer")
    upstream.commit({"apps/gpt/other.yaml": "a: 1\n"}, "The branch moves on")
    sha = repository.ensure_branch(source(upstream), replace(proposal(slow), base_sha=slow), None)
    assert upstream.git("rev-parse", f"{sha}^", folder=upstream.bare) == slow


def test_a_rendered_revision_stands_for_the_dry_one_it_was_made_from(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    job_text = job()
    dry = [upstream.commit({"apps/gpt/job.yaml": job_text, "apps/gpt/config.yaml": config_map(f"num_workers: {n}\n")},
                           f"{n} workers") for n in (4, 0)]  # fmt: skip
    upstream.git("checkout", "--quiet", "--orphan", "rendered")
    rendered = []
    for sha in dry:
        content = {"gpt/manifest.yaml": f"# {sha}\n", "gpt/hydrator.metadata": json.dumps({"drySha": sha})}
        rendered.append(upstream.commit(content, "Rendered"))
    hydrated = replace(source(upstream), hydrated=Hydrated(branch="rendered", path="gpt"))
    found = repository.investigate(question(hydrated, rendered[0], rendered[1]), None)
    assert found.ranking.chosen is not None and found.ranking.chosen.commit.sha == dry[1]


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
    env = environment({"https://git.example.org/team/models.git": Credentials(password=PASSWORD)}, "/home", ("https",))
    assert [name for name, value in env.items() if PASSWORD in value] == ["MFU_GIT_PASSWORD"]
    seen: list[object] = []

    def started(command: list[str], **options: object) -> None:
        seen.append(command)
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(FileNotFoundError):
        GitRepository(egress=Egress(resolve=lambda host, port: ["192.0.2.7"])).preview(
            Source("https://git.example.org/team/models.git", "main", "", (), None),
            proposal("1" * 40),
            Credentials(password=PASSWORD),
        )
    assert PASSWORD not in repr(seen)


def test_a_git_that_reads_no_ssl_cert_file_is_told_the_same_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    def bundle() -> str | None:
        return environment({}, os.curdir, ("https",)).get("GIT_SSL_CAINFO")

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
    assert bundle() is None
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/mfu-operator/ca/ca.crt")
    assert bundle() == "/etc/mfu-operator/ca/ca.crt"
    monkeypatch.setenv("GIT_SSL_CAINFO", "/git.crt")
    assert bundle() == "/git.crt"


def test_the_helper_answers_for_the_repositorys_own_host_only() -> None:
    logins = {"https://git.example.org:8443/x/y": Credentials(password=PASSWORD),
              "https://other.example.org/a/b.git": Credentials("robot", "an0ther")}  # fmt: skip
    env = environment(logins, os.curdir, ("https",))

    def told(url: str) -> str:
        command = ["git", "credential", "fill"]
        return subprocess.run(
            command, input=f"url={url}\n\n", env=env, capture_output=True, text=True, check=False
        ).stdout

    for url in ("https://git.example.org:8443/x/y", "https://git.example.org:8443/x/y.git"):
        assert f"username=oauth2\npassword={PASSWORD}\n" in told(url)
    assert "username=robot\npassword=an0ther\n" in told("https://other.example.org/a/b")
    for url in ("https://git.example.org:8443/x/z", "https://git.example.org/x/y", "https://elsewhere.example.org/x/y"):
        assert "password" not in told(url)


def test_an_authority_of_one_host_leaves_those_of_the_others_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_SSL_CAINFO", "/everybody.crt")
    env = environment({}, os.curdir, ("https",), authorities={"https://git.example.org/x/y": "/own.crt"})

    def told(url: str) -> str:
        command = ["git", "config", "--get-urlmatch", "http.sslCAInfo", url]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert "GIT_SSL_CAINFO" not in env
    assert (told("https://git.example.org/x/y.git"), told("https://other.example.org")) == (
        "/own.crt",
        "/everybody.crt",
    )


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


def test_an_edit_of_a_file_that_is_gone_needs_a_person(upstream: GitUpstream, repository: GitRepository) -> None:
    with pytest.raises(AskPerson) as raised:
        repository.preview(source(upstream), proposal(None, Edit("apps/gpt/gone.yaml", "a\n", "b\n")), None)
    assert raised.value.reason == "RevertConflict"


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


@pytest.mark.parametrize("name", ["--upload-pack=touch ran", "-b", "a b", "main~1", "x.lock", "--template=/tmp"])
@pytest.mark.parametrize("of_rendered", [False, True], ids=["branch", "hydrated"])
def test_a_name_that_is_no_branch_reaches_no_command_of_git(
    upstream: GitUpstream, repository: GitRepository, name: str, of_rendered: bool
) -> None:
    head = upstream.git("rev-parse", "HEAD")
    asked = source(upstream, branch="main" if of_rendered else name)
    if of_rendered:
        asked = Source(asked.repository, "main", "apps/gpt", (), None, hydrated=Hydrated(branch=name, path="gpt"))
    with pytest.raises(Stall) as raised:
        repository.investigate(question(asked, head, head), None)
    assert raised.value.reason == "InvalidBranch"
    assert "spec.remediation.branch" in raised.value.message and "targetRevision" in raised.value.message


@pytest.mark.parametrize("revision", ["--output=ran", "HEAD", "main", "HEAD~1", "main@{upstream}"])
def test_a_revision_that_is_no_commit_is_not_evaluated(
    upstream: GitUpstream, repository: GitRepository, revision: str
) -> None:
    head = upstream.git("rev-parse", "HEAD")
    with pytest.raises(AskPerson) as raised:
        repository.investigate(question(source(upstream), revision, head), None)
    assert raised.value.reason == "HistoryRewritten"


def test_an_address_that_looks_like_an_option_is_refused(repository: GitRepository) -> None:
    with pytest.raises(Stall) as raised:
        repository.preview(Source("--upload-pack=touch ran", "main", "", (), None), proposal("1" * 40), None)
    assert raised.value.reason == "RepositoryUnsupported"


@contextmanager
def sent_elsewhere(location: Callable[[str], str]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers every request with a redirect; its address and the paths that were asked for."""
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(301)
            self.send_header("Location", location(self.path))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


def test_git_follows_no_server_to_another_address(
    upstream: GitUpstream, repository: GitRepository, tmp_path: Path
) -> None:
    with (
        served(tmp_path, PASSWORD) as base,
        sent_elsewhere(lambda path: f"{base}{path}") as (url, asked),
        pytest.raises(Stall) as raised,
    ):
        repository.preview(source(upstream, f"{url}/models.git"), proposal("1" * 40), Credentials(password=PASSWORD))
    assert raised.value.reason == "RepositoryUnsupported"
    assert "redirects to another address" in raised.value.message
    assert len(asked) == 1


def test_an_address_without_git_at_its_end_is_tried_with_it_where_the_server_redirects(
    upstream: GitUpstream, repository: GitRepository
) -> None:
    with (
        sent_elsewhere(lambda path: path.replace("/models/", "/models.git/")) as (url, asked),
        pytest.raises(Stall),
    ):
        repository.preview(source(upstream, f"{url}/models"), proposal("1" * 40), None)
    assert [path.partition("/info")[0] for path in asked] == ["/models", "/models.git"]


def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A child that does what the script says."""
    child = tmp_path / "python"
    child.write_text(f"#!/bin/sh\n{script}\n")
    child.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(child))


def test_an_answer_without_end_is_not_read_to_its_end(
    upstream: GitUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(tmp_path, monkeypatch, "exec cat /dev/zero")
    with pytest.raises(Stall) as raised:
        GitRepository(transports=("file",)).preview(source(upstream), proposal("1" * 40), None)
    assert raised.value.reason == "RepositoryTooLarge"
    assert "16 MiB" in raised.value.message


def test_of_a_child_that_complains_without_end_the_last_words_are_kept(
    upstream: GitUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(tmp_path, monkeypatch, "head -c 5000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo over >&2; exit 1")
    with pytest.raises(Retry) as raised:
        GitRepository(transports=("file",)).preview(source(upstream), proposal("1" * 40), None)
    assert raised.value.message.endswith(": over")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (f"bytearray({limits.DATA_BYTES})", "MemoryError"),
        (f"open('x', 'wb').truncate({limits.FILE_BYTES + 1})", "File too large"),
        (
            "import resource; print(resource.getrlimit(resource.RLIMIT_CPU), file=__import__('sys').stderr)",
            "(100, 100)",
        ),
        (
            "import subprocess, sys; sys.stderr.write(subprocess.check_output(['sh', '-c', 'ulimit -d'], text=True))",
            str(limits.DATA_BYTES // 1024),
        ),
        (
            "import subprocess, sys; sys.stderr.write(subprocess.check_output(['sh', '-c', 'ulimit -Hd'], text=True))",
            str(limits.ENGINE_DATA_BYTES // 1024),
        ),
    ],
    ids=["memory", "file", "processor", "inherited", "engine"],
)
def test_the_child_and_its_gits_are_held_to_their_limits(tmp_path: Path, script: str, said: str) -> None:
    held = f"from mfu_operator.adapters.git import limits; limits.apply(); {script}"
    done = subprocess.run([sys.executable, "-c", held], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said in done.stderr


def test_what_git_says_of_a_limit_is_told_as_one(upstream: GitUpstream) -> None:
    request = Request(Action.PREVIEW, "https://x", "/tmp/x", source(upstream), Identity())
    for said in (
        "fatal: Out of memory, malloc failed (tried to allocate 1 bytes)",
        "error: file write error: File too large",
    ):
        assert explained(request, said).reason == "RepositoryTooLarge"
