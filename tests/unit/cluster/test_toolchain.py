"""The keys of what is cached."""

import dataclasses
from pathlib import Path

import pytest

from tests.cluster import toolchain
from tests.cluster.cache import content_key
from tests.cluster.process import CommandFailed
from tests.cluster.toolchain import GoBuild


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


def test_a_module_that_does_not_compile_is_a_failed_command(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\nexit 3\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailed, match="ended with status 3"):
        toolchain._compile(module, GoBuild({"example.test/cmd": "cmd"}), tmp_path / "finished")
    assert not (tmp_path / "finished").exists()


def test_what_is_built_for_another_processor_is_apart_from_what_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.delenv("GOARCH", raising=False)
    here = toolchain.go_binaries_folder("helm")
    monkeypatch.setenv("GOARCH", "amd64")
    assert toolchain.go_binaries_folder("helm") == here
    monkeypatch.setenv("GOARCH", "arm64")
    assert toolchain.go_binaries_folder("helm").parent == here.parent / "arm64"
