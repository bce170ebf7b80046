"""Azure DevOps, the service and the server."""

import base64
import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import LABEL, Api, Refused, Web, text_of, understood, unmet
from mfu_operator.adapters.forges.marks import WITHDRAWN, Comment, closing_text, cut, keep_note
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.errors import Stall
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState, Review
from mfu_operator.ports import Credentials

_STATES = {"active": PullRequestState.OPEN, "completed": PullRequestState.MERGED}

LONGEST = 4000
"""Characters of a description."""

_HEADS = "refs/heads/"
_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class AzureDevOps:
    """The Forge port for one repository of Azure DevOps (REST 7.1), by a personal access token."""

    def __init__(self, address: Address, credentials: Credentials, web: Web) -> None:
        above, found, name = f"/{address.path}".partition("/_git/")
        if not found or not name:
            raise Stall(
                "ForgeUnknown",
                f"{address.path} is not a repository of Azure DevOps: write spec.remediation.repository as "
                "https://dev.azure.com/ORGANISATION/PROJECT/_git/REPOSITORY.",
            )
        pair = base64.b64encode(f":{credentials.password}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Accept": "application/json;api-version=7.1"}
        self._page = f"{address.web}{above}/_git/{name}/pullrequest"
        self._api = Api("Azure DevOps", f"{address.web}{above}/_apis/git/repositories/{name}", headers, web)

    @understood
    def find(self, branch: str) -> PullRequest | None:
        """The newest pull request from `branch`, open or not."""
        params: dict[str, str | int] = {
            "searchCriteria.sourceRefName": f"{_HEADS}{branch}",
            "searchCriteria.status": "all",
            "$top": 100,
        }
        found = self._api.get("pullrequests", params)
        if found is None:
            raise self._api.missing("such repository")
        own = [pull for pull in found["value"] if not pull.get("forkSource")]
        return self._read(max(own, key=lambda pull: int(pull["pullRequestId"]))) if own else None

    @understood
    def ensure(self, proposal: Proposal) -> PullRequest:
        """The pull request from the proposal's branch, opened unless there is one."""
        found = self.find(proposal.branch)
        if found is not None:
            return found
        body = {
            "sourceRefName": f"{_HEADS}{proposal.branch}",
            "targetRefName": f"{_HEADS}{self._base(proposal)}",
            "title": proposal.title,
            "description": cut(proposal.body, LONGEST),
            "labels": [{"name": name} for name in (LABEL, *proposal.review.labels)],
            "isDraft": proposal.review.draft,
        }
        try:
            opened = self._read(self._api.post("pullrequests", body))
            return replace(opened, unmet=self._ask(opened.number, proposal.review))
        except Refused:
            raced = self.find(proposal.branch)
            if raced is None:
                raise
            return raced

    def _ask(self, number: int, review: Review) -> tuple[str, ...]:
        """Reviewers, whom Azure DevOps takes by id alone; what was not taken."""
        told = tuple(["assignees: Azure DevOps has none"] if review.assignees else [])
        for name in review.reviewers:
            if not _ID.fullmatch(name):
                told += (f"reviewer {name}: Azure DevOps wants the id of the identity",)
                continue
            where = f"pullrequests/{number}/reviewers/{name}"
            told += unmet(f"reviewer {name}", functools.partial(self._api.change, where, {"vote": 0}, "PUT"))
        return told

    @understood
    def get(self, number: int) -> PullRequest:
        """The pull request by number."""
        return self._read(self._pull(number))

    @understood
    def commit_message(self, sha: str) -> str | None:
        """The message of a commit; None where there is no such commit."""
        found = self._api.get(f"commits/{quote(sha, safe='')}")
        return None if found is None else str(found["comment"])

    @understood
    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Abandon the pull request unless it is closed."""
        pull = self._pull(number)
        if pull["status"] != "active":
            return self._read(pull)
        text = closing_text(remark, closing, str(pull.get("description") or ""), LONGEST)
        return self._read(self._api.change(f"pullrequests/{number}", {"status": "abandoned", "description": text}))

    @understood
    def note(self, number: int, text: str) -> None:
        """The operator's comment, which begins a thread that waits for nobody."""
        path = f"pullrequests/{number}/threads"
        threads = (self._api.get(path) or {}).get("value", ())
        comments = [
            Comment(f"{thread['id']}/comments/{each['id']}", str(each.get("content")), _id(each.get("author")))
            for thread in threads
            for each in thread.get("comments") or ()
        ]
        keep_note(
            text,
            comments,
            _id(self._pull(number).get("createdBy")),
            lambda said: self._api.post(
                path,
                {
                    "comments": [{"parentCommentId": 0, "content": said, "commentType": "text"}],
                    "status": "closed",
                },
            ),
            lambda known, said: self._api.change(f"{path}/{known.id}", {"content": said}),
        )

    def _pull(self, number: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] | None = self._api.get(f"pullrequests/{number}")
        if found is None:
            raise self._api.missing(f"pull request {number}")
        return found

    def _base(self, proposal: Proposal) -> str:
        if proposal.base not in ("", "HEAD"):
            return proposal.base
        found = self._api.get("")
        if found is None:
            raise self._api.missing("such repository")
        return str(found["defaultBranch"]).removeprefix(_HEADS)

    def _read(self, pull: Mapping[str, Any]) -> PullRequest:
        state = _STATES.get(pull["status"], PullRequestState.CLOSED)
        merged = state is PullRequestState.MERGED
        return PullRequest(
            number=int(pull["pullRequestId"]),
            url=f"{self._page}/{int(pull['pullRequestId'])}",
            branch=str(pull["sourceRefName"]).removeprefix(_HEADS),
            state=state,
            title=str(pull["title"]),
            head=text_of((pull.get("lastMergeSourceCommit") or {}).get("commitId")),
            merge_sha=text_of((pull.get("lastMergeCommit") or {}).get("commitId")) if merged else None,
            merged_at=unix_time(text_of(pull.get("closedDate"))) if merged else None,
            withdrawn=state is PullRequestState.CLOSED and WITHDRAWN in str(pull.get("description")),
        )


def _id(author: Mapping[str, Any] | None) -> object:
    return (author or {}).get("id")
