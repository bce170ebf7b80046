"""`python -m tests.supply.go_audit [DB]`: known weaknesses of the Go programs in the operator's image, by govulncheck.

It needs a vulnerability database: Go's own where it can be reached, else a copy of it (file:///..., laid out as
https://go.dev/doc/security/vuln/database says). Without one nothing is known, and the command fails."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cluster.cache import exclusive
from tests.cluster.renderers import ENGINES
from tests.cluster.state import cache_dir
from tests.cluster.toolchain import go_binaries

SCANNER = "golang.org/x/vuln/cmd/govulncheck@v1.9.0"
LINKED = {
    "kustomize": ("sigs.k8s.io/kustomize/api", "sigs.k8s.io/kustomize/api/krusty"),
    "helm": ("helm.sh/helm/v3", "helm.sh/helm/v3/pkg/chartutil"),
}
"""A module of each program, and a package of it that is compiled in."""

_MOST_SAID = 4000
FOUND = 3
"""What govulncheck ends with where it found something."""


def scanner() -> Path:
    """The compiled scanner."""
    folder = cache_dir() / "bin" / SCANNER.rpartition("/")[2]
    with exclusive(cache_dir() / ".govulncheck.lock"):
        if not (folder / "govulncheck").exists():
            subprocess.run(["go", "install", SCANNER], env=os.environ | {"GOBIN": str(folder)}, check=True)
    return folder / "govulncheck"


def database(module: str, package: str, folder: Path) -> str:
    """A database by which every version of a module is weak, and nothing else."""
    imports = {"imports": [{"path": package}]}
    weakness = {"id": "GO-2099-0001", "modified": "2099-01-01T00:00:00Z"}
    ranges = [{"type": "SEMVER", "events": [{"introduced": "0"}]}]
    report: Mapping[str, Any] = {
        **weakness,
        "schema_version": "1.3.1",
        "published": weakness["modified"],
        "summary": "made up",
        "details": "made up",
        "database_specific": {"url": "https://weakness.invalid"},
        "affected": [{"package": {"name": module, "ecosystem": "Go"}, "ranges": ranges, "ecosystem_specific": imports}],
    }
    files = {
        "index/db.json": {"modified": weakness["modified"]},
        "index/modules.json": [{"path": module, "vulns": [weakness]}],
        "index/vulns.json": [weakness],
        f"ID/{weakness['id']}.json": report,
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder.as_uri()


def scanned(binary: Path, where: str | None) -> tuple[int, str]:
    """What the scanner ended with, and what it said, by a database; None: Go's own."""
    command = [str(scanner()), "-mode", "binary", *([] if where is None else ["-db", where]), str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()[-_MOST_SAID:]


def main() -> int:
    """Scan each program, once it is seen that the scanner finds what there is in it."""
    where, worst = sys.argv[1] if len(sys.argv) > 1 else None, 0
    for name in ENGINES:
        binary = go_binaries(name) / name
        with tempfile.TemporaryDirectory() as folder:
            status, said = scanned(binary, database(*LINKED[name], Path(folder)))
        if status != FOUND:
            sys.stdout.write(f"{name}: the scanner finds nothing where there is something ({status}): {said}\n")
            return 1
        status, said = scanned(binary, where)
        sys.stdout.write(f"{name}: {said}\n")
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main())
