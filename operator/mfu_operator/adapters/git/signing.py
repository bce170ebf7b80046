"""Signatures on commits, as `git log --show-signature` and the hosts check them: by an OpenPGP key (`gpg.py`), or SSH.

For SSH git asks ssh-keygen, which the image does not have; the format is short (OpenSSH's PROTOCOL.sshsig). Ed25519
alone: its signatures are deterministic, so that the proposal's commit, made again, has the same id.
"""

import base64
from hashlib import sha512

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

from mfu_operator.adapters.git.gpg import BEGINS
from mfu_operator.adapters.git.gpg import signature as gpg_signature
from mfu_operator.errors import Stall

_MAGIC, _NAMESPACE, _HASH, _KIND = b"SSHSIG", b"git", b"sha512", b"ssh-ed25519"
_LINE = 70


def signed(commit: bytes, key: str) -> bytes:
    """A commit object with its signature.

    Args:
        commit: the object as git has it, unsigned.
        key: the private key as ssh-keygen writes it, or as gpg exports it with --armor; without a passphrase.

    Raises:
        Stall(SigningKeyUnfit): it is none.
        Stall(GpgMissing): it is an OpenPGP key, and there is no gpg.
    """
    headers, _, rest = commit.partition(b"\n\n")
    if BEGINS in key:
        armoured = gpg_signature(commit, key, _committed_s(headers))
    else:
        armoured = _armoured(_signature(commit, _read(key)))
    header = b"gpgsig " + armoured.replace(b"\n", b"\n ")
    return headers + b"\n" + header + b"\n\n" + rest


def _committed_s(headers: bytes) -> int:
    """When it was committed, Unix seconds."""
    line = next(line for line in headers.splitlines() if line.startswith(b"committer "))
    return int(line.split()[-2])


def _read(key: str) -> Ed25519PrivateKey:
    try:
        found = load_ssh_private_key(key.strip().encode() + b"\n", None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise Stall(
            "SigningKeyUnfit",
            "key sshSigningKey of the Secret in spec.remediation.forge.secretRef is not an Ed25519 key of OpenSSH "
            "without a passphrase: make one with `ssh-keygen -t ed25519 -N ''`",
        )
    return found


def _signature(commit: bytes, key: Ed25519PrivateKey) -> bytes:
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    told = _MAGIC + _string(_NAMESPACE) + _string(b"") + _string(_HASH) + _string(sha512(commit).digest())
    one = _string(_KIND) + _string(key.sign(told))
    who = _string(_KIND) + _string(public)
    return (
        _MAGIC + (1).to_bytes(4, "big") + _string(who) + _string(_NAMESPACE) + _string(b"") + _string(_HASH)
        + _string(one)
    )  # fmt: skip


def _armoured(signature: bytes) -> bytes:
    text = base64.b64encode(signature)
    lines = [text[start : start + _LINE] for start in range(0, len(text), _LINE)]
    return b"\n".join([b"-----BEGIN SSH SIGNATURE-----", *lines, b"-----END SSH SIGNATURE-----"])


def _string(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
