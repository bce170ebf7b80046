"""All that the Git process and its gits see of the world.

No system or user configuration, no hooks, no prompts, listed transports. Credentials reach git through a credential
helper that answers for one repository alone.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from mfu_operator.adapters.egress import port_of
from mfu_operator.ports import Credentials

_PACKAGES = Path(__file__).resolve().parents[3]
_HANDED_ON = ("PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE",
              "SSL_CERT_DIR", "GIT_SSL_CAINFO")  # fmt: skip
_HELPER = (
    """!f() { test "$1" = get && """
    """printf 'username=%%s\\npassword=%%s\\n' "$MFU_GIT_USERNAME%s" "$MFU_GIT_PASSWORD%s"; }; f"""
)
SECRETS = ("MFU_GIT_USERNAME", "MFU_GIT_PASSWORD")
"""How the names of the variables begin that hold credentials."""

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.fsmonitor": "false",
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.directory": "*",
    "submodule.recurse": "false",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
}
"""Nothing of the repository's or the machine's runs beside git; no server sends git elsewhere;
below 1 kB/s for 30 s a server is given up."""


def environment(
    logins: Mapping[str, Credentials],
    home: str,
    transports: tuple[str, ...],
    addresses: Mapping[str, Sequence[str]] | None = None,
    authorities: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The variables.

    Args:
        logins: by the URL of a repository, what its server is shown.
        home: a folder of the caller's.
        transports: what a URL may use.
        addresses: by URL, the ones that git connects to.
        authorities: by URL, the file with the authorities that its server's certificate is checked against.
    """
    settings = list(_SETTINGS.items())
    for each, found in (addresses or {}).items():
        if found:
            written = ",".join(f"[{address}]" if ":" in address else address for address in found)
            settings.append(("http.curloptResolve", f"{urlsplit(each).hostname}:{port_of(each)}:{written}"))
    env = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    if env.get("SSL_CERT_FILE"):
        env.setdefault("GIT_SSL_CAINFO", env["SSL_CERT_FILE"])  # a git that is built with GnuTLS knows only this one
    if authorities and "GIT_SSL_CAINFO" in env:
        settings.append(("http.sslCAInfo", env.pop("GIT_SSL_CAINFO")))  # as a variable it would outdo those below
    for url, file in (authorities or {}).items():
        settings.extend((f"http.{each}.sslCAInfo", file) for each in _spellings(url))
    for number, (url, credentials) in enumerate(logins.items()):
        if credentials.password:
            suffix = f"_{number}" if number else ""
            helper = _HELPER % (suffix, suffix)
            settings.extend((f"credential.{each}.helper", helper) for each in _spellings(url))
            env[f"MFU_GIT_USERNAME{suffix}"] = (credentials.username or default_user(url)).strip()
            env[f"MFU_GIT_PASSWORD{suffix}"] = credentials.password.strip()
    env |= {
        "HOME": home,
        "TMPDIR": home,
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(_PACKAGES),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_ALLOW_PROTOCOL": ":".join(transports),
        "GIT_ASKPASS": "",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for index, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return env


def default_user(url: str) -> str:
    """The user that a host wants beside a token, where the Secret names none."""
    return "x-token-auth" if urlsplit(url).hostname == "bitbucket.org" else "oauth2"


def secrets_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """The passwords among the variables: what must not stand in any message."""
    return tuple(value for name, value in env.items() if name.startswith("MFU_GIT_PASSWORD") and value)


def _spellings(url: str) -> tuple[str, ...]:
    """The address without and with `.git`: GitLab knows its repositories by the latter alone."""
    bare = url.rstrip("/").removesuffix(".git")
    return bare, f"{bare}.git"
