"""What an image build borrows from this machine without keeping it: mirrors, proxies, certificates, caches."""

import configparser
import io
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.apt import COMPONENTS_OUTSIDE_MAIN, debian_sources
from tests.cluster.process import output_of, write_atomically
from tests.cluster.state import cache_dir

_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_FOLDER_SETTINGS = ("find-links",)
_NOT_SETTINGS = ("PIP_CONFIG_FILE", "PIP_REQUIRE_VIRTUALENV", "PIP_CERT", "PIP_CACHE_DIR")


@dataclass(frozen=True)
class Mount:
    """A file or folder of this machine that a build sees.

    Attributes:
        source: Its path here.
        destination: Its path in the build.
        options: ``ro`` or ``rw``.
    """

    source: Path
    destination: str
    options: str = "ro"

    def __str__(self) -> str:
        return f"{self.source}:{self.destination}:{self.options}"


def build_mounts() -> list[Mount]:
    """Write the configuration that builds borrow, and return how to mount it."""
    folder = cache_dir() / "buildah" / "borrowed"
    sources = folder / "sources.list.d"
    stanzas = [source.asking_for("main", *COMPONENTS_OUTSIDE_MAIN) for source in debian_sources()]
    write_atomically(sources / "debian.sources", "\n".join(stanzas), mode=0o644)
    write_atomically(folder / "apt.conf", transport_settings(output_of(["apt-config", "dump"])), mode=0o644)
    settings = pip_settings(os.environ, _configured_pip())
    write_atomically(folder / "pip.conf", pip_configuration(settings), mode=0o644)
    return [
        Mount(sources, "/etc/apt/sources.list.d"),
        Mount(folder / "apt.conf", "/etc/apt/apt.conf.d/90borrowed"),
        Mount(folder / "pip.conf", "/etc/pip.conf"),
        *_certificates(),
        *_package_folders(settings),
        *_caches(),
    ]


def transport_settings(apt_configuration: str) -> str:
    """Return the lines of ``apt-config dump`` that say how to reach a mirror."""
    wanted = re.compile(r"Acquire::(http|https|Retries|Check-|ForceIPv|AllowReleaseInfoChange)")
    lines = [line for line in apt_configuration.splitlines() if wanted.match(line)]
    return "".join(f"{line}\n" for line in lines)


def pip_settings(environment: Mapping[str, str], configured: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings by the names of its configuration file; the environment goes before the file."""
    from_environment = {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in environment.items()
        if name.startswith("PIP_") and name not in _NOT_SETTINGS
    }
    return {**configured, **from_environment, "cert": _CERTIFICATES}


def pip_configuration(settings: Mapping[str, str]) -> str:
    """Return the text of a pip configuration file."""
    parser = configparser.RawConfigParser()
    parser["global"] = {name: "\n".join(value.split()) for name, value in sorted(settings.items())}
    text = io.StringIO()
    parser.write(text)
    return text.getvalue()


def _configured_pip() -> dict[str, str]:
    parser = configparser.RawConfigParser()
    config_home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    chosen = os.environ.get("PIP_CONFIG_FILE")
    places: list[str | Path] = ["/etc/pip.conf", config_home / "pip" / "pip.conf", Path.home() / ".pip" / "pip.conf"]
    parser.read([*places, *([chosen] if chosen else [])])
    found = dict(parser["global"]) if parser.has_section("global") else {}
    return {**found, **(dict(parser["install"]) if parser.has_section("install") else {})}


def _certificates() -> list[Mount]:
    """Return the mount of what this machine trusts, which may hold more than Debian's own authorities."""
    trusted = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or _CERTIFICATES
    return [Mount(Path(trusted).resolve(), _CERTIFICATES)] if Path(trusted).exists() else []


def _package_folders(settings: Mapping[str, str]) -> list[Mount]:
    folders = [Path(word) for name in _FOLDER_SETTINGS for word in settings.get(name, "").split()]
    return [Mount(folder, str(folder)) for folder in folders if folder.is_dir()]


def _caches() -> list[Mount]:
    mounts = []
    for name, destination in (
        ("lists", "/var/lib/apt/lists"),
        ("archives", "/var/cache/apt"),
        ("pip", "/root/.cache/pip"),
    ):
        folder = cache_dir() / "packages" / name
        folder.mkdir(parents=True, exist_ok=True)
        mounts.append(Mount(folder, destination, "rw"))
    return mounts
