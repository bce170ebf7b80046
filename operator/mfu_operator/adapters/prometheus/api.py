"""The HTTP API of Prometheus: a query's rows, or what stands in the way and what to do about it.

https://prometheus.io/docs/prometheus/latest/querying/api/
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from threading import BoundedSemaphore
from urllib.parse import urlsplit

import httpx
import msgspec

from mfu_operator.adapters import tls
from mfu_operator.adapters.egress import ANYWHERE, Egress
from mfu_operator.adapters.guarded_http import AnswerTooLarge, client, content
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.masking import without
from mfu_operator.model.web_address import flaw
from mfu_operator.ports import Credentials

INSTANT, RANGE = "/api/v1/query", "/api/v1/query_range"

DEADLINE_S = 20.0
"""For one query, to the last byte of its answer. Longer than Prometheus needs for 10,000 series, shorter than a sweep
of 30 s."""

LARGEST_ANSWER = 256 * 2**20
"""Bytes of the operator's own Prometheus, uncompressed. 2,500 jobs of 64 ranks are 64 MiB."""

LARGEST_OF_A_BASELINE = 4 * 2**20
"""Of one that a baseline names: whoever may write a baseline may have anything answer there, and what is read of it
takes twenty times its bytes. What is more is asked for in halves; one job of 512 pods has half a megabyte."""

READ_AT_ONCE = 4
"""Answers of such ones that are in memory as rows: three hundred megabytes, however many are asked at once."""

CLOCKS_APART_S = 30.0
"""Its clock and ours may differ by the seconds that an answer takes; beyond it, its times are not ours."""

_TENANT_HEADERS = ("X-Scope-OrgID", "THANOS-TENANT")
"""Of Mimir and Cortex: https://grafana.com/docs/mimir/latest/manage/secure/authentication-and-authorization/ and of
Thanos: https://thanos.io/tip/operating/multi-tenancy.md/"""

_TOO_LONG = (httpx.codes.REQUEST_ENTITY_TOO_LARGE, httpx.codes.REQUEST_URI_TOO_LONG)

_EVALUATION_FAILED = "execution"
"""The type of an error in a query that was understood: https://prometheus.io/docs/prometheus/latest/querying/api/.
Thanos gives it where a store is down and partial answers are refused."""

_TOO_MUCH = ("too many samples", "err-mimir-max-")
"""In the words of an evaluation that failed at a limit of one query: of Prometheus and Thanos, and of Mimir
(https://grafana.com/docs/mimir/latest/manage/mimir-runbooks/#errors-catalog)."""

_ON_THE_QUERY = "PromQL "
"""Begins what is said of a query and not of the data: "PromQL info: …", "PromQL warning: …"."""

_MOST_ERROR_TEXT = 200
"""Of the server's own words, in a condition's message."""

_MOST_READ = 16_384
"""Of those in which is looked for what the server was sent."""


class TooLarge(Retry):
    """The answer is larger than it may be: less could be asked for at once."""


class Row(msgspec.Struct):
    """One series of an answer: `value` of an instant query, `values` of a range query, as (time, text)."""

    metric: dict[str, str] = {}
    value: tuple[float, str] | None = None
    values: list[tuple[float, str]] = []

    def points(self) -> list[tuple[float, float]]:
        """(time, number); what is not a number is NaN."""
        pairs = self.values if self.value is None else [self.value]
        return [(at_s, _number(text)) for at_s, text in pairs]


class _Data(msgspec.Struct):
    result: list[Row] = []


class _Answer(msgspec.Struct):
    """What every Prometheus API answers with."""

    status: str = ""
    error: str = "no explanation"
    error_type: str = msgspec.field(name="errorType", default="")
    data: _Data | None = None
    warnings: list[str] | None = None
    is_partial: bool = msgspec.field(name="isPartial", default=False)

    def lacking(self) -> str | None:
        """What part of its data a server could not reach, in its own words: warnings of Thanos, and of Prometheus with
        remote storage; `isPartial` of VictoriaMetrics' cluster. None where the answer is whole."""
        warnings = [each for each in self.warnings or () if not each.startswith(_ON_THE_QUERY)]
        if warnings:
            return warnings[0]
        return "it calls its answer partial" if self.is_partial else None

    def is_too_much(self) -> bool:
        """Whether less could be asked for at once."""
        return self.error_type == _EVALUATION_FAILED and any(words in self.error for words in _TOO_MUCH)


_DECODER = msgspec.json.Decoder(_Answer)
_READING = BoundedSemaphore(READ_AT_ONCE)


