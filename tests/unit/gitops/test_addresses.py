"""Versions and remote bases as people write them in manifests."""

import pytest

from mfu_operator.gitops.sources.addresses import host_and_path
from mfu_operator.gitops.sources.remote import Remote, remote
from mfu_operator.gitops.sources.versions import highest, is_range, meets, version


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://git.example/ml/models", "git.example/ml/models"),
        ("https://git.example/ml/models.git/", "git.example/ml/models"),
        ("HTTPS://user:word@Git.Example/ml/Models", "git.example/ml/Models"),
        ("git@git.example:ml/models.git", "git.example/ml/models"),
        ("git.example:ml/models", "git.example/ml/models"),
        ("git@git.example:/ml/models", "git.example/ml/models"),
        ("ssh://git@git.example:2222/ml/models", "git.example:2222/ml/models"),
        ("oci://charts.example", "charts.example"),
        ("/srv/models", ""),
        ("models", ""),
        ("C:\\models", ""),
        ("file:///srv/models", ""),
        ("", ""),
        ("https://[", ""),
    ],
)
def test_an_address_has_one_spelling_and_a_folder_none(address: str, expected: str) -> None:
    assert host_and_path(address) == expected


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("v2", (2, 0, 0)),
        ("1.4", (1, 4, 0)),
        ("v1.2.3", (1, 2, 3)),
        ("1.2.3+build.5", (1, 2, 3)),
        ("1.2.3-rc.1", None),
        ("release-1", None),
        ("1.2.3.4", None),
    ],
)
def test_a_released_version_is_its_number(name: str, number: tuple[int, int, int] | None) -> None:
    assert version(name) == number


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        ("1.2.3", [(1, 2, 3)], [(1, 2, 4), (1, 3, 0)]),
        ("1.x", [(1, 0, 0), (1, 9, 9)], [(2, 0, 0)]),
        ("~1.2", [(1, 2, 0), (1, 2, 9)], [(1, 3, 0), (1, 1, 9)]),
        ("~1", [(1, 0, 0), (1, 9, 9)], [(2, 0, 0), (0, 9, 9)]),
        ("~1.2.3", [(1, 2, 3), (1, 2, 9)], [(1, 2, 2), (1, 3, 0)]),
        ("*", [(0, 0, 0), (9, 9, 9)], []),
        ("> 1.2", [(1, 3, 0), (2, 0, 0)], [(1, 2, 0), (1, 2, 9), (1, 1, 0)]),
        ("<=1.2", [(1, 2, 0), (1, 2, 9), (1, 1, 0)], [(1, 3, 0), (2, 0, 0)]),
        ("<1.2", [(1, 1, 9)], [(1, 2, 0)]),
        ("^1.2.3", [(1, 2, 3), (1, 9, 0)], [(1, 2, 2), (2, 0, 0)]),
        ("^0.2.3", [(0, 2, 3), (0, 2, 9)], [(0, 3, 0)]),
        (">=1.2 <2", [(1, 2, 0), (1, 9, 9)], [(2, 0, 0), (1, 1, 0)]),
        (">1.2.0, <=1.4.0", [(1, 4, 0)], [(1, 2, 0), (1, 4, 1)]),
        ("1.0.0 || 2.x", [(1, 0, 0), (2, 5, 0)], [(1, 0, 1), (3, 0, 0)]),
        ("latest", [], [(1, 0, 0)]),
    ],
)
def test_a_range_holds_its_versions_and_no_other(
    wanted: str, inside: list[tuple[int, int, int]], outside: list[tuple[int, int, int]]
) -> None:
    assert [number for number in [*inside, *outside] if meets(number, wanted)] == inside


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("1.x", "v1.10.0"), ("*", "2.0.0"), ("<1.10", "1.9.0"), ("3.x", None), ("1.10.0", "v1.10.0"), ("latest", None)],
)
def test_of_the_versions_in_a_range_the_highest_is_taken(wanted: str, expected: str | None) -> None:
    assert highest(wanted, ["1.9.0", "v1.10.0", "2.0.0", "3.0.0-rc.1", "latest"]) == expected


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("1.2.3", False), ("v1", False), ("1.x", True), ("*", True), (">=1.2 <2", True), ("^1 || 2.X", True),
     ("latest", False), ("", False), ("main", False)],
)  # fmt: skip
def test_a_range_is_told_from_a_version_and_from_a_name(wanted: str, expected: bool) -> None:
    assert is_range(wanted) == expected


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("https://git.example/team/bases//gpt?ref=v1", Remote("https://git.example/team/bases", "v1", "gpt")),
        ("git.example/team/bases//gpt?version=v1", Remote("https://git.example/team/bases", "v1", "gpt")),
        ("git.example/team/bases/gpt", Remote("https://git.example/team/bases", "", "gpt")),
        ("https://git.example/a/b/bases.git/gpt", Remote("https://git.example/a/b/bases.git", "", "gpt")),
        ("git@git.example:team/bases.git//gpt", Remote("git@git.example:team/bases.git", "", "gpt")),
        ("ssh://git@git.example/team/bases//gpt", Remote("ssh://git@git.example/team/bases", "", "gpt")),
        ("git::https://git.example/team/bases//gpt", Remote("https://git.example/team/bases", "", "gpt")),
        ("https://git.example/a/b/bases//gpt/prod/", Remote("https://git.example/a/b/bases", "", "gpt/prod")),
        ("ssh://git@git.example:2222/a/bases//gpt", Remote("ssh://git@git.example:2222/a/bases", "", "gpt")),
        ("git.example/te:am/bases", Remote("https://git.example/te:am/bases", "", "")),
        ("git.example/te@m/bases", Remote("https://git.example/te@m/bases", "", "")),
        ("https://?ref=v1", None),
        ("../base", None),
        ("base", None),
        ("?ref=v1", None),
    ],
)
def test_an_address_of_a_remote_base_is_its_repository_revision_and_folder(text: str, meant: Remote | None) -> None:
    assert remote(text) == meant
