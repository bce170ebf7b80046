"""The short-lived Git process: one request on standard input, one answer on standard output.

It clones bare and without blobs (the server sends those that are looked at), so nothing is ever checked out: no hook,
filter or attribute of the repository runs. A revert is a merge of trees.
"""

import sys
from collections.abc import Callable

import git

from mfu_operator.adapters.git.branch import ensure_branch, preview
from mfu_operator.adapters.git.clone import Clone
from mfu_operator.adapters.git.failures import explained
from mfu_operator.adapters.git.history import commits
from mfu_operator.adapters.git.protocol import Action, Answer, Failure, Request, decode_request, encode
from mfu_operator.errors import MfuError

_ACTIONS: dict[Action, Callable[[Clone, Request], Answer]] = {
    Action.COMMITS: commits,
    Action.PREVIEW: preview,
    Action.ENSURE_BRANCH: ensure_branch,
}


def answer(request: Request) -> Answer:
    """Do what is asked; every failure that can be foreseen is an answer too."""
    try:
        return _ACTIONS[request.action](Clone(request), request)
    except git.GitCommandError as error:
        found = explained(request, str(error.stderr))
    except MfuError as error:
        found = error
    return Answer(failure=Failure(type(found).__name__, found.reason, found.message))


def main() -> None:
    """Serve one request."""
    sys.stdout.buffer.write(encode(answer(decode_request(sys.stdin.buffer.read()))))


if __name__ == "__main__":
    main()
