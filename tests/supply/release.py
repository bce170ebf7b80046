"""What a release consists of, in dist/: wheels and sdists of the operator and of mfu_probe, the chart, install.yaml, a
plugin for krew, a bundle for clusters without a network, notes, a bill of materials, checksums, and how it came about.

Two releases of one commit, with the same images or none, are the same bytes but for `invocation` of the provenance.
Nothing is published.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mfu_operator import __version__
from tests.cluster.renderers import ENGINES
from tests.cluster.toolchain import go_binaries
from tests.supply.bill import with_others
from tests.supply.extras import airgapped, krew, plain
from tests.supply.extras.archive import Entry, tar_gz
from tests.supply.extras.destination import OPERATOR, PROFILER, Destination
from tests.supply.extras.notes import notes

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "mfu-operator"
PACKAGES = (ROOT, ROOT / "operator" / "mfu_probe")
IMAGE_LOCK = ROOT / "operator" / "requirements.lock"
IMAGES = ROOT / "build" / "images"
"""Where `make images` keeps what it built."""
MATERIALS = (
    IMAGE_LOCK,
    ROOT / "operator" / "build-requirements.lock",
    ROOT / "tests" / "supply" / "release.lock",
    *sorted((ROOT / "tests" / "cluster" / "go").glob("*/go.sum")),
)
"""What beside the commit decides what comes out: packages and modules by their hashes."""

SUMS, SBOM, PROVENANCE = "SHA256SUMS", "mfu-operator.cdx.json", "mfu-operator.provenance.json"
NOTES, INSTALL = "RELEASE_NOTES.md", "install.yaml"
UNSIGNED = "not signed: give a key to cosign with COSIGN_KEY=…"


def release(into: Path, tools: Path, key: str | None, destination: Destination) -> list[str]:
    """Make everything; what a person is told of the signatures.

    Args:
        into: an empty folder, or none.
        tools: the folder of the programs of release.lock.
        key: what cosign signs with (a file, or a key of a key service); None: nothing is signed.
        destination: where images and files will be published.
    """
    into.mkdir(parents=True, exist_ok=True)
    commit, at_s = _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct"))
    _distributions(into, tools, at_s)
    images = sorted(IMAGES.glob("*.tar"))
    _bill_of_materials(into / SBOM, tools, images)
    installable(into, go_binaries("helm") / "helm", at_s, destination)
    unsigned = [] if key else [UNSIGNED.partition(":")[0].capitalize() + "."]
    told = notes(__version__, (ROOT / "CHANGELOG.md").read_text(), destination, [*unlisted(images), *unsigned])
    (into / NOTES).write_text(told)
    made = sorted(each for each in into.iterdir() if each.is_file())
    (into / PROVENANCE).write_text(json.dumps(provenance(made, commit), indent=1) + "\n")
    named = [*made, into / PROVENANCE]
    (into / SUMS).write_text("".join(f"{digest(each)}  {each.name}\n" for each in named))
    return signed([*named, into / SUMS], key)


def installable(into: Path, helm: Path, at_s: int, destination: Destination) -> None:
    """Write what a cluster or a laptop installs: chart, install.yaml, plugin, and the bundle of those.

    The wheel of the command must be there.
    """
    chart, plain_manifest = into / f"{CHART.name}-{chart_version()}.tgz", into / INSTALL
    chart.write_bytes(packed(CHART, at_s, destination))
    plain_manifest.write_text(plain.rendered(chart, __version__, helm))
    [wheel] = into.glob("mfu_operator-*.whl")
    plugin = into / krew.ARCHIVE
    plugin.write_bytes(krew.archive(wheel, IMAGE_LOCK, ROOT / "LICENSE", at_s))
    (into / krew.MANIFEST).write_text(krew.manifest(__version__, digest(plugin), destination))
    bundle = airgapped.bundle([chart, plain_manifest, plugin], __version__, destination, at_s)
    (into / f"{CHART.name}-{__version__}-airgapped.tar.gz").write_bytes(bundle)


def chart_version() -> str:
    """The chart's own version."""
    return str(yaml.safe_load((CHART / "Chart.yaml").read_text())["version"])


