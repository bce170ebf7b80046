"""The bill of materials, in CycloneDX: Python's packages by the lock file, Go's modules by what kustomize and helm say
of themselves, Debian's packages by the images that were built."""

import json
import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = Mapping[str, Any]

STATUS = "var/lib/dpkg/status"
_FIELD = re.compile(r"^(Package|Version|Architecture|Status): (.*)$", re.MULTILINE)
_INSTALLED = "install ok installed"


def with_others(bill: Mapping[str, Any], programs: Sequence[Path], images: Sequence[Path]) -> dict[str, Any]:
    """A bill with what the images hold beside Python's packages.

    Args:
        bill: of Python's packages.
        programs: Go programs.
        images: archives of images, as docker and buildah save them.
    """
    go = (each for program in programs for each in go_modules(_build_information(program)))
    debian = (each for image in images for each in debian_packages(installed(image)))
    found = {each["bom-ref"]: each for each in (*bill.get("components", ()), *go, *debian)}
    return {**bill, "components": [found[ref] for ref in sorted(found)]}


def go_modules(said: str) -> Iterator[Component]:
    """The modules of a program, and Go's own library, by `go version -m`."""
    lines = [line.split() for line in said.splitlines()]
    yield _component("golang", "stdlib", lines[0][1].removeprefix("go"))
    modules = list[tuple[str, str]]()
    for words in lines[1:]:
        if words[0] == "=>":
            modules[-1] = (words[1], words[2])
        elif words[0] in ("mod", "dep") and words[2] != "(devel)":
            modules.append((words[1], words[2]))
    yield from (_component("golang", name, version) for name, version in modules)


def debian_packages(status: str) -> Iterator[Component]:
    """The packages of Debian that are installed, by dpkg's own list."""
    for paragraph in status.split("\n\n"):
        of = dict(_FIELD.findall(paragraph))
        if of.get("Status") == _INSTALLED:
            yield _component("deb/debian", of["Package"], of["Version"], f"?arch={of['Architecture']}&distro=debian-12")


def installed(image: Path) -> str:
    """dpkg's list in an image: that of its last layer that has one. "" where none has."""
    found = ""
    with tarfile.open(image) as archive:
        for layer in _layers(archive):
            blob = archive.extractfile(layer)
            assert blob is not None
            with tarfile.open(fileobj=blob) as files:
                names = {each.name.removeprefix("./"): each for each in files}
                if STATUS in names and (text := files.extractfile(names[STATUS])) is not None:
                    found = text.read().decode()
    return found


def _layers(archive: tarfile.TarFile) -> Iterable[str]:
    """The layers of an image from the first to the last, by its manifest."""

    def read(name: str) -> Any:
        opened = archive.extractfile(name)
        assert opened is not None
        return json.load(opened)

    def blob(descriptor: Mapping[str, str]) -> str:
        return f"blobs/{descriptor['digest'].replace(':', '/')}"

    if "manifest.json" in archive.getnames():
        return [str(each) for each in read("manifest.json")[0]["Layers"]]
    manifest = read(blob(read("index.json")["manifests"][0]))
    return [blob(each) for each in manifest["layers"]]


def _build_information(program: Path) -> str:
    return subprocess.run(["go", "version", "-m", str(program)], check=True, capture_output=True, text=True).stdout


def _component(kind: str, name: str, version: str, qualifiers: str = "") -> Component:
    url = f"pkg:{kind}/{quote(name)}@{quote(version)}{qualifiers}"
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}
