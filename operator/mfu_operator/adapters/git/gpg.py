"""OpenPGP signatures, made by gpg in a home of its own that goes with its agent.

A signature is as old as the commit, or as the key where that is younger, so that the proposal's commit, made again, has
the same id.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mfu_operator.errors import Stall

BEGINS = "-----BEGIN PGP PRIVATE KEY BLOCK-----"

DEADLINE_S = 30
"""A signature takes some milliseconds, starting the agent a second on a busy node."""

_GPG = ("gpg", "--batch", "--no-tty", "--quiet", "--no-options", "--pinentry-mode", "error")
_END_AGENT = ("gpgconf", "--kill", "all")
_MAKE = "gpg --batch --passphrase '' --quick-gen-key 'mfu-operator <ADDRESS>' ed25519 sign never"


class _Key(NamedTuple):
    """The one that signs: its fingerprint, and when it was made (Unix seconds)."""

    fingerprint: str
    made_s: int


def signature(content: bytes, key: str, at_s: int) -> bytes:
    """The armoured signature of some content.

    Args:
        content: what is signed.
        key: one armoured private key without a passphrase.
        at_s: when it is signed at the earliest, Unix seconds.

    Raises:
        Stall(GpgMissing): gpg is not installed.
        Stall(SigningKeyUnfit): the key is none that signs.
    """
    with tempfile.TemporaryDirectory(prefix="gpg-", ignore_cleanup_errors=True) as home:
        try:
            _run(home, ["--import"], key.encode(), "is not an OpenPGP private key")
            signs = _chosen(_run(home, ["--list-secret-keys", "--with-colons"], b"", "cannot be read").decode())
            asked = ["--faked-system-time", f"{max(at_s, signs.made_s)}!", "--local-user", f"{signs.fingerprint}!"]
            asked += ["--digest-algo", "SHA512", "--armor", "--detach-sign"]
            return _run(home, asked, content, "cannot sign: has it a passphrase?").strip()
        finally:
            _end_agent(home)


def _chosen(listing: str) -> _Key:
    """The newest key of the one certificate that may sign now."""
    keys = list(_keys(listing.splitlines()))
    if not keys or sum(line.startswith("sec:") for line in listing.splitlines()) != 1:
        raise _unfit("holds not one key that may sign now: it is several, expired, revoked or for other uses")
    return max(keys, key=lambda each: (each.made_s, each.fingerprint))


def _keys(lines: Sequence[str]) -> Iterator[_Key]:
    """Those that sign, from what gpg lists (its DETAILS document): a key's line, then its fingerprint's."""
    made_s: int | None = None
    for line in lines:
        fields = line.split(":")
        if fields[0] in ("sec", "ssb"):
            usable = fields[1] not in ("e", "r", "i", "d", "n") and "s" in fields[11]
            made_s = int(fields[5]) if usable else None
        elif fields[0] == "fpr" and made_s is not None:
            yield _Key(fields[9], made_s)
            made_s = None


def _run(home: str, arguments: Sequence[str], given: bytes, problem: str) -> bytes:
    try:
        ended = subprocess.run(
            [*_GPG, *arguments], input=given, capture_output=True, env=_environment(home), timeout=DEADLINE_S,
            check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise Stall(
            "GpgMissing",
            "gpg is needed to sign with key gpgSigningKey and is not installed: use the operator's own image, or sign "
            "with sshSigningKey, which needs no program",
        ) from None
    except subprocess.TimeoutExpired:
        raise _unfit(f"had gpg busy for more than {DEADLINE_S} s") from None
    if ended.returncode != 0:
        raise _unfit(problem)
    return ended.stdout


def _unfit(problem: str) -> Stall:
    return Stall(
        "SigningKeyUnfit",
        f"key gpgSigningKey of the Secret in spec.remediation.forge.secretRef {problem}. Export one without a "
        f"passphrase by `gpg --armor --export-secret-keys ID`; make one by `{_MAKE}`",
    )


def _environment(home: str) -> dict[str, str]:
    """Nothing of what the Git process was given but where programs are: neither a token nor a proxy."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "GNUPGHOME": home, "LC_ALL": "C.UTF-8"}


def _end_agent(home: str) -> None:
    """End the agent that gpg started: it leads a session of its own, and holds the key."""
    try:
        subprocess.run(_END_AGENT, env=_environment(home), capture_output=True, timeout=DEADLINE_S, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return
