"""A forge in memory, held to the same contract as the real ones."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha1

from mfu_operator.errors import MfuError, Retry
from mfu_operator.model.proposal import Closing, Proposal, PullRequest, PullRequestState


class ForgeDouble:
    """Holds `pulls`, the `proposals` that opened them and the `messages` of their commits, and what the operator said:
    `notes` and, of those that it withdrew, `remarks`. `fails` is raised instead of every answer while it is set.
    `branches` are the heads of a repository's, where there is one."""

    def __init__(self, branches: Mapping[str, str] | None = None) -> None:
        self.branches = {} if branches is None else branches
        self.notes: dict[int, str] = {}
        self.remarks: dict[int, str] = {}
        self.pulls: list[PullRequest] = []
        self.proposals: dict[int, Proposal] = {}
        self.messages: dict[str, str] = {}
        self.fails: MfuError | None = None

    def find(self, branch: str) -> PullRequest | None:
        self._fail()
        return next((pull for pull in reversed(self.pulls) if pull.branch == branch), None)

    def ensure(self, proposal: Proposal) -> PullRequest:
        found = self.find(proposal.branch)
        if found is not None:
            return found
        number = len(self.pulls) + 1
        url = f"https://forge.invalid/team/models/pulls/{number}"
        head = self.branches.get(proposal.branch) or sha1(proposal.commit_message.encode()).hexdigest()
        opened = PullRequest(number, url, proposal.branch, PullRequestState.OPEN, proposal.title, head)
        self.messages[head] = proposal.commit_message
        self.pulls.append(opened)
        self.proposals[number] = proposal
        return opened

    def get(self, number: int) -> PullRequest:
        self._fail()
        for pull in self.pulls:
            if pull.number == number:
                return pull
        raise Retry("ForgeAccessDenied", f"there is no pull request {number}")

    def commit_message(self, sha: str) -> str | None:
        self._fail()
        return self.messages.get(sha)

    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        found = self.get(number)
        if found.state is PullRequestState.OPEN:
            self._become(number, state=PullRequestState.CLOSED, withdrawn=closing is Closing.NOT_NEEDED)
            self.remarks[number] = remark
        return self.get(number)

    def note(self, number: int, text: str) -> None:
        self.get(number)
        self.notes[number] = text

    def close(self, number: int) -> None:
        """A person says no."""
        self._become(number, state=PullRequestState.CLOSED)

    def merge(self, number: int, merge_sha: str = "f" * 40, at_s: float = 1_700_000_000.0) -> str:
        """A person says yes."""
        self._become(number, state=PullRequestState.MERGED, merge_sha=merge_sha, merged_at=at_s)
        return merge_sha

    def edit(self, number: int, **changes: object) -> None:
        """A person changes what the forge shows of it."""
        self._become(number, **changes)

    def _become(self, number: int, **changes: object) -> None:
        self.pulls = [replace(pull, **changes) if pull.number == number else pull for pull in self.pulls]  # type: ignore[arg-type]

    def _fail(self) -> None:
        if self.fails is not None:
            raise self.fails
