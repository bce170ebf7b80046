"""One rank's capture API over HTTP. Whom it speaks to is checked on each connection, before the token is sent on it."""

import http.client
import json
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from mfu_operator.model.masking import without
from mfu_operator.profiling.live.request import TargetPod

POD_HEADER = "Mfu-Pod-Uid"
TIMEOUT_S = 10.0
"""For one answer; a rank that says nothing for so long is asked again or given up."""

LARGEST_ANSWER = 64 << 10
CHUNK = 1 << 20
OK, ACCEPTED, OVERLOADED = 200, 202, 503

Answer = TypeVar("Answer", bound=msgspec.Struct)


class RankError(Exception):
    """A rank that cannot be captured: a word for why, and a sentence for a person."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why
        self.message = message


class RankUnreachable(RankError):
    """Nobody answers now; a later question may be answered."""


class Refused(RankError):
    """The rank answered a request with a refusal."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(_WORDS.get(status, "Refused"), message)
        self.status = status


UNKNOWN, BUSY, TOO_LATE, NOT_NOW, TOO_SOON = 404, 409, 412, 423, 429
_WORDS: Mapping[int, str] = {
    401: "TokenRefused",
    403: "TokenMissing",
    UNKNOWN: "NotServed",
    BUSY: "Busy",
    410: "TraceGone",
    TOO_LATE: "StepPassed",
    NOT_NOW: "OtherPhase",
    TOO_SOON: "TooSoon",
}


Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Several = Annotated[int, msgspec.Meta(ge=1, le=1 << 53)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    """What one capture of a rank may be at most."""

    steps: Several = 30
    seconds: float = 600.0
    bytes: int = 256 << 20


class Described(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The answer to GET /capture. Kineto's daemon protocol tells neither rank nor world size, step or phase: None."""

    recorder: str
    rank: Count | None = None
    world_size: Several | None = None
    local_rank: Count | None = None
    step: Count | None = None
    phase: str | None = None
    step_seconds: Seconds | None = None
    busy: bool | None = None
    limits: Limits | None = None

    @property
    def most_steps(self) -> int:
        """Steps that one capture of the rank may have."""
        return (self.limits or Limits()).steps


class Progress(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The answer to GET /capture/ID. A recorder that does not know its first step says when it recorded, on its node's
    clock."""

    state: str
    step: Count | None = None
    first_step: Count | None = None
    reason: str | None = None
    bytes: int | None = None
    pause_seconds: Seconds | None = None
    start_ns: int | None = None
    end_ns: int | None = None


class _Connection(http.client.HTTPConnection):
    """One moment bounds all that is read of an answer: a socket's own timeout begins anew with each byte, so that a
    rank which sends one now and then is waited for without end."""

    def connect(self) -> None:
        super().connect()
        self.sock = _Socket(fileno=self.sock.detach())
        self.within(self.timeout or TIMEOUT_S)

    def within(self, seconds: float) -> None:
        """What is read from here on is read within so many seconds."""
        if isinstance(self.sock, _Socket):
            self.sock.ends_s = time.monotonic() + seconds
            self.sock.settimeout(seconds)


class _Socket(socket.socket):
    """Reads until a moment. `ends_s` is on a clock that nobody sets."""

    ends_s = 0.0

    def recv_into(self, *arguments: Any) -> int:
        left_s = self.ends_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left_s)
        return super().recv_into(*arguments)


class RankApi:
    """The capture API of one rank. Not for several threads at once.

    Args:
        pod: whom the operator saw at the address.
        local_rank: which of the pod's ranks; each listens on a port of its own.
        token: sent to this pod and to no other.
        timeout_s: for one answer.
    """

    def __init__(self, pod: TargetPod, local_rank: int, token: str, timeout_s: float = TIMEOUT_S) -> None:
        self.pod = pod
        self.local_rank = local_rank
        self._token = token
        self._authorization = {"Authorization": f"Bearer {token}"}
        self._timeout_s = timeout_s
        self._connection: _Connection | None = None

    def describe(self) -> Described:
        """Who and where the rank is. Raises RankError."""
        return self._decoded(self._ask("GET", "/capture"), Described)

    def capture(self, capture: str, first_step: int, steps: int) -> None:
        """Ask for steps from one on. Raises Refused, RankError."""
        self._begin(capture, {"firstStep": first_step}, steps)

    def capture_rounded(self, capture: str, round_up: int, steps: int) -> None:
        """Ask for steps from the next multiple of so many on. Raises Refused, RankError."""
        self._begin(capture, {"roundUp": round_up}, steps)

    def _begin(self, capture: str, begins: Mapping[str, int], steps: int) -> None:
        self._ask("POST", "/capture", {"id": capture, **begins, "steps": steps}, ACCEPTED)

    def progress(self, capture: str) -> Progress:
        """How far a capture is. Raises RankError."""
        return self._decoded(self._ask("GET", f"/capture/{capture}"), Progress)

    def forget(self, capture: str) -> None:
        """Stop and forget a capture, as far as the rank can still be asked."""
        with suppress(RankError):
            self._ask("DELETE", f"/capture/{capture}")

    def fetch(self, capture: str, into: Path, most_bytes: int, within_s: float) -> int:
        """Stream a trace into a file; its bytes. Raises RankError, also where it has not all come in time."""
        answer = self._answer("GET", f"/capture/{capture}/trace", within_s=within_s)
        if answer.status != OK:
            raise self._refusal(answer.status, answer.read(LARGEST_ANSWER))
        size = 0
        try:
            with into.open("wb") as file:
                while chunk := answer.read(CHUNK):
                    size += len(chunk)
                    if size > most_bytes:
                        raise RankError("TraceTooLarge", f"{self._who} sends a trace of more than {most_bytes} bytes")
                    file.write(chunk)
        except (OSError, http.client.HTTPException) as error:
            raise RankUnreachable("Unreachable", f"{self._who} stopped sending its trace: {_said(error)}") from error
        finally:
            if not answer.isclosed():
                self.close()
        return size

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _who(self) -> str:
        return f"pod {self.pod.name} at {self.pod.ip}:{self.pod.port + self.local_rank}"

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, wanted: int = OK) -> bytes:
        answer = self._answer(method, path, body)
        content = self._content(answer)
        if answer.status != wanted:
            raise self._refusal(answer.status, content)
        return content

    def _answer(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, within_s: float | None = None
    ) -> http.client.HTTPResponse:
        """An answer, on a connection whose other side has been checked: the kept one, or a new one where it is gone."""
        content = None if body is None else json.dumps(body).encode()
        within_s = self._timeout_s if within_s is None else within_s
        if self._connection is not None:
            with suppress(OSError, http.client.HTTPException):
                return self._exchanged(method, path, content, within_s)
            self.close()
        self._connect()
        try:
            return self._exchanged(method, path, content, within_s)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise RankUnreachable("Unreachable", f"{self._who} does not answer: {_said(error)}") from error

    def _exchanged(self, method: str, path: str, content: bytes | None, within_s: float) -> http.client.HTTPResponse:
        assert self._connection is not None
        self._connection.within(within_s)
        self._connection.request(method, path, content, self._authorization)
        return self._connection.getresponse()

    def _connect(self) -> None:
        """Open a connection, and ask who is there without saying the token."""
        connection = _Connection(self.pod.ip, self.pod.port + self.local_rank, timeout=self._timeout_s)
        try:
            connection.request("GET", "/capture")
            answer = connection.getresponse()
            uid = answer.headers.get(POD_HEADER)
            answer.read(LARGEST_ANSWER)
            kept = answer.isclosed() and not answer.will_close
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise RankUnreachable("Unreachable", f"{self._who} does not answer: {_said(error)}") from error
        if uid != self.pod.uid or not kept:
            connection.close()
        if uid is None:
            raise RankError(
                "IdentityUnknown",
                f"{self._who} does not say which pod it is, so the token is not sent; upgrade mfu_probe, or set "
                "MFU_PROBE_POD_UID from metadata.uid",
            )
        if uid != self.pod.uid:
            raise RankError("PodReplaced", f"{self._who} is another pod now (uid {uid}); the token is not sent to it")
        if not kept:
            raise RankError("NotServed", f"{self._who} ends each connection, so nobody there can be known")
        self._connection = connection

    def _content(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            content = answer.read(LARGEST_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise RankUnreachable("Unreachable", f"{self._who} stopped answering: {_said(error)}") from error
        if not answer.isclosed():
            self.close()
            raise RankError("AnswerUnreadable", f"{self._who} sends more than {LARGEST_ANSWER} bytes")
        return without(content.decode(errors="replace"), self._token).encode()

    def _refusal(self, status: int, content: bytes) -> RankError:
        try:
            said = msgspec.json.decode(content, type=dict[str, Any]).get("error", "")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            said = ""
        told = f"{self._who} answers {status}: {str(said)[:200] or 'without a reason'}"
        return RankUnreachable("Overloaded", told) if status == OVERLOADED else Refused(status, told)

    def _decoded(self, content: bytes, kind: type[Answer]) -> Answer:
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise RankError("AnswerUnreadable", f"{self._who} sends what is not an answer: {error}") from error


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
