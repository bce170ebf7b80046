"""GitHub and GitHub Enterprise Server."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import LABEL, Api, Refused, Web, reviewers_unmet, text_of, understood, unmet
from mfu_operator.adapters.forges.marks import WITHDRAWN, Comment, closing_text, keep_note
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState, Review
from mfu_operator.ports import Credentials

_PAGE = 100


def root_of(address: Address) -> str:
    """The base URL of GitHub's API for a repository."""
    return "https://api.github.com" if address.host == "github.com" else f"{address.web}/api/v3"


class GitHub:
    """The Forge port for one repository of GitHub (REST, version 2022-11-28)."""

    def __init__(self, address: Address, credentials: Credentials, web: Web) -> None:
        headers = {
            "Authorization": f"Bearer {credentials.password}",
            "Accept": "application/vnd.github+json, application/json;q=0.9",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        self._owner = address.owner
        self._repository = f"repos/{address.path}"
        self._api = Api("GitHub", root_of(address), headers, web)

    @understood
    def find(self, branch: str) -> PullRequest | None:
        """The newest pull request from `branch`, open or not."""
        params: dict[str, str | int] = {
            "head": f"{self._owner}:{branch}",
            "state": "all",
            "sort": "created",
            "direction": "desc",
        }
        found = self._api.get(f"{self._repository}/pulls", params)
        if found is None:
            raise self._api.missing("such repository")
        from_branch = [pull for pull in found if pull["head"]["ref"] == branch]
        return _read(from_branch[0]) if from_branch else None

    @understood
    def ensure(self, proposal: Proposal) -> PullRequest:
        """The pull request from the proposal's branch, opened unless there is one; then labelled, where that works."""
        found = self.find(proposal.branch)
        if found is not None:
            return found
        body = {"title": proposal.title, "body": proposal.body, "head": proposal.branch, "base": self._base(proposal)}
        pulls, drafted = f"{self._repository}/pulls", tuple[str, ...]()
        try:
            opened = _read(self._api.post(pulls, body | ({"draft": True} if proposal.review.draft else {})))
        except Refused as error:
            raced = self.find(proposal.branch)
            if raced is not None:
                return raced
            if not proposal.review.draft or "draft" not in error.said.lower():
                raise
            drafted = (f"draft: {error.said}",)
            opened = _read(self._api.post(pulls, body))
        return replace(opened, unmet=(*drafted, *self._ask(opened.number, proposal.review)))

    @understood
    def get(self, number: int) -> PullRequest:
        """The pull request by number."""
        return _read(self._pull(number))

    @understood
    def commit_message(self, sha: str) -> str | None:
        """The message of a commit; None where there is no such commit."""
        found = self._api.get(f"{self._repository}/commits/{quote(sha, safe='')}")
        return None if found is None else str(found["commit"]["message"])

    @understood
    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Close the pull request unless it is closed."""
        pull = self._pull(number)
        if pull["state"] != "open":
            return _read(pull)
        body = {"state": "closed", "body": closing_text(remark, closing, str(pull.get("body") or ""))}
        return _read(self._api.change(f"{self._repository}/pulls/{number}", body))

    @understood
    def note(self, number: int, text: str) -> None:
        """The operator's comment on a pull request, which is an issue of the same number."""
        comments = f"{self._repository}/issues/{number}/comments"
        keep_note(
            text,
            [
                Comment(each["id"], str(each["body"]), _author(each))
                for each in self._api.pages(comments, {"per_page": _PAGE}, _PAGE)
            ],
            _author(self._pull(number)),
            lambda said: self._api.post(comments, {"body": said}),
            lambda known, said: self._api.change(f"{self._repository}/issues/comments/{known.id}", {"body": said}),
        )

    def _pull(self, number: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] | None = self._api.get(f"{self._repository}/pulls/{number}")
        if found is None:
            raise self._api.missing(f"pull request {number}")
        return found

    def _base(self, proposal: Proposal) -> str:
        if proposal.base not in ("", "HEAD"):
            return proposal.base
        found = self._api.get(self._repository)
        if found is None:
            raise self._api.missing("such repository")
        return str(found["default_branch"])

    def _ask(self, number: int, review: Review) -> tuple[str, ...]:
        """Labels, assignees and reviewers; what was not taken, of what was asked for. Fine-grained tokens need
        `issues: write` for labels and assignees."""
        issue, told = f"{self._repository}/issues/{number}", tuple[str, ...]()
        labelled = unmet("labels", lambda: self._api.post(f"{issue}/labels", {"labels": [LABEL, *review.labels]}))
        told += labelled if review.labels else ()
        if review.assignees:
            asked = {"assignees": list(review.assignees)}
            told += unmet("assignees", lambda: self._api.post(f"{issue}/assignees", asked))
        where = f"{self._repository}/pulls/{number}/requested_reviewers"
        return told + reviewers_unmet(self._api, where, review.reviewers)


def _author(of: Mapping[str, Any]) -> object:
    return (of.get("user") or {}).get("id")


def _read(pull: Mapping[str, Any]) -> PullRequest:
    merged_at = pull.get("merged_at")
    closed = PullRequestState.CLOSED if pull["state"] == "closed" else PullRequestState.OPEN
    return PullRequest(
        number=int(pull["number"]),
        url=str(pull["html_url"]),
        branch=str(pull["head"]["ref"]),
        state=PullRequestState.MERGED if merged_at else closed,
        title=str(pull["title"]),
        head=text_of(pull["head"].get("sha")),
        merge_sha=text_of(pull.get("merge_commit_sha")) if merged_at else None,
        merged_at=unix_time(merged_at),
        withdrawn=not merged_at and closed is PullRequestState.CLOSED and WITHDRAWN in str(pull.get("body")),
    )
