"""Where the keys of a Secret may be sent."""

import pytest

from mfu_operator.api.bound_address import Bound, closest, covers
from mfu_operator.errors import Stall

TEAM = "https://git.example.org/team"


@pytest.mark.parametrize(
    ("bound", "url"),
    [
        (TEAM, TEAM),
        (TEAM, f"{TEAM}/models.git"),
        (f"{TEAM}/", f"{TEAM}/models"),
        (f"{TEAM}/models", f"{TEAM}/models.git"),
        ("https://git.example.org", TEAM),
        ("https://GIT.example.org:443", TEAM),
        ("http://localhost:3000", "http://localhost:3000/team/models"),
    ],
)
def test_an_address_covers_itself_and_what_is_below_it(bound: str, url: str) -> None:
    assert covers(bound, url)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.org/team",
        "https://git.example.org.evil.example/team",
        "http://git.example.org/team",
        "https://git.example.org:8443/team",
        "https://git.example.org/teammate",
        "https://git.example.org/team/../other",
        "https://git.example.org/team/%2e%2e/other",
        "https://git.example.org/team/%2E%2e%2fother",
        "https://git.example.org",
        "https://git.example.org/team?x=y",
        "https://git.example.org@evil.example/team",
        "git.example.org/team",
    ],
)
def test_an_address_covers_nothing_else(url: str) -> None:
    assert not covers(TEAM, url)


@pytest.mark.parametrize("bound", ["", "*", "https://", "git.example.org", "https://*.example.org"])
def test_what_is_no_address_covers_nothing(bound: str) -> None:
    assert not covers(bound, TEAM)


def test_a_secret_that_names_no_address_is_sent_nowhere_and_the_message_says_what_to_add() -> None:
    with pytest.raises(Stall) as raised:
        Bound("team-a", "github", ()).require(TEAM)
    assert raised.value.reason == "CredentialsUnbound"
    assert raised.value.message == (
        f"Secret team-a/github has no key address and is not sent to {TEAM}. If that is where it belongs: kubectl "
        'patch secret github -n team-a --type merge -p \'{"metadata":{"labels":{"mfu-operator.io/credentials":"true"}},'
        f'"stringData":{{"address":"{TEAM}"}}}}\''
    )


def test_the_command_keeps_the_addresses_that_the_secret_names_already() -> None:
    with pytest.raises(Stall, match=r'"address":"https://a\.example https://b\.example"'):
        Bound("team-a", "github", ("https://a.example",)).require("https://b.example")


def test_nothing_of_an_address_reaches_the_shell_of_who_copies_the_command() -> None:
    with pytest.raises(Stall) as raised:
        Bound("team-a", "github", ()).require("https://a.example/';id;'$(id)")
    assert '"address":"https://…"' in raised.value.message


def test_of_several_secrets_the_one_with_the_longest_address_that_fits_is_for_a_url() -> None:
    host, team = (
        Bound("team-a", "host", ("https://git.example.org",)),
        Bound("team-a", "team", (TEAM, "https://x.example")),
    )
    assert closest((host, team), f"{TEAM}/models.git") == team
    assert closest((host, team), "https://git.example.org/others/models") == host
    assert closest((host, team), "https://elsewhere.example") is None
    assert closest((), TEAM) is None


def test_two_secrets_that_are_for_a_url_alike_are_told_with_what_to_write() -> None:
    one, two = (Bound("team-a", name, (TEAM,)) for name in ("one", "two"))
    with pytest.raises(
        Stall, match=r"Secrets team-a/one and team-a/two are both for .*: write a longer address"
    ) as raised:
        closest((one, two), f"{TEAM}/models.git")
    assert raised.value.reason == "CredentialsUnfit"
