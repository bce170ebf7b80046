"""Talking to a forge: JSON both ways, the token in a header only, failures as what to do next."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from mfu_operator.errors import Retry, Stall

LABEL = "mfu-operator"
TIMEOUT = httpx.Timeout(20.0, connect=10.0)
PAGES = 20
"""Pages of a list that are read at most."""


class Refused(Exception):
    """The forge refused a request for its content (400, 409, 422): often because it was done already."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status
        self.said = said


class Api:
    """One forge's API, below one base URL.

    Args:
        name: the forge, for messages.
        base: its API's base URL.
        headers: with the token.
        transport: for tests.
    """

    def __init__(
        self, name: str, base: str, headers: Mapping[str, str], transport: httpx.BaseTransport | None = None
    ) -> None:
        self._name = name
        self._base = base.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "mfu-operator", **headers}
        self._transport = transport

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """The JSON at a path; None where there is none (404)."""
        return self._ask("GET", path, params=params)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that a creation answers with; Refused where the forge will not."""
        return self._ask("POST", path, json=body)

    def pages(self, path: str, params: Mapping[str, str | int], size: int) -> Iterator[Any]:
        """The items of a list, page by page, until one is not full."""
        for page in range(1, PAGES + 1):
            items: Sequence[Any] = self.get(path, {**params, "page": page}) or ()
            yield from items
            if len(items) < size:
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
        try:
            with httpx.Client(headers=self._headers, timeout=TIMEOUT, transport=self._transport) as client:
                response = client.request(method, f"{self._base}/{path}".rstrip("/"), params=params, json=json)
        except httpx.HTTPError as error:
            raise Retry(
                "ForgeUnreachable", f"{self._name} at {self._base} does not answer: {type(error).__name__}."
            ) from None
        return self._read(method, path, response)

    def _read(self, method: str, path: str, response: httpx.Response) -> Any:
        status = response.status_code
        if status == 404 and method == "GET":
            return None
        if status in (200, 201, 202):
            try:
                return response.json()
            except ValueError:
                raise self._unreachable(response, "an answer that is no JSON: is the address a forge's?") from None
        self._raise(path, response)
        raise AssertionError("unreachable")

    def _raise(self, path: str, response: httpx.Response) -> None:
        status, said = response.status_code, _said(response)
        if status == 429 or (status == 403 and _limited(response)):
            wait = response.headers.get("retry-after", "")
            raise Retry("ForgeRateLimited", f"{self._name} limits our requests{f' for {wait} s' if wait else ''}.")
        if status in (401, 403, 404):
            raise Retry(
                "ForgeAccessDenied",
                f"{self._name} refused {path} ({status}): {said}. Check the Secret in "
                "spec.remediation.forge.secretRef: its token must be valid and may open pull requests here.",
            )
        if status in (400, 409, 422):
            raise Refused(status, said)
        if 300 <= status < 400:
            raise Stall(
                "ForgeRefused",
                f"{self._name} has moved {path} to {response.headers.get('location', '?').partition('?')[0]}: set "
                "spec.remediation.repository to the new address.",
            )
        if status < 500:
            raise Stall("ForgeRefused", f"{self._name} refused {path} ({status}): {said}.")
        raise self._unreachable(response, said)

    def _unreachable(self, response: httpx.Response, said: str) -> Retry:
        return Retry("ForgeUnreachable", f"{self._name} at {self._base} answered {response.status_code}: {said}.")


def refused(name: str, error: Refused) -> Stall:
    """The error for a request that the forge will never take."""
    return Stall("ForgeRefused", f"{name} refused the pull request ({error.status}): {error.said}.")


def _limited(response: httpx.Response) -> bool:
    return response.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in response.headers


def _said(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return " ".join(response.text.split())[:200] or "no reason given"
    if not isinstance(body, dict):
        return str(body)[:300]
    parts = [body.get("message"), body.get("error"), body.get("errors")]
    return "; ".join(str(part) for part in parts if part)[:300] or "no reason given"
