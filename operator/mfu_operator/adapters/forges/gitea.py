"""Gitea and Forgejo."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import LABEL, Api, Refused, Web, reviewers_unmet, text_of, understood, unmet
from mfu_operator.adapters.forges.marks import WITHDRAWN, Comment, closing_text, keep_note
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState, Review
from mfu_operator.ports import Credentials

_PAGE = 50


class Gitea:
    """The Forge port for one repository of a Gitea or Forgejo (API v1)."""

    def __init__(self, address: Address, credentials: Credentials, web: Web) -> None:
        self._api = Api(
            "Gitea",
            f"{address.web}/api/v1/repos/{address.path}",
            {"Authorization": f"token {credentials.password}"},
            web,
        )

    @understood
    def find(self, branch: str) -> PullRequest | None:
        """The newest pull request from `branch`, open or not. Its list has no such filter, so pages are read."""
        if self._api.get("") is None:
            raise self._api.missing("such repository")
        params: dict[str, str | int] = {"state": "all", "limit": _PAGE}
        from_branch = [pull for pull in self._api.pages("pulls", params, _PAGE) if _is_from(pull, branch)]
        return _read(max(from_branch, key=lambda pull: int(pull["number"]))) if from_branch else None

    @understood
    def ensure(self, proposal: Proposal) -> PullRequest:
        """The pull request from the proposal's branch, opened unless there is one."""
        found = self.find(proposal.branch)
        if found is not None:
            return found
        review = proposal.review
        title = f"WIP: {proposal.title}" if review.draft else proposal.title
        body = {"title": title, "body": proposal.body, "head": proposal.branch, "base": self._base(proposal)}
        try:
            labels, missing = self._labels(review.labels)
            opened = _read(self._api.post("pulls", body | {"labels": labels}))
            return replace(opened, unmet=(*missing, *self._ask(opened.number, review)))
        except Refused as error:
            raced = self.find(proposal.branch) if error.status == 409 else None
            if raced is None:
                raise
            return raced

    @understood
    def get(self, number: int) -> PullRequest:
        """The pull request by number."""
        return _read(self._pull(number))

    @understood
    def commit_message(self, sha: str) -> str | None:
        """The message of a commit; None where there is no such commit."""
        found = self._api.get(f"git/commits/{quote(sha, safe='')}")
        return None if found is None else str(found["commit"]["message"])

    @understood
    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Close the pull request unless it is closed."""
        pull = self._pull(number)
        if pull["state"] != "open":
            return _read(pull)
        body = {"state": "closed", "body": closing_text(remark, closing, str(pull.get("body") or ""))}
        return _read(self._api.change(f"pulls/{number}", body))

    @understood
    def note(self, number: int, text: str) -> None:
        """The operator's comment on a pull request, which is an issue of the same number."""
        comments = f"issues/{number}/comments"
        keep_note(
            text,
            [Comment(each["id"], str(each["body"]), _author(each)) for each in self._api.get(comments) or ()],
            _author(self._pull(number)),
            lambda said: self._api.post(comments, {"body": said}),
            lambda known, said: self._api.change(f"issues/comments/{known.id}", {"body": said}),
        )

    def _pull(self, number: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] | None = self._api.get(f"pulls/{number}")
        if found is None:
            raise self._api.missing(f"pull request {number}")
        return found

    def _base(self, proposal: Proposal) -> str:
        if proposal.base not in ("", "HEAD"):
            return proposal.base
        return str(self._api.get("")["default_branch"])

    def _ask(self, number: int, review: Review) -> tuple[str, ...]:
        """Assignees and reviewers; what was not taken."""
        told = tuple[str, ...]()
        if review.assignees:
            asked = {"assignees": list(review.assignees)}
            told += unmet("assignees", lambda: self._api.change(f"pulls/{number}", asked))
        return told + reviewers_unmet(self._api, f"pulls/{number}/requested_reviewers", review.reviewers)

    def _labels(self, wanted: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
        """The labels' ids, and what is said of those that there are not. The operator's own is made."""
        known = {label["name"]: label["id"] for label in self._api.get("labels", {"limit": _PAGE}) or ()}
        missing = tuple(f"label {name}: the repository has none of this name" for name in wanted if name not in known)
        own = [known[LABEL]] if LABEL in known else self._own_label()
        return [*own, *(known[name] for name in wanted if name in known)], missing

    def _own_label(self) -> list[int]:
        """None where the token may not make it."""
        try:
            made = self._api.post(
                "labels", {"name": LABEL, "color": "#76b900", "description": "Opened by mfu-operator"}
            )
        except Refused:
            return []
        return [made["id"]]


def _author(of: Mapping[str, Any]) -> object:
    return (of.get("user") or {}).get("id")


def _is_from(pull: Mapping[str, Any], branch: str) -> bool:
    """`head.label` is the branch even after it was deleted, when `head.ref` no longer is."""
    head = pull["head"]
    return branch in (head.get("label"), head.get("ref")) and head.get("repo_id") == pull["base"].get("repo_id")


def _read(pull: Mapping[str, Any]) -> PullRequest:
    merged = bool(pull.get("merged"))
    closed = PullRequestState.CLOSED if pull["state"] == "closed" else PullRequestState.OPEN
    return PullRequest(
        number=int(pull["number"]),
        url=str(pull["html_url"]),
        branch=str(pull["head"].get("label") or pull["head"]["ref"]),
        state=PullRequestState.MERGED if merged else closed,
        title=str(pull["title"]),
        head=text_of(pull["head"].get("sha")),
        merge_sha=text_of(pull.get("merge_commit_sha")) if merged else None,
        merged_at=unix_time(pull.get("merged_at")) if merged else None,
        withdrawn=not merged and closed is PullRequestState.CLOSED and WITHDRAWN in str(pull.get("body")),
    )
