"""A forge that limits is left alone for as long as it says, a renamed repository is followed on its own origin, and a
server whose pages are small is read to the end."""

import httpx
import pytest

from mfu_operator.adapters.forges import Web, forge
from mfu_operator.adapters.forges.limits import pause_s
from mfu_operator.errors import AskPerson, Retry, Stall
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.proposal import Proposal, ProposalKind, PullRequestState
from mfu_operator.ports import Credentials, Forge
from tests.support.forge_servers import TOKEN, GiteaServer, GitHubServer, Server

PROPOSAL = Proposal(ProposalKind.REVERT, "mfu-operator/gpt-1", "main", "Title", "Body", "Revert\n", revert_sha="1" * 40)


class Recorded:
    """A server's answers and the requests that were made."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.answers, self.requests = list(answers), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.answers.pop(0)


def at(recorded: object, kind: ForgeKind = ForgeKind.GITHUB, web: Web | None = None, token: str = TOKEN) -> Forge:
    assert callable(recorded)
    host = "github.com" if kind is ForgeKind.GITHUB else "git.example.org"
    web = web or Web(transport=httpx.MockTransport(recorded))
    return forge(kind, f"https://{host}/team/models.git", None, Credentials(password=token), web)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(429, headers={"retry-after": "120"}),
        httpx.Response(403, json={"message": "You have exceeded a secondary rate limit. Please wait."}),
        httpx.Response(403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "99999999999"}),
        httpx.Response(503, headers={"retry-after": "30"}),
    ],
    ids=["429", "secondary", "primary", "503"],
)
def test_a_forge_that_limits_is_sent_nothing_until_its_time_is_over(answer: httpx.Response) -> None:
    server = Recorded(answer)
    web = Web(transport=httpx.MockTransport(server))
    for _ in range(3):
        with pytest.raises(Retry) as raised:
            at(server, web=web).get(1)
        assert raised.value.reason == "ForgeRateLimited"
        assert "the next may be in" in raised.value.message
    assert len(server.requests) == 1


def test_one_that_limits_one_token_is_asked_with_another() -> None:
    server = Recorded(httpx.Response(429), httpx.Response(404))
    web = Web(transport=httpx.MockTransport(server))
    with pytest.raises(Retry):
        at(server, web=web).get(1)
    assert at(server, web=web, token="another").commit_message("1" * 40) is None


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:45 GMT"}, 5.0),
        ({"retry-after": "soon"}, 60.0),
        ({"retry-after": "9" * 40}, 3600.0),
        ({"retry-after": "0"}, 1.0),
        ({"x-ratelimit-reset": "1300"}, 300.0),
        ({"ratelimit-reset": "1010"}, 10.0),
        ({}, 60.0),
    ],
)
def test_the_pause_is_what_the_forge_asks_for_within_an_hour(headers: dict[str, str], expected_s: float) -> None:
    assert pause_s(headers, 1000.0) == expected_s


def moved(to: str, status: int = 301) -> httpx.Response:
    return httpx.Response(status, headers={"location": to})


class Renamed:
    """A repository that moved to another name: every request is answered with where to ask."""

    def __init__(self, server: Server, to: str) -> None:
        self.server, self.to = server, to

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/repositories/1"):
            path = request.url.path.replace("/repositories/1", "/repos/team/models")
            return self.server.handle(httpx.Request(
                request.method, request.url.copy_with(path=path), headers=request.headers, content=request.content
            ))  # fmt: skip
        query = f"?{request.url.query.decode()}" if request.url.query else ""
        return moved(f"{self.to}{request.url.path.replace('/repos/team/models', '/repositories/1')}{query}", 307)


def test_a_renamed_repository_is_followed_with_method_and_body() -> None:
    server = GitHubServer()
    opened = at(Renamed(server, "https://api.github.com")).ensure(PROPOSAL)
    assert opened.state is PullRequestState.OPEN
    assert [pull.title for pull in server.pulls] == ["Title"]
    assert server.pulls[0].labels == ["mfu-operator"]


@pytest.mark.parametrize("to", ["https://evil.example", "http://api.github.com", "https://api.github.com:8443"])
def test_a_redirect_to_another_origin_is_not_followed(to: str) -> None:
    server = Recorded(moved(f"{to}/repositories/1/pulls/1"), httpx.Response(200, json={}))
    with pytest.raises(Stall) as raised:
        at(server).get(1)
    assert raised.value.reason == "ForgeRefused"
    assert len(server.requests) == 1


def test_redirects_in_a_circle_end() -> None:
    server = Recorded(*[moved("/repos/team/models/pulls/1") for _ in range(9)])
    with pytest.raises(Stall):
        at(server).get(1)
    assert len(server.requests) == 4


class SmallPages(GiteaServer):
    """A Gitea whose administrator allows thirty items a page at most."""

    def _list(self, request: httpx.Request) -> httpx.Response:
        page = int(request.url.params["page"])
        return httpx.Response(200, json=self.newest()[(page - 1) * 30 : page * 30])


@pytest.mark.parametrize("count", [1, 29, 30, 31, 75])
def test_a_pull_request_on_the_last_of_many_small_pages_is_found(count: int) -> None:
    server = SmallPages()
    server.opened(PROPOSAL.branch, "main", "Title", "Body")
    for number in range(count - 1):
        server.opened(f"feature-{number}", "main", "Feature", "")
    found = at(server.handle, ForgeKind.GITEA).find(PROPOSAL.branch)
    assert found is not None and found.number == 1


def test_on_a_host_without_a_known_api_a_person_opens_the_request_of_the_pushed_branch() -> None:
    host = at(Recorded(), ForgeKind.OTHER)
    assert host.find(PROPOSAL.branch) is None
    with pytest.raises(AskPerson) as raised:
        host.ensure(PROPOSAL)
    assert raised.value.reason == "BranchPushed"
    assert f"git fetch origin {PROPOSAL.branch} && git merge --no-ff FETCH_HEAD` on main" in raised.value.message


def test_a_repository_that_is_none_of_azure_devops_is_said_to_be_none() -> None:
    with pytest.raises(Stall) as raised:
        at(Recorded(), ForgeKind.AZURE_DEVOPS)
    assert raised.value.reason == "ForgeUnknown" and "/_git/" in raised.value.message