class PrometheusApi:
    """One address, asked with one set of credentials.

    Args:
        address: base URL, without credentials.
        credentials: sent as a bearer token (password alone) or as basic authentication.
        tenant: the tenant of a Mimir or Cortex.
        transport: another httpx transport, for tests.
        clock: the time here, Unix seconds, to tell how far the server's clock is off.
        deadline_s: for one query.
        largest: bytes of one answer.
        egress: where the operator may go.

    Raises:
        Stall: InvalidPrometheusAddress, CredentialsInAddress, CertificateUnreadable, AddressRefused,
            CredentialsUnencrypted.
    """

    def __init__(
        self,
        address: str,
        credentials: Credentials | None,
        tenant: str | None,
        transport: httpx.BaseTransport | None,
        clock: Callable[[], float],
        deadline_s: float = DEADLINE_S,
        largest: int = LARGEST_ANSWER,
        egress: Egress = ANYWHERE,
    ) -> None:
        _check(address)
        self.address = address.rstrip("/")
        self.ahead_s = 0.0
        """How far the server's clock is ahead of ours, where that is more than an answer takes; learnt from answers."""
        self.lacking: str | None = None
        """What part of its data the server could not reach for some answer since this was None, in its own words."""
        self._clock = clock
        self._deadline_s = deadline_s
        self._largest = largest
        self._secret = credentials.password if credentials else None
        headers = dict.fromkeys(_TENANT_HEADERS, tenant) if tenant else {}
        auth = None
        if credentials and credentials.password and credentials.username:
            auth = httpx.BasicAuth(credentials.username, credentials.password)
        elif credentials and credentials.password:
            headers["Authorization"] = f"Bearer {credentials.password}"
        self._client = client(
            self.address,
            egress,
            headers,
            deadline_s,
            auth=auth,
            verify=tls.context_of(credentials),
            transport=transport,
        )

    def there(self, time_s: float) -> str:
        """A time of ours as the server's clock has it."""
        return f"{time_s + self.ahead_s:.3f}"

    @contextmanager
    def rows(self, path: str, form: Mapping[str, str]) -> Iterator[list[Row]]:
        """The result rows of a query, though some of the data could not be reached (`lacking`). They are to be let go
        of at the end: of Prometheuses that baselines name, so many answers are read at once.

        Raises Retry, or Stall for a query that the server cannot understand, or that is too much for it.
        """
        response, body = self._answer_to(path, form)
        if self._largest == LARGEST_ANSWER:
            yield self._read(response, body, form)
            return
        if not _READING.acquire(timeout=self._deadline_s):
            told = f"the answers of {READ_AT_ONCE} others are being read; {self.address} is asked again"
            raise Retry("PrometheusUnavailable", told)
        try:
            yield self._read(response, body, form)
        finally:
            _READING.release()

    def _read(self, response: httpx.Response, body: bytes, form: Mapping[str, str]) -> list[Row]:
        self._note_clock(response)
        if response.status_code in (401, 403):
            raise Retry(
                "PrometheusRefused",
                f"{self.address} answered {response.status_code}: check the Secret that "
                "spec.metrics.prometheus.secretRef names",
            )
        if response.status_code in _TOO_LONG:
            told = f"{self.address} answered {response.status_code} to a query of {len(form['query'])} bytes"
            raise _rejected(f"{told}: let it, or the proxy before it, take longer requests")
        answer = self._decoded(response, body)
        if answer.is_too_much():
            raise _rejected(f"{self.address} answered {self._words(answer.error)}: let it load more")
        if response.status_code in (400, 422) and answer.error_type != _EVALUATION_FAILED:
            told = f"{self.address} rejected a query: {self._words(answer.error)}"
            raise _rejected(f"{told}: check metrics.names")
        if response.status_code != httpx.codes.OK or answer.status != "success" or answer.data is None:
            raise Retry(
                "PrometheusUnavailable",
                f"{self.address} answered {response.status_code}: {self._words(answer.error)}",
            )
        lacking = answer.lacking()
        self.lacking = self.lacking if lacking is None else self._words(lacking)
        return answer.data.result

    def _words(self, said: str) -> str:
        """The server's own words, without what it was sent."""
        return without(said[:_MOST_READ], self._secret)[:_MOST_ERROR_TEXT]

    def _answer_to(self, path: str, form: Mapping[str, str]) -> tuple[httpx.Response, bytes]:
        try:
            with self._client.stream("POST", f"{self.address}{path}", data=dict(form)) as response:
                return response, content(response, self._largest)
        except AnswerTooLarge:
            told = f"{self.address} answered with more than {self._largest >> 20} MiB"
            raise TooLarge("PrometheusUnavailable", told) from None
        except httpx.TimeoutException:
            told = f"{self.address} did not answer within {self._deadline_s:g} s"
            raise Retry("PrometheusUnreachable", told) from None
        except httpx.HTTPError as error:
            problem = tls.explained(error)
            if problem is not None:
                raise Retry("PrometheusTlsFailed", f"{self.address}: {problem}") from None
            raise Retry(
                "PrometheusUnreachable",
                f"{self.address} cannot be reached ({type(error).__name__}): check "
                "spec.metrics.prometheus.address and the network",
            ) from None

    def _note_clock(self, response: httpx.Response) -> None:
        try:
            server_s = parsedate_to_datetime(response.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        ahead_s = server_s - self._clock()
        if abs(ahead_s - self.ahead_s) > CLOCKS_APART_S:
            self.ahead_s = ahead_s if abs(ahead_s) > CLOCKS_APART_S else 0.0

    def _decoded(self, response: httpx.Response, body: bytes) -> _Answer:
        try:
            return _DECODER.decode(body)
        except (msgspec.DecodeError, RecursionError):
            pass
        if response.status_code >= 500 or response.status_code == 429:
            raise Retry("PrometheusUnavailable", f"{self.address} answered {response.status_code}")
        raise Retry(
            "PrometheusUnreachable",
            f"{self.address} answered {response.status_code} and is not a Prometheus API: check "
            "spec.metrics.prometheus.address",
        )


def _rejected(message: str) -> Stall:
    return Stall("QueryRejected", message)


def is_rejection(problem: Stall) -> bool:
    """Whether the server refused a query as it is: it cannot understand it, or the query is too long for it."""
    return problem.reason == _rejected("").reason


def _check(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Stall(
            "InvalidPrometheusAddress",
            "spec.metrics.prometheus.address must be a URL like http://prometheus.monitoring:9090",
        )
    if parts.username or parts.password:
        raise Stall(
            "CredentialsInAddress",
            "spec.metrics.prometheus.address holds a password: put it into a Secret, prometheus.secretRef",
        )
    problem = flaw(address)
    if problem is not None:
        raise Stall("InvalidPrometheusAddress", f"spec.metrics.prometheus.address {problem}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
