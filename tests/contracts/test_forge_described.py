"""GitHub's adapter before GitHub's own API description, which Prism serves: each request is judged by it, and each
answer is one of its examples.

The descriptions of the others are in no package of npm or PyPI that we found: GitLab, Bitbucket and Microsoft publish
theirs on their web sites and in their repositories alone. Gitea and Forgejo are held by a real server (test_forge.py);
for GitLab, Bitbucket Cloud and Azure DevOps there are the answers that tests/support/forge_servers.py replays.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from mfu_operator.adapters.forges import Web, forge
from mfu_operator.adapters.forges.github_app import AppTokens
from mfu_operator.adapters.forges.http import Api, Refused
from mfu_operator.errors import Retry
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.proposal import Closing, Review
from mfu_operator.ports import AppKey, Credentials, Forge
from tests.contracts.test_forge import PROPOSAL
from tests.support.described import DESCRIPTIONS, Described, serving, why_not

EXAMPLE = 1347
"""The number of the pull request in GitHub's examples."""
HOSTS = {"github.com": "https://github.com/octocat/Hello-World.git",
         "Enterprise": "https://github.corp.example/octocat/Hello-World.git"}  # fmt: skip


@pytest.fixture(scope="module", params=DESCRIPTIONS)
def started(request: pytest.FixtureRequest) -> Iterator[tuple[str, Described]]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with serving(request.param) as prism:
        yield HOSTS[request.param], prism


@pytest.fixture
def github(started: tuple[str, Described]) -> Iterator[tuple[Forge, Described]]:
    """The adapter, and the server of the description: at the end of the test no request has a flaw."""
    address, prism = started[0], Described(started[1].address, started[1].description)
    yield forge(ForgeKind.GITHUB, address, None, Credentials(password="t0ken"), Web(transport=prism)), prism
    assert prism.asked and prism.flaws == []


def test_a_proposal_becomes_a_pull_request_with_all_that_it_asks_for(github: tuple[Forge, Described]) -> None:
    adapter, prism = github
    review = Review(reviewers=("rev", "team/ml"), assignees=("pat",), labels=("slow",), draft=True)
    opened = adapter.ensure(replace(PROPOSAL, base="HEAD", review=review))
    assert (opened.number, opened.branch, opened.unmet) == (EXAMPLE, "new-topic", ())
    asked = [each.rpartition("/")[2] for each in prism.asked if each.startswith("POST")]
    assert set(asked) == {"pulls", "labels", "assignees", "requested_reviewers"}


def test_a_pull_request_is_found_by_its_branch_and_by_its_number(github: tuple[Forge, Described]) -> None:
    adapter, _ = github
    found = adapter.find("new-topic")
    assert found is not None and found.number == EXAMPLE
    assert found.head is not None and adapter.commit_message(found.head) == "Fix all the bugs"
    assert adapter.get(EXAMPLE).url.endswith(f"/pull/{EXAMPLE}")


def test_a_pull_request_is_withdrawn(github: tuple[Forge, Described]) -> None:
    adapter, prism = github
    adapter.withdraw(EXAMPLE, "training recovered", Closing.NOT_NEEDED)
    assert prism.asked[-1] == f"PATCH /repos/octocat/Hello-World/pulls/{EXAMPLE}"


def test_the_comment_is_written_and_then_edited(github: tuple[Forge, Described]) -> None:
    adapter, prism = github
    adapter.note(EXAMPLE, "About one job.")
    adapter.note(EXAMPLE, "About two jobs.")
    written = [each for each in prism.asked if not each.startswith("GET")]
    assert [each.split(" ")[0] for each in written] == ["POST", "PATCH"]


def test_what_github_does_not_show_is_told_as_missing_access(github: tuple[Forge, Described]) -> None:
    adapter, prism = github
    prism.prefer = 404
    assert adapter.commit_message("d" * 40) is None
    with pytest.raises(Retry) as raised:
        adapter.get(EXAMPLE)
    assert raised.value.reason == "ForgeAccessDenied"


def test_a_request_that_the_description_does_not_know_is_told(started: tuple[str, Described]) -> None:
    prism = Described(started[1].address, started[1].description)
    api = Api("GitHub", "https://api.github.com", {}, Web(transport=prism))
    with pytest.raises(Refused):
        api.post("repos/a/b/pulls", {"title": "x", "head": "y", "base": "z", "drafts": True})
    api.get("repos/a/b/pulls", {"sorted": "created"})
    assert [each.partition(": ")[0] for each in prism.flaws] == ["POST /repos/a/b/pulls", "GET /repos/a/b/pulls"]
    assert "additional propert" in prism.flaws[0] and prism.flaws[1].endswith("no parameter sorted")


def test_the_key_of_an_app_becomes_a_token(started: tuple[str, Described]) -> None:
    address, prism = started[0], Described(started[1].address, started[1].description)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    tokens = AppTokens(Web(transport=prism), clock=lambda: 1_468_270_000.0)  # before the example's token ends
    given = tokens.exchange(ForgeKind.GITHUB, address, None, Credentials(app=AppKey("1", key.decode())))
    assert given is not None and given.password and given.password.startswith("ghs_")
    assert [each.rpartition("/")[2] for each in prism.asked] == ["installation", "access_tokens"]
    assert prism.flaws == []
