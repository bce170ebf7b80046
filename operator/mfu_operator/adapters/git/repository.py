"""The Repository port: every look at a repository is a process of its own, with a deadline and a temporary folder.

GitPython is not made for processes that live long, so only what `child` runs imports it. The child gets an environment
of ours (`environment`); credentials are in no URL, argument, log or error.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from mfu_operator.adapters.egress import ANYWHERE, PORTS, Egress, port_of, proxy_of
from mfu_operator.adapters.git import limits, memory, process
from mfu_operator.adapters.git.environment import environment, secrets_of
from mfu_operator.adapters.git.failures import MOST_SAID, redacted, too_large, unreachable
from mfu_operator.adapters.git.protocol import (
    FETCHED,
    TURN,
    Action,
    Allowed,
    Answer,
    Identity,
    Request,
    decode_answer,
    encode,
)
from mfu_operator.adapters.tls import authorities_in
from mfu_operator.errors import Retry, Stall, Wait
from mfu_operator.gitops.sources.applications import plan
from mfu_operator.gitops.sources.tree import NotRenderable
from mfu_operator.model.commit import Source
from mfu_operator.model.investigation import Findings, Question
from mfu_operator.model.proposal import Proposal
from mfu_operator.ports import PLACE, Credentials

DEADLINE_S = 120.0
"""A clone without blobs takes seconds, and rendering 300 commits of a kustomization under a minute. Nothing that a tick
waits for takes longer."""

CHILD = "mfu_operator.investigate.child"
"""What is run: by its name, because it stands on the adapters and no adapter on it."""


class GitRepository:
    """Clones without blobs, looks or pushes, and forgets. Safe to share between threads: it keeps nothing.

    Args:
        identity: who the operator's commits are from.
        deadline_s: for one look or push, from looking the host up to the end of its process.
        transports: what a repository's URL may use; `file` is for tests.
        egress: where the operator may go.
    """

    def __init__(
        self,
        identity: Identity | None = None,
        deadline_s: float = DEADLINE_S,
        transports: tuple[str, ...] = ("https", "http"),
        egress: Egress = ANYWHERE,
    ) -> None:
        self._identity = identity or Identity()
        self._deadline_s = deadline_s
        self._transports = transports
        self._egress = egress

    def investigate(self, question: Question, credentials: Credentials | None) -> Findings:
        """Which commit did it, rendered; and what undoes it.

        Raises AskPerson(HistoryRewritten, WindowTooWide), Retry(InvestigationTimedOut) and what `ensure_branch` raises
        for the repository itself.
        """
        found = self._ask(Action.INVESTIGATE, question.source, credentials, question=question).findings
        assert found is not None
        return found

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

    def remove_branch(self, source: Source, branch: str, head: str, credentials: Credentials | None) -> None:
        """Remove the branch where it still is at `head`. Raises what `ensure_branch` raises for the repository."""
        self._ask(Action.REMOVE_BRANCH, source, credentials, branch=(branch, head))

    def _ask(
        self,
        action: Action,
        source: Source,
        credentials: Credentials | None,
        question: Question | None = None,
        proposal: Proposal | None = None,
        branch: tuple[str, str] | None = None,
    ) -> Answer:
        url = clean_url(source.repository)
        if urlsplit(url).scheme not in self._transports:
            raise Stall(
                "RepositoryUnsupported",
                f"{url} cannot be used: give an address that begins with {' or '.join(self._transports)} in "
                "spec.remediation.repository.",
            )
        ends_s = time.monotonic() + self._deadline_s
        logins = {url: _login(url, credentials)}
        addresses = {url: self._judged(url, logins[url])}
        if question is not None:
            for each, login, judged in self._others(question.source, url, credentials):
                logins[each], addresses[each] = login, judged
        with tempfile.TemporaryDirectory(prefix="mfu-git-") as folder:
            others = tuple(address for address in addresses if address != url)
            allowed = _allowed(self._egress) if question is not None else None
            key = credentials.signing_key if credentials is not None else None
            request = Request(
                action,
                url,
                folder,
                source,
                self._identity,
                question,
                others,
                proposal,
                branch,
                key,
                allowed,
                credentials if question is not None else None,
            )
            shown = {each: login for each, login in logins.items() if login is not None}
            env = environment(shown, folder, self._transports, addresses, _authorities(shown, Path(folder)))
            answer = self._run(request, env, ends_s - time.monotonic())
        if answer.failure is not None:
            raise answer.failure.error()
        return answer

    def _others(
        self, source: Source, main: str, credentials: Credentials | None
    ) -> Iterator[tuple[str, Credentials | None, tuple[str, ...]]]:
        """The application's other repositories, with what their servers are shown and what git may connect to; those
        that may not be reached, or not with these credentials, are left out, and what they give is not rendered."""
        try:
            named = plan(source.objects).sources if source.objects else ()
        except NotRenderable:
            return
        for each in named:
            url = clean_url(each.repository)
            if each.chart or url == main or urlsplit(url).scheme not in self._transports:
                continue
            login = credentials.toward(url) if credentials is not None else None
            with suppress(Stall):  # a name that is not resolved now may be in a minute: that is tried again
                yield url, login, self._judged(url, login)

    def _judged(self, url: str, credentials: Credentials | None) -> tuple[str, ...]:
        """The addresses that git may connect to; none where it need not be told, or a proxy resolves."""
        parts = urlsplit(url)
        if parts.scheme not in PORTS:
            return ()
        if credentials is not None:
            credentials.require(url)
        self._egress.require(url, with_credentials=credentials is not None and bool(credentials.password))
        if proxy_of(url) is not None:
            return ()
        try:
            return self._egress.addresses(parts.hostname or "", port_of(url))
        except OSError as error:
            raise unreachable(f"{url} cannot be resolved: {error.strerror or error}") from None

    def _run(self, request: Request, env: Mapping[str, str], left_s: float) -> Answer:
        command = [sys.executable, "-m", CHILD]
        try:
            watch = watched(Path(request.folder), request.url)
            ended = process.run(command, encode(request), env, request.folder, left_s, limits.ANSWER_BYTES, watch)
        except TimeoutError:
            if (Path(request.folder) / FETCHED).exists():
                raise Retry(
                    "InvestigationTimedOut",
                    f"rendering the window's commits of {request.url} was not done within {self._deadline_s:.0f} s of "
                    "asking for them; it is tried again",
                ) from None
            raise unreachable(f"{request.url} did not answer within {self._deadline_s:.0f} s") from None
        except process.TooMuch:
            raise too_large(request.url, f"the answer is longer than {limits.ANSWER_BYTES >> 20} MiB") from None
        try:
            return decode_answer(ended.out)
        except msgspec.DecodeError:
            last = redacted(ended.err.strip().rpartition("\n")[2], *secrets_of(env))[:MOST_SAID]
            raise Retry("RepositoryUnreachable", f"git failed on {request.url}: {last or ended.status}") from None


def watched(folder: Path, url: str) -> Callable[[int], None]:
    """Ends a look whose place others need, or that takes much where memory is short, and lets it render when it is its
    turn."""
    place = PLACE.get()

    def watch(process: int) -> None:
        if place is not None and place.needed:
            raise Wait(
                "HostBusy",
                f"the look at {url} was ended for another namespace, which has taken much less; it is made again at a "
                "later tick",
            )
        renders = (folder / TURN).exists()
        enough = memory.SCARCE if renders else memory.SHORT
        if memory.share() > enough and (taken := memory.taken(process)) > memory.MUCH_BYTES:
            raise Wait(
                "HostBusy",
                f"the look at {url} took {taken >> 20} MiB while the operator was short of memory, and was ended; it "
                "is made again at a later tick. Where that repeats raise resources.limits.memory in the chart's values",
            )
        if (folder / FETCHED).exists() and not renders and (place is None or place.may_render()):
            (folder / TURN).touch()

    return watch


def _login(url: str, credentials: Credentials | None) -> Credentials | None:
    """What the repository's own server is shown: the forge's, else what was made for the address."""
    return credentials if credentials is None or credentials.password else credentials.toward(url)


def _authorities(logins: Mapping[str, Credentials], folder: Path) -> dict[str, str]:
    """By URL, a file with the authorities that its Secret names. Raises Stall: CertificateUnreadable."""
    found = {}
    for number, (url, login) in enumerate(logins.items()):
        if login.ca is not None:
            file = folder / f"authorities-{number}.crt"
            file.write_text(authorities_in(login.ca))
            found[url] = str(file)
    return found


def _allowed(egress: Egress) -> Allowed:
    refused = tuple(map(str, egress.refused))
    return Allowed(egress.hosts, refused, tuple(sorted(egress.api_servers)), egress.credentials_over_http)


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
