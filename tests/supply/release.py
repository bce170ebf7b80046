"""What a release consists of, in dist/: wheel, sdist and chart, a bill of materials, checksums, and how it came about.

Two releases of one commit are the same bytes but for `invocation` of the provenance. Nothing is published.
"""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from mfu_operator import __version__

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "mfu-operator"
IMAGE_LOCK = ROOT / "operator" / "requirements.lock"
MATERIALS = (
    IMAGE_LOCK,
    ROOT / "operator" / "build-requirements.lock",
    ROOT / "tests" / "supply" / "release.lock",
    *sorted((ROOT / "tests" / "cluster" / "go").glob("*/go.sum")),
)
"""What beside the commit decides what comes out: packages and modules by their hashes."""

SUMS, SBOM, PROVENANCE = "SHA256SUMS", "mfu-operator.cdx.json", "mfu-operator.provenance.json"


def release(into: Path, tools: Path, key: str | None) -> list[str]:
    """Make everything; what a person is told of the signatures.

    Args:
        into: an empty folder, or none.
        tools: the folder of the programs of release.lock.
        key: what cosign signs with (a file, or a key of a key service); None: nothing is signed.
    """
    into.mkdir(parents=True, exist_ok=True)
    commit, at_s = _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct"))
    _distributions(into, tools, at_s)
    chart = into / f"{CHART.name}-{chart_version()}.tgz"
    chart.write_bytes(packed(CHART, at_s))
    _bill_of_materials(into / SBOM, tools)
    made = sorted(each for each in into.iterdir() if each.is_file())
    (into / PROVENANCE).write_text(json.dumps(provenance(made, commit), indent=1) + "\n")
    named = [*made, into / PROVENANCE]
    (into / SUMS).write_text("".join(f"{digest(each)}  {each.name}\n" for each in named))
    return signed([*named, into / SUMS], key)


def chart_version() -> str:
    """The chart's own version."""
    return str(yaml.safe_load((CHART / "Chart.yaml").read_text())["version"])


def packed(folder: Path, at_s: int) -> bytes:
    """A chart as `helm package` packs it, the same bytes every time: its files by name, all of one time and owner."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(each for each in folder.rglob("*") if each.is_file() and each.name != ".helmignore"):
            entry = tarfile.TarInfo(f"{folder.name}/{file.relative_to(folder)}")
            entry.size, entry.mtime, entry.mode = file.stat().st_size, at_s, 0o644
            archive.addfile(entry, io.BytesIO(file.read_bytes()))
    return gzip.compress(tar.getvalue(), mtime=at_s)


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
        return ["not signed: give a key to cosign with COSIGN_KEY=…"]
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
    """Wheel and sdist of the committed files, with the tools of the lock file and no other."""
    command = [str(tools / "python"), "-m", "build", "--no-isolation", "--outdir", str(into), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment(at_s))


def _bill_of_materials(file: Path, tools: Path) -> None:
    """CycloneDX, of the packages in the operator's image."""
    command = [str(tools / "cyclonedx-py"), "requirements", "--output-reproducible", "--of", "JSON", "-o", str(file)]
    described = ["--pyproject", str(ROOT / "pyproject.toml"), str(IMAGE_LOCK)]
    subprocess.run([*command, *described], check=True)


def _environment(at_s: int) -> Mapping[str, str]:
    return {**os.environ, "SOURCE_DATE_EPOCH": str(at_s)}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    if _git("status", "--porcelain"):
        sys.exit("commit first: a release is of a commit")
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    said = release(target, Path(sys.argv[1]), os.environ.get("COSIGN_KEY"))
    sys.stdout.write((target / SUMS).read_text() + "\n".join(said) + "\n")
