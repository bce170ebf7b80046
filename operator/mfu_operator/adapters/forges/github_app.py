"""GitHub Apps: a key signs what the App proves itself with, and GitHub gives a token of one hour for it.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app
"""

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import Any

import jwt

from mfu_operator.adapters.forges.address import Address, parse
from mfu_operator.adapters.forges.github import root_of
from mfu_operator.adapters.forges.http import DIRECT, Api, Refused, Web, trusting
from mfu_operator.adapters.forges.kinds import kind_of
from mfu_operator.adapters.timestamps import unix_time
from mfu_operator.errors import Retry, Stall
from mfu_operator.model.baseline import ForgeKind
from mfu_operator.ports import AppKey, Credentials

RENEWED_S = 600.0
"""A token is renewed so long before its end: a push that began with it takes two minutes at most."""

_BACKDATED_S = 60.0
"""GitHub's advice, for clocks that differ."""

_PROOF_S = 540.0
"""GitHub takes proofs of at most ten minutes."""

_MOST = 1000
"""Tokens in memory: one per App and installation."""

_USER = "x-access-token"
"""The user that git names beside a token of an installation."""


class AppTokens:
    """Exchanges the key of an App for a token of its installation, and keeps that in memory until it is renewed.

    Any thread may call.

    Args:
        web: where the operator may go.
        clock: the time now, Unix seconds.
    """

    def __init__(self, web: Web = DIRECT, clock: Callable[[], float] = time.time) -> None:
        self._web = web
        self._clock = clock
        self._lock = Lock()
        self._tokens: dict[tuple[str, ...], tuple[str, float]] = {}

    def exchange(
        self, kind: ForgeKind | None, repository: str, address: str | None, credentials: Credentials | None
    ) -> Credentials | None:
        """Credentials that git and the forge take. Those without an App's key stay as they are.

        Args:
            kind: the forge as declared; None guesses from the host.
            repository: the repository's address, in any of its forms.
            address: the forge's base URL where it is not the repository's host.
            credentials: what the Secret holds.

        Raises:
            Stall: CredentialsUnbound, where the Secret may not be sent there; CredentialsUnfit, where its key is none,
                or the forge is not GitHub.
            Retry: (ForgeAccessDenied) GitHub knows no such App, or it is not installed there; ForgeUnreachable.
        """
        if credentials is None or credentials.app is None:
            return credentials
        where = parse(repository, address)
        if kind_of(kind, where) is not ForgeKind.GITHUB:
            raise Stall("CredentialsUnfit", f"the Secret holds a GitHub App's key, and {where.host} is not GitHub")
        credentials.require(f"{where.web}/{where.path}")
        token = self._kept(credentials.app, where) or self._new(credentials, credentials.app, where)
        return replace(credentials, app=None, username=_USER, password=token)

    def _kept(self, app: AppKey, where: Address) -> str | None:
        with self._lock:
            token, ends_s = self._tokens.get(_key(app, where), ("", 0.0))
        return token if self._clock() < ends_s - RENEWED_S else None

    def _new(self, credentials: Credentials, app: AppKey, where: Address) -> str:
        proof = _proof(app, self._clock())
        api = Api("GitHub", root_of(where), {"Authorization": f"Bearer {proof}"}, trusting(self._web, credentials))
        installation = app.installation or _installation(api, app, where)
        try:
            answer = api.post(f"app/installations/{installation}/access_tokens", {})
        except Refused as error:
            said = f"gave no token for installation {installation} ({error.status}): {error.said}"
            raise _denied(app, said) from None
        token, ends_s = _read(answer)
        with self._lock:
            now_s = self._clock()
            self._tokens = {each: kept for each, kept in self._tokens.items() if now_s < kept[1] - RENEWED_S}
            if len(self._tokens) < _MOST:
                self._tokens[_key(app, where)] = (token, ends_s)
        return token


def _key(app: AppKey, where: Address) -> tuple[str, ...]:
    """What a token is for: a key that was replaced has none, and where GitHub says the installation it is the
    repository's."""
    known = sha256(app.private_key.encode()).hexdigest()
    return root_of(where), app.app_id, known, app.installation or where.path


def _proof(app: AppKey, now_s: float) -> str:
    claims = {"iat": int(now_s - _BACKDATED_S), "exp": int(now_s + _PROOF_S), "iss": app.app_id}
    try:
        return jwt.encode(claims, app.private_key, algorithm="RS256")
    except (ValueError, TypeError, jwt.PyJWTError):
        raise Stall(
            "CredentialsUnfit",
            "the key githubAppPrivateKey of the Secret is not an RSA key in PEM: write the file that GitHub gave, with "
            "--from-file=githubAppPrivateKey=FILE",
        ) from None


def _installation(api: Api, app: AppKey, where: Address) -> str:
    found = api.get(f"repos/{where.path}/installation")
    if found is None:
        raise _denied(app, f"does not know it at {where.path}: install the App on that repository")
    try:
        return str(int(found["id"]))
    except (TypeError, KeyError, ValueError):
        raise Retry("ForgeUnreachable", "GitHub answered with no installation's number.") from None


def _read(answer: Any) -> tuple[str, float]:
    try:
        token, ends_s = answer["token"], unix_time(answer["expires_at"])
    except (TypeError, KeyError, ValueError, AttributeError):
        token, ends_s = None, None
    if not isinstance(token, str) or not token or ends_s is None:
        raise Retry("ForgeUnreachable", "GitHub answered with no token.")
    return token, ends_s


def _denied(app: AppKey, said: str) -> Retry:
    return Retry(
        "ForgeAccessDenied",
        f"GitHub refused App {app.app_id}: it {said}. Check githubAppID, githubAppInstallationID and "
        "githubAppPrivateKey of the Secret in spec.remediation.forge.secretRef.",
    )