def packed(folder: Path, at_s: int, destination: Destination | None = None) -> bytes:
    """A chart as `helm package` packs it, the same bytes every time. Images and runbooks as in the destination."""
    files = [each for each in folder.rglob("*") if each.is_file() and each.name != ".helmignore"]
    entries = {f"{folder.name}/{file.relative_to(folder)}": Entry(file.read_bytes()) for file in files}
    values = f"{folder.name}/values.yaml"
    if destination is not None:
        entries[values] = Entry(_published(entries[values].content.decode(), destination).encode())
    return tar_gz(entries, at_s)


def _published(values: str, destination: Destination) -> str:
    images = {f"  repository: {name}": f"  repository: {destination.image(name)}" for name in (OPERATOR, PROFILER)}
    for line, replacing in (
        images | {'runbookBaseUrl: ""': f"runbookBaseUrl: {json.dumps(destination.runbooks)}"}
    ).items():
        before, found, after = values.partition(f"{line}\n")
        assert found, f"values.yaml has no line {line!r}"
        values = f"{before}{replacing}\n{after}"
    return values


def provenance(made: Iterable[Path], commit: str) -> dict[str, Any]:
    """An in-toto statement with SLSA's predicate: these bytes came of this commit and these materials.

    Who signs it vouches for it: the words alone prove nothing.
    """
    materials = [{"uri": f"file:{each.relative_to(ROOT)}", "digest": {"sha256": digest(each)}} for each in MATERIALS]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": each.name, "digest": {"sha256": digest(each)}} for each in made],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "make release",
                "externalParameters": {"version": __version__, "chart": chart_version()},
                "resolvedDependencies": [{"uri": "git:mfu-operator", "digest": {"gitCommit": commit}}, *materials],
            },
            "runDetails": {
                "builder": {"id": os.environ.get("BUILDER_ID", "a person's machine")},
                "metadata": {"invocationId": os.environ.get("BUILD_ID", "")},
            },
        },
    }


def signed(files: Sequence[Path], key: str | None) -> list[str]:
    """Sign each file with cosign, as FILE.sig. What was not done is said, and never that it was."""
    if not key:
        return [UNSIGNED]
    cosign = shutil.which("cosign")
    if cosign is None:
        sys.exit("COSIGN_KEY is given and cosign is not installed: nothing is signed, so this is not a release")
    for each in files:
        command = [cosign, "sign-blob", "--yes", "--key", key, "--output-signature", f"{each}.sig", str(each)]
        subprocess.run(command, check=True)
    return [f"signed {len(files)} files with cosign"]


def digest(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _distributions(into: Path, tools: Path, at_s: int) -> None:
    """Wheels and sdists of the committed files, with the tools of the lock file and no other."""
    for package in PACKAGES:
        command = [str(tools / "python"), "-m", "build", "--no-isolation", "--outdir", str(into), str(package)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment(at_s))


def unlisted(images: Sequence[Path]) -> list[str]:
    """What the bill of materials does not list, in words."""
    if images:
        return []
    return [f"{SBOM} lists no package of Debian: `make images` first, and the packages of those images are in it."]


def _bill_of_materials(file: Path, tools: Path, images: Sequence[Path]) -> None:
    """CycloneDX, of what is in the images."""
    command = [str(tools / "cyclonedx-py"), "requirements", "--output-reproducible", "--of", "JSON", "-o", str(file)]
    described = ["--pyproject", str(ROOT / "pyproject.toml"), str(IMAGE_LOCK)]
    subprocess.run([*command, *described], check=True)
    programs = [go_binaries(name) / name for name in ENGINES]
    bill = with_others(json.loads(file.read_text()), programs, images)
    file.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n")


def _environment(at_s: int) -> Mapping[str, str]:
    return {**os.environ, "SOURCE_DATE_EPOCH": str(at_s)}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if _git("status", "--porcelain"):
        sys.exit("commit first: a release is of a commit")
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    published = Destination(*(os.environ.get(name, "") for name in ("REGISTRY", "RELEASE_URL", "RUNBOOKS_URL")))
    said = release(target, Path(sys.argv[1]), os.environ.get("COSIGN_KEY"), published)
    sys.stdout.write((target / SUMS).read_text() + "\n".join(said) + "\n")
