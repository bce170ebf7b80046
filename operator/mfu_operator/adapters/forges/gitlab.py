"""GitLab, the service and self-managed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import LABEL, Api, Refused, Web, text_of, understood, unmet
from mfu_operator.adapters.forges.marks import WITHDRAWN, Comment, closing_text, keep_note
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.errors import MfuError
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState, Review
from mfu_operator.ports import Credentials

_PAGE = 100
_STATES = {"opened": PullRequestState.OPEN, "locked": PullRequestState.OPEN, "merged": PullRequestState.MERGED}


class GitLab:
    """The Forge port for one project of GitLab (API v4). Its pull requests are merge requests."""

    def __init__(self, address: Address, credentials: Credentials, web: Web) -> None:
        project = quote(address.path, safe="")
        self._api = Api(
            "GitLab",
            f"{address.web}/api/v4/projects/{project}",
            {"PRIVATE-TOKEN": credentials.password or ""},
            web,
        )

    @understood
    def find(self, branch: str) -> PullRequest | None:
        """The newest merge request from `branch`, open or not."""
        params: dict[str, str | int] = {
            "source_branch": branch,
            "state": "all",
            "order_by": "created_at",
            "sort": "desc",
        }
        found = self._api.get("merge_requests", params)
        if found is None:
            raise self._api.missing("such project")
        own = [request for request in found if request.get("source_project_id") == request.get("target_project_id")]
        return _read(own[0]) if own else None

    @understood
    def ensure(self, proposal: Proposal) -> PullRequest:
        """The merge request from the proposal's branch, opened unless there is one."""
        found = self.find(proposal.branch)
        if found is not None:
            return found
        review = proposal.review
        body = {
            "source_branch": proposal.branch,
            "target_branch": self._base(proposal),
            "title": f"Draft: {proposal.title}" if review.draft else proposal.title,
            "description": proposal.body,
            "labels": ",".join([LABEL, *(label for label in review.labels if "," not in label)]),
            "remove_source_branch": True,
        }
        try:
            opened = _read(self._api.post("merge_requests", body))
            return replace(opened, unmet=self._ask(opened.number, review))
        except Refused as error:
            raced = self.find(proposal.branch) if error.status == 409 else None
            if raced is None:
                raise
            return raced

    @understood
    def get(self, number: int) -> PullRequest:
        """The merge request by its number in the project (iid)."""
        return _read(self._request(number))

    @understood
    def commit_message(self, sha: str) -> str | None:
        """The message of a commit; None where there is no such commit."""
        found = self._api.get(f"repository/commits/{quote(sha, safe='')}")
        return None if found is None else str(found["message"])

    @understood
    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Close the merge request unless it is closed."""
        request = self._request(number)
        if request["state"] != "opened":
            return _read(request)
        text = closing_text(remark, closing, str(request.get("description") or ""))
        body = {"state_event": "close", "description": text}
        return _read(self._api.change(f"merge_requests/{number}", body, "PUT"))

    @understood
    def note(self, number: int, text: str) -> None:
        """The operator's comment on a merge request, which GitLab calls a note."""
        notes = f"merge_requests/{number}/notes"
        keep_note(
            text,
            [
                Comment(each["id"], str(each["body"]), _author(each))
                for each in self._api.pages(notes, {"per_page": _PAGE, "sort": "asc"}, _PAGE)
            ],
            _author(self._request(number)),
            lambda said: self._api.post(notes, {"body": said}),
            lambda known, said: self._api.change(f"{notes}/{known.id}", {"body": said}, "PUT"),
        )

    def _ask(self, number: int, review: Review) -> tuple[str, ...]:
        """Reviewers and assignees, whom GitLab takes by number; what was not taken. Free tiers keep one of each."""
        told, asked = tuple[str, ...](), dict[str, list[int]]()
        for field, names in (("reviewer_ids", review.reviewers), ("assignee_ids", review.assignees)):
            known = {name: self._user(name) for name in names}
            asked[field] = [number for number in known.values() if number is not None]
            told += tuple(f"{field[:8]} {name}: the project has no such user" for name in known if known[name] is None)
        asked = {field: numbers for field, numbers in asked.items() if numbers}
        if asked:
            told += unmet("reviewers", lambda: self._api.change(f"merge_requests/{number}", asked, "PUT"))
        return told

    def _user(self, name: str) -> int | None:
        try:
            found = self._api.get("users", {"search": name, "per_page": _PAGE}) or ()
        except MfuError:
            return None
        return next((int(user["id"]) for user in found if user.get("username") == name), None)

    def _request(self, number: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] | None = self._api.get(f"merge_requests/{number}")
        if found is None:
            raise self._api.missing(f"merge request {number}")
        return found

    def _base(self, proposal: Proposal) -> str:
        if proposal.base not in ("", "HEAD"):
            return proposal.base
        found = self._api.get("")
        if found is None:
            raise self._api.missing("such project")
        return str(found["default_branch"])


def _author(of: Mapping[str, Any]) -> object:
    return (of.get("author") or {}).get("id")


def _read(request: Mapping[str, Any]) -> PullRequest:
    state = _STATES.get(request["state"], PullRequestState.CLOSED)
    merged = state is PullRequestState.MERGED
    landed = request.get("merge_commit_sha") or request.get("squash_commit_sha") or request.get("sha")
    return PullRequest(
        number=int(request["iid"]),
        url=str(request["web_url"]),
        branch=str(request["source_branch"]),
        state=state,
        title=str(request["title"]),
        head=text_of(request.get("sha")),
        merge_sha=text_of(landed) if merged else None,
        merged_at=unix_time(request.get("merged_at")) if merged else None,
        withdrawn=state is PullRequestState.CLOSED and WITHDRAWN in str(request.get("description")),
    )
