"""Commits signed with an SSH key, as ssh-keygen signs them."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.git.signing import signed
from mfu_operator.errors import AskPerson, Stall
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials
from tests.support.git_repository import GitUpstream

SEED = "368045a4bfa65c6588046c33e24c46050938556ba64af21f00b40fdfa4537fc6"
COMMIT = (
    b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b.invalid> 1 +0000\n"
    b"committer a <a@b.invalid> 1 +0000\n\nRevert\n"
)
BY_SSH_KEYGEN = b"""gpgsig -----BEGIN SSH SIGNATURE-----
 U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgGT+s9pHFKcIjXb/Jg9PH3xp/XV
 7Q9e/86IiICBsGVZQAAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5
 AAAAQC7vkJVYAWpl8hfDDJj4p/OGmgwC63iadxGsnkboRkheKhty0kWp+LZk3DE3bULQfY
 2XfiddGa5aT94xNIEd6QA=
 -----END SSH SIGNATURE-----
"""
"""What `ssh-keygen -Y sign -n git` (OpenSSH 9.2) made of COMMIT with this key, as git puts it into a commit."""


def written() -> str:
    """The key as ssh-keygen writes it."""
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SEED))
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def test_a_commit_is_signed_as_ssh_keygen_signs_it() -> None:
    made = signed(COMMIT, written())
    assert made == COMMIT.replace(b"\n\n", b"\n" + BY_SSH_KEYGEN + b"\n", 1)
    assert signed(COMMIT, written()) == made


@pytest.mark.parametrize(
    "key",
    [
        "",
        "ssh-ed25519 AAAA",
        written()[:200],
        generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode(),
    ],
    ids=["empty", "public", "cut", "of another kind"],
)
def test_what_is_no_such_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(Stall) as raised:
        signed(COMMIT, key)
    assert raised.value.reason == "SigningKeyUnfit"
    assert "ssh-keygen -t ed25519" in raised.value.message
    assert not key or key.splitlines()[-1] not in raised.value.message


def test_the_branchs_commit_is_signed_and_is_the_same_when_it_is_made_again(tmp_path: Path) -> None:
    upstream = GitUpstream(tmp_path)
    upstream.commit({"a.yaml": "workers: 4\n"}, "Start")
    sha = upstream.commit({"a.yaml": "workers: 0\n"}, "Save memory")
    repository = GitRepository(transports=("file",), deadline_s=60)
    source = Source(upstream.bare.as_uri(), "main", "", (), None)
    message = "Revert\n\nMfu-Operator-Suspect: 1a2b3c4\n"
    proposal = Proposal(ProposalKind.REVERT, "mfu-operator/x", "main", "t", "b", message, revert_sha=sha)
    unsigned = repository.ensure_branch(source, proposal, None)
    key = Credentials(signing_key=written())
    assert repository.ensure_branch(source, proposal, key) == unsigned
    repository.remove_branch(source, proposal.branch, unsigned, key)
    head = repository.ensure_branch(source, proposal, key)
    assert repository.ensure_branch(source, proposal, key) == head != unsigned
    stored = upstream.git("cat-file", "commit", head, folder=upstream.bare)
    assert "gpgsig -----BEGIN SSH SIGNATURE-----" in stored
    assert stored.rstrip().endswith("Mfu-Operator-Suspect: 1a2b3c4")
    assert "workers: 4" in upstream.git("show", f"{head}:a.yaml", folder=upstream.bare)
    upstream.git("update-ref", f"refs/heads/{proposal.branch}", upstream.git("rev-parse", "main"), folder=upstream.bare)
    with pytest.raises(AskPerson):
        repository.ensure_branch(source, proposal, key)
