"""Debian's mirrors as this machine names them, and the keys of what is cached."""

import dataclasses
from pathlib import Path

import pytest

from tests.cluster import toolchain
from tests.cluster.toolchain import GoBuild, content_key, non_free_stanzas, parse_deb822, parse_one_line

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
    (stanza,) = non_free_stanzas(parse_deb822(_DEB822))
    assert "URIs: http://mirror.test/debian\n" in stanza
    assert "Components: contrib non-free non-free-firmware\n" in stanza


def test_a_machine_that_has_them_all_needs_no_file_of_ours() -> None:
    assert non_free_stanzas(parse_deb822(_DEB822.replace("main", "main contrib non-free non-free-firmware"))) == []


def test_parts_of_a_key_cannot_run_into_each_other() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "go.sum").write_text("")
    return tmp_path


@pytest.fixture(autouse=True)
def _one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "output_of", lambda *_, **__: "go1.26 amd64")


def test_a_build_is_found_again_while_nothing_changed(module: Path) -> None:
    build = GoBuild({"example.test/cmd": "cmd"})
    assert toolchain._build_key(module, build) == toolchain._build_key(module, build)


@pytest.mark.parametrize(
    "change", [{"tags": ("sqlite",)}, {"link_variables": {"main.Version": "2"}}, {"cgo": True}], ids=str
)
def test_a_build_is_repeated_when_its_recipe_changes(module: Path, change: dict[str, object]) -> None:
    build = GoBuild({"example.test/cmd": "cmd"})
    changed = dataclasses.replace(build, **change)  # type: ignore[arg-type]
    assert toolchain._build_key(module, build) != toolchain._build_key(module, changed)


def test_a_build_is_repeated_when_a_pinned_sum_changes(module: Path) -> None:
    build = GoBuild({"example.test/cmd": "cmd"})
    before = toolchain._build_key(module, build)
    (module / "go.sum").write_text("example.test v1 h1:x=\n")
    assert toolchain._build_key(module, build) != before


@pytest.mark.parametrize(
    ("package", "name"), [("go.etcd.io/etcd/server/v3", "server"), ("k8s.io/kubernetes/cmd/kubelet", "kubelet")]
)
def test_a_binary_is_found_under_the_name_that_go_gives_it(package: str, name: str) -> None:
    assert toolchain._name_given_by_go(package) == name
