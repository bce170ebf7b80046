"""Debian packages, from the mirrors that this machine names, without letting one start a service."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.cache import exclusive
from tests.cluster.process import output_of
from tests.cluster.progress import progress
from tests.cluster.state import cache_dir

COMPONENTS_OUTSIDE_MAIN = ("contrib", "non-free", "non-free-firmware")
"""Where image builds find nsight-systems and what it depends on; this machine itself needs nothing of them."""
_SOURCES_PARTS = Path("/etc/apt/sources.list.d")
_DEBIAN_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PATIENT = ("-o", "DPkg::Lock::Timeout=600")
"""A fresh Debian may be installing its own updates."""
_POLICY = Path("/usr/sbin/policy-rc.d")
_POLICY_TEXT = "#!/bin/sh\n# mfu-operator: a package must not start its service while it is installed\nexit 101\n"


def installed(package: str) -> bool:
    """Tell whether dpkg knows this Debian package as installed."""
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    return answer.returncode == 0 and answer.stdout == "installed"


def apt_install(*packages: str) -> None:
    """Install the Debian packages that are missing, without letting any of them start a service.

    Raises:
        CommandFailed: apt-get could not install them.
    """
    if all(installed(package) for package in packages):
        return
    with exclusive(cache_dir() / ".apt.lock"):
        missing = [package for package in packages if not installed(package)]
        if missing:
            with progress(f"install {' '.join(missing)}"), _services_held_back():
                _apt_install(missing)


@dataclass(frozen=True)
class AptSource:
    """One Debian mirror that this machine's apt uses."""

    uri: str
    suites: str
    components: tuple[str, ...]
    signed_by: str

    def asking_for(self, *components: str) -> str:
        """Return the deb822 stanza that asks this mirror for other components."""
        lines = ["Types: deb", f"URIs: {self.uri}", f"Suites: {self.suites}", f"Components: {' '.join(components)}"]
        return "\n".join([*lines, f"Signed-By: {self.signed_by}"]) + "\n"


def debian_sources() -> list[AptSource]:
    """Return the Debian mirrors of this machine's own apt configuration, the archive before its security updates.

    Raises:
        LookupError: The configuration names no Debian mirror.
    """
    found = [source for source in _sources() if "main" in source.components]
    if not found:
        raise LookupError(f"no Debian mirror with the component main in {_SOURCES_PARTS} or /etc/apt/sources.list")
    return sorted(found, key=lambda source: "security" in source.suites)


def parse_deb822(text: str) -> list[AptSource]:
    """Return the Debian mirrors that a deb822 sources file names."""
    uncommented = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found = []
    for stanza in re.split(r"\n\s*\n", uncommented):
        fields = {name.lower(): value.strip() for name, value in re.findall(r"(?m)^([\w-]+):(.*)$", stanza)}
        if _is_debian(fields.get("uris", ""), fields.get("suites", "")) and fields.get("enabled", "yes") != "no":
            keyring = fields.get("signed-by", _DEBIAN_KEYRING)
            found.append(AptSource(fields["uris"], fields["suites"], tuple(fields["components"].split()), keyring))
    return found


def parse_one_line(text: str) -> list[AptSource]:
    """Return the Debian mirrors that a one-line ``sources.list`` names."""
    lines = re.findall(r"(?m)^deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+([^#\n]*)", text)
    return [
        AptSource(uri, suite, tuple(components.split()), _DEBIAN_KEYRING)
        for uri, suite, components in lines
        if _is_debian(uri, suite)
    ]


def _apt_install(packages: Sequence[str]) -> None:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    output_of(["dpkg", "--configure", "-a"], env=environment)  # ends an installation that was interrupted
    output_of(["apt-get", "update", "-qq"], env=environment)
    output_of(["apt-get", "install", *_PATIENT, "-qq", "--yes", "--no-install-recommends", *packages], env=environment)


def _sources() -> list[AptSource]:
    one_line = [
        path for path in [Path("/etc/apt/sources.list"), *sorted(_SOURCES_PARTS.glob("*.list"))] if path.exists()
    ]
    found = [source for path in sorted(_SOURCES_PARTS.glob("*.sources")) for source in parse_deb822(path.read_text())]
    return found + [source for path in one_line for source in parse_one_line(path.read_text())]


def _is_debian(uri: str, suites: str) -> bool:
    return bool(re.search(r"/debian(-security)?/?$", uri)) and "bookworm" in suites


@contextmanager
def _services_held_back() -> Iterator[None]:
    ours = not _POLICY.exists() or _POLICY.read_text() == _POLICY_TEXT
    if ours:
        _POLICY.write_text(_POLICY_TEXT)
        _POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            _POLICY.unlink(missing_ok=True)
