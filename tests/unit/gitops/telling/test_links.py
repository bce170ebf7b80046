"""Addresses of a commit and of the request that brought it, on hosts of every kind."""

import pytest

from mfu_operator.gitops.telling.links import brought_by, commit_link, kind_of, page, request_link
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.model.commit import Commit

PAGE = "https://git.example/team/models"


@pytest.mark.parametrize(
    ("repository", "address", "found"),
    [
        (f"{PAGE}.git", None, PAGE),
        (f"{PAGE}/", None, PAGE),
        ("http://git.example:3000/team/models", None, "http://git.example:3000/team/models"),
        ("https://me:secret@git.example/team/models", None, PAGE),
        ("ssh://git@git.example:22/team/models.git", None, PAGE),
        ("git@git.example:team/models.git", None, PAGE),
        ("git.example:/team/models", None, PAGE),
        ("git@ssh.example:team/models.git", "https://git.example/", PAGE),
        ("ssh://git@ssh.example/team/models", "http://git.example/sub", "http://git.example/sub/team/models"),
        ("file:///srv/models", None, None),
        ("https://git.example/a b", None, None),
        ("https://git.example", None, None),
        ("", None, None),
    ],
)
def test_a_repository_has_a_page_whatever_form_its_address_has(
    repository: str, address: str | None, found: str | None
) -> None:
    assert page(repository, address) == found


@pytest.mark.parametrize(
    ("repository", "kind", "found"),
    [
        ("https://github.com/a/b", None, ForgeKind.GITHUB),
        ("git@gitlab.com:a/b", None, ForgeKind.GITLAB),
        ("https://github.com/a/b", ForgeKind.GITEA, ForgeKind.GITEA),
        ("https://git.example/a/b", None, None),
        ("odd", None, None),
    ],
)
def test_the_kind_of_a_public_host_is_known(repository: str, kind: ForgeKind | None, found: ForgeKind | None) -> None:
    assert kind_of(repository, kind) is found


SHA = "1a2b3c4"


@pytest.mark.parametrize(
    ("address", "kind", "sha", "link"),
    [
        (PAGE, ForgeKind.GITHUB, SHA, f"{PAGE}/commit/{SHA}"),
        (PAGE, ForgeKind.GITLAB, SHA, f"{PAGE}/-/commit/{SHA}"),
        (PAGE, ForgeKind.BITBUCKET, SHA, f"{PAGE}/commits/{SHA}"),
        (PAGE, ForgeKind.OTHER, SHA, None),
        (PAGE, None, SHA, None),
        (None, ForgeKind.GITHUB, SHA, None),
        (PAGE, ForgeKind.GITHUB, "1a2b3c", None),
        (PAGE, ForgeKind.GITHUB, "../../x", None),
    ],
)
def test_a_commit_is_linked_on_hosts_that_are_known(
    address: str | None, kind: ForgeKind | None, sha: str, link: str | None
) -> None:
    assert commit_link(address, kind, sha) == link


@pytest.mark.parametrize(
    ("address", "kind", "link"),
    [
        (PAGE, ForgeKind.GITHUB, f"{PAGE}/pull/7"),
        (PAGE, ForgeKind.GITLAB, f"{PAGE}/-/merge_requests/7"),
        (PAGE, ForgeKind.OTHER, None),
        (PAGE, None, None),
        (None, ForgeKind.GITHUB, None),
    ],
)
def test_a_request_is_linked_on_hosts_that_are_known(
    address: str | None, kind: ForgeKind | None, link: str | None
) -> None:
    assert request_link(address, kind, 7) == link


@pytest.mark.parametrize(
    ("subject", "body", "number"),
    [
        ("Merge pull request #12 from a/b", "", 12),
        ("Merge pull request 'Fewer workers' (#13) from a into b", "", 13),
        ("Merged PR 14: x", "", 14),
        ("Merged in a (pull request #15)", "", 15),
        ("Fewer workers (#16)", "See merge request a/b!99", 16),
        ("Merge branch 'a'", "x\n\nSee merge request team/models!17", 17),
        ("See #18", "", None),
        ("Fewer (#19) workers", "", None),
        ("x" * 395 + " (#20)", "", None),
        ("x", "y" * 4000 + "\nSee merge request a/b!21", None),
    ],
)
def test_the_request_is_the_one_that_the_message_names(subject: str, body: str, number: int | None) -> None:
    assert brought_by(Commit("a" * 40, (), "Pat", 0.0, subject, (), body)) == number
