"""What is peculiar to single forges, and how their failures are told."""

import json
from collections.abc import Callable

import httpx
import pytest

from mfu_operator.adapters.forges import Bitbucket, Gitea, GitHub, GitLab, Web, forge
from mfu_operator.adapters.forges.address import parse
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials, Forge
from tests.support.forge_servers import TOKEN, BitbucketServer, GiteaServer, GitHubServer, GitLabServer, Server

PROPOSAL = Proposal(ProposalKind.REVERT, "mfu-operator/gpt-1", "main", "Title", "Body", "Revert\n", revert_sha="1" * 40)
SERVERS = [
    (ForgeKind.GITEA, GiteaServer),
    (ForgeKind.GITHUB, GitHubServer),
    (ForgeKind.GITLAB, GitLabServer),
    (ForgeKind.BITBUCKET, BitbucketServer),
]
URLS = {ForgeKind.GITHUB: "https://github.com", ForgeKind.BITBUCKET: "https://bitbucket.org"}


def transport(handle: Callable[[httpx.Request], httpx.Response]) -> httpx.MockTransport:
    return httpx.MockTransport(handle)


def at(kind: ForgeKind, handler: httpx.BaseTransport, token: str = TOKEN) -> Forge:
    url = f"{URLS.get(kind, 'https://git.example.org')}/team/models.git"
    url = url.replace("/models.git", "/_git/models") if kind is ForgeKind.AZURE_DEVOPS else url
    return forge(kind, url, None, Credentials(password=token), Web(transport=handler))


@pytest.mark.parametrize(("kind", "server"), SERVERS, ids=lambda value: str(value))
def test_the_token_stands_in_a_header_and_nowhere_else(kind: ForgeKind, server: type[Server]) -> None:
    made = server()
    at(kind, made.transport(), f"{TOKEN}\n").ensure(PROPOSAL)
    assert made.requests
    for request in made.requests:
        assert TOKEN not in str(request.url) and TOKEN.encode() not in request.content
        assert any(TOKEN in value for value in request.headers.values())


@pytest.mark.parametrize(("kind", "server"), SERVERS[:3], ids=lambda value: str(value))
def test_the_pull_request_is_labelled_where_the_forge_knows_labels(kind: ForgeKind, server: type[Server]) -> None:
    made = server()
    at(kind, made.transport()).ensure(PROPOSAL)
    assert made.pulls[0].labels in (["mfu-operator"], ["7"])


@pytest.mark.parametrize(("kind", "server"), SERVERS, ids=lambda value: str(value))
def test_a_race_that_another_replica_won_ends_with_its_pull_request(kind: ForgeKind, server: type[Server]) -> None:
    made = server()
    first = True

    def late(request: httpx.Request) -> httpx.Response:
        nonlocal first
        if request.method == "POST" and first and "label" not in request.url.path:
            first = False
            made.opened(PROPOSAL.branch, "main", "theirs", "theirs")
        return made.handle(request)

    found = at(kind, transport(late)).ensure(PROPOSAL)
    assert found.number == 1 and len(made.pulls) == 1


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (httpx.Response(401), Retry, "ForgeAccessDenied"),
        (httpx.Response(403, json={"message": "Resource not accessible"}), Retry, "ForgeAccessDenied"),
        (httpx.Response(404), Retry, "ForgeAccessDenied"),
        (httpx.Response(429, headers={"retry-after": "60"}), Retry, "ForgeRateLimited"),
        (httpx.Response(403, headers={"x-ratelimit-remaining": "0"}), Retry, "ForgeRateLimited"),
        (httpx.Response(503, text="<html>"), Retry, "ForgeUnreachable"),
        (httpx.Response(200, text="<html>"), Retry, "ForgeUnreachable"),
        (httpx.Response(301, headers={"location": "https://github.com/new"}), Stall, "ForgeRefused"),
        (httpx.Response(410), Stall, "ForgeRefused"),
    ],
    ids=lambda value: f"{value.status_code}" if isinstance(value, httpx.Response) else None,
)
def test_failures_say_what_to_do_next(answer: httpx.Response, kind: type[MfuError], reason: str) -> None:
    with pytest.raises(kind) as raised:
        at(ForgeKind.GITHUB, transport(lambda request: answer)).find("x")
    assert raised.value.reason == reason
    assert TOKEN not in raised.value.message


