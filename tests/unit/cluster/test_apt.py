"""Debian's mirrors as this machine names them."""

from tests.cluster.apt import COMPONENTS_OUTSIDE_MAIN, parse_deb822, parse_one_line

_DEB822 = """Types: deb
# a comment
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://elsewhere.test/node
Suites: nodistro
Components: main
"""


def test_only_debian_mirrors_are_taken_from_a_sources_file() -> None:
    (found,) = parse_deb822(_DEB822)
    assert found.uri == "http://mirror.test/debian"
    assert found.suites == "bookworm bookworm-updates"


def test_a_one_line_source_is_the_same_mirror() -> None:
    (found,) = parse_one_line("deb [arch=amd64] http://mirror.test/debian bookworm main # comment\n")
    assert (found.uri, found.suites, found.components) == ("http://mirror.test/debian", "bookworm", ("main",))


def test_a_mirror_that_is_switched_off_is_not_used() -> None:
    assert parse_deb822("Enabled: no\n" + _DEB822.replace("# a comment\n", "")) == []


def test_components_outside_main_are_asked_of_the_same_mirror() -> None:
    (found,) = parse_deb822(_DEB822)
    stanza = found.asking_for("main", *COMPONENTS_OUTSIDE_MAIN)
    assert "URIs: http://mirror.test/debian\n" in stanza
    assert "Components: main contrib non-free non-free-firmware\n" in stanza
