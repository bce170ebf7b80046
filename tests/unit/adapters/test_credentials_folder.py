"""A Secret as the kubelet mounts it, and as it renews it: each version in a folder, `..data` a link to the newest."""

import os
import threading
from pathlib import Path

import pytest

from mfu_operator.adapters.credentials_folder import CredentialsFolder
from mfu_operator.errors import Stall
from mfu_operator.ports import Credentials


class Mount:
    """A mounted Secret."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now_s = 0.0
        self._versions = 0

    def prepare(self, **texts: str) -> Path:
        """A version that is not in force yet."""
        self._versions += 1
        version = self.folder / f"..2026_{self._versions}"
        version.mkdir()
        for name, text in texts.items():
            (version / name).write_text(text)
        return version

    def swap(self, version: Path) -> None:
        """What the kubelet does: one rename."""
        fresh = self.folder / "..data_tmp"
        fresh.symlink_to(version.name)
        fresh.rename(self.folder / "..data")
        for key in version.iterdir():
            link = self.folder / key.name
            if not link.is_symlink():
                link.symlink_to(f"..data/{key.name}")

    def credentials(self) -> CredentialsFolder:
        return CredentialsFolder(self.folder, lambda: self.now_s)


@pytest.fixture
def mount(tmp_path: Path) -> Mount:
    return Mount(tmp_path)


def test_a_mounted_secret_is_read_through_its_link(mount: Mount) -> None:
    mount.swap(mount.prepare(username="old-user", token="old-token"))
    assert mount.credentials()() == Credentials(username="old-user", password="old-token")


def test_a_secret_that_is_renewed_while_it_is_read_is_read_whole(mount: Mount) -> None:
    """The reader is held up in its first file, a pipe, until the kubelet has put the new version in force."""
    old = mount.prepare(token="old-token")
    os.mkfifo(old / "username")
    mount.swap(old)
    found: list[Credentials] = []
    reader = threading.Thread(target=lambda: found.append(mount.credentials()()))
    reader.start()
    with (old / "username").open("w") as pipe:
        mount.swap(mount.prepare(username="new-user", token="new-token"))
        (old / "token").unlink()
        pipe.write("old-user")
    reader.join(60.0)
    assert found == [Credentials(username="new-user", password="new-token")]


def test_a_key_that_holds_no_text_is_named_and_not_repeated(mount: Mount) -> None:
    version = mount.prepare()
    (version / "token").write_bytes(b"\xff\xfet0ken")
    mount.swap(version)
    with pytest.raises(Stall, match=r"token of .* is not text in UTF-8") as raised:
        mount.credentials()()
    assert raised.value.reason == "CredentialsUnfit"
    assert "t0ken" not in raised.value.message


def test_a_key_that_cannot_be_read_is_named(mount: Mount) -> None:
    version = mount.prepare()
    (version / "token").mkdir()
    mount.swap(version)
    with pytest.raises(Stall, match=r"token of .* cannot be read") as raised:
        mount.credentials()()
    assert raised.value.reason == "CredentialsUnfit"


def test_what_could_not_be_read_is_read_again_at_once(mount: Mount) -> None:
    version = mount.prepare()
    (version / "token").write_bytes(b"\xff")
    mount.swap(version)
    credentials = mount.credentials()
    with pytest.raises(Stall):
        credentials()
    mount.swap(mount.prepare(token="mended"))
    assert credentials() == Credentials(password="mended")
