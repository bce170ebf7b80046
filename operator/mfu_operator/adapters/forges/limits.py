"""Until when a forge wants no request. Who asks on while he is limited is limited for longer, or locked out."""

import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from threading import Lock

import httpx

from mfu_operator.errors import Retry

UNTOLD_S = 60.0
"""Where a forge says that it limits and not for how long: what GitHub asks for then."""

LONGEST_S = 3600.0
"""Primary limits are by the hour. An answer that asks for more is not believed for longer at once."""

_SAID = ("secondary rate limit", "abuse detection", "rate limit exceeded")


class Limits:
    """Known by forge and token, for the whole process."""

    def __init__(self) -> None:
        self._until_s: dict[tuple[str, int], float] = {}
        self._lock = Lock()

    def require(self, name: str, base: str, headers: Mapping[str, str]) -> None:
        """Raise Retry(ForgeRateLimited) while the forge wants no request; nothing is sent then."""
        with self._lock:
            left_s = self._until_s.get(_who(base, headers), 0.0) - time.monotonic()
        if left_s > 0:
            raise Retry("ForgeRateLimited", f"{name} at {base} limits our requests: the next may be in {left_s:.0f} s")

    def note(self, base: str, headers: Mapping[str, str], response: httpx.Response, said: str) -> None:
        """Note what an answer says of limits."""
        if not is_limited(response, said):
            return
        with self._lock:
            now_s = time.monotonic()
            self._until_s = {who: until_s for who, until_s in self._until_s.items() if until_s > now_s}
            self._until_s[_who(base, headers)] = now_s + pause_s(response.headers, time.time())


def is_limited(response: httpx.Response, said: str) -> bool:
    """Whether the forge refused because there were too many requests, GitHub's secondary limits included."""
    if response.status_code == 429:
        return True
    if response.status_code != 403:
        return response.status_code == 503 and "retry-after" in response.headers
    headers = response.headers
    spent = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers
    return spent or any(each in said.lower() for each in _SAID)


def pause_s(headers: Mapping[str, str], now_s: float) -> float:
    """For how long: Retry-After in seconds or as a date, else when the limit is reset."""
    asked = headers.get("retry-after", "").strip()
    reset = headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset") or ""
    found = UNTOLD_S
    if asked.isascii() and asked.isdigit():
        found = float(asked[:9])
    elif asked:
        try:
            found = parsedate_to_datetime(asked).timestamp() - now_s
        except (ValueError, TypeError):
            found = UNTOLD_S
    elif reset.isascii() and reset.isdigit():
        found = float(reset[:12]) - now_s
    return min(max(found, 1.0), LONGEST_S)


def _who(base: str, headers: Mapping[str, str]) -> tuple[str, int]:
    """Forge and token; of the token a number that it cannot be told from."""
    return base.partition("://")[2].partition("/")[0], hash(
        (headers.get("Authorization"), headers.get("PRIVATE-TOKEN"))
    )
