"""A host that holds Git repositories and whose API the operator does not know: the branch is pushed, a person opens the
request."""

from mfu_operator.adapters.forges.address import Address
from mfu_operator.adapters.forges.http import Web
from mfu_operator.errors import AskPerson, Retry
from mfu_operator.model.proposal import Closing, Proposal, PullRequest
from mfu_operator.ports import Credentials


class OtherHost:
    """The Forge port for any other host. It has no pull requests that the operator could see."""

    def __init__(self, address: Address, credentials: Credentials, web: Web) -> None:
        self._repository = f"{address.web}/{address.path}"

    def find(self, branch: str) -> PullRequest | None:
        """None: nobody can be asked."""
        return None

    def ensure(self, proposal: Proposal) -> PullRequest:
        """Say that the branch is there. Raises AskPerson(BranchPushed), always."""
        raise AskPerson(
            "BranchPushed",
            f"branch {proposal.branch} is pushed to {self._repository}: open its merge into {proposal.base} there, or "
            f"`git fetch origin {proposal.branch} && git merge --no-ff FETCH_HEAD` on {proposal.base}; "
            "kubectl mfu report has the text",
        )

    def get(self, number: int) -> PullRequest:
        """Raises Retry(ForgeAccessDenied): there is none."""
        raise _none(number)

    def commit_message(self, sha: str) -> str | None:
        """None: nobody can be asked."""
        return None

    def withdraw(self, number: int, remark: str, closing: Closing) -> PullRequest:
        """Raises Retry(ForgeAccessDenied): there is none."""
        raise _none(number)

    def note(self, number: int, text: str) -> None:
        """Raises Retry(ForgeAccessDenied): there is none."""
        raise _none(number)


def _none(number: int) -> Retry:
    return Retry("ForgeAccessDenied", f"spec.remediation.forge.kind is Other, so pull request {number} cannot be read")
