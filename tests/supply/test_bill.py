"""The bill of materials lists what stands in the images: Python's packages, Go's modules and Debian's packages."""

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.cluster.state import cache_dir
from tests.cluster.toolchain import go_binaries
from tests.supply.bill import debian_packages, go_modules, installed, with_others
from tests.supply.release import unlisted

PYTHON = {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"bom-ref": "aiohttp==3.14.5"}]}
SAID = """build/helm: go1.26.8
\tpath\thelm.sh/helm/v3/cmd/helm
\tmod\thelm.sh/helm/v3\tv3.22.0\th1:n1if5iQg=
\tdep\tgithub.com/docker/docker\tv28.5.2+incompatible\th1:abc=
\tdep\tgithub.com/old/name\tv1.0.0
\t=>\tgithub.com/new/name\tv1.0.1\th1:def=
\tbuild\t-trimpath=true
"""
STATUS = """Package: git
Status: install ok installed
Architecture: amd64
Version: 1:2.39.5-0+deb12u2
Description: fast
 Package: not-a-package

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0
"""
IMAGES = sorted((cache_dir() / "images").glob("mfu-operator-*.oci.tar"))


def tar(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def docker_archive(layers: Sequence[bytes]) -> bytes:
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = json.dumps([{"Config": "c.json", "Layers": names}]).encode()
    return tar({"manifest.json": manifest, **dict(zip(names, layers, strict=True))})


def oci_archive(layers: Sequence[bytes]) -> bytes:
    digests = [f"sha256:{number}" for number in range(len(layers))]
    blobs = {f"blobs/sha256/{number}": layer for number, layer in enumerate(layers)}
    manifest = json.dumps({"layers": [{"digest": each} for each in digests]}).encode()
    index = json.dumps({"manifests": [{"digest": "sha256:m"}]}).encode()
    return tar({"index.json": index, "blobs/sha256/m": manifest, **blobs})


LAYERS = (tar({"./var/lib/dpkg/status": b"Package: older"}), tar({"var/lib/dpkg/status": STATUS.encode()}), tar({}))


def test_the_modules_of_a_go_program_are_listed_and_gos_own_library() -> None:
    assert [each["purl"] for each in go_modules(SAID)] == [
        "pkg:golang/stdlib@1.26.8",
        "pkg:golang/helm.sh/helm/v3@v3.22.0",
        "pkg:golang/github.com/docker/docker@v28.5.2%2Bincompatible",
        "pkg:golang/github.com/new/name@v1.0.1",
    ]


def test_the_packages_of_debian_that_are_installed_are_listed() -> None:
    [git] = debian_packages(STATUS)
    assert git["purl"] == "pkg:deb/debian/git@1%3A2.39.5-0%2Bdeb12u2?arch=amd64&distro=debian-12"
    assert (git["name"], git["version"]) == ("git", "1:2.39.5-0+deb12u2")


@pytest.mark.parametrize("archive", [docker_archive, oci_archive])
def test_an_images_last_layer_says_what_is_installed(archive: object, tmp_path: Path) -> None:
    assert callable(archive)
    image = tmp_path / "image.tar"
    image.write_bytes(archive(LAYERS))
    assert installed(image) == STATUS


def test_the_bill_is_the_same_whichever_image_is_read_first(tmp_path: Path) -> None:
    images = [tmp_path / "a.tar", tmp_path / "b.tar"]
    for image in images:
        image.write_bytes(docker_archive(LAYERS))
    bill = with_others(PYTHON, [], images)
    assert bill == with_others(PYTHON, [], images[::-1])
    assert [each["bom-ref"].partition("@")[0] for each in bill["components"]] == [
        "aiohttp==3.14.5",
        "pkg:deb/debian/git",
    ]


def test_where_no_image_was_built_it_is_said_that_debians_packages_are_not_listed(tmp_path: Path) -> None:
    assert "`make images` first" in unlisted([])[0]
    assert unlisted([tmp_path / "mfu-operator-amd64.tar"]) == []


@pytest.mark.cluster
def test_the_bill_lists_the_modules_of_the_helm_that_was_built() -> None:
    components = with_others(PYTHON, [go_binaries("helm") / "helm"], [])["components"]
    names = {each.get("name") for each in components}
    assert {"stdlib", "helm.sh/helm/v3"} <= names and len(names) > 50


@pytest.mark.cluster
def test_the_bill_lists_what_the_image_that_was_built_has_of_debian() -> None:
    names = {each["name"] for each in debian_packages(installed(IMAGES[-1]))}
    assert {"git", "python3", "libc6", "gpg", "ca-certificates"} <= names
