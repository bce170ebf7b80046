"""Bitbucket Cloud."""

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import Api, Refused, Web, text_of, understood, unmet
from mfu_operator.adapters.forges.marks import WITHDRAWN, Comment, closing_text, keep_note
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState
from mfu_operator.ports import Credentials

_PAGE = 100
_STATES = {"OPEN": PullRequestState.OPEN, "DRAFT": PullRequestState.OPEN, "MERGED": PullRequestState.MERGED}


class Bitbucket:
    """The Forge port for one repository of Bitbucket Cloud (API 2.0), which knows no labels."""

    def __init__(self, address: Address, credentials: Credentials, web: Web) -> None:
        root = "https://api.bitbucket.org" if address.host == "bitbucket.org" else address.web
        self._api = Api(
            "Bitbucket",
            f"{root}/2.0/repositories/{address.path}",
            {"Authorization": _authorization(credentials)},
            web,
        )

    @understood
    def find(self, branch: str) -> PullRequest | None:
        """The newest pull request from `branch`, open or not (without `state` in the query only open ones are told)."""
        states = " OR ".join(f'state = "{state}"' for state in ("OPEN", "MERGED", "DECLINED", "SUPERSEDED"))
        params: dict[str, str | int] = {"q": f'source.branch.name = "{branch}" AND ({states})', "sort": "-created_on"}
        found = self._api.get("pullrequests", params)
        if found is None:
            raise self._api.missing("such repository")
        own = [pull for pull in found["values"] if _is_own(pull)]
        return _read(own[0]) if own else None

    @understood
    def ensure(self, proposal: Proposal) -> PullRequest:
        """The pull request from the proposal's branch, opened unless there is one.

        Bitbucket answers a second creation with the first request, so a race makes no second one.
        """
        found = self.find(proposal.branch)
        if found is not None:
            return found
        body: dict[str, Any] = {
            "title": proposal.title,
            "description": proposal.body,
            "source": {"branch": {"name": proposal.branch}},
            "close_source_branch": True,
        }
        if proposal.base not in ("", "HEAD"):
            body["destination"] = {"branch": {"name": proposal.base}}
        if proposal.review.draft:
            body["draft"] = True
        try:
            opened = _read(self._api.post("pullrequests", body))
            return replace(opened, unmet=self._ask(opened.number, proposal))
        except Refused:
            raced = self.find(proposal.branch)
            if raced is None:
                raise
            return raced

    def _ask(self, number: int, proposal: Proposal) -> tuple[str, ...]:
        """Reviewers, whom Bitbucket takes by uuid alone; what was not taken."""
        review = proposal.review
        ids = [name for name in review.reviewers if name.startswith("{")]
        told = tuple(
            f"reviewer {name}: Bitbucket wants the uuid, in braces" for name in review.reviewers if name not in ids
        )
        told += ("labels and assignees: Bitbucket has none",) if review.labels or review.assignees else ()
        if ids:
            body = {"title": proposal.title, "reviewers": [{"uuid": each} for each in ids]}
            told += unmet("reviewers", lambda: self._api.change(f"pullrequests/{number}", body, "PUT"))
        return told

    @understood
    def get(self, number: int) -> PullRequest:
        """The pull request by number."""
        return _read(self._pull(number))

    @understood
    def commit_message(self, sha: str) -> str | None:
        """The message of a commit; None where there is no such commit."""
        found = self._api.get(f"commit/{quote(sha, safe='')}")
        return None if found is None else str(found["message"])

    @understood
    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Decline the pull request unless it is closed: first its description, because declining takes none."""
        pull = self._pull(number)
        if _STATES.get(pull["state"]) is not PullRequestState.OPEN:
            return _read(pull)
        text = closing_text(remark, closing, str(pull.get("description") or ""))
        self._api.change(f"pullrequests/{number}", {"title": pull["title"], "description": text}, "PUT")
        return _read(self._api.post(f"pullrequests/{number}/decline", {}))

    @understood
    def note(self, number: int, text: str) -> None:
        """The operator's comment on a pull request."""
        path = f"pullrequests/{number}/comments"
        found = self._api.get(path, {"q": "deleted = false", "pagelen": _PAGE}) or {}
        keep_note(
            text,
            [
                Comment(each["id"], str((each.get("content") or {}).get("raw")), _author(each.get("user")))
                for each in found.get("values", ())
            ],
            _author(self._pull(number).get("author")),
            lambda said: self._api.post(path, {"content": {"raw": said}}),
            lambda known, said: self._api.change(f"{path}/{known.id}", {"content": {"raw": said}}, "PUT"),
        )

    def _pull(self, number: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] | None = self._api.get(f"pullrequests/{number}")
        if found is None:
            raise self._api.missing(f"pull request {number}")
        return found


def _author(of: Mapping[str, Any] | None) -> object:
    return (of or {}).get("uuid")


def _authorization(credentials: Credentials) -> str:
    """An access token, or a user with an app password or API token."""
    if not credentials.username:
        return f"Bearer {credentials.password}"
    pair = base64.b64encode(f"{credentials.username}:{credentials.password}".encode()).decode()
    return f"Basic {pair}"


def _is_own(pull: Mapping[str, Any]) -> bool:
    source, destination = (pull[end].get("repository") or {} for end in ("source", "destination"))
    return source.get("full_name") == destination.get("full_name")


def _read(pull: Mapping[str, Any]) -> PullRequest:
    state = _STATES.get(pull["state"], PullRequestState.CLOSED)
    merged = state is PullRequestState.MERGED
    return PullRequest(
        number=int(pull["id"]),
        url=str(pull["links"]["html"]["href"]),
        branch=str(pull["source"]["branch"]["name"]),
        state=state,
        title=str(pull["title"]),
        head=text_of((pull["source"].get("commit") or {}).get("hash")),
        merge_sha=text_of((pull.get("merge_commit") or {}).get("hash")) if merged else None,
        merged_at=unix_time(pull.get("closed_on") or pull.get("updated_on")) if merged else None,
        withdrawn=state is PullRequestState.CLOSED and WITHDRAWN in str(pull.get("description")),
    )
