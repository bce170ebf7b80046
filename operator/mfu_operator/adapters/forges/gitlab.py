"""GitLab, the service and self-managed."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import LABEL, Api, Refused, Web, refused
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.model.proposal import Proposal, PullRequest, PullRequestState
from mfu_operator.ports import Credentials

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

    def ensure(self, proposal: Proposal) -> PullRequest:
        """The merge request from the proposal's branch, opened unless there is one."""
        found = self.find(proposal.branch)
        if found is not None:
            return found
        body = {
            "source_branch": proposal.branch,
            "target_branch": self._base(proposal),
            "title": proposal.title,
            "description": proposal.body,
            "labels": LABEL,
            "remove_source_branch": True,
        }
        try:
            return _read(self._api.post("merge_requests", body))
        except Refused as error:
            raced = self.find(proposal.branch) if error.status == 409 else None
            if raced is None:
                raise refused("GitLab", error) from error
            return raced

    def get(self, number: int) -> PullRequest:
        """The merge request by its number in the project (iid)."""
        found = self._api.get(f"merge_requests/{number}")
        if found is None:
            raise self._api.missing(f"merge request {number}")
        return _read(found)

    def commit_message(self, sha: str) -> str | None:
        """The message of a commit; None where there is no such commit."""
        found = self._api.get(f"repository/commits/{quote(sha, safe='')}")
        return None if found is None else str(found["message"])

    def _base(self, proposal: Proposal) -> str:
        if proposal.base not in ("", "HEAD"):
            return proposal.base
        found = self._api.get("")
        if found is None:
            raise self._api.missing("such project")
        return str(found["default_branch"])


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
        head=request.get("sha"),
        merge_sha=landed if merged else None,
        merged_at=unix_time(request.get("merged_at")) if merged else None,
    )
