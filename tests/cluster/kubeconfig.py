"""Kubeconfig files: those of the cluster's parts, and the context in the person's own file."""

import base64
import copy
import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.layout import API_ADDRESS, API_URL, CONTEXT
from tests.cluster.pki import Authority, Certificate
from tests.cluster.process import write_atomically

_LISTS = ("clusters", "users", "contexts")
_CACHED_AS = API_ADDRESS
_NOTHING = "nothing was current"


def kubeconfig_of(authority: Authority, identity: Certificate, api_url: str = API_URL) -> dict[str, Any]:
    """Return a kubeconfig that holds everything in itself: one cluster, one user, one context, all of one name."""
    cluster = {"server": api_url, "certificate-authority-data": _encoded(authority.certificate)}
    user = {
        "client-certificate-data": _encoded(identity.certificate),
        "client-key-data": _encoded(identity.key),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        "current-context": CONTEXT,
    }


def write_kubeconfig(path: Path, authority: Authority, identity: Certificate, api_url: str = API_URL) -> Path:
    """Write the kubeconfig of one identity and return its path."""
    write_atomically(path, yaml.safe_dump(kubeconfig_of(authority, identity, api_url)))
    return path


def merged(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return a person's kubeconfig with our entries added, or renewed, and our context current."""
    result = {"apiVersion": "v1", "kind": "Config", **_without_ours(theirs)}
    for kind in _LISTS:
        result[kind] = [*(result.get(kind) or []), *ours[kind]]
    result["current-context"] = CONTEXT
    return result


def unmerged(theirs: dict[str, Any], former: str | None) -> dict[str, Any]:
    """Return a person's kubeconfig without our entries.

    Args:
        theirs: The file as it is now.
        former: The context that was current before ours; it is current again unless they chose another meanwhile.
    """
    result = _without_ours(theirs)
    if result.get("current-context") == CONTEXT:
        known = {context.get("name") for context in result.get("contexts") or []}
        result.pop("current-context")
        if former in known:
            result["current-context"] = former
    return result


def is_empty(kubeconfig: dict[str, Any]) -> bool:
    """Tell whether a kubeconfig names nothing at all."""
    return not any(kubeconfig.get(kind) for kind in _LISTS)


class PersonalKubeconfig:
    """Our context in the person's own kubeconfig."""

    def __init__(self, path: Path, state: Path) -> None:
        """Use the file at ``path`` and remember below ``state`` which context was current before."""
        self._path = path.resolve()
        self._former = state / "former-context"

    def add(self, ours: dict[str, Any]) -> None:
        """Add our context and make it current."""
        theirs = self._read()
        result = merged(theirs, ours)
        if result == theirs:
            return
        current = theirs.get("current-context")
        if current != CONTEXT:
            write_atomically(self._former, current or _NOTHING)
        self._write(result)

    def remove(self) -> None:
        """Remove our context and make the former one current; a file that then names nothing is deleted."""
        theirs = self._read()
        if theirs:
            self._take_out(theirs)
        self._forget_discovery()

    def _take_out(self, theirs: dict[str, Any]) -> None:
        former = self._former.read_text() if self._former.exists() else None
        result = unmerged(theirs, former)
        if is_empty(result):
            self._path.unlink()
        elif result != theirs:
            self._write(result)

    def _forget_discovery(self) -> None:
        """Remove what kubectl cached of our cluster, and the folders that then are empty."""
        cache = self._path.parent / "cache"
        discovery = cache / "discovery"
        shutil.rmtree(discovery / _CACHED_AS, ignore_errors=True)
        if discovery.exists() and not any(discovery.iterdir()):
            shutil.rmtree(cache)
        if self._path.parent.exists() and not any(self._path.parent.iterdir()):
            self._path.parent.rmdir()

    def _read(self) -> dict[str, Any]:
        if not self._path.exists():
            return {}
        read = yaml.safe_load(self._path.read_text())
        return read if isinstance(read, dict) else {}

    def _write(self, kubeconfig: dict[str, Any]) -> None:
        write_atomically(self._path, yaml.safe_dump(kubeconfig, sort_keys=False))


def _without_ours(kubeconfig: dict[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(kubeconfig)
    for kind in _LISTS:
        if kind in result:
            result[kind] = [entry for entry in result[kind] or [] if entry.get("name") != CONTEXT]
    return result


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
