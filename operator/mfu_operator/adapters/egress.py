"""Where the operator may go: baselines and applications name addresses, and the network is the operator's.

An address is judged after it was resolved, and that very address is connected to: a name that answers differently the
next moment gains nothing.
"""

import os
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from mfu_operator.errors import Stall
from mfu_operator.model.web_address import flaw

Ip = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_LOOPBACK = tuple(ip_network(each) for each in ("127.0.0.0/8", "::1/128"))
_NEVER = tuple(
    ip_network(each)
    for each in (
        "0.0.0.0/8", "::/128",  # this host, by another name
        "169.254.0.0/16", "fe80::/10",  # link-local, and the metadata services of AWS, GCP, Azure, OpenStack
        "fd00:ec2::/32", "fd20:ce::254/128",  # of AWS and GCP over IPv6
        "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",  # of Alibaba, Azure, Oracle
        "224.0.0.0/4", "ff00::/8", "255.255.255.255/32",
    )
)  # fmt: skip
_NAT64 = ip_network("64:ff9b::/96")

PORTS = {"http": 80, "https": 443}

EVERY_HOST = "*"

Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host. Raises OSError."""


RESOLVE_DEADLINE_S = 10.0
"""Where none answers, the system asks each name server twice for each search domain, for five seconds each."""


def resolved(host: str, port: int, deadline_s: float = RESOLVE_DEADLINE_S) -> Sequence[str]:
    """As the system resolves it, in its order. A look-up that takes longer is left to end by itself."""
    answer: Future[Sequence[str]] = Future()
    Thread(target=_resolve, args=(host, port, answer), name="resolve", daemon=True).start()
    try:
        return answer.result(deadline_s)
    except TimeoutError:
        raise OSError(f"no name server answered within {deadline_s:g} s") from None


def _resolve(host: str, port: int, answer: Future[Sequence[str]]) -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        answer.set_result([str(each[4][0]) for each in found])
    except OSError as error:
        answer.set_exception(error)
    except UnicodeError as error:
        answer.set_exception(OSError(f"its name is invalid: {error}"))


@dataclass(frozen=True, slots=True)
class Egress:
    """Which hosts and addresses may be asked, and what may be sent to them.

    Args:
        hosts: names that may be asked, "*.example.org" for all below, "*" for every one.
        refused: networks that may not.
        api_servers: (address, port) of the cluster's own API servers, which may not.
        credentials_over_http: whether credentials may be sent unencrypted.
        resolve: asks the name servers.
    """

    hosts: tuple[str, ...] = (EVERY_HOST,)
    refused: tuple[Network, ...] = (*_NEVER, *_LOOPBACK)
    api_servers: frozenset[tuple[str, int]] = frozenset()
    credentials_over_http: bool = False
    resolve: Resolve = resolved

    def require(self, url: str, with_credentials: bool) -> None:
        """Judge an address by what is written in it.

        Raises:
            Stall: AddressRefused, CredentialsUnencrypted.
        """
        problem = flaw(url)
        if problem is not None:
            raise Stall("AddressRefused", f"the address {_shown(url)} {problem}")
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        if not self._listed(host):
            listed = ", ".join(self.hosts)[:100] or "none"
            raise Stall(
                "AddressRefused",
                f"{host} is not among the hosts that the operator may ask ({listed}): ask an administrator to add it "
                "to the chart's egress.hosts",
            )
        if with_credentials and parts.scheme == "http" and not self.credentials_over_http:
            raise Stall(
                "CredentialsUnencrypted",
                f"{host} is to be sent credentials over http, where anybody on the way reads them: write the address "
                "with https://",
            )

    def addresses(self, host: str, port: int) -> tuple[str, ...]:
        """The addresses of a host, every one of which may be connected to.

        Raises:
            Stall: AddressRefused, where one may not.
            OSError: the name cannot be resolved.
        """
        found = tuple(dict.fromkeys(self.resolve(host, port)))
        for address in found:
            self.require_address(address, port, host)
        return found

    def require_address(self, address: str, port: int, host: str) -> None:
        """Judge one address. Raises Stall: AddressRefused."""
        try:
            ip = _plain(ip_address(address.partition("%")[0]))
        except ValueError:
            raise Stall("AddressRefused", f"{host} leads to {address[:60]!r}, which is not an address") from None
        if (str(ip), port) in self.api_servers:
            because = "is the cluster's own API server"
        elif any(ip in network for network in self.refused):
            because = "is link-local, loopback, or in a network that the chart's egress.refused names"
        else:
            return
        raise Stall("AddressRefused", f"{host} leads to {ip}, which {because}: nothing is asked there")

    def _listed(self, host: str) -> bool:
        return any(
            each == EVERY_HOST or (host.endswith(each[1:]) if each.startswith("*.") else host == each)
            for each in self.hosts
        )


ANYWHERE = Egress(refused=(), credentials_over_http=True)
"""For a person's own command, who may reach what he may reach."""


def egress_of(
    hosts: Iterable[str], refused: Iterable[str], laboratory: bool, api_server: str, resolve: Resolve = resolved
) -> Egress:
    """The operator's.

    Args:
        hosts: the chart's egress.hosts, and that of its own Prometheus.
        refused: its egress.refused, networks in CIDR notation.
        laboratory: whether every host and loopback may be asked and credentials sent over http: nowhere but in a
            laboratory.
        api_server: the address of the cluster's API server, a URL.

    Raises:
        ValueError: one of `refused` is not a network.
    """
    networks = tuple(ip_network(each, strict=False) for each in refused)
    return Egress(
        hosts=(EVERY_HOST,) if laboratory else tuple(each.lower() for each in hosts),
        refused=(*_NEVER, *networks, *(() if laboratory else _LOOPBACK)),
        api_servers=frozenset(_api_servers(api_server, resolve)),
        credentials_over_http=laboratory,
        resolve=resolve,
    )


def port_of(url: str) -> int:
    """The port of an address, written or its scheme's."""
    parts = urlsplit(url)
    return parts.port or PORTS[parts.scheme]


def proxy_of(url: str) -> str | None:
    """The proxy of the environment that stands between us and an address; None where there is none."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    proxies = getproxies_environment()
    return proxies.get(parts.scheme) or proxies.get("all")


def _api_servers(url: str, resolve: Resolve) -> Iterable[tuple[str, int]]:
    """Where the client asks, and where the cluster says that its API server is."""
    known = [(os.environ.get("KUBERNETES_SERVICE_HOST", ""), int(os.environ.get("KUBERNETES_SERVICE_PORT") or 443))]
    parts = urlsplit(url)
    if parts.hostname and parts.scheme in PORTS:
        known.append((parts.hostname, port_of(url)))
    for host, port in known:
        if host:
            try:
                addresses = resolve(host, port)
            except OSError:
                continue
            yield from ((str(_plain(ip_address(each))), port) for each in addresses)


def _plain(ip: Ip) -> Ip:
    """The IPv4 address inside of an IPv6 one that only wraps it."""
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if isinstance(ip, IPv6Address) and ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def _shown(url: str) -> str:
    """The address without credentials and query, cut to what a status may show."""
    return url.rpartition("@")[2].partition("?")[0][:100]
