"""RELEASE_NOTES.md: what to know before an upgrade, how to upgrade, and what was not made or not tried."""

import re

from tests.supply.extras.destination import Destination

BEFORE = "### Before you upgrade"
PLATFORMS = ("linux/amd64", "linux/arm64")

BY_HAND = (
    f"Images are not built by `make release`. For {' and '.join(PLATFORMS)}: `make images BASE=debian@sha256:... "
    "PLATFORM=...` once each, then `docker manifest create`."
)
ARM64 = (
    "The images for linux/arm64 have not been built or run by the tests, which have no such machine. Their Go "
    "programs, kustomize and helm, were compiled for it; their Python packages have wheels for it."
)

TEXT = """\
# mfu-operator {version}

## Before you upgrade

{before}

## Upgrade

Helm never changes a definition, so it is applied first:

```
helm show crds mfu-operator-{version}.tgz | kubectl apply --server-side --force-conflicts -f -
helm upgrade mfu-operator mfu-operator-{version}.tgz -n mfu-system --reset-then-reuse-values
kubectl rollout status deployment/mfu-operator -n mfu-system
```

Without Helm: `kubectl apply --server-side --force-conflicts -f install.yaml`. Open incidents go on where they were, at
whatever stage the earlier release stored them. To go back: `helm rollback mfu-operator -n mfu-system`, with the new
definition in place.

## What is not in it

{missing}

## Changes

{changes}
"""


def notes(version: str, changelog: str, destination: Destination, signed: list[str]) -> str:
    """The notes of a release.

    Args:
        version: of the release.
        changelog: the text of CHANGELOG.md; the section of this version, or else the unreleased one, is taken.
        destination: where images and files will be.
        signed: what is to be said of signatures.
    """
    section = _section(changelog, f"## {version}") or _section(changelog, "## Unreleased")
    before = _section(section, BEFORE)
    lines = "\n".join(f"- {line}" for line in [*missing(destination), *signed])
    changes = section.replace(f"{BEFORE}\n{before}", "")
    return TEXT.format(version=version, before=before.strip(), missing=lines, changes=changes.strip())


def missing(destination: Destination) -> list[str]:
    """What was not made, or made and never tried."""
    found = [BY_HAND, ARM64]
    if not destination.registry:
        found.append(
            "The chart, install.yaml and images.txt name images without a registry: `make release REGISTRY=...` does."
        )
    if not destination.runbooks:
        found.append(
            "Conditions, alerts and pull requests name `kubectl mfu runbook REASON` instead of an address: "
            "`make release RUNBOOKS_URL=...` names the folder of this version's runbooks, `runbookBaseUrl` does later."
        )
    if not destination.url:
        found.append(
            "The plugin's manifest names no address: `make release RELEASE_URL=...` does. With --archive it needs none."
        )
    return found


def _section(text: str, heading: str) -> str:
    """What follows a heading, up to the next of its level or above; empty where there is none."""
    level = len(heading) - len(heading.lstrip("#"))
    found = re.search(rf"^{re.escape(heading)}\b[^\n]*\n(.*?)(?=^#{{2,{level}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""
