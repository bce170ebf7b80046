"""Where credentials may go: the addresses that stand beside them in their own Secret."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mfu_operator.api.group import CREDENTIALS_LABEL
from mfu_operator.errors import Stall
from mfu_operator.model.web_address import flaw

ADDRESS = "address"
"""The key of a Secret that says where its other keys may be sent; several at blanks."""

_PORTS = {"http": 80, "https": 443}
_QUOTABLE = re.compile(r"[A-Za-z0-9.:/_~\[\]-]+")
"""What may stand in a command that a person copies into a shell."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A Secret, and the addresses that its keys may be sent to.

    Args:
        namespace, name: of the Secret.
        addresses: its key `address`, at blanks. Each covers what is below its path, on its scheme, host and port.
    """

    namespace: str
    name: str
    addresses: tuple[str, ...]

    def require(self, url: str) -> None:
        """Raise Stall(CredentialsUnbound) unless an address of the Secret covers the URL."""
        if any(covers(each, url) for each in self.addresses):
            return
        secret = f"Secret {self.namespace}/{self.name}"
        said = f"is for {', '.join(self.addresses)[:200]} alone" if self.addresses else "has no key address"
        raise Stall(
            "CredentialsUnbound",
            f"{secret} {said} and is not sent to {url[:200]}. If that is where it belongs: "
            f"{binding_command(self.namespace, self.name, (*self.addresses, url))}",
        )


def closest(bounds: Iterable[Bound], url: str) -> Bound | None:
    """The Secret that was made for the URL: of several the one whose address covers it most exactly; None: none covers
    it.

    Raises:
        Stall: CredentialsUnfit, where two Secrets cover it alike.
    """
    reach = {each: _reach(each.addresses, url) for each in bounds}
    most = max(reach.values(), default=-1)
    found = [each for each, length in reach.items() if length == most >= 0]
    if len(found) > 1:
        named = " and ".join(f"{each.namespace}/{each.name}" for each in found[:2])
        raise Stall(
            "CredentialsUnfit",
            f"Secrets {named} are both for {url[:200]}: write a longer address into the key {ADDRESS} of the one that "
            "is to be sent there, or take it out of the other's",
        )
    return found[0] if found else None


def covers(bound: str, url: str) -> bool:
    """Whether a URL is the bound address or below it. `.git` at an end is none of the path."""
    if flaw(bound) is not None or flaw(url) is not None:
        return False
    ours, asked = urlsplit(bound), urlsplit(url)
    if (ours.scheme, _host(bound)) != (asked.scheme, _host(url)):
        return False
    inside, outside = _segments(asked.path), _segments(ours.path)
    return not {".", ".."} & set(inside) and inside[: len(outside)] == outside


def binding_command(namespace: str, name: str, addresses: tuple[str, ...]) -> str:
    """The command that labels a Secret as credentials, and says where they may go."""
    written = " ".join(addresses) if addresses and all(_QUOTABLE.fullmatch(each) for each in addresses) else "https://…"
    return (
        f"kubectl patch secret {name} -n {namespace} --type merge -p "
        f"""'{{"metadata":{{"labels":{{"{CREDENTIALS_LABEL}":"true"}}}},"stringData":{{"{ADDRESS}":"{written}"}}}}'"""
    )


def unlabelled(namespace: str, name: str) -> Stall:
    """What is said of a Secret that nobody made for TrainingBaselines."""
    return Stall(
        "CredentialsUnbound",
        f"Secret {namespace}/{name} lacks the label {CREDENTIALS_LABEL}=true and is not read. If TrainingBaselines are "
        f"to use it, say so, and where its keys may be sent: {binding_command(namespace, name, ())}",
    )


def _reach(addresses: Iterable[str], url: str) -> int:
    """The parts of the path of the longest address that covers the URL; -1: none does."""
    return max((len(_segments(urlsplit(each).path)) for each in addresses if covers(each, url)), default=-1)


def _host(url: str) -> tuple[str | None, int | None]:
    parts = urlsplit(url)
    return parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _segments(path: str) -> list[str]:
    return [each for each in unquote(path).removesuffix("/").removesuffix(".git").split("/") if each]
