"""The short-lived Git process: one request on standard input, one answer on standard output.

It clones bare and without blobs (the server sends at once those that are looked at), so nothing is ever checked out: no
hook, filter or attribute of the repository runs. A revert is a merge of trees. What a repository holds is parsed and
rendered here, within limits, and nowhere in the operator's own process.
"""

import os
import sys
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import git

from mfu_operator.adapters.egress import Egress
from mfu_operator.adapters.git import limits
from mfu_operator.adapters.git.branch import ensure_branch, preview, remove_branch
from mfu_operator.adapters.git.clone import Clone
from mfu_operator.adapters.git.failures import explained, too_large
from mfu_operator.adapters.git.protocol import Action, Answer, Failure, Request, decode_request, encode
from mfu_operator.adapters.git.span import span
from mfu_operator.errors import MfuError, Retry, Unreadable
from mfu_operator.investigate.findings import findings
from mfu_operator.investigate.turns import turn


def investigate(clone: Clone, request: Request) -> Answer:
    """Which commit of the window did it."""
    question = request.question
    if question is None:
        raise ValueError(f"{request.action} needs a question")
    good, bad = span(clone, question.good, question.bad)
    try:
        git_dir, waits = Path(clone.repo.git_dir), turn(Path(request.folder))
        found = findings(
            question, git_dir, good, bad, os.environ, request.others, _egress(request), waits, request.credentials
        )
    except Unreadable as error:
        raise Retry(error.reason, error.message) from error
    return Answer(findings=found)


def _egress(request: Request) -> Egress | None:
    allowed = request.allowed
    if allowed is None:
        return None
    refused = tuple(ip_network(each) for each in allowed.refused)
    return Egress(allowed.hosts, refused, frozenset(allowed.api_servers), allowed.credentials_over_http)


_ACTIONS: dict[Action, Callable[[Clone, Request], Answer]] = {
    Action.INVESTIGATE: investigate,
    Action.PREVIEW: preview,
    Action.ENSURE_BRANCH: ensure_branch,
    Action.REMOVE_BRANCH: remove_branch,
}


def answer(request: Request) -> Answer:
    """Do what is asked; every failure that can be foreseen is an answer too."""
    try:
        return _ACTIONS[request.action](Clone(request), request)
    except git.GitCommandError as error:
        found = explained(request, str(error.stderr))
    except MemoryError:
        found = too_large(request.url, f"more than {limits.DATA_BYTES >> 20} MiB of memory")
    except MfuError as error:
        found = error
    return Answer(failure=Failure(type(found).__name__, found.reason, found.message))


def main() -> None:
    """Serve one request, within the limits."""
    limits.apply()
    sys.stdout.buffer.write(encode(answer(decode_request(sys.stdin.buffer.read()))))


if __name__ == "__main__":
    main()
