"""Commits signed with an OpenPGP key by the real gpg, checked by the real git."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mfu_operator.adapters.git import gpg
from mfu_operator.adapters.git.repository import GitRepository
from mfu_operator.adapters.git.signing import signed
from mfu_operator.errors import Stall
from mfu_operator.model.commit import Source
from mfu_operator.model.proposal import Proposal, ProposalKind
from mfu_operator.ports import Credentials
from tests.support.git_repository import GitUpstream

MADE_S = 1_700_000_000
"""When the keys of these tests were made."""

COMMIT = (
    b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b.invalid> 1 +0000\n"
    b"committer a <a@b.invalid> %d +0000\n\nRevert\n"
)
LATER = COMMIT % (MADE_S + 3600)
GENERATE = ("--faked-system-time", f"{MADE_S}!", "--quick-gen-key")


class Home:
    """A person's own gpg."""

    def __init__(self, folder: Path) -> None:
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GNUPGHOME": str(folder)}

    def gpg(self, *arguments: str) -> str:
        command = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", *arguments]
        return subprocess.run(command, env=self.env, check=True, capture_output=True, text=True).stdout

    def key(self, address: str, kind: str, *until: str, passphrase: str = "") -> str:
        self.gpg("--passphrase", passphrase, *GENERATE, f"mfu <{address}>", kind, "sign", *until)
        return self.gpg("--passphrase", passphrase, "--armor", "--export-secret-keys", address)

    def end(self) -> None:
        subprocess.run(["gpgconf", "--kill", "all"], env=self.env, check=True, capture_output=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("g")
    folder.chmod(0o700)
    (folder / "gpg-agent.conf").write_text("s2k-count 1024\n")
    made = Home(folder)
    yield made
    made.end()


@cache
def ed25519(home: Home) -> str:
    return home.key("ed@b.invalid", "ed25519", "never")


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the homes of signatures are made."""
    folder = tmp_path_factory.mktemp("h")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.mark.parametrize("kind", ["ed25519", "rsa2048"])
def test_a_signature_is_good_for_git_and_the_same_when_it_is_made_again(home: Home, tmp_path: Path, kind: str) -> None:
    key = ed25519(home) if kind == "ed25519" else home.key("rsa@b.invalid", kind, "never")
    made = signed(LATER, key)
    assert signed(LATER, key) == made
    assert made.startswith(LATER.partition(b"\n\n")[0] + b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n ")
    assert made.endswith(b"-----END PGP SIGNATURE-----\n\nRevert\n")
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path], check=True)
    git = ["git", "-C", str(tmp_path)]
    sha = subprocess.run([*git, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"], input=made, check=True,
                         capture_output=True).stdout.decode().strip()  # fmt: skip
    seen = subprocess.run([*git, "log", "-1", "--format=%G?", sha], env=home.env, capture_output=True, check=True)
    assert seen.stdout == b"G\n"


def test_a_key_younger_than_the_commit_signs_when_it_was_made(home: Home) -> None:
    assert signed(COMMIT % 1, ed25519(home)) == signed(COMMIT % 1, ed25519(home)) != COMMIT % 1


def test_nothing_is_left_of_the_key_and_no_agent_of_it(home: Home, agents: Path) -> None:
    signed(LATER, ed25519(home))
    assert list(agents.iterdir()) == []
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in running if str(agents).encode() in line]


REFUSED = ["", "rubbish", "public", "with a passphrase", "expired", "for encryption alone", "two"]


def unfit(home: Home, what: str) -> str:
    match what:
        case "public":
            ed25519(home)
            return home.gpg("--armor", "--export", "ed@b.invalid").replace("PUBLIC", "PRIVATE")
        case "with a passphrase":
            return home.key("shut@b.invalid", "ed25519", "never", passphrase="s3cret")
        case "expired":
            return home.key("old@b.invalid", "ed25519", "1d")
        case "for encryption alone":
            home.gpg("--passphrase", "", "--quick-gen-key", "mfu <enc@b.invalid>", "rsa2048", "cert", "never")
            return home.gpg("--passphrase", "", "--armor", "--export-secret-keys", "enc@b.invalid")
        case "two":
            home.key("second@b.invalid", "ed25519", "never")
            return home.gpg("--passphrase", "", "--armor", "--export-secret-keys", "ed@b.invalid", "second@b.invalid")
    return f"{gpg.BEGINS}\n\n{what}\n-----END PGP PRIVATE KEY BLOCK-----\n"


@pytest.mark.parametrize("what", REFUSED)
def test_a_key_that_cannot_sign_is_refused_without_showing_it(home: Home, what: str) -> None:
    ed25519(home)
    key = unfit(home, what)
    with pytest.raises(Stall) as raised:
        signed(LATER, key)
    assert raised.value.reason == "SigningKeyUnfit"
    assert "gpg --armor --export-secret-keys" in raised.value.message
    assert not [line for line in key.splitlines()[1:-1] if len(line) > 20 and line in raised.value.message]


def test_an_image_without_gpg_says_what_to_do(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = ed25519(home)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Stall) as raised:
        signed(LATER, key)
    assert raised.value.reason == "GpgMissing"


def test_gpg_is_shown_neither_a_token_nor_the_key_as_an_argument(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key, real = ed25519(home), shutil.which("gpg")
    spy = tmp_path / "gpg"
    spy.write_text(f'#!/bin/sh\n{{ tr "\\0" "\\n" < /proc/$$/cmdline; env; }} >> {tmp_path}/seen\nexec {real} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("MFU_GIT_PASSWORD", "t0ken")
    signed(LATER, key)
    seen = (tmp_path / "seen").read_text()
    assert "--detach-sign" in seen and "t0ken" not in seen
    assert not [line for line in key.splitlines()[2:-2] if line in seen]


def test_the_branchs_commit_is_signed_in_the_git_process(home: Home, tmp_path: Path) -> None:
    upstream = GitUpstream(tmp_path)
    upstream.commit({"a.yaml": "workers: 4\n"}, "Start")
    sha = upstream.commit({"a.yaml": "workers: 0\n"}, "Save memory")
    repository = GitRepository(transports=("file",), deadline_s=60)
    source = Source(upstream.bare.as_uri(), "main", "", (), None)
    message = "Revert\n\nMfu-Operator-Suspect: 1a2b3c4\n"
    proposal = Proposal(ProposalKind.REVERT, "mfu-operator/x", "main", "t", "b", message, revert_sha=sha)
    key = Credentials(signing_key=ed25519(home))
    head = repository.ensure_branch(source, proposal, key)
    assert repository.ensure_branch(source, proposal, key) == head
    stored = upstream.git("cat-file", "commit", head, folder=upstream.bare)
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in stored