@pytest.mark.parametrize(
    "answer", [[{}], [5], {"values": [{"state": 7}]}, "x", [{"number": None, "head": {"ref": "x"}}]]
)
@pytest.mark.parametrize("kind", [kind for kind in ForgeKind if kind is not ForgeKind.OTHER])
def test_an_answer_that_no_forge_gives_is_a_problem_of_its_address(kind: ForgeKind, answer: object) -> None:
    forge = at(kind, transport(lambda request: httpx.Response(200, json=answer)))
    with pytest.raises(Retry) as raised:
        forge.get(1)
    assert raised.value.reason == "ForgeUnreachable" and "what its API does not describe" in raised.value.message


def test_a_forge_that_does_not_answer_is_unreachable() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("slow", request=request)

    with pytest.raises(Retry) as raised:
        at(ForgeKind.GITEA, transport(fail)).get(1)
    assert raised.value.reason == "ForgeUnreachable"


def test_what_the_forge_will_never_take_stalls_with_its_words() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json=[])
        return httpx.Response(422, json={"message": "Validation Failed", "errors": [{"message": "base is invalid"}]})

    with pytest.raises(Stall) as raised:
        at(ForgeKind.GITHUB, transport(refuse)).ensure(PROPOSAL)
    assert raised.value.reason == "ForgeRefused" and "base is invalid" in raised.value.message


def test_without_a_branch_the_repositorys_default_one_is_the_base() -> None:
    made = GitHubServer()
    head = Proposal(ProposalKind.REVERT, "b", "HEAD", "t", "b", "m")
    at(ForgeKind.GITHUB, made.transport()).ensure(head)
    opened = next(request for request in made.requests if request.url.path.endswith("/pulls") and request.content)
    assert json.loads(opened.content)["base"] == "main"


def test_gitea_reads_on_until_the_branch_is_found() -> None:
    made = GiteaServer()
    made.opened(PROPOSAL.branch, "main", "t", "b")
    for index in range(120):
        made.opened(f"other-{index}", "main", "t", "b")
    found = at(ForgeKind.GITEA, made.transport()).find(PROPOSAL.branch)
    assert found is not None and found.number == 1


@pytest.mark.parametrize(
    ("repository", "base", "web", "path"),
    [
        ("https://github.com/team/models.git", None, "https://github.com", "team/models"),
        ("https://pat:token@git.example.org:8443/team/models", None, "https://git.example.org:8443", "team/models"),
        ("git@gitlab.com:group/sub/models.git", None, "https://gitlab.com", "group/sub/models"),
        ("ssh://git@git.example.org:2222/team/models.git", None, "https://git.example.org", "team/models"),
        ("http://git.svc:3000/team/models", "https://git.example.org/", "https://git.example.org", "team/models"),
        ("https://example.org/git/team/models", "https://example.org/git", "https://example.org/git", "team/models"),
    ],
)
def test_an_address_has_a_host_an_owner_and_a_name(repository: str, base: str | None, web: str, path: str) -> None:
    found = parse(repository, base)
    assert (found.web, found.path) == (web, path)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://github.com/a/b", GitHub),
        ("git@gitlab.com:a/b.git", GitLab),
        ("https://bitbucket.org/a/b", Bitbucket),
        ("https://codeberg.org/a/b", Gitea),
    ],
)
def test_public_services_are_known_by_their_host(url: str, kind: type) -> None:
    assert isinstance(forge(None, url, None, Credentials(password="x")), kind)


def test_another_host_must_be_declared() -> None:
    with pytest.raises(Stall) as raised:
        forge(None, "https://git.example.org/a/b", None, Credentials(password="x"))
    assert raised.value.reason == "ForgeUnknown" and "spec.remediation.forge" in raised.value.message


def test_without_a_token_the_secret_to_name_is_told() -> None:
    with pytest.raises(Retry) as raised:
        forge(ForgeKind.GITEA, "https://git.example.org/a/b", None, None)
    assert raised.value.reason == "CredentialsMissing" and "secretRef" in raised.value.message


def test_an_enterprise_server_has_its_api_below_its_own_address() -> None:
    seen: list[str] = []

    def note(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(200, json=[])

    forge(
        ForgeKind.GITHUB, "https://ghe.example.org/a/b", None, Credentials(password="x"), Web(transport=transport(note))
    ).find("c")
    assert seen[0].startswith("https://ghe.example.org/api/v3/repos/a/b/pulls?head=a%3Ac")


def test_bitbucket_takes_a_user_with_an_api_token_too() -> None:
    seen: list[str] = []

    def note(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={"values": []})

    forge(None, "https://bitbucket.org/a/b", None, Credentials("pat", "x"), Web(transport=transport(note))).find("c")
    assert seen == ["Basic cGF0Ong="]
