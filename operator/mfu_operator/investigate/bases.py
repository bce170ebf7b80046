"""Repositories of remote bases: a clone that was given, else fetched from where the operator may go, as nobody."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from mfu_operator.adapters.egress import Egress, port_of, proxy_of
from mfu_operator.adapters.git.environment import SECRETS
from mfu_operator.adapters.git.repository import clean_url
from mfu_operator.adapters.git.store import Store
from mfu_operator.errors import Stall, Unreadable
from mfu_operator.investigate.request import Request
from mfu_operator.investigate.sources import clone_of

MAX_FETCHED = 5
"""Repositories that one investigation fetches beside those of the application."""

_SCHEMES = ("https", "http")


def of_bases(request: Request, folder: Path, store: Callable[[str], Store]) -> Callable[[str], Store | None]:
    """Gives the objects of a repository by its address; None: it was not given, and may not be or cannot be fetched.

    Args:
        request: with the clones that were given, and where may be asked.
        folder: the caller's.
        store: opens a clone.
    """
    fetched: dict[str, Store | None] = {}

    def objects(repository: str) -> Store | None:
        given = clone_of(request, repository)
        if given is not None:
            return store(given)
        url = clean_url(repository)
        if url not in fetched:
            known = request.egress is not None and len(fetched) < MAX_FETCHED
            fetched[url] = _fetched(request, url, folder / f"base-{len(fetched)}") if known else None
        return fetched[url]

    return objects


def _fetched(request: Request, url: str, folder: Path) -> Store | None:
    """A clone without credentials: a base is code of somebody else, whose host was not given ours."""
    if request.egress is None or request.env is None or urlsplit(url).scheme not in _SCHEMES:
        return None
    with suppress(Stall, OSError, Unreadable):
        env = _env(request.env, url, request.egress)
        folder.mkdir()
        return Store(url, folder, env)
    return None


def _env(env: Mapping[str, str], url: str, egress: Egress) -> dict[str, str]:
    """Git's environment without credentials, and with the addresses that it may connect to for this host."""
    egress.require(url, with_credentials=False)
    found = {name: value for name, value in env.items() if not name.startswith(SECRETS)}
    if proxy_of(url) is not None:
        return found
    host, port = urlsplit(url).hostname or "", port_of(url)
    written = ",".join(f"[{each}]" if ":" in each else each for each in egress.addresses(host, port))
    count = int(found.get("GIT_CONFIG_COUNT", "0"))
    return found | {
        "GIT_CONFIG_COUNT": str(count + 2),
        f"GIT_CONFIG_KEY_{count}": "http.curloptResolve",
        f"GIT_CONFIG_VALUE_{count}": f"{host}:{port}:{written}",
        f"GIT_CONFIG_KEY_{count + 1}": f"credential.{urlsplit(url).scheme}://{urlsplit(url).netloc}.helper",
        f"GIT_CONFIG_VALUE_{count + 1}": "",
    }
