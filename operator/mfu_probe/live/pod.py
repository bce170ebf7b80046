"""Which pod this process runs in, so that whoever asks knows whom it asks before it says a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "MFU_PROBE_POD_UID"
"""Set from the downward API (`metadata.uid`) where the runtime hides the kubelet's mounts."""

MOUNTS = Path("/proc/self/mountinfo")
LARGEST_MOUNTS = 1 << 20

_UID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_KUBELET = re.compile(rf"/pods/({_UID})/(?:etc-hosts|volumes|containers)")
"""The kubelet mounts a pod's /etc/hosts, volumes and termination log from a folder named after the pod's uid."""


def pod_uid(environment: Mapping[str, str], mounts: Path = MOUNTS) -> str | None:
    """The pod's uid; None outside of a pod, and where nothing tells."""
    said = environment.get(VARIABLE)
    if said:
        return said if re.fullmatch(r"[0-9A-Za-z-]{1,64}", said) else None
    try:
        with mounts.open(encoding="utf-8", errors="replace") as file:
            found = _KUBELET.search(file.read(LARGEST_MOUNTS))
    except OSError:
        return None
    return found.group(1) if found else None
