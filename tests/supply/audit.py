"""Whether a package of a lock file has a known weakness, by the list that is stored here: no network is needed."""

import csv
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[2]
LOCKS = tuple(
    ROOT / each
    for each in (
        "operator/requirements.lock",
        "operator/build-requirements.lock",
        "tests/requirements.lock",
        "tests/supply/release.lock",
    )
)
"""What goes into the image, builds it, develops and releases."""

STORED = Path(__file__).parent / "advisories.tsv"
_AS_OF = "# As of "
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Advisory:
    """A weakness of a package: in versions from `introduced` on and before `fixed` ("": in all of them)."""

    package: str
    id: str
    introduced: str
    fixed: str

    def concerns(self, version: str) -> bool:
        """Whether a version has it."""
        at = Version(version)
        return Version(self.introduced) <= at and (not self.fixed or at < Version(self.fixed))


def stored(path: Path = STORED) -> tuple[Advisory, ...]:
    """The stored list."""
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return tuple(Advisory(**row) for row in csv.DictReader(lines, delimiter="\t"))


def pins(lock: Path) -> Iterator[tuple[str, str]]:
    """The packages of a lock file, and their versions."""
    for name, version in _PIN.findall(lock.read_text()):
        yield canonicalize_name(name), version


def as_of(path: Path = STORED) -> str:
    """The day up to which the stored list knows weaknesses."""
    return path.read_text().removeprefix(_AS_OF)[: len("2026-11-22")]


def weak(locks: Iterable[Path], known: Iterable[Advisory]) -> list[str]:
    """Every pin that has a known weakness, in words."""
    advisories = tuple(known)
    return [
        f"{lock.name}: {name} {version} has {each.id}, which {each.fixed or 'no version'} mends"
        for lock in locks
        for name, version in pins(lock)
        for each in advisories
        if each.package == name and each.concerns(version)
    ]


def read_database(clone: Path, packages: Iterable[str]) -> Iterator[Advisory]:
    """The advisories of a clone of the PyPA's database (OSV in YAML, a folder for each package). One that was withdrawn
    is none."""
    for package in sorted(set(packages)):
        for file in sorted((clone / "vulns" / package).glob("*.yaml")):
            found = yaml.safe_load(file.read_text())
            if "withdrawn" in found:
                continue
            ranges = [each for one in found.get("affected", ()) for each in one.get("ranges", ())]
            for events in (each["events"] for each in ranges if each["type"] == "ECOSYSTEM"):
                yield from _spans(package, str(found["id"]), events)


def _spans(package: str, name: str, events: Iterable[dict[str, object]]) -> Iterator[Advisory]:
    introduced = None
    for event in events:
        if "introduced" in event:
            introduced = str(event["introduced"])
        elif "fixed" in event and introduced is not None:
            yield Advisory(package, name, introduced, str(event["fixed"]))
            introduced = None
    if introduced is not None:
        yield Advisory(package, name, introduced, "")


def _refresh(clone: Path) -> None:
    dated = ["git", "-C", str(clone), "log", "-1", "--format=%cs"]
    day = subprocess.run(dated, check=True, capture_output=True, text=True).stdout.strip()
    head = [
        line.replace(f"{_AS_OF}{as_of()}", _AS_OF + day)
        for line in STORED.read_text().splitlines()
        if line.startswith("#")
    ]
    other = [each for each in stored() if not each.id.startswith("PYSEC")]
    found = read_database(clone, [name for lock in LOCKS for name, _ in pins(lock)])
    rows = sorted(
        {*other, *(each for each in found if _readable(each))}, key=lambda each: (each.package, each.id, each.fixed)
    )
    lines = ["\t".join((each.package, each.id, each.introduced, each.fixed)) for each in rows]
    STORED.write_text("\n".join((*head, "package\tid\tintroduced\tfixed", *lines)) + "\n")


def _readable(advisory: Advisory) -> bool:
    try:
        return advisory.concerns("1") in (True, False)
    except InvalidVersion:
        return False


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _refresh(Path(sys.argv[1]))
    if found := weak(LOCKS, stored()):
        sys.exit("\n".join(found))
    day = as_of()
    sys.stdout.write(
        f"no package has a weakness that the list of {day} knows (make advisories FROM=... refreshes it)\n"
    )
