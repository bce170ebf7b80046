"""The Repository port: every look at a repository is a process of its own, with a deadline and a temporary folder.

GitPython is not made for processes that live long, so only what `child` runs imports it. The child gets an environment
of ours (`environment`); credentials are in no URL, argument, log or error.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from mfu_operator.adapters.git.environment import environment
from mfu_operator.adapters.git.failures import redacted, unreachable
from mfu_operator.adapters.git.protocol import Action, Answer, Identity, Request, decode_answer, encode
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.commit import Commit, Source
from mfu_operator.model.proposal import Proposal
from mfu_operator.ports import Credentials


class GitRepository:
    """Clones without blobs, looks or pushes, and forgets. Safe to share between threads: it keeps nothing.

    Args:
        identity: who the operator's commits are from.
        deadline_s: seconds after which a process is ended.
        transports: what a repository's URL may use; `file` is for tests.
    """

    def __init__(
        self,
        identity: Identity | None = None,
        deadline_s: float = 120.0,
        transports: tuple[str, ...] = ("https", "http"),
    ) -> None:
        self._identity = identity or Identity()
        self._deadline_s = deadline_s
        self._transports = transports

    def commits(self, source: Source, good: str, bad: str, credentials: Credentials | None) -> tuple[Commit, ...]:
        """The commits after `good` up to `bad` on the first-parent line, newest first, with their changes.

        Raises AskPerson(HistoryRewritten, WindowTooWide) and what `ensure_branch` raises for the repository itself.
        """
        return self._ask(Action.COMMITS, source, credentials, good=good, bad=bad).commits

    def preview(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        """The unified diff that the proposal makes; nothing is pushed.

        Raises AskPerson(RevertConflict, NothingToRevert, NothingToPin, HistoryRewritten).
        """
        return self._ask(Action.PREVIEW, source, credentials, proposal=proposal).text

    def ensure_branch(self, source: Source, proposal: Proposal, credentials: Credentials | None) -> str:
        """Push the proposal's branch unless it is there; the head's sha.

        Raises what `preview` raises, AskPerson(BranchTouched), Retry(RepositoryUnreachable, RepositoryAccessDenied,
        RepositoryRefused) and Stall(RepositoryUnsupported, BranchMissing, GitTooOld).
        """
        return self._ask(Action.ENSURE_BRANCH, source, credentials, proposal=proposal).text

    def _ask(
        self,
        action: Action,
        source: Source,
        credentials: Credentials | None,
        good: str = "",
        bad: str = "",
        proposal: Proposal | None = None,
    ) -> Answer:
        url = clean_url(source.repository)
        if urlsplit(url).scheme not in self._transports:
            raise Stall(
                "RepositoryUnsupported",
                f"{url} cannot be used: give an address that begins with {' or '.join(self._transports)} in "
                "spec.remediation.repository.",
            )
        with tempfile.TemporaryDirectory(prefix="mfu-git-") as folder:
            request = Request(action, url, folder, source, self._identity, good, bad, proposal)
            answer = self._run(request, environment(url, credentials, folder, self._transports))
        if answer.failure is not None:
            raise answer.failure.error()
        return answer

    def _run(self, request: Request, env: Mapping[str, str]) -> Answer:
        command = [sys.executable, "-m", "mfu_operator.adapters.git.child"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=request.folder,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(encode(request), timeout=self._deadline_s)
        except subprocess.TimeoutExpired:
            raise unreachable(f"{request.url} did not answer within {self._deadline_s:.0f} s") from None
        finally:
            _end(process)
        try:
            return decode_answer(out)
        except msgspec.DecodeError:
            last = redacted(err.decode(errors="replace").strip().rpartition("\n")[2], env.get("MFU_GIT_PASSWORD"))
            raise Retry("RepositoryUnreachable", f"git failed on {request.url}: {last or process.returncode}") from None


def clean_url(repository: str) -> str:
    """The address without credentials; `git@host:owner/name` and ssh:// become https, for which a token serves."""
    scp = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)(.+)", repository)
    if scp and "/" not in scp[1]:
        return f"https://{scp[1]}/{scp[2].lstrip('/')}"
    parts = urlsplit(repository)
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme == "ssh":
        return f"https://{host.partition(':')[0]}{parts.path}"
    return parts._replace(netloc=host).geturl()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and every git that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
