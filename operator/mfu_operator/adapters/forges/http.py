"""Talking to a forge: JSON both ways, the token in a header only, failures as what to do next."""

import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from json import loads
from typing import Any, ParamSpec, TypeVar

import httpx

from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.adapters.forges.limits import Limits, is_limited
from mfu_operator.adapters.guarded_http import AnswerTooLarge, client, content, secrets_in
from mfu_operator.adapters.tls import context_of
from mfu_operator.errors import MfuError, Retry, Stall
from mfu_operator.model.masking import without
from mfu_operator.ports import Credentials

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

LABEL = "mfu-operator"

DEADLINE_S = 30.0
"""For one request, to the last byte of its answer. A forge answers in seconds; one that is slow is asked again at the
next tick."""

LARGEST_ANSWER = 16 * 2**20
"""Bytes, uncompressed. A hundred pull requests with their texts are one."""

_MOST_SAID = 200
"""Characters of a forge's own words, in a condition's message."""

_MOST_READ = 16_384
"""Of those in which is looked for what the forge was sent."""

PAGES = 20
"""Pages of a list that are read at most."""

SMALLEST_PAGE = 10
"""No server's pages are smaller, so that a first one with fewer items is the last: most lists are short."""

LISTING_DEADLINE_S = 80.0
"""For the pages of one list together; none is asked for after it."""


@dataclass(frozen=True, slots=True)
class Web:
    """Where the operator may go, and how long one request may take; `transport` is for tests. `limits` says until when
    a forge wants no request. `verify` has the authorities of a forge's certificate; None: the system's."""

    egress: Egress = ANYWHERE
    transport: httpx.BaseTransport | None = None
    deadline_s: float = DEADLINE_S
    limits: Limits = field(default_factory=Limits)
    verify: ssl.SSLContext | None = None


DIRECT = Web()
"""To anywhere, by the system's own network."""


def trusting(web: Web, credentials: Credentials) -> Web:
    """The same with the authorities that the Secret names, where it names any. Raises Stall: CertificateUnreadable."""
    return web if credentials.ca is None else replace(web, verify=context_of(credentials))


MOST_HOPS = 3
"""Redirects of one request that are followed: a repository that was renamed, and its owner too."""


class Refused(Exception):
    """The forge refused a creation or a change for its content (400, 405, 409, 412, 422): often because it was done
    already."""

    def __init__(self, forge: str, status: int, said: str) -> None:
        super().__init__(said)
        self.forge = forge
        self.status = status
        self.said = said


