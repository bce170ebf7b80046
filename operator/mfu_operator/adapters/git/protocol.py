"""What the operator and its short-lived Git process say to each other, as JSON on standard input and output."""

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from mfu_operator.errors import AskPerson, MfuError, Retry, Stall
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import Proposal
from mfu_operator.ports import Credentials

FETCHED = "fetched"
"""The file in a request's folder that is there once the repository's server has sent everything."""

TURN = "turn"
"""The file there that lets the process render what was fetched: one does at a time."""


class Action(StrEnum):
    """One per method of the Repository port."""

    INVESTIGATE = "investigate"
    PREVIEW = "preview"
    ENSURE_BRANCH = "ensureBranch"
    REMOVE_BRANCH = "removeBranch"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the operator's commits are from."""

    name: str = "mfu-operator"
    email: str = "mfu-operator@noreply.invalid"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Where the process may fetch charts from, as `Egress` has it; networks in CIDR notation."""

    hosts: tuple[str, ...]
    refused: tuple[str, ...]
    api_servers: tuple[tuple[str, int], ...]
    credentials_over_http: bool


@dataclass(frozen=True, slots=True)
class Request:
    """One piece of work. `url` holds no credentials; `folder` is empty and removed by the caller; `others` are the
    addresses of more repositories that may be fetched; `branch` is one to remove and the commit that it must be at;
    `signing_key` signs the proposal's commit; `credentials` are what charts may be fetched with."""

    action: Action
    url: str
    folder: str
    source: Source
    identity: Identity
    question: Question | None = None
    others: tuple[str, ...] = ()
    proposal: Proposal | None = None
    branch: tuple[str, str] | None = None
    signing_key: str | None = field(default=None, repr=False)
    allowed: Allowed | None = None
    credentials: Credentials | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of `errors.py` by its name."""

    kind: str
    reason: str
    message: str

    def error(self) -> MfuError:
        """The error itself."""
        kinds: dict[str, type[MfuError]] = {kind.__name__: kind for kind in (Retry, Stall, AskPerson)}
        return kinds.get(self.kind, Retry)(self.reason, self.message)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: findings, a text (a diff, or a branch head's sha), or a failure."""

    findings: Findings | None = None
    text: str = ""
    failure: Failure | None = None


def encode(value: Request | Answer) -> bytes:
    """As JSON."""
    return msgspec.json.encode(value)


def decode_request(data: bytes) -> Request:
    """A request from its JSON."""
    return msgspec.json.decode(data, type=Request)


def decode_answer(data: bytes) -> Answer:
    """An answer from its JSON; msgspec.DecodeError where it is none."""
    return msgspec.json.decode(data, type=Answer)
