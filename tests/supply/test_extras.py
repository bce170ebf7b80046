"""What a cluster or a laptop installs from a release: plain manifest, plugin, bundle; and what the notes say."""

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from mfu_operator import __version__
from tests.cluster.toolchain import go_binaries
from tests.supply.extras import airgapped, krew, launcher, notes, plain
from tests.supply.extras.destination import Destination
from tests.supply.release import CHART, IMAGE_LOCK, ROOT, installable, packed
from tests.support.built import built

AT_S = 1_700_000_000
REGISTRY = Destination("registry.example.com/ml", "https://releases.example.com/v1")
HELM = built("helm", "helm")
needs_helm = [] if HELM else [pytest.mark.cluster]
STUB = '#!/bin/sh\necho "$0 $*" >>"$ASKED"\n'


def unpacked(archive: bytes, folder: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        opened.extractall(folder, filter="data")
    return folder


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    found = tmp_path / "made" / f"mfu_operator-{__version__}-py3-none-any.whl"
    found.parent.mkdir()
    found.write_bytes(b"wheel")
    return found


class TestInstallable:
    """install.yaml and all that is derived from chart and wheel, with the real helm."""

    pytestmark = needs_helm

    @pytest.fixture
    def dist(self, wheel: Path) -> Path:
        installable(wheel.parent, Path(HELM or go_binaries("helm") / "helm"), AT_S, REGISTRY)
        return wheel.parent

    def test_install_yaml_holds_the_namespace_the_definition_and_every_object_s_namespace(self, dist: Path) -> None:
        documents = [each for each in yaml.safe_load_all((dist / "install.yaml").read_text()) if each]
        kinds = [each["kind"] for each in documents]
        assert kinds[0] == "Namespace" and "CustomResourceDefinition" in kinds
        [deployment] = [each for each in documents if each["kind"] == "Deployment"]
        assert deployment["metadata"]["namespace"] == plain.NAMESPACE
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"] == f"registry.example.com/ml/mfu-operator:{__version__}"
        namespaced = {"Deployment", "Service", "ServiceAccount", "Role", "RoleBinding", "NetworkPolicy"}
        assert [
            each["kind"] for each in documents if each["kind"] in namespaced and not each["metadata"].get("namespace")
        ] == []

    def test_the_plugin_s_manifest_names_the_digest_of_its_archive(self, dist: Path) -> None:
        plugin = yaml.safe_load((dist / "mfu.yaml").read_text())
        [platform] = plugin["spec"]["platforms"]
        assert platform["sha256"] == hashlib.sha256((dist / krew.ARCHIVE).read_bytes()).hexdigest()
        assert platform["uri"] == "https://releases.example.com/v1/kubectl-mfu.tar.gz"
        assert plugin["spec"]["version"] == f"v{__version__}"
        with tarfile.open(dist / krew.ARCHIVE) as archive:
            assert archive.getmember(platform["bin"]).mode & 0o111

    def test_the_bundle_holds_the_chart_and_the_images_that_it_names(self, dist: Path, tmp_path: Path) -> None:
        folder = unpacked((dist / f"mfu-operator-{__version__}-airgapped.tar.gz").read_bytes(), tmp_path / "carried")
        [bundle] = folder.iterdir()
        images = (bundle / "images.txt").read_text().split()
        assert images == list(airgapped.images(__version__, REGISTRY))
        assert images[0] in (bundle / "install.yaml").read_text()
        assert (bundle / f"mfu-operator-{__version__}.tgz").read_bytes() == packed(CHART, AT_S, REGISTRY)

    def test_two_releases_of_one_commit_are_the_same_bytes(self, dist: Path, tmp_path: Path) -> None:
        first = {each.name: each.read_bytes() for each in dist.iterdir()}
        installable(dist, Path(HELM or go_binaries("helm") / "helm"), AT_S, REGISTRY)
        assert {each.name: each.read_bytes() for each in dist.iterdir()} == first


def moved(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """The bundle's script with a container tool that only says what it was asked."""
    unpacked(airgapped.bundle([], __version__, REGISTRY, AT_S), folder)
    [bundle] = folder.glob("*-airgapped")
    (bundle / f"mfu-operator-{__version__}.tgz").touch()
    tool, asked = folder / "docker", folder / "asked"
    tool.write_text(STUB)
    tool.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "CONTAINER_TOOL": str(tool), "ASKED": str(asked)}
    done = subprocess.run(
        [str(bundle / "airgapped.sh"), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done, [line.partition(" ")[2] for line in asked.read_text().splitlines()] if asked.exists() else []


def test_the_images_are_saved_where_there_is_a_network(tmp_path: Path) -> None:
    done, asked = moved(tmp_path, "save")
    operator, profiler = airgapped.images(__version__, REGISTRY)
    assert done.returncode == 0, done.stderr
    assert asked == [f"pull {operator}", f"pull {profiler}", f"save -o images.tar {operator} {profiler}"]


def test_they_are_pushed_where_there_is_none_and_the_chart_is_installed_with_their_names(tmp_path: Path) -> None:
    done, asked = moved(tmp_path, "load", "inside.example.com/x")
    assert done.returncode == 0, done.stderr
    assert asked[0] == "load -i images.tar"
    assert asked[2::2] == [
        f"push inside.example.com/x/{name}:{__version__}" for name in ("mfu-operator", "mfu-profiler")
    ]
    assert f"helm install mfu-operator mfu-operator-{__version__}.tgz" in done.stdout
    assert "--set image.repository=inside.example.com/x/mfu-operator" in done.stdout


def test_without_a_word_the_script_says_how_it_is_used(tmp_path: Path) -> None:
    done, asked = moved(tmp_path)
    assert (done.returncode, asked) == (2, [])
    assert "./airgapped.sh load REGISTRY" in done.stdout


@pytest.fixture
def plugin(wheel: Path, tmp_path: Path) -> Path:
    return unpacked(krew.archive(wheel, IMAGE_LOCK, ROOT / "LICENSE", AT_S), tmp_path / "plugin")


def called(plugin: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache), "PIP_NO_INDEX": "1"}
    command = [sys.executable, str(plugin / "kubectl-mfu"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_plugin_runs_the_command_of_its_environment(
    plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "HERE", plugin)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment = launcher.place()
    program = environment / "bin" / "kubectl-mfu"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "asked $*"\nexit 3\n')
    program.chmod(0o755)
    (environment / "complete").touch()
    done = called(plugin, tmp_path, "status", "-A")
    assert (done.returncode, done.stdout) == (3, "asked status -A\n")


def test_an_environment_that_was_not_completed_is_made_again(plugin: Path, tmp_path: Path) -> None:
    """There is no index here, so that the installation ends with its first package."""
    for _ in range(2):
        done = called(plugin, tmp_path, "status")
        assert done.returncode != 0 and "installing into" in done.stderr
    assert not list(tmp_path.rglob("complete"))


def test_the_notes_say_what_to_do_before_an_upgrade_and_what_is_not_there() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    said = notes.notes("9.9.9", changelog, Destination(), ["Not signed."])
    first = re.findall(r"^- (.+)$", changelog.partition(notes.BEFORE)[2], re.MULTILINE)[0]
    before, _, rest = said.partition("\n## Upgrade\n")
    assert first in before and first not in rest
    assert "helm upgrade mfu-operator mfu-operator-9.9.9.tgz" in rest
    for missing in (notes.BY_HAND, notes.ARM64, "Not signed.", "REGISTRY=", "RELEASE_URL="):
        assert missing in rest
    assert "### Added" in rest.partition("\n## Changes\n")[2]


def test_the_notes_of_a_version_are_its_own_section() -> None:
    changelog = (
        "# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.0 - 2026-01-01\n\n### Added\n\n- this\n\n## 1.1.0\n\n- old\n"
    )
    said = notes.notes("1.2.0", changelog, REGISTRY, [])
    assert "- this" in said and "- later" not in said and "- old" not in said
    assert "REGISTRY=" not in said