class Api:
    """One forge's API, below one base URL.

    Args:
        name: the forge, for messages.
        base: its API's base URL.
        headers: with the token.
        web: where the operator may go.
    """

    def __init__(self, name: str, base: str, headers: Mapping[str, str], web: Web) -> None:
        self._name = name
        self._base = base.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "mfu-operator", **headers}
        self._web = web

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """The JSON at a path; None where there is none (404)."""
        return self._ask("GET", path, params=params)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that a creation answers with; Refused where the forge will not."""
        return self._ask("POST", path, json=body)

    def change(self, path: str, body: Mapping[str, Any], method: str = "PATCH") -> Any:
        """The JSON that a change of what is there answers with; Refused where the forge will not."""
        return self._ask(method, path, json=body)

    def pages(self, path: str, params: Mapping[str, str | int], size: int) -> Iterator[Any]:
        """The items of a list, page by page, until one is empty or smaller than the first: a server may give fewer
        items a page than it is asked for."""
        ends_s = time.monotonic() + LISTING_DEADLINE_S
        full = size
        for page in range(1, PAGES + 1):
            if time.monotonic() > ends_s:
                told = f"{self._name} at {self._base} did not list {path} within {LISTING_DEADLINE_S:g} s."
                raise Retry("ForgeUnreachable", told)
            items: Sequence[Any] = self.get(path, {**params, "page": page}) or ()
            yield from items
            full = min(size, len(items)) if page == 1 else full
            if not items or len(items) < full or (page == 1 and len(items) < SMALLEST_PAGE):
                return

    def missing(self, what: str) -> Retry:
        """The error for something that must be there and is not, or is hidden from this token."""
        return Retry(
            "ForgeAccessDenied",
            f"{self._name} has no {what}, or hides it from this token. Check the repository's address, and that the "
            "Secret in spec.remediation.forge.secretRef holds a token that may read it and open pull requests.",
        )

    def _ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None = None,
        json: Mapping[str, Any] | None = None,
    ) -> Any:
        egress, transport, deadline_s = self._web.egress, self._web.transport, self._web.deadline_s
        url = f"{self._base}/{path}".rstrip("/")
        self._web.limits.require(self._name, self._base, self._headers)
        try:
            verify = self._web.verify
            with client(self._base, egress, self._headers, deadline_s, verify=verify, proxied=True,
                        transport=transport) as http:  # fmt: skip
                for _ in range(MOST_HOPS + 1):
                    with http.stream(method, url, params=params, json=json) as response:
                        body = content(response, LARGEST_ANSWER)
                    moved = _moved_within(response, self._base)
                    if moved is None:
                        break
                    url, params = moved, None if httpx.URL(moved).query else params
        except AnswerTooLarge as error:
            raise Retry("ForgeUnreachable", f"{self._name} at {self._base}: {error}.") from None
        except httpx.TimeoutException:
            raise Retry(
                "ForgeUnreachable", f"{self._name} at {self._base} did not answer within {deadline_s:g} s."
            ) from None
        except httpx.HTTPError as error:
            raise Retry(
                "ForgeUnreachable", f"{self._name} at {self._base} does not answer: {type(error).__name__}."
            ) from None
        self._web.limits.note(self._base, self._headers, response, self._said(body))
        return self._read(method, path, response, body)

    def _read(self, method: str, path: str, response: httpx.Response, body: bytes) -> Any:
        status = response.status_code
        if status == 404 and method == "GET":
            return None
        if status in (200, 201, 202):
            try:
                return loads(body)
            except (ValueError, RecursionError):
                raise self._unreachable(response, "an answer that is not JSON: is the address a forge's?") from None
        self._raise(method, path, response, self._said(body))
        raise AssertionError("unreachable")

    def _raise(self, method: str, path: str, response: httpx.Response, said: str) -> None:
        status = response.status_code
        if is_limited(response, said):
            self._web.limits.require(self._name, self._base, self._headers)
        if status in (203, 401, 403, 404):
            raise Retry(
                "ForgeAccessDenied",
                f"{self._name} refused {path} ({status}): {said}. Check the Secret in "
                "spec.remediation.forge.secretRef: its token must be valid and may open pull requests here.",
            )
        if method != "GET" and status in (400, 405, 409, 412, 422):
            raise Refused(self._name, status, said)
        if 300 <= status < 400:
            location = self._own(response.headers.get("location", "?").partition("?")[0])[:_MOST_SAID]
            raise Stall(
                "ForgeRefused",
                f"{self._name} has moved {path} to {location}: set spec.remediation.repository to the new address.",
            )
        if status < 500 and status != 409:
            raise Stall("ForgeRefused", f"{self._name} refused {path} ({status}): {said}.")
        raise self._unreachable(response, said)

    def _said(self, answer: bytes) -> str:
        """The forge's own words, on one line and without what it was sent; whatever else answers there is not repeated,
        for the status is a tenant's."""
        try:
            body = loads(answer)
        except (ValueError, RecursionError):
            return "an answer that is not JSON"
        parts = [body.get("message"), body.get("error"), body.get("errors")] if isinstance(body, dict) else []
        said = "; ".join(str(part) for part in parts if part)
        return " ".join(self._own(said[:_MOST_READ]).split())[:_MOST_SAID] or "no reason given"

    def _own(self, words: str) -> str:
        return without(words, *secrets_in(self._headers))

    def _unreachable(self, response: httpx.Response, said: str) -> Retry:
        return Retry("ForgeUnreachable", f"{self._name} at {self._base} answered {response.status_code}: {said}.")


def understood(method: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """A method of a forge, with its failures as what to do next.

    ForgeRefused: the forge refuses the content. ForgeUnreachable: an answer is not what the API describes, because
    something else may answer at the address.
    """

    @wraps(method)
    def read(*of: Arguments.args, **named: Arguments.kwargs) -> Answer:
        try:
            return method(*of, **named)
        except Refused as error:
            said = f"{error.forge} refused the pull request ({error.status}): {error.said}."
            raise Stall("ForgeRefused", said) from error
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            told = f"{type(of[0]).__name__} answered what its API does not describe: is the address a forge's?"
            raise Retry("ForgeUnreachable", told) from error

    return read


def unmet(what: str, act: Callable[[], object]) -> tuple[str, ...]:
    """Nothing where it could be done, else what the forge did not take: a pull request stands without it."""
    try:
        act()
    except Refused as error:
        return (f"{what}: {error.said}",)
    except MfuError as error:
        return (f"{what}: {error.message}",)
    return ()


def reviewers_unmet(api: Api, where: str, reviewers: Sequence[str]) -> tuple[str, ...]:
    """Ask reviewers as GitHub and Gitea take them; what was not taken. One by one: they refuse all where they refuse
    one."""
    told = tuple[str, ...]()
    for name in reviewers:
        team = name.partition("/")[2]
        one = {"team_reviewers": [team]} if team else {"reviewers": [name]}
        told += unmet(f"reviewer {name}", partial(api.post, where, one))
    return told


def text_of(value: object) -> str | None:
    """A text, or None for none. Raises TypeError: it is neither."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} where a text belongs")


def _moved_within(response: httpx.Response, base: str) -> str | None:
    """Where a repository was renamed to, on the same origin: the token goes nowhere else. None where it was not."""
    if response.status_code not in (301, 307, 308):
        return None
    try:
        there, here = response.request.url.join(response.headers.get("location", "")), httpx.URL(base)
    except httpx.InvalidURL:
        return None
    same = (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)
    return str(there) if same and not there.userinfo else None
