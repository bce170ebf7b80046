"""All that the Git process and its gits see of the world.

No system or user configuration, no hooks, no prompts, listed transports. Credentials reach git through a credential
helper that answers for the repository's own host alone.
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
    """!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$MFU_GIT_USERNAME" "$MFU_GIT_PASSWORD"; }; f"""
)
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
    url: str,
    credentials: Credentials | None,
    home: str,
    transports: tuple[str, ...],
    addresses: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, str]:
    """The variables; `home` is a folder of the caller's, `addresses` are, by URL, the ones that git connects to."""
    settings = list(_SETTINGS.items())
    for each, found in (addresses or {}).items():
        if found:
            written = ",".join(f"[{address}]" if ":" in address else address for address in found)
            settings.append(("http.curloptResolve", f"{urlsplit(each).hostname}:{port_of(each)}:{written}"))
    env = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    if env.get("SSL_CERT_FILE"):
        env.setdefault("GIT_SSL_CAINFO", env["SSL_CERT_FILE"])  # a git that is built with GnuTLS knows only this one
    if credentials is not None and credentials.password:
        parts = urlsplit(url)
        settings.append((f"credential.{parts.scheme}://{parts.netloc}.helper", _HELPER))
        default = "x-token-auth" if parts.hostname == "bitbucket.org" else "oauth2"
        env["MFU_GIT_USERNAME"] = (credentials.username or default).strip()
        env["MFU_GIT_PASSWORD"] = credentials.password.strip()
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
